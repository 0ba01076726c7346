"""The studies of the documentation."""
