"""What `agent batch` prints."""
