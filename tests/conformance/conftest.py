"""The fixture that starts environments, shared with the tests of environments."""

from __future__ import annotations

from tests.environments.conftest import start as start
