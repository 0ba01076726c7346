"""Making tasks: the guide, new tasks, and tasks in the formats of others."""
