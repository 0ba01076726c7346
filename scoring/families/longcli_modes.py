"""Table 4 of LongCLI-Bench: modes of collaboration, such as self-correction, a plan, or an interactive person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from pydantic import BaseModel, ConfigDict

from scoring.families.longcli import Turn, mean_over_tasks, minutes, turns_by_task, turns_of
from scoring.rows import TrialRow

MODES = ("base", "self-correction", "plan", "interactive", "plan-and-interactive")


class Mode(BaseModel):
    """A line of Table 4: the state at the last turn, the time of all turns."""

    model_config = ConfigDict(frozen=True)

    mode: str
    tasks: int
    attempts: int
    pass_rate: float | None
    f2p_step: float | None
    minutes: float | None
    interventions: float | None
    """Mean number per task; None in modes without a person."""


def modes(rows: Sequence[TrialRow]) -> list[Mode]:
    """Return Table 4 for trials of one harness and model, the modes of the paper first.

    A variant of the benchmark makes a line of its own.
    """
    members: defaultdict[str, list[TrialRow]] = defaultdict(list)
    for row in rows:
        members[" +".join((row.mode, *filter(None, (row.variant or "").split("+"))))].append(row)
    places = {name: place for place, name in enumerate(MODES)}
    names = sorted(members, key=lambda name: (places.get(name, len(MODES)), name))
    return [_mode(name, turns_of(members[name])) for name in names]


def _mode(name: str, turns: Sequence[Turn]) -> Mode:
    """Return one line; time and hints are summed over the turns of an attempt."""
    attempts: defaultdict[tuple[str, tuple[str, str, int]], list[Turn]] = defaultdict(list)
    for turn in turns:
        attempts[turn.task, turn.attempt].append(turn)
    last = [max(attempt, key=lambda turn: turn.turn) for attempt in attempts.values()]
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    hints: defaultdict[str, list[float]] = defaultdict(list)
    for (task, _), attempt in attempts.items():
        times = [turn.wall_s for turn in attempt if turn.wall_s is not None]
        if len(times) == len(attempt):
            seconds[task].append(sum(times))
        hints[task].append(sum(turn.hints for turn in attempt))
    return Mode(
        mode=name,
        tasks=len(turns_by_task(turns)),
        attempts=len(attempts),
        pass_rate=mean_over_tasks(last, lambda turn: turn.all_pass),
        f2p_step=mean_over_tasks(last, lambda turn: turn.f2p_step),
        minutes=minutes(fmean(map(fmean, seconds.values())) if seconds else None),
        interventions=fmean(map(fmean, hints.values())) if "interactive" in name and hints else None,
    )
