"""Reads crontab expressions and tells when they match."""
