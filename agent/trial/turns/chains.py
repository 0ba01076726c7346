"""The chain that a trial begins: turns with feedback that the user asks for, or the stages of the task."""

from __future__ import annotations

from agent.errors import UserError
from agent.trial.options import Options
from agent.trial.turns.feedback_forms import check_form
from benchmarks.task.task import Task
from environments.protocol import Kind
from trajectories.record.events import Chain, ChainStage

_FEWEST_TURNS = 2


def chain_of(options: Options, task: Task, kind: Kind) -> Chain | None:
    """Return the chain that the options or the task ask for, without the name of its first turn; None without any.

    Raises: UserError.
    """
    return _of_stages(options, task, kind) if task.stages else _of_self_correction(options, task, kind)


def _of_stages(options: Options, task: Task, kind: Kind) -> Chain:
    given = {"--self-correct": options.self_correct, **_options_of_self_correction(options)}
    for option in [name for name, value in given.items() if value is not None and value is not False]:
        raise UserError(
            f"{option} does not apply to {task.id}, whose {len(task.stages)} stages are a chain already; leave it out"
        )
    if kind == "local":
        raise UserError(f"{task.id} has stages, and local cannot be paused between them; choose another --env")
    if not options.evaluate:
        raise UserError(f"{task.id} has stages and needs the result of each; leave --no-evaluate out")
    return Chain(
        first="",
        turns=len(task.stages),
        feedback=None,
        conversation="fresh",
        until="fixed",
        stages=tuple(ChainStage(name=stage.name, gate=dict(stage.gate)) for stage in task.stages),
        result=task.result_of_stages,
    )


def _of_self_correction(options: Options, task: Task, kind: Kind) -> Chain | None:
    turns = options.self_correct
    if turns is None:
        for option in [name for name, value in _options_of_self_correction(options).items() if value]:
            raise UserError(f"{option} goes with --self-correct; add that, or leave {option} out")
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


def _options_of_self_correction(options: Options) -> dict[str, object]:
    return {
        "--feedback": options.feedback,
        "--conversation": options.conversation,
        "--self-correct-until": options.until,
        "--reveal-tests": options.reveal_tests,
    }
