"""The specs of `scripts/batch-test`: two tasks, two models, and the interventions as arms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from agent.making.new import new_task
from tests.wire.study.script import TOTAL

MODELS = ("openai/gpt-4.1", "openai/gpt-4.1-mini")
_FEW = 40
"""Number of trials up to which a batch has fewer configurations, so that each has several attempts."""
_SLOW = "demo/cronwhen"
"""Task whose evaluation is slow: only the first arm has it."""


def write_spec(folder: Path, env: str, trials: int) -> tuple[Path, int]:
    """Write a spec for about so many trials, and the files that it names; return it with the number of its units."""
    if not (folder / TOTAL.name).exists():
        new_task(folder / TOTAL.name)
    for kind, fault in (("plans", TOTAL.faults[0]), ("answers", TOTAL.faults[1])):
        path = folder / kind / f"{TOTAL.name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{fault.warning}\n" if kind == "plans" else yaml.safe_dump([fault.warning] * 3))
    plan = {"plan": "plans/total.yaml"}
    guidance = {"guidance": "file:answers/total.yaml", "max_interventions": 3}
    arms: dict[str, Any] = {"base": {}, "all": {"self_correct": 2, **plan, **guidance}}
    tasks = [f"./{TOTAL.name}"]
    configurations = len(MODELS) * len(arms)
    if trials > _FEW:
        arms |= {"self-correction": {"self_correct": 2}, "plan": plan, "guidance": guidance}
        tasks.append(_SLOW)
        configurations = len(MODELS) * (len(arms) + 1)
    attempts = max(1, round(trials / configurations))
    spec = {
        "tasks": tasks,
        "models": list(MODELS),
        "arms": arms,
        "attempts": attempts,
        **({"exclude": [{"task": _SLOW, "arm": arm} for arm in list(arms)[1:]]} if _SLOW in tasks else {}),
        "env": env,
        "limits": {"steps": 30, "time": "30m"},
        "budget": {"usd": 1000},
        "workers": 12 if env == "sandbox" else 6,
        "evaluations": 2,
        "reruns": 6,
    }
    path = folder / f"{env}.yaml"
    path.write_text(yaml.safe_dump(spec, sort_keys=False))
    return path, attempts * configurations
