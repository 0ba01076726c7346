"""The entry of a trial in a comparison: its benchmark, model, harness and conditions, from its first event alone.

A `setup` is the same for all tasks. A `configuration` is a setup at one task (`trajectories.record.identity`), and an
`identity` adds the number of the attempt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from trajectories.record.events import Json, TrialStarted
from trajectories.record.identity import configuration_hash, sha256_of
from trajectories.record.interventions import BASE, Chain, Guidance, Plan, mode_of

OWN_HARNESS = "retrace"
_ORACLE = "oracle"
_USUAL_PROMPTS = ("default", "default-2")
"""Names of prompts that labels leave out: version 1 in records from before versions had names, and the newest."""


class Policy(BaseModel):
    """The interventions in a trial. None where there is no such intervention."""

    model_config = ConfigDict(frozen=True)

    base_setup: str
    """Hash of the setup without plan, chain and expert, which their effect is measured against."""
    plan: Plan | None
    """Plan that the model was given, with its author and the costs of making it."""
    chain: Chain | None
    """Chain that the trial is a turn of. None before schema 2.1."""
    guidance: Guidance | None
    """Expert whom the model may ask."""
    tests_revealed: bool
    """True if the feedback may show more of hidden tests than the benchmark allows."""


class TrialEntry(BaseModel):
    """The names and hashes under which a trial is compared. Hashes are sha256 in hex."""

    model_config = ConfigDict(frozen=True)

    id: str
    """Id of the trial."""
    benchmark: str
    """Name of the benchmark."""
    model: str
    """Name of the model that is requested, for example `anthropic/claude-opus-4-7`."""
    harness: str
    """`retrace`, or the format that the trial was imported from."""
    label: str
    """Description of the setup by itself, with all settings. Reports name setups by the conditions that differ."""
    conditions: dict[str, str] = {}
    """Conditions of the setup by name, as text: `model`, `harness` (empty for our own), `setting KEY`, `prompt`,
    `prompt sha256`, `variant`, `plan`, `origin` (`fork` or `hint`), and those of interventions (`plan by`, `plan rule`,
    `turns`, `feedback`, ...) if there are any. Names of setups are made of those that differ."""
    setup: str
    """Hash of the harness, the model with its settings, the prompt, the variant, and of a plan, a hint, a fork, a
    chain's policy or the expert. All turns of a chain share it."""
    configuration: str
    """Hash of the setup and the task."""
    identity: str
    """Hash of the configuration and the number of the attempt."""
    variant: str | None
    """Variant of the task."""
    plan: bool
    """True if the model was given a plan."""
    mode: str = BASE
    """Mode of the trial, for example `base`, `plan` or `plan-and-interactive`."""
    policy: Policy | None = None
    """Plan, chain and expert of the trial. None without any of them."""
    turn: int | None
    """Number of the turn in a chain of trials with feedback, from 1."""
    tier: str | None
    """Difficulty of the task, as the benchmark names it."""
    prompt: str | None = None
    """Name of the prompt. None for an imported trial."""
    prompt_sha256: str | None = None
    """Hash of the prompt."""
    prices: str | None
    """Name of the price snapshot."""
    prices_sha256: str | None
    """Hash of the price snapshot."""

    @property
    def base_setup(self) -> str:
        """Hash of the setup without plan, chain and expert."""
        return self.setup if self.policy is None else self.policy.base_setup

    @property
    def given_plan(self) -> Plan | None:
        """Plan that the model was given."""
        return None if self.policy is None else self.policy.plan

    @property
    def chain(self) -> Chain | None:
        """Chain that the trial is a turn of."""
        return None if self.policy is None else self.policy.chain

    @classmethod
    def of(cls, start: TrialStarted) -> TrialEntry:
        """Return the entry of a trial from its first event.

        A setup excludes limits and environment, which tasks choose for themselves, and the texts of a plan and of a
        file with answers, which are others for each task. It also excludes the prompt of an imported trial, which holds
        the task, and the oracle's solution.
        """
        imported = start.imported
        harness = OWN_HARNESS if imported is None else imported.agent or imported.format
        origin = "hint" if start.injected else "fork" if start.parent else ""
        origins = [origin] if origin else []
        extras = ["plan", *origins] if start.plan else origins
        base: dict[str, object] = {
            "harness": harness,
            "model": [start.model.name, _settings(start)],
            "prompt": None if imported else start.prompt.sha256,
            "variant": start.variant,
            "extras": origins,
        }
        interventions = _interventions(start)
        setup = base | {"extras": extras} | ({"interventions": interventions} if interventions else {})
        return cls(
            id=start.trial,
            benchmark=start.task.benchmark,
            model=start.model.name,
            harness=harness,
            label=_label(start, harness, [*extras, *_short_interventions(start)]),
            conditions=_conditions(start, harness, origin) | interventions,
            setup=sha256_of(setup),
            configuration=configuration_hash(start),
            identity=start.identity,
            variant=start.variant,
            plan=start.plan is not None,
            mode=start.mode or _mode(start),
            policy=_policy(start, base),
            turn=start.turn,
            tier=start.tier,
            prompt=None if imported else start.prompt.name,
            prompt_sha256=None if imported else start.prompt.sha256,
            prices=(start.prices.name or start.prices.source) if start.prices else None,
            prices_sha256=start.prices.sha256 if start.prices else None,
        )


