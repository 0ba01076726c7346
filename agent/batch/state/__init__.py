"""The state of a batch as one value, from its coordinator while it runs, or from its folder alone."""
