"""Table 4 of LongCLI-Bench for any benchmark: the state after each turn, with a plan, and with an expert, less base.

A line is one setup in one mode, so attempts, turns and modes are never mixed. The result at a turn is the state at
that turn; a pass at this turn or before stands beside it, and the last turn of each attempt is a line of its own.
Figures are means over a task's attempts, then over tasks. Unknown results are left out of means; they are never 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from pydantic import BaseModel, ConfigDict

from scoring.families.longcli import minutes, turns_of
from scoring.interventions.chains import Attempt, attempts_of, state_at, stops_here
from scoring.interventions.facts import InterventionFacts
from scoring.interventions.plan_costs import plans_total
from scoring.rows import TrialRow
from scoring.statistics.intervals import LEVEL, REPLICATES, SEED, Estimate, difference
from trajectories.record.interventions import BASE

MODES = (BASE, "self-correction", "plan", "interactive", "plan-and-interactive")
"""Modes of the paper, in its order."""


_MOST_TURNS = 100
"""Largest number of turns with a line of their own."""


class Less(BaseModel):
    """Differences to the base mode, paired by task. None if no task of both has the figure."""

    model_config = ConfigDict(frozen=True)

    against: str
    """`base`, or `T1` for a chain whose setup has no trials in the base mode."""
    pass_rate: Estimate
    quality: Estimate
    f2p_step: Estimate | None


class ModeState(BaseModel):
    """Figures of one state of all attempts: of whole trials, at one turn, or at the last turn."""

    model_config = ConfigDict(frozen=True)

    tasks: int
    attempts: int
    """Attempts that have this state."""
    missing: int = 0
    """Attempts that lack it, because the chain ended before or the turn has no result."""
    carried: int = 0
    """Attempts that had passed and stopped before; their state is carried on."""
    pass_rate: float | None
    any_turn: float | None = None
    """Share that passed at this turn or at one before. None outside of a chain."""
    f2p_step: float | None
    p2p_step: float | None = None
    quality: float | None = None
    minutes: float | None
    """Time of all turns up to this one."""
    interventions: float | None
    """Mean number of answers of the expert, over all turns up to this one. None without an expert."""
    refusals: float | None = None
    """Mean number of answers that broke the rule."""
    usd: float | None = None
    """Mean cost of all turns up to this one, over known costs."""
    expert_usd: float | None = None
    """Mean cost of the expert's calls, which `usd` leaves out."""
    less: Less | None = None


class TurnOfMode(ModeState):
    """The state at one turn."""

    turn: int


class Mode(ModeState):
    """A line of Table 4: trials of one setup, or the last turns of its chains with the time and costs of all turns."""

    mode: str
    setup: str = ""
    label: str = ""
    policy: str = ""
    """Turns, feedback, conversation, expert and author of the plan, in words."""
    plan_usd: float | None = None
    """Cost of making the plans, each counted once. None if it is unknown, for example of a plan that came as a file."""
    turns: tuple[TurnOfMode, ...] = ()
    """The state at each turn of a chain."""


class InterventionsRow(BaseModel):
    """One mode, for one model in one harness with one prompt."""

    model_config = ConfigDict(frozen=True)

    model: str
    harness: str
    prompt: str | None
    """Name of the prompt, with a number if other prompts have the same name. None for imported trials."""
    mode: Mode


@dataclass(frozen=True)
class _Result:
    """The state of one attempt, with the sums of its turns up to it."""

    row: TrialRow
    any_turn: bool | None
    carried: bool = False

    @property
    def passed(self) -> bool | None:
        return _passed(self.row)


Paired = Callable[[Mapping[str, Sequence[float]], Mapping[str, Sequence[float]]], Estimate]