def _settings(start: TrialStarted) -> Json:
    settings = start.model.settings
    return {key: value for key, value in settings.items() if start.model.name != _ORACLE or key != "sha256"}


def _conditions(start: TrialStarted, harness: str, origin: str) -> dict[str, str]:
    own = harness == OWN_HARNESS
    conditions = {"model": start.model.name, "harness": "" if own else harness}
    conditions |= {
        f"setting {key}": value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for key, value in sorted(_settings(start).items())
    }
    if start.imported is None:
        conditions |= {"prompt": start.prompt.name, "prompt sha256": start.prompt.sha256}
    conditions |= {"variant": start.variant or "", "plan": "plan" if start.plan else "", "origin": origin}
    return conditions


def _mode(start: TrialStarted) -> str:
    return mode_of(chain=start.self_corrects, plan=start.plan is not None, guidance=start.guidance is not None)


def _policy(start: TrialStarted, base: Mapping[str, object]) -> Policy | None:
    if start.plan is None and start.chain is None and start.guidance is None:
        return None
    return Policy(
        base_setup=sha256_of(base),
        plan=start.plan,
        chain=start.chain,
        guidance=start.guidance,
        tests_revealed=start.tests_revealed,
    )


def _interventions(start: TrialStarted) -> dict[str, str]:
    """Return the conditions that interventions add to a setup, by name; empty without any, and before schema 2.1.

    A plan of unknown author adds none, and what the options have without being given is left out, to keep names short.
    """
    plan, chain, guidance = start.plan, start.chain, start.guidance
    conditions: dict[str, str] = {}
    if plan is not None and plan.author == "model" and plan.model is not None:
        conditions["plan by"] = f"plan-by={plan.model.name}"
    elif plan is not None and plan.author == "person":
        conditions["plan by"] = "plan-by=person"
    if plan is not None and plan.rule == "no-code":
        conditions["plan rule"] = "plan-rule=no-code"
    if chain is not None and start.self_corrects:
        conditions |= {"turns": f"turns={chain.turns}", "feedback": f"feedback={chain.feedback}"}
        if chain.conversation != "fresh":
            conditions["conversation"] = f"conversation={chain.conversation}"
        if chain.until != "fixed":
            conditions["until"] = f"until={chain.until}"
    if guidance is not None:
        model, prompt = guidance.model, guidance.prompt
        conditions["guidance"] = f"guidance={model.name if model else guidance.by}"
        conditions["max interventions"] = f"max-interventions={guidance.max}"
        if guidance.rule != "no-code":
            conditions["guidance rule"] = f"guidance-rule={guidance.rule}"
        for key, value in sorted(model.settings.items()) if model is not None else ():
            text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            conditions[f"guidance setting {key}"] = f"guidance-{key}={text}"
        if prompt is not None:
            conditions["guidance prompt sha256"] = prompt.sha256
    if start.tests_revealed:
        conditions["tests"] = "tests-revealed"
    return conditions


def _short_interventions(start: TrialStarted) -> list[str]:
    names = ["self-correction"] if start.chain is not None and start.self_corrects else []
    return [*names, "interactive"] if start.guidance is not None else names


def _label(start: TrialStarted, harness: str, extras: list[str]) -> str:
    words = [start.model.name.rpartition("/")[2] or start.model.name]
    if harness != OWN_HARNESS:  # the file of another harness holds all settings, defaults included
        words.append(f"({harness})")
    else:
        words += [f"{key}={_short(value)}" for key, value in sorted(_settings(start).items())]
        words += [f"prompt={start.prompt.name}"] if start.prompt.name not in _USUAL_PROMPTS else []
    words += [f"+{name}" for name in [*(start.variant or "").split("+"), *extras] if name]
    return " ".join(dict.fromkeys(words))


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= 24 else f"{text[:12]}..."
