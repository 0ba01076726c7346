"""Rows made by hand. A test gives only the fields that it is about."""

from __future__ import annotations

import random
from dataclasses import replace

from scoring.agentmeter.tiers import TIERS, Tier
from scoring.rows import TrialRow
from trajectories.record.usage import Usage

BASE = TrialRow(
    trial="t",
    directory="runs/b/t",
    batch="b",
    benchmark="bench",
    task="bench/a",
    model="p/m",
    label="m",
    setup="s",
    configuration="c",
    identity="",
    exit_reason="agent",
    exit_cause="submitted",
    verdict="scored",
    passed=False,
    quality=0.0,
)


def trial(task: str = "a", setup: str = "s", attempt: int = 1, **fields: object) -> TrialRow:
    """Return a finished trial; by default it passed if its quality is 1."""
    name = f"{task}.{setup}.{attempt}"
    quality = fields.get("quality", 0.0)
    defaults: dict[str, object] = {
        "trial": name,
        "directory": f"runs/b/{name}",
        "task": task,
        "setup": setup,
        "label": setup,
        "configuration": f"{setup}/{task}",
        "identity": f"{setup}/{task}/{attempt}",
        "attempt": attempt,
        "passed": quality == 1.0,
    }
    return replace(BASE, **{**defaults, **fields})


def synthetic(setups: int, tasks: int, attempts: int, seed: int = 1) -> tuple[list[TrialRow], dict[str, Tier]]:
    """Return trials with random outcomes and costs, and the tiers of their tasks."""
    chance = random.Random(seed)
    tiers = {f"bench/{number:05}": TIERS[number % 3] for number in range(tasks)}
    rows = [
        trial(
            task,
            f"setup-{number:03}",
            attempt,
            model=f"p/model-{number // 4}",
            quality=1.0 if chance.random() < 0.3 else chance.random(),
            cost_usd=chance.lognormvariate(-1, 1.5),
            wall_s=chance.uniform(10, 1000),
            steps=chance.randrange(1, 300),
            usage=Usage(input=chance.randrange(10**6), output=chance.randrange(10**4)),
            finished=f"2026-11-20T11:{attempt:02}:00.000Z",
        )
        for number in range(setups)
        for task in tiers
        for attempt in range(1, attempts + 1)
    ]
    return rows, tiers
