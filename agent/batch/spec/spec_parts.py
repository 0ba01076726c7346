"""The parts of a spec's file: their keys, and the values that each takes."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from benchmarks.task.quantities import count, duration_s
from environments.protocol import Shell
from trajectories.record.interventions import CodeRule, Conversation, FeedbackForm, Until
from trajectories.yaml_mistakes import shown


def _count(value: object) -> object:
    return value if isinstance(value, bool) or not isinstance(value, int | str) else count(value)


def _seconds(value: object) -> object:
    return value if isinstance(value, bool) or not isinstance(value, int | float | str) else duration_s(value)


def _texts(value: object) -> object:
    """Return a list as a tuple, which strict models demand."""
    return tuple(value) if isinstance(value, list) else value


def _plain(value: object) -> object:
    """Check that a mapping can be written as JSON."""
    try:
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            json.dumps(value, allow_nan=False)
            return value
    except (TypeError, ValueError):
        pass
    raise ValueError(f"must be a mapping of names to texts and numbers, not {shown(value)}")


Count = Annotated[int, BeforeValidator(_count), Field(gt=0)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0, allow_inf_nan=False)]
Usd = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Texts = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_texts)]
Settings = Annotated[dict[str, Any], BeforeValidator(_plain)]
Text = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ArmOptions(_Part):
    """The options of an arm: names of options of `agent solve`."""

    prompt: Text | None = None
    """Prompt: a name (agent prompts list) or a file."""
    shell: Shell | None = None
    """Shell of the commands, as `--shell`."""
    variants: Texts = ()
    """Variants of the task, as `--variant`."""
    plan: Text | None = None
    """Plan that the model is given: a file, or plans/NAME of agent plan."""
    plan_rule: CodeRule | None = None
    """Rule that the plan must keep: none or no-code."""
    guidance: Text | None = None
    """Expert whom the model may ask: file:PATH with answers, or a model."""
    max_interventions: Annotated[int, Field(ge=1)] | None = None
    """Number of questions that the expert answers."""
    guidance_rule: CodeRule | None = None
    """Rule that answers must keep: no-code or none."""
    guidance_settings: Settings = Field(default_factory=dict)
    """Settings of the model that answers."""
    self_correct: int | None = None
    """Number of turns of a chain, 2 or more."""
    feedback: FeedbackForm | None = None
    """Feedback between turns: output, failing, scores or paths."""
    conversation: Conversation | None = None
    """Conversation of a later turn: fresh or same."""
    until: Until | None = None
    """End of a chain: fixed or passed, as `--self-correct-until`."""
    reveal_tests: bool = False
    """Allow feedback that gives hidden tests away."""
    model_settings: Settings = Field(default_factory=dict)
    """Settings of the model, added to those of its entry in `models`."""


class ModelPart(_Part):
    """An entry of `models` that is a mapping."""

    name: Text
    settings: Settings = Field(default_factory=dict)


class ExclusionPart(_Part):
    """An entry of `exclude`."""

    task: Text | None = None
    model: Text | None = None
    arm: Text | None = None


class LimitsPart(_Part):
    """The value of `limits`."""

    steps: Count | None = None
    time: Seconds | None = None
    tokens: Count | None = None
    cost_usd: Usd | None = None
    command: Seconds | None = None


class BudgetPart(_Part):
    """The value of `budget`."""

    usd: Usd | None = None
    tokens: Count | None = None


class BranchesPart(_Part):
    """The value of `from`."""

    trials: Annotated[Texts, Field(min_length=1)]
    at: Annotated[Text, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class PlainPart(_Part):
    """The keys that are a text or a number."""

    name: Text | None = None
    attempts: Annotated[int, Field(ge=1, le=100_000)] = 1
    env: Text | None = None
    prices: Text | None = None
    workers: Annotated[int, Field(ge=1, le=100_000)] = 4
    evaluations: Annotated[int, Field(ge=1, le=10_000)] = 2
    reruns: Annotated[int, Field(ge=0, le=1000)] = 2
