"""Services beside a container: their private networks, volumes and containers, from the start to the removal."""
