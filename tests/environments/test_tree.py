"""A listing of changes alone has the same result as a complete one, whatever happened in between."""

from __future__ import annotations

import random
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from environments.listing.listing import Listing
from environments.listing.tree import Tree, Unclear

from .conftest import DOCKER, Place

Start = Callable[..., Place]

NAMES = [
    f"{top}{below}{last}" for top in ("", "a/", "b/") for below in ("", "c/", "d/") for last in ("x", "y", "z", "c")
]
OPERATIONS = (
    "[ -p {one} ] || echo {number} >{one}",
    "[ -p {one} ] || printf %d {number} >{one}",
    "[ -p {one} ] || echo {number} >{one}; touch -d @1000000000 {one}",
    "[ -p {one} ] || echo {number} >>{one}",
    "mkdir -p {one}",
    "mkdir -p {one}/c/deeper; echo {number} >{one}/c/deeper/f",
    "rm -rf {one}",
    "rmdir {one}",
    "mv -T {one} {other}",
    "rm -rf {other}; mv -T {one} {other}",
    "mv {one} {other}/",
    "mv -T {one} {away}/{number}; mkdir {one}; mv -T {away}/{number} {other}",
    "cp -a --remove-destination {one} {other}",
    "rm -rf {one}; mkdir {one}; echo >{one}/c; mkdir {one}/d",
    "chmod 7{mode} {one}",
    "ln {one} {other}",
    "ln -sfn {other} {one}",
    "rm -rf {one}; ln -s {away} {one}",
    "mkfifo {one}",
    "mkdir -p {away}/c/d/e; echo >{away}/c/d/e/f; mv -T {away}/c {one}",
    "mv -T {one} {away}/away; mv -T {away}/away {other}",
    "touch {one}",
    "true",
)
FACTS = "find . -mindepth 1 \\( -type f -o -type l \\) -printf '%y%m %s %i %C@ %P\\0' -o -printf '%y%m 0 0 0 %P\\0'"


def facts(place: Place) -> dict[str, str]:
    records = place.run(FACTS, as_root=True).output.decode().split("\0")[:-1]
    return {path: record_facts for record_facts, _, path in (record.rpartition(" ") for record in records)}


def expected(old: dict[str, str], new: dict[str, str]) -> list[tuple[str, str]]:
    changes = [("deleted", path) for path in old.keys() - new.keys()]
    changes += [("created" if path not in old else "modified", path) for path in new if old.get(path) != new[path]]
    return sorted(changes, key=lambda pair: pair[1])


def changes(listing: Listing, mark: Listing) -> list[tuple[str, str]]:
    return [(changed.change, changed.entry.path) for changed in listing.since(mark)]


def described(listing: Listing) -> list[str]:
    letters = {"file": "f", "directory": "d", "symlink": "l", "other": "p"}
    return [f"{letters[entry.type]}{entry.mode:o} {entry.size} {entry.path}" for entry in listing.entries()]


@pytest.mark.parametrize(("label", "seed"), [("local", 1), ("local", 2), (DOCKER, 3), (DOCKER, 4)])
def test_after_any_changes_a_listing_equals_a_complete_one(start: Start, label: str, seed: int) -> None:
    rng = random.Random(seed)
    place = start(label)
    away = place.text("mktemp -d").strip()
    place.text("mkdir -p a/c b/d b/c; for n in 1 2 3; do echo $n >a/$n; echo >b/d/$n; done")
    listings = [place.environment.listing()]
    states = [facts(place)]
    for step in range(60):
        script = "\n".join(
            rng.choice(OPERATIONS).format(
                one=shlex.quote(rng.choice(NAMES)),
                other=shlex.quote(rng.choice(NAMES)),
                away=away,
                number=rng.randrange(10),
                mode=rng.choice(("00", "55", "77")),
            )
            for _ in range(rng.choice((1, 1, 2, 5)))
        )
        place.text(f"{{ {script}\n}} >/dev/null 2>&1; true", as_root=True)
        listings.append(place.environment.listing())
        states.append(facts(place))
        assert changes(listings[-1], listings[-2]) == expected(states[-2], states[-1]), f"step {step}: {script}"
        now = [f"{' '.join(facts_of_path.split()[:2])} {path}" for path, facts_of_path in sorted(states[-1].items())]
        assert described(listings[-1]) == now, f"step {step}: {script}"
    for _ in range(20):
        first, second = sorted(rng.sample(range(len(listings)), 2))
        assert changes(listings[second], listings[first]) == expected(states[first], states[second])
        assert changes(listings[first], listings[second]) == expected(states[second], states[first])
    place.text(f"rm -rf {away}", as_root=True)
    followed = sum(listing.is_followed for listing in listings)
    assert followed > len(listings) / 2


