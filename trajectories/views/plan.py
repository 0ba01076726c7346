"""Terminal view and JSON of the record of a plan."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from trajectories.reading.plans.record import PlanCall, PlanRecord
from trajectories.record.base import Json
from trajectories.record.events import Plan
from trajectories.record.layout import PLANS, TrialFolder
from trajectories.record.texts.text import printable
from trajectories.record.usage import Costs, Usage
from trajectories.views.tables import facts_table


def print_plan(console: Console, record: PlanRecord) -> None:
    """Print the plan and the facts about it."""
    if record.text is not None:
        console.print(Text(printable(record.text).rstrip("\n")), soft_wrap=True)
        console.print()
    facts = [
        ("plan", str(record.path)),
        ("task", record.task.id),
        ("author", author_of(record)),
        ("rule", record.rule),
        ("tokens", _tokens(record.usage)),
        ("cost", costs_in_words(record.costs)),
        ("requests", str(len(record.calls))),
    ]
    if record.text is None:
        facts.insert(1, ("text", "none: no reply could be used"))
    facts_table(facts).print(console)
    for call in record.calls:
        if call.status != "answered":
            console.print(Text(printable(_problem(call)), "yellow"), soft_wrap=True)


def plan_json(record: PlanRecord) -> Json:
    """Return the record of a plan as `--json` prints it."""
    content = record.model_dump(mode="json", by_alias=True)
    content["plan_file"] = str(file) if (file := TrialFolder(record.path).plan).is_file() else None
    content["sha256"] = record.sha256
    return content


def plan_line(record: PlanRecord) -> str:
    """Return where the plan is, who wrote it, by which rule, and what it cost, in one line."""
    cost = "" if record.author == "person" else f", cost {costs_in_words(record.costs)}"
    return f"plan: {TrialFolder(record.path).plan} by {author_of(record)}, rule {record.rule}{cost}"


def given_plan_line(plan: Plan) -> str:
    """Return the plan of a trial in one line: its name, author, cost, rule, record and step, as far as recorded."""
    author = plan.model.asked if plan.model is not None else {"person": "a person", None: ""}.get(plan.author, "a file")
    parts = [f"plan {plan.name}"]
    parts += [f"by {author}"] if author else []
    parts += [f"rule {plan.rule}"] if plan.rule is not None else []
    parts += [f"cost {costs_in_words(plan.costs)}"] if plan.costs is not None else []
    parts += [f"record {PLANS}/{plan.record}"] if plan.record is not None else []
    parts += [f"given after step {plan.step}"] if plan.step else []
    return "   ".join(parts)


def author_of(record: PlanRecord) -> str:
    """Return the model that wrote the plan, or that a person did."""
    return "a person" if record.author == "person" else record.model.asked


def costs_in_words(costs: Costs) -> str:
    """Return the costs of the calls that made a plan."""
    known = [f"{name} ${value:.4f}" for name, value in costs if value is not None]
    return ", ".join(known) or "unknown"


def _tokens(usage: Usage) -> str:
    return f"{usage.prompt:,} of prompts, {usage.output or 0:,} of replies" if usage.total else "none reported"


def _problem(call: PlanCall) -> str:
    if call.status is None:
        return f"request {call.call}: no result is recorded, so its cost is unknown"
    words = {"malformed": "the reply could not be used", "failed": "failed", "cut_off": "cut off"}
    cost = "" if call.costs is None or call.costs.best is not None else " (its cost is unknown)"
    return f"request {call.call}, try {call.try_}: {words.get(call.status, call.status)}: {call.detail}{cost}"