def modes(
    rows: Sequence[TrialRow], *, level: float = LEVEL, seed: int = SEED, replicates: int = REPLICATES
) -> list[Mode]:
    """Return Table 4 for trials of one harness, model and base setup, the modes of the paper first.

    A setup is a line of its own, and so is a variant of the benchmark.
    """
    paired = partial(difference, level=level, seed=seed, replicates=replicates)
    members: defaultdict[tuple[str, str], list[TrialRow]] = defaultdict(list)
    for row in rows:
        members[_name(row), row.setup].append(row)
    places = {name: place for place, name in enumerate(MODES)}
    order = sorted(members, key=lambda key: (places.get(key[0], len(MODES)), key[0], members[key][0].started, key[1]))
    attempts = {key: attempts_of(members[key]) for key in order}
    return [_mode(key, attempts[key], _base(key, attempts), paired) for key in order]


def intervention_rows(rows: Sequence[TrialRow], *, level: float, seed: int, replicates: int) -> list[InterventionsRow]:
    """Return a line for each mode and setup of each model, harness and prompt, if a trial has another mode than
    `base`."""
    if all(row.mode == BASE for row in rows):
        return []
    members: defaultdict[tuple[str, str, str, str, str], list[TrialRow]] = defaultdict(list)
    for row in rows:
        members[row.model, row.harness, row.prompt or "", row.prompt_sha256 or "", row.base_setup].append(row)
    hashes: defaultdict[str, list[str]] = defaultdict(list)
    for _, _, name, sha256, _ in sorted(members):
        if sha256 not in hashes[name]:
            hashes[name].append(sha256)
    return [
        InterventionsRow(model=model, harness=harness, prompt=_numbered(name, sha256, hashes[name]), mode=mode)
        for (model, harness, name, sha256, _), some in sorted(members.items(), key=lambda item: item[0])
        for mode in modes(some, level=level, seed=seed, replicates=replicates)
    ]


def _mode(key: tuple[str, str], attempts: Sequence[Attempt], base: Sequence[_Result] | None, paired: Paired) -> Mode:
    name, setup = key
    ended = [attempt for attempt in attempts if attempt.result.completed or attempt.result.infrastructure]
    last = [_Result(attempt.result, _any_turn(attempt.turns)) for attempt in ended]
    rows = [row for attempt in attempts for row in attempt.turns]
    is_chain = any(attempt.is_chain for attempt in attempts)
    turns: list[TurnOfMode] = []
    against = BASE
    for number in range(1, _most_turns(rows) + 1) if is_chain else ():
        states = [state for attempt in attempts if (state := _at(attempt, number)) is not None]
        figures = _figures(states, is_chain=True)
        less = _less(states, base, against, paired)
        turns.append(TurnOfMode(turn=number, missing=len(attempts) - len(states), less=less, **figures))
        if number == 1 and base is None:
            base, against = states, "T1"
    plans = plans_total(rows)
    return Mode(
        mode=name,
        setup=setup,
        label=rows[0].label,
        policy=_policy(rows[0].interventions),
        less=_less(last, base, against, paired) if name.split()[0] != BASE else None,
        plan_usd=plans.value if plans else None,
        turns=tuple(turns),
        missing=len(attempts) - len(last),
        **_figures(last, is_chain=is_chain),
    )


def _at(attempt: Attempt, turn: int) -> _Result | None:
    """Return the state of an attempt at a turn; None if it has none. A chain that stops when it passes is carried
    on."""
    so_far = [row for number, row in attempt.by_turn.items() if number <= turn]
    if turn in attempt.by_turn:
        state = _Result(state_at(attempt, turn), _any_turn(so_far))
        return None if state.passed is None else state
    if so_far and stops_here(so_far[-1]):
        return _Result(state_at(attempt, max(attempt.by_turn)), _any_turn(so_far), carried=True)
    return None


def _figures(states: Sequence[_Result], *, is_chain: bool) -> dict[str, float | None]:
    by_row = list(zip(states, turns_of(state.row for state in states), strict=True))
    return {
        "tasks": len({state.row.task for state in states}),
        "attempts": len(states),
        "carried": sum(state.carried for state in states),
        "pass_rate": _mean((state.row.task, state.passed) for state in states),
        "any_turn": _mean((state.row.task, state.any_turn) for state in states) if is_chain else None,
        "f2p_step": _mean((state.row.task, turn.f2p_step) for state, turn in by_row),
        "p2p_step": _mean((state.row.task, turn.p2p_step) for state, turn in by_row),
        "quality": _mean((state.row.task, _quality(state.row)) for state in states),
        "minutes": minutes(_mean((state.row.task, state.row.wall_s) for state in states)),
        "interventions": _mean((state.row.task, state.row.interventions.given) for state in states),
        "refusals": _mean((state.row.task, state.row.interventions.refusals) for state in states),
        "usd": _mean((state.row.task, state.row.cost_usd) for state in states),
        "expert_usd": _mean((state.row.task, state.row.interventions.expert_usd) for state in states),
    }


