"""Common parts of the families that read task directories as others published them."""
