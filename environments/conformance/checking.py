"""Checks: functions that test one promise and raise AssertionError if it is not kept.

They call `same` and `holds` instead of `assert`. These also work under `python -O`, and show values without pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from environments.conformance.place import Place
from environments.promises import Promise

SHOWN = 300
Body = Callable[[Place], None]


@dataclass(frozen=True)
class Check:
    """One check."""

    topic: str
    name: str
    meaning: str
    promise: Promise
    broken: tuple[str, ...]
    """Names of the environments (`environments.conformance.broken`) that must fail it."""
    body: Body = field(repr=False)
    alone: bool = False
    """True if it needs an environment of its own, because it ends or damages it."""
    severs: bool = False
    """True if it needs a way to kill the environment from outside."""
    spec: Mapping[str, object] = field(default_factory=dict)
    """Fields of `EnvironmentSpec` that it needs changed."""

    @property
    def id(self) -> str:
        return f"{self.topic}-{self.name}"


_REGISTER: dict[str, list[Check]] = {}


def check(
    promise: Promise, *broken: str, alone: bool = False, severs: bool = False, **spec: object
) -> Callable[[Body], Body]:
    """Declare a function `check_...(place)` as a check; its docstring is its meaning."""

    def declare(body: Body) -> Body:
        topic = body.__module__.rpartition(".")[2]
        name = body.__name__.removeprefix("check_")
        meaning = (body.__doc__ or "").strip()
        own = Check(topic, name, meaning, promise, broken, body, alone or severs, severs, spec)
        _REGISTER.setdefault(body.__module__, []).append(own)
        return body

    return declare


def declared_in(module: str) -> list[Check]:
    """Return the checks of an imported module, in their order there."""
    return _REGISTER.get(module, [])


def same(got: object, expected: object, label: str = "") -> None:
    """Check that two values are equal. Raises: AssertionError with both values."""
    if got != expected:
        raise AssertionError(f"{label + ': ' if label else ''}got {_short(got)}, expected {_short(expected)}")


def holds(condition: object, expectation: str, seen: object = None) -> None:
    """Check a condition. Raises: AssertionError that names the expectation and what was `seen`."""
    if not condition:
        raise AssertionError(f"not so: {expectation}" + ("" if seen is None else f"; seen: {_short(seen)}"))


def _short(value: object) -> str:
    if isinstance(value, bytes | str) and len(value) > SHOWN:
        return f"{value[: SHOWN // 2]!r} ... {value[-SHOWN // 2 :]!r} ({len(value)} long)"
    text = repr(value)
    return text if len(text) <= 2 * SHOWN else f"{text[:SHOWN]} ... {text[-SHOWN:]}"
