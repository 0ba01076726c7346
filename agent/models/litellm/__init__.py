"""Providers through litellm: everything that knows litellm. No other package imports it."""
