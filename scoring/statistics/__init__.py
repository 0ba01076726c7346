"""Statistics of trials: intervals, pass rates, rank agreement, and the denominators they rest on."""
