"""Environments of one's own, as in the tests of environments."""

from __future__ import annotations

from tests.environments.conftest import start as start
