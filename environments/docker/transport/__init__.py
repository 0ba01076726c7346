"""Connections to the daemon whose waits a stop interrupts."""