def _less(ours: Sequence[_Result], theirs: Sequence[_Result] | None, against: str, paired: Paired) -> Less | None:
    """Return the differences to the states that a mode is compared with; None without any."""
    if not theirs or not ours:
        return None
    sides = (ours, theirs)
    passes, qualities, steps = (
        [_by_task((state.row.task, value(state)) for state in side) for side in sides]
        for value in (lambda state: state.passed, lambda state: _quality(state.row), _f2p_step)
    )
    return Less(
        against=against,
        pass_rate=paired(*passes),
        quality=paired(*qualities),
        f2p_step=paired(*steps) if all(steps) else None,
    )


def _base(key: tuple[str, str], attempts: Mapping[tuple[str, str], Sequence[Attempt]]) -> list[_Result] | None:
    """Return the results in the base mode that this line is compared with. None for base itself, and if there is not
    exactly one setup of them in the same variant."""
    mode, *variant = key[0].split(" ", 1)
    same = [other for other in attempts if other[0].split(" ", 1) == [BASE, *variant]]
    if mode == BASE or len(same) != 1:
        return None
    return [_Result(attempt.result, None) for attempt in attempts[same[0]]]


def _name(row: TrialRow) -> str:
    return " +".join((row.mode, *filter(None, (row.variant or "").split("+"))))


def _numbered(name: str, sha256: str, hashes: Sequence[str]) -> str | None:
    """Return the name of a prompt, with its number among several prompts of this name."""
    return f"{name} ({hashes.index(sha256) + 1})" if len(hashes) > 1 else name or None


def _most_turns(rows: Iterable[TrialRow]) -> int:
    return min(_MOST_TURNS, max(max(row.turn or 1, row.interventions.turns or 1) for row in rows))


def _any_turn(rows: Iterable[TrialRow]) -> bool | None:
    passes = [passed for row in rows if (passed := _passed(row)) is not None]
    return any(passes) if passes else None


def _passed(row: TrialRow) -> bool | None:
    """Return if the trial passed; None if that is not known. One that the infrastructure ended counts as failed."""
    if row.infrastructure:
        return False
    if not row.judged:
        return None
    (turn,) = turns_of([row])
    return bool(row.passed) if turn.all_pass is None else turn.all_pass


def _quality(row: TrialRow) -> float | None:
    return 0.0 if row.infrastructure else row.quality if row.judged else None


def _f2p_step(state: _Result) -> float | None:
    (turn,) = turns_of([state.row])
    return turn.f2p_step


def _by_task(values: Iterable[tuple[str, float | None]]) -> dict[str, list[float]]:
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for task, value in values:
        if value is not None:
            by_task[task].append(float(value))
    return by_task


def _mean(values: Iterable[tuple[str, float | None]]) -> float | None:
    by_task = _by_task(values)
    return fmean(map(fmean, by_task.values())) if by_task else None


def _policy(facts: InterventionFacts) -> str:
    """Return the policy of a chain, an expert and a plan in words; empty without any."""
    words = []
    if facts.turns is not None:
        words += [f"{facts.turns} turns", f"feedback {facts.feedback}", f"conversation {facts.conversation}"]
        words += ["until passed"] if facts.until == "passed" else []
        words += ["hidden tests revealed"] if facts.tests_revealed else []
    if facts.guidance_by is not None:
        words.append(f"answers by {facts.guidance_by}, at most {facts.max_interventions}")
    if facts.plan_by is not None:
        words.append(f"plan by {facts.plan_by}")
    return ", ".join(words)
