"""Options of self-correction, checked against the task: the chain that the first turn begins."""

from __future__ import annotations

from agent.errors import UserError
from agent.trial.options import Options
from agent.trial.turns.feedback_forms import check_form
from benchmarks.task.task import Task
from environments.protocol import Kind
from trajectories.record.events import Chain

_FEWEST_TURNS = 2


def chain_of(options: Options, task: Task, kind: Kind) -> Chain | None:
    """Return the chain that the options ask for, without the name of its first turn; None without `--self-correct`.

    Raises: UserError.
    """
    turns = options.self_correct
    if turns is None:
        _require_no_other(options)
        return None
    asked = f"--self-correct {turns}"
    if turns < _FEWEST_TURNS:
        raise UserError(f"{asked}: one turn is not self-correction; ask for {_FEWEST_TURNS} or more, or leave it out")
    if kind == "local":
        raise UserError(f"{asked} does not apply to local, which cannot be paused; choose --env docker or sandbox")
    if not options.evaluate:
        raise UserError(f"{asked} needs the result of each turn; leave --no-evaluate out")
    return Chain(
        first="",
        turns=turns,
        feedback=check_form(task, options.feedback, reveal=options.reveal_tests),
        conversation=options.conversation or "fresh",
        until=options.until or "fixed",
    )


def _require_no_other(options: Options) -> None:
    others = {
        "--feedback": options.feedback,
        "--conversation": options.conversation,
        "--self-correct-until": options.until,
        "--reveal-tests": options.reveal_tests,
    }
    for option in [name for name, value in others.items() if value]:
        raise UserError(f"{option} goes with --self-correct; add that, or leave {option} out")
