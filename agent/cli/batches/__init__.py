"""Output of `agent batch`."""
