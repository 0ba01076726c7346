"""Engines: where workers run. Each implements `protocol.Engine`; nothing else knows where a worker is."""
