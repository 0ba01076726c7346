"""A provider for tests: a real HTTP server that speaks three protocols (`server.WireServer`)."""
