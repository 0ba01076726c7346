"""Write a file of mini-swe-agent 2.x by hand, and import it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.solve.command import agent

MARK = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
FIRST_S = 1_780_000_000.0
"""Time of the first command, 2026-05-28 at 20:26 UTC."""


@dataclass(frozen=True)
class Ran:
    """A command and its recorded result."""

    command: str
    output: str = ""
    code: int = 0
    shown: str | None = None
    """The text that the model saw; None for the usual one. With it, the file has no raw output."""


def imported(
    folder: Path,
    *ran: Ran,
    submits: tuple[str, str] | None = None,
    times: bool = True,
    environment: dict[str, Any] | None = None,
    together: tuple[str, ...] = (),
) -> Path:
    """Return the imported trial of these commands, then of a submitting command and the text that it handed in.

    The commands `together` belong to the reply that submits, before it; their results are lost, as in a real file.
    """
    messages: list[dict[str, Any]] = [{"role": "system", "content": "s"}, {"role": "user", "content": "task"}]
    for number, run in enumerate(ran):
        messages.append(_reply(number, [run.command]))
        extra: dict[str, Any] = {"returncode": run.code, "exception_info": ""}
        if run.shown is None:
            extra["raw_output"] = run.output
        if times:
            extra["timestamp"] = FIRST_S + number
        shown = (
            f"<returncode>{run.code}</returncode>\n<output>\n{run.output}</output>" if run.shown is None else run.shown
        )
        messages.append({"role": "tool", "content": shown, "tool_call_id": f"c{number}.0", "extra": extra})
    if submits is not None:
        messages.append(_reply(len(ran), [*together, submits[0]]))
        messages.append(
            {
                "role": "exit",
                "content": submits[1],
                "extra": {"exit_status": "Submitted", "submission": submits[1]},
            }
        )
    settings = {"cwd": "/testbed", "interpreter": ["bash", "-c"], "timeout": 60, **(environment or {})}
    document = {
        "info": {
            "exit_status": "Submitted" if submits is not None else "",
            "submission": submits[1] if submits is not None else "",
            "config": {
                "environment": settings,
                "environment_type": "minisweagent.environments.docker.DockerEnvironment",
            },
            "mini_version": "2.2.7",
        },
        "messages": messages,
        "trajectory_format": "mini-swe-agent-1.1",
    }
    path = folder / f"run-{len(list(folder.glob('run-*.json')))}.traj.json"
    path.write_text(json.dumps(document))
    result = agent(folder, "import", str(path), "--json")
    assert result.status == 0, result.err
    (trial,) = [events.parent for events in folder.glob(f"runs/imported/{path.name.split('.')[0]}.*/events.jsonl")]
    return trial


def _reply(number: int, commands: list[str]) -> dict[str, Any]:
    calls = [
        {
            "id": f"c{number}.{k}",
            "type": "function",
            "function": {"name": "bash", "arguments": json.dumps({"command": command})},
        }
        for k, command in enumerate(commands)
    ]
    actions = [{"command": command, "tool_call_id": f"c{number}.{k}"} for k, command in enumerate(commands)]
    return {"role": "assistant", "content": "", "tool_calls": calls, "extra": {"actions": actions}}
