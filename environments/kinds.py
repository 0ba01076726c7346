"""The kinds of environment and of shell, without any import: promises, protocol and command line name them."""

from __future__ import annotations

from typing import Literal

Kind = Literal["docker", "sandbox", "local"]
KINDS: tuple[Kind, ...] = ("docker", "sandbox", "local")
Shell = Literal["fresh", "persistent"]
SHELLS: tuple[Shell, ...] = ("fresh", "persistent")
