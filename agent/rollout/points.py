"""The steps of a parent from which it is rolled out: as they are typed, and what of their state is lost."""

from __future__ import annotations

import re

from agent.continuation.fork import Fork
from agent.errors import UserError
from environments.protocol import Kind
from trajectories.workspace.states import state_at
from trajectories.workspace.tar_stream import left_out

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)
SHARED_FILES = "files outside of the workspace (they are the machine's own, and shared by all children)"


def parse_steps(text: str, last: int, trial: str) -> tuple[int, ...]:
    """Return the steps of `--at` in order: numbers and ranges, such as `5,10,20` or `0-20:5`.

    Raises: UserError for anything else, and for a step that the trial does not have.
    """
    steps: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, end, every = (None, None, None) if match is None else match.groups()
        if first is None or int(every or 1) == 0 or int(end or first) < int(first):
            raise UserError(f"--at {text!r}: {part.strip()!r} is not a step; write steps such as 5,10,20 or 0-20:5")
        if int(end or first) > last:
            raise UserError(f"--at {text}: {trial} has steps 0 to {last}")
        steps.update(range(int(first), int(end or first) + 1, int(every or 1)))
    return tuple(sorted(steps))


def shared_losses(step: int, kind: Kind | str) -> tuple[str, ...]:
    """Return the state that no fork at this step has, although its record names no loss."""
    return (SHARED_FILES,) if kind == "local" and step > 0 else ()


def expected_losses(start: Fork, kind: Kind) -> tuple[str, ...]:
    """Return the state that a fork will lack, one line each, as far as it is known before it starts."""
    lines = [*shared_losses(start.step, kind), *start.lost_live_state(), *start.checkpoint.lost]
    if not start.runs_all:
        state = state_at(start.parent, start.step)
        lines += [f"{skipped.path}: {skipped.why}" for skipped in (*left_out(state.manifest), *state.unread)]
    return tuple(lines)
