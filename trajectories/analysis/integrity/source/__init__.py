"""Looking up the original's source: fetching or reading it, and hunting for it."""
