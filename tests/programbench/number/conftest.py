"""The hidden suite below is for the program under test, in its container: the project's test run leaves it alone."""

collect_ignore = ["tests"]
