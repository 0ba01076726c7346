"""Verdicts and findings about work that exists already: `agent evaluate` and `agent analyze --integrity`."""
