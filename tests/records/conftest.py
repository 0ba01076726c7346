"""The hidden tests of the study's task are for programs that models wrote, not for pytest's collection."""

collect_ignore = ["study"]
