"""Values of templates as they occur: a template of a user's file is tried with each set before a trial begins."""

from __future__ import annotations

from collections.abc import Mapping

SOME_LIMITS: Mapping[str, object] = {"steps": 30, "time_s": 600.0, "tokens": 200_000, "cost_usd": 2.5}
NO_LIMITS: Mapping[str, object] = dict.fromkeys(SOME_LIMITS)
_LITTLE_LEFT: Mapping[str, object] = {
    "steps_left": 1,
    "seconds_left": 90.0,
    "tokens_left": 100,
    "cost_usd_left": 0.01,
    "urgent": True,
    "near_submit": True,
    "submit": "echo SUBMIT",
}
_MUCH_LEFT: Mapping[str, object] = {
    **dict.fromkeys(_LITTLE_LEFT),
    "urgent": False,
    "near_submit": False,
    "submit": "echo SUBMIT",
}
TASK: Mapping[str, object] = {
    "instruction": "Write a linter.",
    "action_format": "tool",
    "workdir": "/workspace",
    "user": "agent",
    "network": False,
    "shell": "fresh",
    "command_s": 180.0,
    **SOME_LIMITS,
    "shown_characters": 12_000,
    "submit": "echo SUBMIT",
    "fence": "retrace_bash",
}
_OBSERVATION: Mapping[str, object] = {
    "ended": "exited",
    "exit_code": 0,
    "signal": None,
    "duration_s": 1.5,
    "bytes": 3,
    "left_running": 0,
    "left_pids": (),
    "shell_lost": None,
    "output": "out",
    "stderr": "",
    **_MUCH_LEFT,
}
OBSERVATIONS: tuple[Mapping[str, object], ...] = (
    _OBSERVATION,
    {**_OBSERVATION, "exit_code": None, "signal": 9, "left_running": None, "output": ""},
    {**_OBSERVATION, "ended": "deadline", "exit_code": None, "duration_s": 180.0, "left_running": 7, **_LITTLE_LEFT},
    {**_OBSERVATION, "ended": "output_cap", "exit_code": None, "bytes": 1 << 26, "shell_lost": "it was killed"},
    {**_OBSERVATION, "ended": "oom", "exit_code": 137, "left_running": 2, "left_pids": (7, 8), "stderr": "err"},
)
FEEDBACK: tuple[Mapping[str, object], ...] = (
    {
        "turn": 2,
        "turns": 3,
        "form": "output",
        "text": "1 failed",
        "cut": True,
        "fence": "```",
        "directory": "/feedback/turn-1",
        "files": ("tests.log", "build.log"),
        "whole": "tests.log",
        "passed": False,
        "lost": (),
    },
    {
        "turn": 3,
        "turns": 3,
        "form": "paths",
        "text": "",
        "cut": False,
        "fence": "```",
        "directory": "/feedback/turn-2",
        "files": (),
        "whole": "",
        "passed": True,
        "lost": ("running processes",),
    },
)
FORMAT_ERRORS: tuple[Mapping[str, object], ...] = (
    {"problem": "it holds no call of the bash tool", **_MUCH_LEFT},
    {"problem": "it holds no call of the bash tool", **_LITTLE_LEFT},
)
