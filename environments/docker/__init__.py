"""The docker kind of environment, and all that talks to a Docker daemon."""
