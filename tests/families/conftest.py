"""The sample tasks have tests of their own, which run in containers only."""

collect_ignore = ["tasks"]
