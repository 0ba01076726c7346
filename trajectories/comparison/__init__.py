"""Comparison of recorded and repeated outputs: equal, equal without named noise, or different."""
