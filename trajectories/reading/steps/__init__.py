"""The steps of a trial: their events, and the index of their figures and places."""
