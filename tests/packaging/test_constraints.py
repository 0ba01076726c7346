"""`constraints.txt` pins every package that gets installed, by its name and version and nothing else."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).resolve().parents[2]
LINES = [line for line in (CHECKOUT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
PINS = {canonicalize_name(name): pinned for name, _, pinned in (line.partition("==") for line in LINES)}
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())


def declared() -> list[str]:
    """Return the requirements of the project and its development; an extra of our own is replaced by its list."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    requirements = list(project["dependencies"])
    for entry in extras["dev"]:
        own = re.fullmatch(r"retrace-agent\[(\w+)\]", entry)
        requirements += extras[own[1]] if own else [entry]
    return requirements


def test_every_line_is_a_name_and_a_version() -> None:
    """Addresses, options, paths and local versions are valid only on the machine that wrote them."""
    assert [line for line in LINES if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", line)] == []
    assert len(PINS) == len(LINES), "a name is pinned twice"


def test_pins_meet_the_declared_requirements() -> None:
    for text in (*declared(), *PROJECT["build-system"]["requires"]):
        requirement = Requirement(text)
        pinned = PINS.get(canonicalize_name(requirement.name))
        assert pinned is not None, f"{text} has no pin"
        assert requirement.specifier.contains(pinned), f"{text} does not allow its pin {pinned}"


def test_everything_that_gets_installed_is_pinned() -> None:
    """Follow the requirements of the requirements, as installed here."""
    waiting = [Requirement(text) for text in declared()]
    seen: set[tuple[str, frozenset[str]]] = set()
    unpinned = set()
    while waiting:
        requirement = waiting.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        if name not in PINS:
            unpinned.add(name)
        try:
            further = requires(name) or []
        except PackageNotFoundError:
            continue
        for text in further:
            inner = Requirement(text)
            contexts = [{"extra": extra} for extra in extras] or [{"extra": ""}]
            if inner.marker is None or any(inner.marker.evaluate(context) for context in contexts):
                waiting.append(inner)
    assert unpinned == set()


def test_litellm_is_the_version_whose_prices_were_checked() -> None:
    assert version("litellm") == PINS["litellm"]
