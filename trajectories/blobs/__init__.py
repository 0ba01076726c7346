"""Contents by their sha256: stored once, shared in a batch, and removed when no trial refers to them."""
