"""The kinds of environment. A file of its own, because both the promises and the protocol name them."""

from __future__ import annotations

from typing import Literal

Kind = Literal["docker", "sandbox", "local"]
KINDS: tuple[Kind, ...] = ("docker", "sandbox", "local")
