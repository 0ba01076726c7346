"""The sandbox kind of environment, made with bubblewrap."""
