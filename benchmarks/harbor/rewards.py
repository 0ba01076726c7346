"""The rewards that a verifier leaves: `reward.json` or `reward.txt`, and what they mean for a verdict.

The quality is the reward with the key `reward`, or the only one, or otherwise the mean of all, each between 0 and 1. A
task is passed if its quality is 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

LOGS = "/logs/verifier"
JSON = f"{LOGS}/reward.json"
TEXT = f"{LOGS}/reward.txt"
_KEY = "reward"
_KEYS = 1000
_KEY_CHARACTERS = 200


class NoReward(Exception):
    """The verifier left no usable reward; the message is one line."""


def choose(results: Mapping[str, bytes], tests: bytes) -> str:
    """Return the path of the file that counts.

    Harbor reads `reward.json` first, whoever wrote it. If the tests (`tests` has their bytes) name only `reward.txt`,
    another file was not written by them, and does not count beside it.

    Raises: NoReward.
    """
    if JSON in results and (TEXT not in results or b"reward.json" in tests or b"reward.txt" not in tests):
        return JSON
    if TEXT in results:
        return TEXT
    raise NoReward("the tests left no reward: neither reward.json nor reward.txt is in /logs/verifier")


def parsed(path: str, data: bytes) -> dict[str, float]:
    """Return the rewards in a file.

    Raises: NoReward if the file is empty or is not what Harbor reads.
    """
    name = path.rpartition("/")[2]
    if not data.strip():
        raise NoReward(f"{name} is empty")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise NoReward(f"{name} is not UTF-8") from None
    if path == TEXT:
        return {_KEY: _number(text.strip(), f"{name} is not a number")}
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise NoReward(f"{name} is not JSON") from None
    if not isinstance(content, dict):
        raise NoReward(f"{name} is not an object of numbers")
    if not content:
        raise NoReward(f"{name} has no key")
    if len(content) > _KEYS or any(len(key) > _KEY_CHARACTERS for key in content):
        raise NoReward(f"{name} has more than {_KEYS} keys, or one of more than {_KEY_CHARACTERS} characters")
    return {key: _of_json(value, f"{name}: {key[:60]!r} is not a number") for key, value in content.items()}


def quality(rewards: Mapping[str, float]) -> float:
    """Return the quality that the rewards stand for."""
    if _KEY in rewards:
        return _clamped(rewards[_KEY])
    return sum(map(_clamped, rewards.values())) / len(rewards)


def note(rewards: Mapping[str, float]) -> tuple[str, ...]:
    """Return remarks on rewards whose meaning is not obvious."""
    remarks = []
    if _KEY not in rewards and len(rewards) > 1:
        remarks.append(f"no reward has the key {_KEY!r}; the quality is the mean of {len(rewards)} rewards")
    counted = [_KEY] if _KEY in rewards else sorted(rewards)
    outside = [f"{key} {rewards[key]:g}" for key in counted if not 0 <= rewards[key] <= 1]
    if outside:
        remarks.append(f"rewards outside of 0 to 1 are kept as metrics and cut for the quality: {', '.join(outside)}")
    return tuple(remarks)


def _clamped(value: float) -> float:
    return min(1.0, max(0.0, value))


def _of_json(value: object, problem: str) -> float:
    if not isinstance(value, int | float):  # true and false count as 1 and 0, as in Harbor
        raise NoReward(problem)
    return _number(value, problem)


def _number(value: str | float, problem: str) -> float:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise NoReward(problem) from None
    if not math.isfinite(number):
        raise NoReward(f"{problem}, or not a finite one")
    return number
