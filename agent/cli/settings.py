"""Parse option values as they were typed, with the user's defaults, into `agent.trial.options.Options`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from agent.config import ConfigurableOptions, config_path, defaults, runs_dir, unusable
from agent.errors import UserError
from agent.trial.options import GuidanceChanges, LimitChanges, OptionChanges, Options, TaskChanges
from benchmarks.task.quantities import count, duration_s
from environments.protocol import KINDS, SHELLS, Kind, Shell
from trajectories.reading.runs import batch_folder
from trajectories.record.interventions import CodeRule, Conversation, FeedbackForm, Until

_LONGEST_LABEL = 100
"""Largest number of characters of a label."""
Number = TypeVar("Number", int, float)
Word = TypeVar("Word", bound=str)


def parse_options(
    typed: ConfigurableOptions,
    *,
    task: str | None,
    instruction: str | None,
    image: str | None,
    workspace: Path | None,
    variants: Sequence[str],
    of_task: TaskChanges,
    plan: Path | None,
    plan_rule: str | None,
    guidance: GuidanceChanges,
    settings: Sequence[str],
    checkpoint_every: int | None,
    keep: bool,
    evaluate: bool,
    runs: Path | None,
    batch: str | None,
    label: str | None,
    self_correct: int | None,
    feedback: str | None,
    conversation: str | None,
    until: str | None,
    reveal_tests: bool,
) -> Options:
    """Return the options of `agent solve`; those in `typed` that are not set come from the user's defaults.

    Raises: UserError.
    """
    chosen = typed.or_else(checked_defaults())
    if not chosen.model:
        raise UserError(f"no model: give --model, or set a default in {config_path()}")
    return Options(
        model=chosen.model,
        task=task,
        instruction=instruction,
        image=image,
        workspace=workspace,
        env=environment_kind(chosen.env),
        shell=_shell(chosen.shell),
        variants=tuple(variants),
        prompt=chosen.prompt,
        plan=plan,
        plan_rule=code_rule(plan_rule, "--plan-rule"),
        platform=chosen.platform,
        api_base=chosen.api_base,
        model_settings=model_settings(settings),
        checkpoint_every=checkpoint_every,
        keep=keep,
        prices=chosen.prices,
        evaluate=evaluate,
        runs=runs_dir(runs),
        batch=_batch(runs_dir(runs), batch),
        label=_label(label),
        self_correct=self_correct,
        feedback=choice(feedback, "--feedback", get_args(FeedbackForm)),
        conversation=choice(conversation, "--conversation", get_args(Conversation)),
        until=choice(until, "--self-correct-until", get_args(Until)),
        reveal_tests=reveal_tests,
        **of_task,
        **guidance,
        **limits(chosen),
    )


def checked_defaults() -> ConfigurableOptions:
    """Return the user's defaults.

    Raises: UserError naming the file and all values that cannot be used.
    """
    chosen = defaults()
    reasons = {}
    for name, value in vars(chosen).items():
        alone = ConfigurableOptions(**{name: value})
        try:
            environment_kind(alone.env)
            _shell(alone.shell)
            limits(alone)
        except UserError as error:
            reasons[name.replace("_", "-")] = str(error)
    if reasons:
        raise unusable(reasons)
    return chosen


def fork_changes(
    typed: ConfigurableOptions,
    *,
    image: str | None,
    workspace: Path | None,
    plan: Path | None,
    plan_rule: str | None,
    settings: Sequence[str],
    evaluate: bool,
    guidance: GuidanceChanges | None = None,
) -> OptionChanges:
    """Return the options of `agent fork` that replace those of the parent.

    Raises: UserError.
    """
    changes = cast(
        OptionChanges, {**limits(typed), **(guidance or {})}
    )  # their keys are a subset of those of OptionChanges
    if typed.env is not None:
        changes["env"] = environment_kind(typed.env)
    if typed.prompt is not None:
        changes["prompt"] = typed.prompt
    if typed.prices is not None:
        changes["prices"] = typed.prices
    if image is not None:
        changes["image"] = image
    if workspace is not None:
        changes["workspace"] = workspace
    if plan is not None:
        changes["plan"] = plan
    if plan_rule is not None:
        changes["plan_rule"] = code_rule(plan_rule, "--plan-rule")
    if not evaluate:
        changes["evaluate"] = False
    if typed.model is not None:
        changes["model"] = typed.model
    if settings or typed.model:
        changes["model_settings"] = model_settings(settings)
    if typed.api_base is not None:
        changes["api_base"] = typed.api_base
    if typed.model and not typed.api_base:
        changes["api_base"] = None  # the parent's endpoint must see neither another model's requests nor its key
    return changes


def environment_kind(env: str | None) -> Kind | None:
    """Return the value of `--env` as a kind of environment.

    Raises: UserError if there is no such kind.
    """
    return choice(env, "--env", KINDS)


def code_rule(typed: str | None, option: str) -> CodeRule | None:
    """Return a rule for the texts of plans or answers; None if the option is not set.

    Raises: UserError if there is no such rule.
    """
    return choice(typed, option, get_args(CodeRule))


def choice(typed: str | None, option: str, values: tuple[Word, ...]) -> Word | None:
    """Return the value of an option that is one of these words; None if it is not set.

    Raises: UserError if it is none of them.
    """
    if typed is None:
        return None
    for value in values:
        if typed == value:
            return value
    raise UserError(f"{option} {typed!r} is not one of {', '.join(values)}")


def _batch(runs: Path, typed: str | None) -> str:
    from trajectories.record.layout import TrialFolder

    if typed is None:
        return Options.batch
    folder = batch_folder(runs, typed)
    if TrialFolder(folder).is_trial() or (folder.exists() and not folder.is_dir()):
        raise UserError(f"--batch {typed}: {folder} is not a folder of trials; choose another name")
    return typed


def _label(typed: str | None) -> str | None:
    if typed is not None and not (typed.strip() and typed.isprintable() and len(typed) <= _LONGEST_LABEL):
        raise UserError(f"--label {typed!r}: write one line of 1 to {_LONGEST_LABEL} printable characters")
    return typed


def _shell(typed: str | None) -> Shell:
    return choice(typed, "--shell", SHELLS) or "fresh"


def limits(typed: ConfigurableOptions) -> LimitChanges:
    """Return the limits that are set.

    Raises: UserError.
    """
    limits: LimitChanges = {}
    if (steps := _number(typed.step_limit, "--step-limit", count)) is not None:
        limits["step_limit"] = steps
    if (time_s := _number(typed.time_limit, "--time-limit", duration_s)) is not None:
        limits["time_limit_s"] = time_s
    if (tokens := _number(typed.token_limit, "--token-limit", count)) is not None:
        limits["token_limit"] = tokens
    if typed.cost_limit == "none":  # against a default of the user's, or the limit of a fork's parent
        limits["cost_limit_usd"] = None
    elif (cost_usd := dollars(typed.cost_limit, "--cost-limit")) is not None:
        limits["cost_limit_usd"] = cost_usd
    if (timeout_s := _number(typed.command_timeout, "--command-timeout", duration_s)) is not None:
        limits["command_timeout_s"] = timeout_s
    return limits


def dollars(text: str | None, option: str) -> float | None:
    """Return an amount above 0 in US dollars; None if the option is not set.

    Raises: UserError.
    """
    return _number(text, option, _dollars)


def _dollars(text: str) -> float:
    try:
        return float(text.removeprefix("$"))
    except ValueError:
        raise ValueError(f"{text!r} is not an amount: write US dollars, for instance 2.50") from None


def _number(text: str | None, option: str, parse: Callable[[str], Number]) -> Number | None:
    """Parse a number above 0; None if the option is not set."""
    if text is None:
        return None
    try:
        number = parse(text)
    except ValueError as error:
        raise UserError(f"{option}: {error}") from None
    if not 0 < number < math.inf:
        raise UserError(f"{option} {text}: must be a number above 0")
    return number


def model_settings(pairs: Sequence[str], option: str = "--model-setting") -> dict[str, Any]:
    """Parse KEY=VALUE pairs; the values are YAML.

    Raises: UserError.
    """
    import yaml

    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UserError(f"{option} {pair!r} is not KEY=VALUE")
        try:
            settings[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise UserError(f"{option} {pair!r}: the value is not valid YAML") from None
    return settings
