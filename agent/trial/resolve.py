"""Resolves what the user asked for into an order.

Everything that can fail before money is spent or a container starts fails here, as a `UserError` or a `MachineError`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import MachineError, UserError
from agent.loop.texts import PromptTexts
from agent.models.retries import RetryPolicy
from agent.option_files import read_text
from agent.trial.options import Options
from agent.trial.order import Order
from agent.trial.sources import USER_FILES, Sources
from agent.trial.turns.chains import chain_of
from agent.trial.turns.feedback_forms import reveals_tests
from benchmarks.task.task import Benchmark, Task
from environments.protocol import Kind
from prompts import Prompt
from trajectories.record.events import TextRef

if TYPE_CHECKING:
    from agent.guidance.choose import Recorded
    from agent.guidance.experts import Expert
    from agent.guidance.plans import GivenPlan
    from agent.models.protocol import Model
    from scoring.pricing.tables import PriceTable

_PLATFORM = re.compile(r"[a-z0-9]+/[a-z0-9_]+(/[a-z0-9.]+)?")


def resolve(
    options: Options,
    prompt: Prompt | None = None,
    task_as_recorded: tuple[Benchmark, Task] | None = None,
    *,
    recorded: bool = False,
    guided: Recorded | None = None,
    sources: Sources = USER_FILES,
) -> Order:
    """Return the order for these options; `prompt` and `task_as_recorded` replace those that the options name.

    With `recorded` the options come from a record: the instruction is its text, and never the name of a file. `guided`
    is the recorded expert, which is not checked: that is for whoever asks it.

    Raises: UserError, MachineError.
    """
    from agent.loop.solution import oracle_limits, require_solutions, solution_of
    from agent.models.choose import ORACLE, make_model
    from agent.models.protocol import ModelUnreachable, ModelUnusable
    from agent.reports.prices import price_problem
    from benchmarks.task.registry import PATH
    from benchmarks.task.task import TaskError
    from environments.choose import choose
    from environments.protocol import EnvironmentUnavailable, MachineLacks
    from prompts import PromptError

    try:
        options = replace(
            options,
            model=_with_found_trial(options.model, options.runs),
            instruction=options.instruction if recorded else text_or_file(options.instruction, "--instruction"),
        )
        if options.image is not None and not options.image.strip():
            raise UserError(f"--image {options.image!r}: name an image, or leave it out")
        benchmark, task = task_as_recorded or _task(options)
        task = benchmark.vary(task, options.variants)
        if task.stages:
            if options.model == ORACLE:
                require_solutions(task)
            task = task.at_stage(1)
        if options.task is not None:  # a short name may come to mean something else, and a path is from here
            options = replace(options, task=str(task.directory) if task.benchmark == PATH else task.id)
        model = make_model(
            options.model,
            settings=options.model_settings,
            api_base=options.api_base,
            solution=solution_of(task) if options.model == ORACLE else None,
            may_ask=options.guidance is not None,
            sources=sources,
        )
        prompt = prompt or sources.prompt(options.prompt or task.prompt)
        plan = _plan(options, task, sources)
        limits = options.limits(oracle_limits(task) if options.model == ORACLE else task.limits)
        prices = sources.prices(options.prices)
        if limits.cost_usd is not None and model.info.free is None:
            problem = price_problem(prices, model.info.ref.name)
            if problem:
                raise UserError(
                    f"--cost-limit {limits.cost_usd:g}: {problem}, so a cost limit could not be kept; choose "
                    "--cost-limit none and set --token-limit instead"
                )
        sources.check_model(model)
        expert = _expert(options, task, prices, model, guided, sources)
        if expert is not None and guided is None:
            expert.check()
        kind = choose(task.kinds, has_image=bool(task.spec.image or task.spec.build), requested=options.env)
        _check_docker_only(options, kind)
        _check_system(options, task, kind)
        if task.shell is not None and options.shell != task.shell:
            raise UserError(f"the tests of {task.id} run in the agent's own shell; give --shell {task.shell}")
        chain = None if recorded else chain_of(options, task, kind)
        spec = replace(
            task.spec,
            kind=kind,
            platform=options.platform or task.spec.platform,
            keep=options.keep,
            output_bytes=limits.output_bytes,
            shell=options.shell,
            env_defaults={name: value for name, value in prompt.variables.items() if name not in task.spec.env},
        )
        sources.check_environment(spec)
    except (ModelUnreachable, MachineLacks) as error:
        raise MachineError(str(error)) from None
    except (ModelUnusable, TaskError, PromptError, EnvironmentUnavailable) as error:
        raise UserError(str(error)) from None
    return Order(
        task=task,
        benchmark=benchmark,
        model=model,
        spec=spec,
        limits=limits,
        texts=PromptTexts(prompt),
        prompt=TextRef(name=prompt.name, sha256=prompt.sha256),
        prices=prices,
        retries=RetryPolicy(),
        runs=options.runs,
        batch=options.batch,
        evaluate=options.evaluate and task.evaluable,
        options=options,
        plan=None if plan is None else plan.text,
        plan_ref=None if plan is None else plan.ref,
        expert=expert,
        prompt_data=prompt.data,
        chain=chain,
        sources=sources,
        tests_revealed=chain is not None and chain.feedback is not None and reveals_tests(task, chain.feedback),
    )


def _plan(options: Options, task: Task, sources: Sources) -> GivenPlan | None:
    """Return the plan that the options name.

    Raises: UserError.
    """
    if options.plan is None:
        if options.plan_rule is not None:
            raise UserError(f"--plan-rule {options.plan_rule} goes with --plan FILE; give one, or leave it out")
        return None
    return sources.plan(options.plan, options.runs, options.plan_rule, task)


def _expert(
    options: Options, task: Task, prices: PriceTable, model: Model, guided: Recorded | None, sources: Sources
) -> Expert | None:
    """Return the expert that the options name, or that of the trial that `--model replay:TRIAL` repeats.

    Raises: UserError.
    """
    from agent.models.choose import REPLAY

    if options.guidance is None:
        given = {
            "--max-interventions": options.max_interventions,
            "--guidance-rule": options.guidance_rule,
            "--guidance-setting": options.guidance_settings or None,
            "--guidance-api-base": options.guidance_api_base,
        }
        for name in [name for name, value in given.items() if value is not None]:
            raise UserError(
                f"{name} does not apply without an expert: give --guidance human, file:PATH or a model as well"
            )
        if not options.model.startswith(REPLAY):
            return None
    from agent.guidance.choose import expert_for, recorded_expert

    return expert_for(options, task, prices, guided, sources) or recorded_expert(options, model)


def _check_docker_only(options: Options, kind: Kind) -> None:
    if options.platform is not None and not _PLATFORM.fullmatch(options.platform):
        raise UserError(f"--platform {options.platform!r} is not a platform; write for instance linux/amd64")
    asked = {
        "--platform": options.platform,
        "--keep": options.keep,
        "--checkpoint-every": options.checkpoint_every,
    }
    for option in [name for name, value in asked.items() if value] if kind != "docker" else []:
        raise UserError(f"{option} does not apply to {kind}; leave it out, or choose --env docker")


def _check_system(options: Options, task: Task, kind: Kind) -> None:
    """Check what belongs to tasks whose result is the whole system.

    Raises: UserError.
    """
    if task.result == "system" and kind != "docker":
        raise UserError(f"{task.id} is judged in its whole container, so {kind} cannot run it; choose --env docker")
    if task.result != "system" and options.isolated_verifier:
        raise UserError(
            f"--isolated-verifier does not apply to {task.id}: its workspace is judged, without any process of the "
            "agent; leave it out"
        )


def _task(options: Options) -> tuple[Benchmark, Task]:
    from agent.config import datasets
    from benchmarks.task.adhoc import adhoc_task
    from benchmarks.task.registry import resolve_task
    from benchmarks.task.task import no_settings

    asked = (("--task", options.task), ("--instruction", options.instruction))
    given = [name for name, value in asked if value is not None]
    if len(given) != 1:
        raise UserError("give either --task TASK, or --instruction TEXT|FILE with --image or --workspace")
    if options.task is not None:
        if options.image or options.workspace:
            raise UserError("--image and --workspace go with --instruction; a task brings its own")
        return resolve_task(options.task, options.task_settings, datasets=datasets())
    assert options.instruction is not None
    if options.image is None and options.workspace is None:
        raise UserError("--instruction needs a place to work: give --image IMAGE or --workspace DIR")
    no_settings("an ad-hoc task", options.task_settings)
    return adhoc_task(options.instruction, image=options.image, workspace=options.workspace)


def text_or_file(text: str | None, option: str) -> str | None:
    """Return the text, or the content of the file that it names.

    Raises: UserError naming the option, also for a path to no file: a path is hardly meant for a model.
    """
    if text is None or len(text) >= 4096 or "\n" in text:
        return text
    if not Path(text).is_file():
        if len(text.split()) == 1 and (text.endswith((".md", ".txt")) or "/" in text or Path(text).is_dir()):
            raise UserError(f"{option} {text!r}: no such file (a literal text needs more than one word)")
        return text
    return read_text(Path(text), option)


def _with_found_trial(model: str, runs: Path) -> str:
    """Return `replay:TRIAL` with the trial's directory."""
    if not model.startswith("replay:") or model == "replay:":
        return model
    from trajectories.reading.runs import find_trial

    return f"replay:{find_trial(model.removeprefix('replay:'), runs)}"
