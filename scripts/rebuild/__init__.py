"""What `scripts/rebuild-image` and `scripts/rebuild-suite` run."""
