"""Checking damaged records: it reports what it can, and never fails."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.solve.command import agent
from trajectories.checks.check import check

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["\ud800", "../x", "1.1", "c1", "x" * 300, "\x1b[2J", [], {}, [[[]]], {"type": "message"}]),
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of keys to each value inside of a JSON value."""
    paths = [at] if at else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        paths += places(item, (*at, key))
    return paths


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_mutation_of_events_makes_the_check_fail(good: Path, data: st.DataObject) -> None:
    path = good / "events.jsonl"
    original = path.read_bytes()
    events = [json.loads(line) for line in original.splitlines()]
    for _ in range(data.draw(st.integers(1, 3))):
        event = data.draw(st.sampled_from(events))
        kind = data.draw(st.sampled_from(["value", "drop", "copy", "swap"]))
        if kind == "value":
            place = data.draw(st.sampled_from(places(event)))
            holder: Any = event
            for key in place[:-1]:
                holder = holder[key] if isinstance(holder, dict | list) else {}
            if isinstance(holder, dict | list):
                holder[place[-1]] = data.draw(VALUES)
        elif kind == "drop" and len(events) > 1:
            events.remove(event)
        elif kind == "copy":
            events.insert(data.draw(st.integers(0, len(events))), json.loads(json.dumps(event)))
        else:
            other = data.draw(st.sampled_from(events))
            event["type"], other["type"] = other.get("type"), event.get("type")
    try:
        path.write_text("".join(json.dumps(event) + "\n" for event in events))
        check(good).model_dump_json()
    finally:
        path.write_bytes(original)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1), junk=st.binary(max_size=30), cut=st.integers(0, 40))
def test_no_foreign_bytes_make_the_check_fail(good: Path, at: float, junk: bytes, cut: int) -> None:
    path = good / "events.jsonl"
    original = path.read_bytes()
    place = int(at * len(original))
    try:
        path.write_bytes(original[:place] + junk + original[place + cut :])
        check(good).model_dump_json()
    finally:
        path.write_bytes(original)


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * 200_000,
        b'{"type":"snapshot","step":0,"changes":' + b"[" * 200_000,
        b'{"type":"new","seq":"x"}',
        b'{"type":"new","seq":5,"mono_s":NaN}',
        b"\xff\xfe\x00",
        b"",
        b'{"type":"message","id":"\\ud800","role":"user","content":"x","why":"task"}',
    ],
)
def test_odd_lines_are_reported_with_their_place(good: Path, tmp_path: Path, line: bytes) -> None:
    trial = tmp_path / "runs" / "b" / "trial"
    shutil.copytree(good, trial)
    path = trial / "events.jsonl"
    lines = path.read_bytes().splitlines()
    lines.insert(5, line)
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert check(trial).findings[0].place == "events.jsonl:6"
    for argv in (("show", "trial", "--check", "--json"), ("diff", "trial"), ("checkout", "trial", "out")):
        run = agent(tmp_path, *argv)
        assert "Traceback" not in run.err
        assert "defect" not in run.err
