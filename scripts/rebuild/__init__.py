"""The code of `scripts/rebuild-image`, `scripts/rebuild-suite` and `scripts/rebuild-programbench`."""