def test_contradictory_records_change_nothing() -> None:
    tree = Tree([b"d755 0 1 0 a", b"f644 1 2 5.0 a/f", b"d755 0 3 0 a/b", b"f644 1 4 5.0 a/b/g"])
    before = dict(tree.facts)
    for seen in (
        b"f644 9 9 9.0 elsewhere/f\0",
        b"f644 9 2 9.0 a/f\0d755 0 1 0 a\0\0d755 0 8 0 ./a/moved\0",
        b"f644 9 2 9.0 a/f\0d755 0 7 0 a/b\0",
        b"d755 0 1 0 a\0\0f644 9 2 9.0 ./b/f\0",
    ):
        with pytest.raises(Unclear):
            tree.take_in(seen)
        assert tree.facts == before
    assert tree.take_in(b"d755 0 1 0 a\0\0f644 2 2 9.0 ./a/f\0") == {
        b"a": b"d755 0 1 0",
        b"a/b": b"d755 0 3 0",
        b"a/b/g": b"f644 1 4 5.0",
        b"a/f": b"f644 1 2 5.0",
    }
    assert tree.facts == {b"a": b"d755 0 1 0", b"a/f": b"f644 2 2 9.0"}


def test_the_clock_must_not_go_back() -> None:
    first = Listing(b"f644 1 1 100.5000000000 \0d755 0 1 0 \0f644 1 2 50.0 f\0")
    assert first.look_after == "100.450000000"
    with pytest.raises(Unclear):
        first.followed_by(b"f644 1 1 100.4000000000 \0")
    second = first.followed_by(b"f644 1 1 100.6000000000 \0f644 2 2 100.6000000000 f\0")
    assert not second.is_settled
    assert second.followed_by(b"f644 1 1 100.7000000000 \0f644 2 2 100.6000000000 f\0").is_settled
    with pytest.raises(Unclear):
        second.followed_by(b"f644 1 1 100.8000000000 \0")


def test_a_file_that_changed_in_the_very_tick_of_a_listing_is_looked_at_again(tmp_path: Path) -> None:
    """find's `-newerct` takes only later times, so a listing has to look back further than the last one's moment."""
    (tmp_path / "f").write_text("written after it was listed")
    stamped_ns = (tmp_path / "f").stat().st_ctime_ns
    moment = "{}.{:09d}0".format(*divmod(stamped_ns, 10**9))
    last = Listing(f"f644 1 1 {moment} \0d755 0 1 0 \0f644 0 2 50.0 f\0".encode())
    command = ["find", ".", "-type", "f", "-newerct", f"@{last.look_after}"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout == "./f\n"


def test_the_three_listings_of_the_example() -> None:
    """The example in the docstring of `listing.py`, record by record."""
    first = Listing(b"f644 1 1 100.0 \0d755 0 10 0 \0d755 0 11 0 a\0f644 5 12 90.0 a/f\0f644 2 13 91.0 b\0")
    assert first.look_after == "99.950000000"
    changed = b"d755 0 11 0 a\0f644 0 14 101.0 a/g\0f644 7 13 101.0 b\0"
    second = first.followed_by(b"f644 1 1 102.0 \0" + changed + b"\0f644 0 14 101.0 ./a/g\0")
    expected_changes = [("deleted", "a/f"), ("created", "a/g"), ("modified", "b")]
    assert changes(second, first) == expected_changes
    content = b"d755 0 11 0 ./a\0f644 7 13 101.0 ./b\0d755 0 20 0 ./d\0"
    with pytest.raises(Unclear, match="from elsewhere"):
        second.followed_by(b"f644 1 1 104.0 \0d755 0 10 0 \0\0" + content)
    assert not second.is_followed
    third = Listing(
        b"f644 1 1 104.1 \0d755 0 10 0 \0d755 0 11 0 a\0f644 0 14 101.0 a/g\0f644 7 13 101.0 b\0"
        b"d755 0 20 0 d\0f644 1 21 20.0 d/old\0"
    )
    expected_changes += [("created", "d"), ("created", "d/old")]
    assert changes(third, first) == expected_changes
