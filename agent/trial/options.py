"""The options of `agent solve`, parsed but not yet resolved, and their form in the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

from agent.models.redaction import without_secrets
from benchmarks.task.settings import TaskSettings
from environments.protocol import Kind, Shell
from trajectories.record.events import Limits
from trajectories.record.interventions import CodeRule, Conversation, FeedbackForm, Until

_OF_CHAINS = ("self_correct", "feedback", "conversation", "until", "reveal_tests")
_RECORDED_ELSEWHERE = ("runs", "batch", "label", "keep", "plan", "plan_rule", *_OF_CHAINS)
"""Options that are not among the recorded ones: they are elsewhere in the record, or do not matter later."""


@dataclass(frozen=True)
class Options:
    """The options of `agent solve`; None stands for an option that is not set."""

    model: str
    task: str | None = None
    instruction: str | None = None
    image: str | None = None
    workspace: Path | None = None
    env: Kind | None = None
    shell: Shell = "fresh"
    variants: tuple[str, ...] = ()
    """Names of the task's variants."""
    overlay: Path | None = None
    base_images: Mapping[str, str] = field(default_factory=dict)
    test_timeout_multiplier: float | None = None
    isolated_verifier: bool | None = None
    prompt: str | None = None
    plan: Path | None = None
    """File with the plan, or the folder or the name of its record."""
    plan_rule: CodeRule | None = None
    """Rule for the plan; None is that of its record, or none for a file."""
    guidance: str | None = None
    """Expert whom the model may ask: `human`, `file:PATH`, or a model."""
    max_interventions: int | None = None
    """Number of questions that the expert answers."""
    guidance_rule: CodeRule | None = None
    guidance_settings: Mapping[str, Any] = field(default_factory=dict)
    guidance_api_base: str | None = None
    step_limit: int | None = None
    time_limit_s: float | None = None
    token_limit: int | None = None
    cost_limit_usd: float | None = None
    command_timeout_s: float | None = None
    platform: str | None = None
    api_base: str | None = None
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    keep: bool = False
    checkpoint_every: int | None = None
    """Steps between two commits of the whole container; needs docker."""
    prices: str | None = None
    """Name of a price snapshot; None is the table inside the litellm wheel."""
    evaluate: bool = True
    runs: Path = Path("runs")
    batch: str = "single"
    """Folder below `runs` into which the trial is written."""
    label: str | None = None
    """Name for the trial, to find it again; never part of its identity."""
    self_correct: int | None = None
    """Number of turns of a chain."""
    feedback: FeedbackForm | None = None
    conversation: Conversation | None = None
    until: Until | None = None
    reveal_tests: bool = False

    @property
    def task_settings(self) -> TaskSettings:
        """The settings of the task that are among the options."""
        return TaskSettings(
            overlay=self.overlay,
            base_images=self.base_images,
            timeout_multiplier=self.test_timeout_multiplier or 1.0,
            isolated=bool(self.isolated_verifier),
        )

    def limits(self, defaults: Limits) -> Limits:
        """Return the limits of a task, replaced by those that are set."""
        given = {
            "steps": self.step_limit,
            "time_s": self.time_limit_s,
            "tokens": self.token_limit,
            "cost_usd": self.cost_limit_usd,
            "command_s": self.command_timeout_s,
        }
        return defaults.model_copy(update={name: value for name, value in given.items() if value is not None})

    def recorded(self) -> dict[str, Any]:
        """Return the options that are set, as JSON with absolute paths.

        The plan and the contents of the prompt are kept in files of the trial, and the chain in its first event.
        """
        options = {
            key: value
            for key, value in vars(self).items()
            if value not in (None, {}, ()) and key not in _RECORDED_ELSEWHERE
        }
        for name in ("workspace", "overlay"):
            if options.get(name) is not None:
                options[name] = str(options[name].resolve())
        for name in ("api_base", "guidance_api_base"):
            if options.get(name) is not None:
                options[name] = without_secrets(options[name])
        for name in ("model", "guidance"):
            scheme, _, path = (options.get(name) or "").partition(":")
            if scheme in ("script", "replay", "file") and path:
                options[name] = f"{scheme}:{Path(path).resolve()}"
        return options

    @classmethod
    def of(cls, recorded: Mapping[str, Any], **changes: Unpack[OptionChanges]) -> Options:
        """Return the options of a record with these changes; options that this version does not know are dropped."""
        options = {key: value for key, value in recorded.items() if key in cls.__dataclass_fields__}
        options.update(changes)
        for name in ("workspace", "overlay"):
            if options.get(name) is not None:
                options[name] = Path(options[name])
        options["variants"] = tuple(options.get("variants", ()))
        return cls(**options)


class LimitChanges(TypedDict, total=False):
    """The limits among the options; see `Options`."""

    step_limit: int
    time_limit_s: float
    token_limit: int
    cost_limit_usd: float | None
    command_timeout_s: float


class GuidanceChanges(TypedDict, total=False):
    """The options about the expert; see `Options`."""

    guidance: str | None
    max_interventions: int | None
    guidance_rule: CodeRule | None
    guidance_settings: Mapping[str, Any]
    guidance_api_base: str | None


class TaskChanges(TypedDict, total=False):
    """The options that change a task's settings; see `Options`."""

    overlay: Path | None
    base_images: Mapping[str, str]
    test_timeout_multiplier: float | None
    isolated_verifier: bool | None


class OptionChanges(LimitChanges, GuidanceChanges, TaskChanges, total=False):
    """Options that replace those of a record; see `Options`. An absent key changes nothing."""

    model: str
    task: str | None
    instruction: str | None
    image: str | None
    workspace: Path | None
    env: Kind | None
    prompt: str | None
    plan: Path | None
    plan_rule: CodeRule | None
    api_base: str | None
    model_settings: Mapping[str, Any]
    prices: str | None
    keep: bool
    evaluate: bool
    runs: Path
    batch: str
