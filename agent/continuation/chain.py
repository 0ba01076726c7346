"""A chain of turns: one trial after the other in the same environment.

Each is told the result of the one before, or works on the next stage of the task.

What comes next follows from the records alone (`next_point`), so a chain that runs and one that is resumed go the same
way. One lock, on turn 1, covers the chain. Between two turns the environment is paused; whatever ends the chain
releases it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from agent.continuation.recorded_order import order_of, unchanged
from agent.continuation.resume import resolve_resumption
from agent.continuation.turn import later_turn, standing_evaluation
from agent.errors import UserError
from agent.loop.worker import LoopWorker
from agent.trial.fresh import Fresh
from agent.trial.gate import OPEN_GATE, Gate
from agent.trial.options import OptionChanges
from agent.trial.order import Order
from agent.trial.outcome import Outcome
from agent.trial.restoring.standing import standing_of
from agent.trial.run import begin, claimed, named
from agent.trial.session import LockedRecord, locked_record
from agent.trial.sources import USER_FILES, Sources
from agent.trial.turns.keeping import Keeping
from agent.trial.turns.stages import order_at_stage
from trajectories.errors import RecordError
from trajectories.interrupts import interruptible
from trajectories.reading.interventions.progress import NextPart, TurnScore, next_part
from trajectories.reading.reader import first_event, has_begun, read_events
from trajectories.reading.summary import Summary
from trajectories.record.events import Chain, Event, TrialStarted
from trajectories.record.layout import TrialFolder, name_of_turn
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Observer

Watch = Callable[[Order, Sequence[Event], str], AbstractContextManager[Observer | None]]
"""Shows the progress of one turn; it gets the events of a turn that is continued, and the turn in words."""
Results = list[tuple[Outcome, Summary]]
"""The turns that were worked on, in order."""


@dataclass(frozen=True)
class _Again:
    """With what the order of each turn is made again from the record of the first one."""

    sources: Sources
    gate: Gate
    changes: OptionChanges


@dataclass(frozen=True)
class Point:
    """The first point of a chain that is not finished."""

    kind: NextPart
    turn: int
    directory: Path
    """Folder of the turn."""

    def in_words(self, chain: Chain) -> str:
        """Return the point in words."""
        where = {"work": "in", "evaluation": "with the evaluation of", "next turn": "with"}[self.kind]
        return f"{where} {chain.in_words(self.turn)}"


def chain_of(directory: Path) -> tuple[Path, Chain] | None:
    """Return the folder of turn 1 and the chain that a trial belongs to; None if it belongs to none.

    Raises: RecordError; UserError if turn 1 is not beside the trial.
    """
    start = first_event(directory)
    if start.chain is None:
        return None
    first = directory.absolute().parent / name_of_turn(start.chain.first, 1)
    if not TrialFolder(first).is_trial():
        unit = start.chain.unit
        raise UserError(f"{directory.name} is {unit} {start.turn} of a chain whose {unit} 1, {first}, is not there")
    return (directory if start.turn == 1 else directory.parent / first.name), start.chain


def next_point(first: Path, chain: Chain) -> Point | None:
    """Return the first unfinished point of a chain; None if the chain is finished.

    Raises: RecordError, UserError.
    """
    number = _turns_begun(first, chain)
    directory = first.parent / name_of_turn(first.name, number)
    if number == 0:
        raise RecordError(f"{first}: turn 1 of the chain holds no event")
    events = list(read_events(directory))
    _, verdict = standing_evaluation(events)
    score = None if verdict is None else TurnScore(verdict.passed, verdict.metrics)
    part = next_part(chain, number, ended=standing_of(events).exit is not None, score=score)
    if part is None:
        return None
    if part != "next turn":
        return Point(part, number, directory)
    return Point(part, number + 1, first.parent / name_of_turn(first.name, number + 1))


def turns_of(first: Path, chain: Chain) -> list[Path]:
    """Return the folders of the turns whose record has begun.

    Raises: UserError if one is missing before another.
    """
    return [first.parent / name_of_turn(first.name, n) for n in range(1, _turns_begun(first, chain) + 1)]


def _turns_begun(first: Path, chain: Chain) -> int:
    """Return the number of turns whose record has begun.

    Raises: UserError if one is missing before another.
    """
    begun = [turn for turn in range(1, chain.turns + 1) if has_begun(first.parent / name_of_turn(first.name, turn))]
    for number, turn in enumerate(begun, start=1):
        if number != turn:
            missing = first.parent / name_of_turn(first.name, number)
            unit = chain.unit
            raise UserError(
                f"{missing}: {unit} {number} of the chain is missing, but {unit} {turn} is there; restore it"
            )
    return len(begun)


def run_chain(order: Order, watch: Watch, results: Results, place: tuple[Path, TrialStarted] | None = None) -> None:
    """Run a new chain of turns in folders of their own; `results` gets each turn that was worked on.

    `place` is the folder that was made for turn 1, with its event 0; None for the next free attempt.

    Raises: RecordError, UserError, MachineError.
    """
    if order.plan is not None and Masker.from_environment().occurs_in(order.plan.encode()):
        raise UserError(
            f"--plan {order.options.plan}: it holds a secret of this process's environment, so it is not kept, and "
            "later turns could not be given it; leave the secret out"
        )
    directory, first = place or claimed(order, Fresh())
    assert first.chain is not None
    with locked_record(directory) as record, ExitStack() as releasing:
        keeping = Keeping()
        releasing.callback(keeping.release)
        with watch(order, (), first.chain.in_words(1)) as observer:
            results.append(begin(record, first, order, Fresh(), LoopWorker(order), observer, keeping))
        changes: OptionChanges = {"api_base": order.options.api_base, "keep": order.options.keep}
        changes["guidance_api_base"] = order.options.guidance_api_base
        _go_on(record, first.chain, keeping, watch, results, _Again(order.sources, order.gate, changes))


def resume_chain(
    first: Path,
    chain: Chain,
    watch: Watch,
    results: Results,
    say: Callable[[str], None],
    *,
    sources: Sources = USER_FILES,
    gate: Gate = OPEN_GATE,
    **changes: Unpack[OptionChanges],
) -> None:
    """Continue a chain at its first unfinished point, which `say` is told; without one, nothing is done.

    Raises: RecordError, UserError, MachineError, TrialInUse.
    """
    with locked_record(first) as record, ExitStack() as releasing:
        keeping = Keeping()
        releasing.callback(keeping.release)
        point = next_point(first, chain)
        if point is not None:
            say(f"the chain {first.name} continues {point.in_words(chain)}")
            if first_event(first).environment == "docker":
                _remove_paused(first, chain)
        _go_on(record, chain, keeping, watch, results, _Again(sources, gate, changes))


def _remove_paused(first: Path, chain: Chain) -> None:
    """Remove the container that a killed process kept, paused, for the next turn."""
    from environments.leftovers.cleaning import clean_trials

    clean_trials([name_of_turn(first.name, turn) for turn in range(1, chain.turns + 1)])


def _go_on(record: LockedRecord, chain: Chain, keeping: Keeping, watch: Watch, results: Results, again: _Again) -> None:
    """Work from point to point until the chain is finished, or a turn was ended by something else than itself."""
    first = record.folder.path
    while not (results and _ends_chain(results[-1][0])):
        try:
            with interruptible():
                point = next_point(first, chain)
            if point is None:
                return
            keeping.wanted = point.turn < chain.turns
            results.append(_work_at(point, record, chain, keeping, watch, again))
        except KeyboardInterrupt:
            if not results:
                raise
            results[-1][0].interrupted = True
        except BaseException:
            if results:
                results[-1][0].chain_stopped = True
            raise


def _work_at(
    point: Point, first: LockedRecord, chain: Chain, keeping: Keeping, watch: Watch, again: _Again
) -> tuple[Outcome, Summary]:
    """Begin or continue a turn. Its own lock is held, too, because commands about it look for that one."""
    turn = _begin_turn if point.kind == "next turn" else _continue_turn
    if point.turn == 1:
        return turn(first, point, chain, keeping, watch, again)
    try:
        point.directory.mkdir(exist_ok=True)
    except OSError as error:
        raise RecordError(f"{point.directory}: cannot be made ({error.strerror})") from None
    with locked_record(point.directory) as own:
        return turn(own, point, chain, keeping, watch, again)


def _continue_turn(
    record: LockedRecord, point: Point, chain: Chain, keeping: Keeping, watch: Watch, again: _Again
) -> tuple[Outcome, Summary]:
    """Continue a turn that has begun, or evaluate it."""
    with interruptible():
        resumption = resolve_resumption(record, sources=again.sources, gate=again.gate, **again.changes)
    assert resumption.order is not None
    with watch(resumption.order, resumption.events, chain.in_words(point.turn)) as observer:
        outcome = resumption.run(observer, keeping)
    assert outcome is not None
    return outcome, resumption.summary


def _begin_turn(
    record: LockedRecord, point: Point, chain: Chain, keeping: Keeping, watch: Watch, again: _Again
) -> tuple[Outcome, Summary]:
    """Begin the next turn, in the environment of the one before if that was kept."""
    first = point.directory.parent / name_of_turn(chain.first, 1)
    previous = point.directory.parent / name_of_turn(chain.first, point.turn - 1)
    with interruptible():
        start = first_event(first)
        order = order_of(first, start, kept=True, sources=again.sources, **again.changes)
        order = replace(unchanged(first, order, start), gate=again.gate)
        if chain.stages:
            order = order_at_stage(order, point.turn)
        turn = later_turn(order, previous, keeping)
    event = named(turn.first_event(order), point.directory.name, start.attempt)
    _remove_torn_record(record.folder)
    with watch(order, (), chain.in_words(point.turn)) as observer:
        return begin(record, event, order, turn, LoopWorker(order), observer, keeping)


def _remove_torn_record(folder: TrialFolder) -> None:
    """Remove a record without a single whole event, which a crash left behind."""
    for path in (folder.events, folder.packed):
        path.unlink(missing_ok=True)


def _ends_chain(outcome: Outcome) -> bool:
    return outcome.interrupted or outcome.evaluator_failed or not outcome.came_to_its_end
