"""Records of older major versions, read as if this version had written them. The rest of the code sees only these.

A class for each older major version turns one JSON object of its lines into objects of the next one. A line has the
version of its record's first event, unless it ends with a `schema_version` of its own: then a later version of Retrace
appended it, for example when it resumed the trial.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from trajectories.errors import RecordError
from trajectories.reading.lines import kind_of
from trajectories.record.base import Json
from trajectories.record.events import SCHEMA_VERSION

_APPENDED = re.compile(rb',"schema_version":"([^"\\]*)"\}\s*\Z')
_TAIL = 100
"""Number of bytes at the end of a line in which its own version stands."""

CHANGES: tuple[tuple[str, str, str], ...] = (
    (
        "evaluation_started",
        "`workspace_sha256`",
        '`submission` is `{"kind": "archive", "sha256": workspace_sha256}`; `evaluation` counts these events from 1',
    ),
    (
        "vote",
        "`asks`: the requests to the judge, with their results",
        "each request becomes `role_call_started` and `role_call_finished` before the vote, with its `seq`, `t` and "
        "`mono_s`; `calls` has their numbers, which count over the record from 1. Model and prompt are those of the "
        "panel. `status` is `malformed` (`detail` is then the former `malformed`), `cut_off` (`error` is "
        "`interrupted`), `failed` (`text` is null) or `answered`",
    ),
    ("all others", "as in 2.0", "unchanged; fields that 1.x does not have are absent"),
)
"""For each type of event: its form in schema 1.x, and what it becomes. For the page about the record."""


class _From1:
    """Schema 1.x to 2.0.

    An evaluation has a number, and names its submission. The requests to a judge are role calls, which come before the
    judge's vote; they have its number and its time, because nothing else is recorded.
    """

    changed = frozenset({"evaluation_started", "panel_started", "vote"})
    """Types of event whose objects differ, or are needed for it. All other lines are read as they are."""

    def __init__(self) -> None:
        self._evaluations = 0
        self._calls = 0
        self._panel: Json = {}

    def objects(self, event: Json) -> Iterator[Json]:
        """Yield the objects of the next version for one object of a changed type."""
        match event["type"]:
            case "evaluation_started":
                self._evaluations += 1
                submission = {"kind": "archive", "sha256": event.pop("workspace_sha256", None)}
                yield {**event, "evaluation": self._evaluations, "submission": submission}
            case "panel_started":
                self._panel = event
                yield event
            case "vote":
                yield from self._vote(event)

    def _vote(self, vote: Json) -> Iterator[Json]:
        asks, number, judges = vote.pop("asks", []), vote.get("judge"), self._panel.get("judges", [])
        judge = number if isinstance(number, int) and 1 <= number <= len(judges) else 0
        stamp: Json = {name: vote[name] for name in ("seq", "t", "mono_s") if name in vote}
        first, try_ = self._calls + 1, 0
        for ask in asks if judge else ():
            self._calls += 1
            try_ += 1
            yield {
                **stamp,
                "type": "role_call_started",
                "call": self._calls,
                "role": "judge",
                "purpose": {"panel": vote.get("panel"), "judge": judge},
                "model": judges[judge - 1],
                "prompt": self._panel.get("prompt"),
                "try": try_,
            }
            malformed, error = ask.pop("malformed", ""), ask.get("error")
            status = "cut_off" if error == "interrupted" else "failed" if ask.get("text") is None else "answered"
            if malformed:
                status, ask["detail"] = "malformed", malformed
            yield {**stamp, "type": "role_call_finished", "call": self._calls, "status": status, **ask}
            try_ = 0 if ask.get("text") is not None else try_
        yield {**vote, "calls": list(range(first, self._calls + 1))}


_OLDER: Mapping[str, Callable[[], _From1]] = {"1": _From1}
"""Migrations by the major version that they read."""
_MAJOR = SCHEMA_VERSION.partition(".")[0]


class Migration:
    """The migration of one record's lines, in their order. `version` is that of the record's first event.

    Raises: RecordError for a version that cannot be read; its message lacks the place.
    """

    def __init__(self, version: str) -> None:
        _check(version)
        step = _OLDER.get(_major(version))
        self._step = step() if step is not None else None

    def lines(self, line: bytes) -> Iterator[bytes]:
        """Yield the lines of this schema that a recorded line stands for.

        Raises: RecordError if a newer version appended the line.
        """
        own = _APPENDED.search(line[-_TAIL:])
        if own is not None:
            _check(own[1].decode("utf-8", "replace"))
        is_old = self._step is not None and (own is None or _major(own[1].decode()) in _OLDER)
        event = self._changed(line) if is_old else None
        if event is None or self._step is None:
            yield line
            return
        for migrated in self._step.objects(event):
            yield json.dumps(migrated).encode()

    def _changed(self, line: bytes) -> Json | None:
        """Return the object of a line if its type differs between the versions, otherwise None."""
        assert self._step is not None
        kind = kind_of(line)
        if kind is not None and kind not in self._step.changed:
            return None
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return None  # it will not be read as an event either
        return event if isinstance(event, dict) and event.get("type") in self._step.changed else None


def appended_mark(first_line: bytes) -> bytes:
    """Return the end of each line that this version appends to a record with this first line: empty if it wrote both.

    It replaces the closing brace of the line.
    """
    if _major(version_of(first_line)) == _MAJOR:
        return b""
    return f',"schema_version":"{SCHEMA_VERSION}"}}'.encode()


def version_of(first_line: bytes) -> str:
    """Return the version that a record's first line names; this one if it names none."""
    try:
        return str(json.loads(first_line).get("schema_version", SCHEMA_VERSION))
    except (ValueError, AttributeError, RecursionError):
        return SCHEMA_VERSION


def _major(version: str) -> str:
    return version.partition(".")[0]


def _check(version: str) -> None:
    if _major(version) not in (*_OLDER, _MAJOR):
        raise RecordError(
            f"schema version {version}; this version of Retrace reads {', '.join(f'{major}.x' for major in _OLDER)} "
            f"and {_MAJOR}.x, use one that reads {version}"
        )
