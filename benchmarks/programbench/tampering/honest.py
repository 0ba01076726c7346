"""The rules of `honest_changes.yaml`, which excuse what honest builds and the evaluator change."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

RULES = Path(__file__).with_name("honest_changes.yaml")
_SYSTEM = re.compile(rb"(/usr)?(/local)?/lib(32|64|x32)?/[\w./+-]+")
_HARMLESS_GIT = re.compile(
    r"\s*(\[safe\]|\[user\]|\[init\]|\[advice\]|directory\s*=.*|name\s*=.*|email\s*=.*|defaultBranch\s*=.*|\w+\s*=\s*(true|false)|[#;].*)?\s*"
)


class Content(BaseModel):
    """What a file must hold to be excused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: tuple[str, ...] = ()
    check: Literal["any", "directory", "compiled_from_source", "loader_cache", "git_identity"] | None = None


class Rule(BaseModel):
    """One excuse."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: str
    paths: tuple[str, ...]
    kinds: str = "ACD"
    content: Content | None = None

    def matches(self, kind: str, path: str) -> bool:
        """Return True if the rule is about this change."""
        return kind in self.kinds and any(_compiled(pattern).fullmatch(path) for pattern in self.paths)


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Return the rules of the file."""
    return TypeAdapter(tuple[Rule, ...]).validate_python(yaml.safe_load(RULES.read_text("utf-8")))


def is_left_over(kind: str, path: str) -> bool:
    """Return True for a change that is excused as long as nothing reaches it."""
    return any(rule.content is None and rule.matches(kind, path) for rule in rules())


def content_rules(kind: str, path: str) -> list[Content]:
    """Return the contents that would excuse a change, whatever reaches it."""
    return [rule.content for rule in rules() if rule.content is not None and rule.matches(kind, path)]


def holds(content: Content, path: str, data: bytes | None, *, directory: bool, compiled: frozenset[str]) -> bool:
    """Return True if a file has that content. `compiled` are modules that are what their source compiles to."""
    if content.check == "any":
        return True
    if content.check == "directory" or directory:
        return content.check == "directory" and directory
    if content.check == "compiled_from_source":
        return path in compiled
    if data is None:
        return False
    if content.check is not None:
        return _CHECKS[content.check](data)
    return hashlib.sha256(data).hexdigest() in content.sha256


def _loader_cache(data: bytes) -> bool:
    return all(_SYSTEM.fullmatch(path) for path in re.findall(rb"/[^\0]{2,}", data))


def _git_identity(data: bytes) -> bool:
    return all(_HARMLESS_GIT.fullmatch(line) for line in data.decode("utf-8", "replace").splitlines())


_CHECKS: Mapping[str, Callable[[bytes], bool]] = {"loader_cache": _loader_cache, "git_identity": _git_identity}


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
