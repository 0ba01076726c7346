"""The keys of the prompts for roles beside a trial (`roles/NAME.yaml`), with the values of their templates.

They come with Retrace; users do not write these files.
"""

from __future__ import annotations

from collections.abc import Mapping

from prompts.keys import Key

_RULE = {"rule": "`no-code`, or `none` if the text may hold code"}

ROLES: Mapping[str, Mapping[str, Key]] = {
    "planner": {
        "system": Key("system message", _RULE, examples=({"rule": "no-code"}, {"rule": "none"})),
        "task": Key(
            "message with the task",
            {
                "instruction": "instruction of the task",
                "workdir": "directory of the workspace",
                "listing": "paths of the initial workspace, one a line",
                "left_out": "number of paths that are left out of the listing",
            },
            examples=(
                {"instruction": "Write a linter.", "workdir": "/workspace", "listing": "a.c (12 bytes)", "left_out": 0},
                {"instruction": "Write a linter.", "workdir": "/workspace", "listing": "", "left_out": 0},
                {"instruction": "Write a linter.", "workdir": "/workspace", "listing": "src/", "left_out": 9},
            ),
        ),
        "again": Key(
            "answer to a plan that cannot be used",
            {
                "line": "line that breaks the rule; none if the reply is empty",
                "line_number": "number of that line; none if the reply is empty",
            },
            examples=({"line": "x = 1", "line_number": 3}, {"line": None, "line_number": None}),
        ),
    },
    "expert": {
        "system": Key(
            "system message",
            {**_RULE, "solution_shown": "true if the task message holds a reference solution"},
            examples=({"rule": "no-code", "solution_shown": True}, {"rule": "none", "solution_shown": False}),
        ),
        "task": Key(
            "message with the task, before the first question",
            {"instruction": "instruction of the task", "solution": "reference solution; empty if there is none"},
            examples=({"instruction": "Write a linter.", "solution": "int main(void) {}"},),
        ),
        "question": Key(
            "question of the agent",
            {"question": "the question", "seen": "last commands, each with its `command` and `result`"},
            examples=(
                {"question": "Where do I begin?", "seen": ()},
                {"question": "And now?", "seen": ({"command": "ls", "result": "exit code: 0"},)},
            ),
        ),
        "again": Key(
            "answer to an answer that cannot be used",
            {
                "line": "line that breaks the rule; none if the reply is empty",
                "broken": "part of the rule that it breaks; none if the reply is empty",
            },
            examples=({"line": "x = 1", "broken": "line of code"}, {"line": None, "broken": None}),
        ),
    },
}
"""Keys of each role's prompt, by the name of the role."""
