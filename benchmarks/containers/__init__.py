"""Compose files as tasks have them: read, checked, and turned into containers, without the compose program."""
