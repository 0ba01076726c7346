"""Things that the trials of a batch share: one budget, calls in flight, and places for evaluations. Pure."""
