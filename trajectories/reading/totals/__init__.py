"""Running totals of a record: steps, time and limits of a trial, and the costs of all its calls."""
