"""Archives that go into an environment and come out of it: tar streams, exports, digests."""
