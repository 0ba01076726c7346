"""The changes of a submission as the two lists of a verdict: `changed` and `tampered`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import ValidationError

from benchmarks.judging.mechanisms import ANCESTORS
from benchmarks.programbench.tampering import honest
from benchmarks.programbench.tampering.observation import FILE, Observation, Seen
from benchmarks.programbench.tampering.reach import Reach, led_to
from trajectories.record.verdict import SystemChange

MOST = 100
"""Largest number of changes that each list holds."""
_KINDS: dict[str, Literal["added", "changed", "deleted"]] = {"A": "added", "C": "changed", "D": "deleted"}


@dataclass(frozen=True)
class Changes:
    """The two lists of a verdict; None if nobody looked."""

    changed: tuple[SystemChange, ...] | None = None
    tampered: tuple[SystemChange, ...] | None = None
    notes: tuple[str, ...] = ()


NOBODY_LOOKED = Changes()


def read(directory: Path, *, built: bool, workspace: bool) -> Changes:
    """Return the changes that were seen in an evaluation; `workspace` as for `Reach`.

    `built`: the build came to its end, so somebody should have looked.

    Raises: OSError.
    """
    try:
        observation = Observation.model_validate_json((directory / FILE).read_bytes())
    except FileNotFoundError:
        if not built:
            return Changes()
        observation = Observation(changes=(), problem=f"there is no {FILE}")
    except ValidationError:
        observation = Observation(changes=(), problem=f"{FILE} is malformed")
    return judged(observation, workspace=workspace)


def judged(observation: Observation, *, workspace: bool = True) -> Changes:
    """Return the lists for an observation.

    A directory is listed as changed when something in it is, so it counts only if nothing in it is listed.
    """
    kinds = {path: kind for kind, path in observation.changes}
    parents = {str(parent) for path in kinds for parent in PurePosixPath(path).parents}
    reach = Reach(observation.path, observation.modules, observation.sourced, workspace=workspace)
    compiled = frozenset(observation.compiled)
    tampered: dict[str, str] = {}
    changed: list[str] = []
    for path in sorted(kinds):
        seen = observation.seen.get(path, Seen())
        if path in ANCESTORS and (kinds[path] == "D" or seen.link or seen.data is not None):
            tampered[path] = "directory"
        elif path not in parents and not _excused(kinds[path], path, seen, compiled):
            mechanism = reach.mechanism(path, seen.data)
            if mechanism:
                tampered[path] = mechanism
            elif not honest.is_left_over(kinds[path], path):
                changed.append(path)
    outside = [path for path in kinds if path not in parents and not path.startswith("/workspace/")]
    waiting = list(tampered)
    while waiting:
        seen = observation.seen.get(waiting.pop(), Seen())
        text = (seen.data or b"") + seen.link.encode("utf-8", "surrogateescape")
        for path in led_to(text, outside):
            if path not in tampered:
                tampered[path] = "led_to"
                waiting.append(path)
    if observation.problem:
        tampered["/"] = "not_readable"
    changed = [path for path in changed if path not in tampered]
    return Changes(
        changed=_listed(changed, kinds, {}),
        tampered=_listed(sorted(tampered), kinds, tampered),
        notes=(*_more("changed", len(changed)), *_more("tampered", len(tampered)), *_problem(observation)),
    )


def _excused(kind: str, path: str, seen: Seen, compiled: frozenset[str]) -> bool:
    return any(
        honest.holds(content, path, seen.data, directory=seen.directory, compiled=compiled)
        for content in honest.content_rules(kind, path)
    )


def _listed(paths: Sequence[str], kinds: dict[str, str], reached: dict[str, str]) -> tuple[SystemChange, ...]:
    return tuple(
        SystemChange(path=path, kind=_KINDS[kinds.get(path, "C")], reached_by=reached.get(path, ""))
        for path in paths[:MOST]
    )


def _more(name: str, count: int) -> tuple[str, ...]:
    return (f"{count - MOST} more paths are not listed as {name}",) if count > MOST else ()


def _problem(observation: Observation) -> tuple[str, ...]:
    return (f"the changes of compile.sh cannot be read in full: {observation.problem}",) if observation.problem else ()
