"""Write specs of batches, with the files that they name, and resolve them."""

from __future__ import annotations

from pathlib import Path

from agent.batch.grid.freeze import PlannedUnit, freeze
from agent.batch.grid.resolve import Grid, resolve_spec
from trajectories.batches.events import BatchEvent

SCRIPT = "- commands: ['echo hello > greeting.txt']\n- commands: ['echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT']\n"
EVERY_ARM = """\
tasks: [ledger, cronwhen]
models: ["script:scripts/{task}.yaml", oracle]
arms:
  base: {}
  self-correction: {self_correct: 3, feedback: scores}
  plan: {plan: "plans/{task}.md", plan_rule: no-code}
  guidance: {guidance: "file:answers/{task}.yaml", max_interventions: 2}
  expert: {guidance: "script:scripts/expert.yaml", guidance_rule: none}
  prompt: {prompt: prompts/mine.yaml}
  all: {self_correct: 2, plan: "plans/{task}.md", guidance: "file:answers/{task}.yaml", until: passed}
exclude:
  - {model: oracle, arm: self-correction}
  - {model: oracle, arm: plan}
  - {model: oracle, arm: guidance}
  - {model: oracle, arm: expert}
  - {model: oracle, arm: all}
attempts: 2
limits: {steps: 50, time: 1h, tokens: 2M, cost_usd: 2, command: 60s}
env: sandbox
"""


def write_files(folder: Path) -> Path:
    """Write the files that `EVERY_ARM` names, and return their folder."""
    files = {"scripts/expert.yaml": "- text: Look at the examples.\n", "prompts/mine.yaml": "extends: default\n"}
    for task in ("ledger", "cronwhen"):
        files[f"scripts/{task}.yaml"] = f"# {task}\n{SCRIPT}"
        files[f"plans/{task}.md"] = f"Read the tests of {task} first.\n"
        files[f"answers/{task}.yaml"] = f"- Look at the examples of {task} first.\n"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def grid_of(folder: Path, spec: str, name: str = "study") -> Grid:
    """Resolve a spec beside the files of a folder; its batch is below `runs` there."""
    path = folder / f"{name}.yaml"
    path.write_text(spec)
    return resolve_spec(path, folder / "runs", checks_machine=False)


def frozen(grid: Grid, events: tuple[BatchEvent, ...] = ()) -> list[PlannedUnit]:
    """Freeze a grid, and return its new units."""
    grid.folder.path.mkdir(parents=True, exist_ok=True)
    return freeze(grid, grid.folder, events)
