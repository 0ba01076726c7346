"""The keys of a prompt file and the values of its templates, each with its meaning.

Files are checked against this list, and `docs/reference/prompts.md` is made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prompts.examples import FEEDBACK, FORMAT_ERRORS, NO_LIMITS, OBSERVATIONS, SOME_LIMITS, TASK


@dataclass(frozen=True)
class Key:
    """A key whose value is a Jinja template."""

    meaning: str
    values: Mapping[str, str] = field(default_factory=dict)
    """Meaning of each value that the template may use."""
    without: str = ""
    """What is done if the key is missing; empty if it is required."""
    examples: tuple[Mapping[str, object], ...] = ()
    """Sets of values as they occur: a template has to be rendered with each of them."""


_LIMITS = {
    "steps": "replies that the model may give; none without a limit",
    "time_s": "seconds of wall-clock time; none without a limit",
    "tokens": "tokens of all calls together, prompts included; none without a limit",
    "cost_usd": "US dollars; none without a limit, and for a model that is free",
}
_LEFT = {
    "steps_left": "replies left; none unless fewer than 20 are",
    "seconds_left": "seconds left; none unless fewer than 600 are",
    "tokens_left": "tokens left; none unless a fifth or less of the limit is",
    "cost_usd_left": "US dollars left; none unless a fifth or less of the limit is",
    "urgent": "true in the last 5 replies, and if a tenth or less of another limit is left (of the time, also 600 s or "
    "less)",
}
_NEAR_SUBMIT = {
    "near_submit": "true if the end marker is used in a way that does not submit",
    "submit": "the command that submits",
}
_FORMAT_ERROR = {"problem": "what is wrong with the reply, as the end of a sentence", **_NEAR_SUBMIT, **_LEFT}

FALLBACK = "a text of Retrace is used"
"""What is done for a key that has its text in `fallback/`."""

TEMPLATES: Mapping[str, Key] = {
    "system": Key("system message"),
    "task": Key(
        "first message of the user: the instruction and the rules of work",
        {
            "instruction": "instruction of the task",
            "action_format": "`tool`, or `fenced` if commands are fenced blocks in texts",
            "workdir": "directory of the workspace",
            "user": "user that commands run as; none if it has no name",
            "network": "true if commands have a network",
            "shell": "`fresh` (a new shell for each command) or `persistent`",
            "command_s": "seconds after which a command is stopped",
            **_LIMITS,
            "shown_characters": "longest output that is shown whole",
            "submit": "the command that submits",
            "fence": "tag of the fenced block that is run; none in version 1",
        },
        examples=(
            TASK,
            {**TASK, **NO_LIMITS, "action_format": "fenced", "user": None, "network": True, "shell": "persistent"},
        ),
    ),
    "plan": Key(
        "message with the plan, after the task", {"plan": "text of `--plan`"}, examples=({"plan": "First look."},)
    ),
    "observation": Key(
        "answer to a command that was run",
        {
            "ended": "`exited`, `deadline`, `output_cap` or `oom`",
            "exit_code": "exit status; none if a signal ended the command, or it was stopped",
            "signal": "number of the signal that ended the command, or none",
            "duration_s": "seconds that the command took",
            "bytes": "number of bytes that the command printed",
            "left_running": "number of its processes that still run in the background",
            "left_pids": "process ids of up to 5 of them",
            "shell_lost": "reason for which the state of a persistent shell is gone, or none",
            "output": "output, cut in the middle if it is long",
            "stderr": "standard error; empty if both streams are one",
            **_NEAR_SUBMIT,
            **_LEFT,
        },
        examples=OBSERVATIONS,
    ),
    "format_error_tool": Key(
        "answer to a reply that cannot be used, for a model with tools", _FORMAT_ERROR, examples=FORMAT_ERRORS
    ),
    "format_error_fenced": Key(
        "answer to a reply that cannot be used, for a model that writes fenced blocks",
        {**_FORMAT_ERROR, "fence": "tag of the fenced block that is run; none in version 1"},
        examples=tuple({**example, "fence": "retrace_bash"} for example in FORMAT_ERRORS),
    ),
    "not_executed": Key(
        "answer to a tool call that was not run", {"why": "`submitted`"}, examples=({"why": "submitted"},)
    ),
    "resumed": Key(
        "message after a break: the trial was resumed, or continues in a new environment",
        {"lost": "list of what is gone"},
        without="the text of `default-1` is used",
        examples=({"lost": ("files outside of the workspace",)}, {"lost": ()}),
    ),
    "branched": Key(
        "message at the beginning of a fork, after the conversation that it takes over",
        {
            "lost": "list of what is gone",
            "workdir": "directory of the workspace if it is another one than before, otherwise none",
            "command_s": "seconds after which a command is stopped",
            **_LIMITS,
        },
        without="only what is gone is told, and limits are not",
        examples=(
            {"lost": ("files outside of the workspace",), "workdir": None, "command_s": 180.0, **SOME_LIMITS},
            {"lost": (), "workdir": "/workspace", "command_s": 180.0, **NO_LIMITS},
        ),
    ),
    "guidance": Key(
        "message after the task, in trials whose model may ask an expert (`--guidance`)",
        {
            "questions": "number of questions that are answered",
            "rule": "`no-code` if answers must not hold code, otherwise `none`",
            "action_format": "`tool`, or `fenced` if actions are fenced blocks in texts",
            "fence": "tag of the fenced block that asks",
        },
        without=FALLBACK,
        examples=(
            {"questions": 3, "rule": "no-code", "action_format": "tool", "fence": "retrace_ask"},
            {"questions": 1, "rule": "none", "action_format": "fenced", "fence": "retrace_ask"},
        ),
    ),
    "answer": Key(
        "answer to a question of the model",
        {
            "status": "`given`; `replaced` if the answer broke the rule; `nobody` if no answer is available; "
            "`none_left` if no questions are left",
            "text": "answer; empty unless one is given",
            "left": "number of questions that will still be answered",
        },
        without=FALLBACK,
        examples=(
            {"status": "given", "text": "Look at the parser first.", "left": 2},
            {"status": "replaced", "text": "", "left": 1},
            {"status": "nobody", "text": "", "left": 1},
            {"status": "none_left", "text": "", "left": 0},
        ),
    ),
    "feedback": Key(
        "message with the result of a turn, at the beginning of the next one",
        {
            "turn": "number of the turn that begins",
            "turns": "number of turns that the chain may have",
            "form": "form of the feedback: `output`, `failing`, `scores` or `paths`",
            "text": "text of the feedback, cut in the middle if it is long; empty if only files are named",
            "cut": "true if the text is cut",
            "fence": "backticks for the lines before and after the text, more than the text has in a row",
            "directory": "directory of the files: `/feedback/turn-N` of the turn whose result it is",
            "files": "list of the paths of the files in it",
            "whole": "path in it of the file that holds the whole text; empty without a text",
            "passed": "true if the turn before passed all tests",
            "lost": "list of what is gone since the turn before",
        },
        without=FALLBACK,
        examples=FEEDBACK,
    ),
    "cut": Key(
        "line in the place of what is left out of a long output",
        {
            "characters": "number of characters that are left out",
            "first_line": "first line that is not shown whole, from 1",
            "last_line": "last line that is not shown whole",
            "lines": "number of lines of the output",
        },
        without="only the number of characters is told",
        examples=(
            {"characters": 6000, "first_line": 104, "last_line": 131, "lines": 290},
            {"characters": 1, "first_line": 1, "last_line": 1, "lines": 1},
        ),
    ),
}
"""Keys with a template."""

FENCE = "fence"
ASK_FENCE = "ask_fence"
ASK_TAG = "retrace_ask"
SHOWN_CHARACTERS = "shown_characters"
VARIABLES = "variables"
EXTENDS = "extends"
INSTRUCTION = "instruction"
SETTINGS: Mapping[str, str] = {
    ASK_FENCE: f"tag of the fenced block that asks the expert, one word (`{ASK_TAG}` without it)",
    FENCE: "tag of the fenced block that is run, one word; without it, blocks of bash are run by the rule of version 1",
    SHOWN_CHARACTERS: "longest output in characters that is shown whole; of a longer one, the first and the last half "
    "of so many are shown (10,000 without it)",
    VARIABLES: "environment variables of all commands, unless the task or the image sets them",
}
"""Other keys; all of them may be omitted."""
EXTENSION: Mapping[str, str] = {
    EXTENDS: "name of the shipped prompt that has the missing keys; the complete prompt is recorded",
    INSTRUCTION: "text that replaces `{{ instruction }}` in the task of the prompt that is extended; not together with "
    "`task`",
}
"""Keys of a file that extends a shipped prompt."""
JUDGING: Mapping[str, Key] = {
    "system": Key("system message"),
    "case": Key(
        "the record to judge",
        dict.fromkeys(("task", "originals", "workdir", "network", "last_step", "left_out", "transcript"), ""),
    ),
    "again": Key("answer to a judgment that cannot be used", {"problem": ""}),
}
"""Keys of the prompt of a model judge; users do not write these."""


def tables() -> str:
    """Return the keys and values as tables in Markdown."""
    lines = ["| key | content | if it is missing |", "|---|---|---|"]
    lines += [f"| `{name}` | {key.meaning} | {key.without or 'an error'} |" for name, key in TEMPLATES.items()]
    lines += ["", "| key | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in {**SETTINGS, **EXTENSION}.items()]
    for name, key in TEMPLATES.items():
        if key.values:
            lines += ["", f"Values of `{name}`:", "", "| value | meaning |", "|---|---|"]
            lines += [f"| `{value}` | {meaning} |" for value, meaning in key.values.items()]
    return "\n".join(lines)
