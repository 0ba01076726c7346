"""Models that cost nothing: a person, a script, a recording, a task's own solution, and one that submits at once."""
