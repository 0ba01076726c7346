"""The choice of an expert by the value of `--guidance`: a person, a file of answers, or a model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.errors import UserError
from agent.guidance.answers_file import parse_answers
from agent.guidance.experts import INTERVENTIONS, Expert, FileExpert, RecordedExpert
from agent.guidance.material import solution_text
from agent.guidance.no_code import Violation, check, require_parsers
from agent.models.choose import HUMAN, NOP, ORACLE, REPLAY
from agent.models.protocol import Model
from agent.trial.options import Options
from agent.trial.sources import USER_FILES, Sources
from benchmarks.task.task import Task
from scoring.pricing.tables import PriceTable
from trajectories.record.events import Guidance, ModelRef, TextRef
from trajectories.record.interventions import CodeRule

FILE = "file:"


@dataclass(frozen=True)
class Recorded:
    """The expert of a trial that continues or is forked, and the texts that were kept for it."""

    guidance: Guidance
    kept: Callable[[TextRef], bytes | None]


def expert_for(
    options: Options,
    task: Task,
    prices: PriceTable,
    recorded: Recorded | None = None,
    sources: Sources = USER_FILES,
) -> Expert | None:
    """Return the expert that the options name; None if they name none.

    `recorded` is that of the trial that continues, or is forked: its file and its prompt take the place of those in
    the sources.

    Raises: UserError.
    """
    name = options.guidance
    if name is None:
        return None
    rule = options.guidance_rule or "no-code"
    questions = options.max_interventions or INTERVENTIONS
    if rule == "no-code":
        require_parsers()
    if name == HUMAN:
        from agent.guidance.person import Person

        _reject_model_options(options)
        return Person(Guidance(by="human", max=questions, rule=rule))
    if name.startswith(FILE):
        _reject_model_options(options)
        return _file_expert(name.removeprefix(FILE), task, questions, rule, recorded, sources)
    return _model_expert(options, task, prices, questions, rule, recorded, sources)


def recorded_expert(options: Options, model: Model) -> Expert | None:
    """Return the expert of the trial that `--model replay:TRIAL` repeats; None if it had none, or another is named."""
    if options.guidance is not None or not options.model.startswith(REPLAY):
        return None
    from agent.models.free.replay import ReplayModel

    if not isinstance(model, ReplayModel) or model.guidance is None:
        return None
    return RecordedExpert(model.guidance, model.answers)


def _reject_model_options(options: Options) -> None:
    given = {"--guidance-setting": options.guidance_settings, "--guidance-api-base": options.guidance_api_base}
    for option in [option for option, value in given.items() if value]:
        raise UserError(f"{option} does not apply to --guidance {options.guidance}; leave it out")


def _file_expert(
    path: str, task: Task, questions: int, rule: CodeRule, recorded: Recorded | None, sources: Sources
) -> FileExpert:
    kept = recorded.kept(recorded.guidance.file) if recorded is not None and recorded.guidance.file else None
    data = sources.answers(Path(path)) if kept is None else kept

    def violation(answer: str) -> Violation | None:
        return check(answer, language=task.language or None, solution=task.reference)

    # the answers of a record were checked when it began
    answers = parse_answers(data, path, violation if rule == "no-code" and kept is None else None)
    typed = recorded.guidance.file.name if recorded is not None and recorded.guidance.file else path
    file = TextRef(name=typed, sha256=hashlib.sha256(data).hexdigest())
    return FileExpert(Guidance(by="file", file=file, max=questions, rule=rule), answers, (data,))


def _model_expert(
    options: Options,
    task: Task,
    prices: PriceTable,
    questions: int,
    rule: CodeRule,
    recorded: Recorded | None,
    sources: Sources,
) -> Expert:
    from agent.roles.asking import make_asker
    from agent.roles.budget import RoleBudget
    from agent.roles.expert import ModelExpert
    from prompts import parse_role

    name = str(options.guidance)
    if name in (ORACLE, NOP) or name.startswith(REPLAY):
        raise UserError(f"--guidance {name}: an expert is human, file:PATH, or a model (see agent models list)")
    asker = make_asker(
        name,
        option="--guidance",
        settings=options.guidance_settings,
        api_base=options.guidance_api_base,
        prices=prices,
        budget=RoleBudget(),
        sources=sources,
    )
    ref = recorded.guidance.prompt if recorded is not None else None
    kept = recorded.kept(ref) if recorded is not None and ref is not None else None
    prompt = sources.role_prompt("expert") if kept is None else parse_role("expert", kept)
    solution = solution_text(task)
    guidance = Guidance(
        by="model",
        model=_as_recorded(asker.model, recorded),
        prompt=TextRef(name=prompt.name, sha256=prompt.sha256),
        max=questions,
        rule=rule,
        solution_shown=bool(solution),
    )
    return ModelExpert(asker, prompt, guidance, task.instruction, solution)


def _as_recorded(model: ModelRef, recorded: Recorded | None) -> ModelRef:
    """Return the model under the name by which it was asked for first: a script's path may have been relative."""
    before = None if recorded is None else recorded.guidance.model
    same = before is not None and (before.name, before.settings) == (model.name, model.settings)
    return before if before is not None and same else model
