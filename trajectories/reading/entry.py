"""What a trial is entered as in a comparison: which benchmark, model, harness and conditions.

Derived from event 0 alone. `setup` is what stays the same from task to task, `configuration` is the setup at this task
(`trajectories.record.identity`), `identity` adds the attempt.
"""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict

from trajectories.record.events import Json, TrialStarted
from trajectories.record.identity import configuration_hash, sha256_of

OWN_HARNESS = "retrace"
_ORACLE = "oracle"


class TrialEntry(BaseModel):
    """Names are as event 0 has them; hashes are sha256 in hex."""

    model_config = ConfigDict(frozen=True)

    id: str
    """The trial's."""
    benchmark: str
    model: str
    """What is requested, for instance `anthropic/claude-opus-4-7`."""
    harness: str
    """`retrace`, or the format that the trial was imported from."""
    label: str
    """The setup for people."""
    setup: str
    """Of harness, model, its settings, prompt, variant, and whether there was a plan or a hint."""
    configuration: str
    identity: str
    variant: str | None
    plan: bool
    """Whether it was given one."""
    turn: int | None
    tier: str | None
    prices: str | None
    """The price snapshot's name."""
    prices_sha256: str | None

    @classmethod
    def of(cls, start: TrialStarted) -> TrialEntry:
        """A trial's entry.

        A setup holds neither limits nor environment, which tasks choose for themselves, nor the text of a plan, which
        differs from task to task; nor, of an import, the prompt, whose text holds the task; nor which solution the
        oracle has.
        """
        harness = OWN_HARNESS if start.imported is None else start.imported.format
        extras = [name for name, text in (("plan", start.plan), ("hint", start.injected or start.parent)) if text]
        said = {
            "harness": harness,
            "model": [start.model.name, _settings(start)],
            "prompt": None if start.imported else start.prompt.sha256,
            "variant": start.variant,
            "extras": extras,
        }
        return cls(
            id=start.trial,
            benchmark=start.task.benchmark,
            model=start.model.name,
            harness=harness,
            label=_label(start, harness, extras),
            setup=sha256_of(said),
            configuration=configuration_hash(start),
            identity=start.identity,
            variant=start.variant,
            plan=start.plan is not None,
            turn=start.turn,
            tier=start.tier,
            prices=(start.prices.name or start.prices.source) if start.prices else None,
            prices_sha256=start.prices.sha256 if start.prices else None,
        )


def _settings(start: TrialStarted) -> Json:
    settings = start.model.settings
    return {key: value for key, value in settings.items() if start.model.name != _ORACLE or key != "sha256"}


def _label(start: TrialStarted, harness: str, extras: list[str]) -> str:
    words = [start.model.name.rpartition("/")[2] or start.model.name]
    if harness != OWN_HARNESS:  # whose file tells all settings, also the usual ones
        words.append(f"({harness})")
    else:
        words += [f"{key}={_short(value)}" for key, value in sorted(_settings(start).items())]
        words += [f"prompt={start.prompt.name}"] if start.prompt.name != "default" else []
    words += [f"+{name}" for name in [*(start.variant or "").split("+"), *extras] if name]
    return " ".join(dict.fromkeys(words))


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= 24 else f"{text[:12]}..."
