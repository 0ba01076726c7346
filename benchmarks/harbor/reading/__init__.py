"""Reading a task directory in Harbor's format: its files, keys and templates, and what of it cannot be provided."""
