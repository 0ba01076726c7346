"""Checks of tasks before a model is paid."""
