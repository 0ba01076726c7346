"""A task file with several mistakes names all of them at once, each with file, line and key, in every format."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.task.registry import resolve_task
from benchmarks.task.task import TaskError

OWN = """\
titel: x
kind: 3
environments: [docker, dokker]
limits: {steps: many}
evaluation: {timeout: 5 parsecs, cases: 0}
network: "no"
"""
TERMINAL_BENCH = """\
instruction: ""
difficulty: hardest
parser_name: pytset
max_agent_timeout_sec: soon
max_test_timeout_sec: -5
tags: x
"""
HARBOR = """\
artifacts = 3
[agent]
timeout_sec = "x"
[verifier]
environment_mode = "sometimes"
[environment]
cpus = "two"
memory_mb = 1.5
env = ["A"]
"""
PLACES = {
    "task.yaml": {
        OWN: [
            "title: is missing",
            "line 1: titel: unknown key; did you mean title?",
            "line 2: kind: must be a text (put it in quotes), not 3",
            "line 3: environments.1: must be 'docker', 'sandbox' or 'local', not 'dokker'",
            "line 4: limits.steps: 'many' is not a count; write a whole number, or 500k, 2M",
            "line 5: evaluation.cases: must be greater than 0, not 0",
            "line 5: evaluation.timeout: '5 parsecs' is not a duration",
            "line 6: network: must be true or false, not 'no'",
        ],
        TERMINAL_BENCH: [
            "line 1: instruction: must not be empty",
            "line 2: difficulty: must be 'easy', 'medium', 'hard' or 'unknown', not 'hardest'",
            "line 3: parser_name: must be 'pytest', ",
            "line 4: max_agent_timeout_sec: must be a number, not 'soon'",
            "line 5: max_test_timeout_sec: must be greater than 0, not -5",
            "line 6: tags: must be a list, not 'x'",
            "Dockerfile: is missing",
            "run-tests.sh: is missing",
        ],
    },
    "task.toml": {
        HARBOR: [
            "line 1: artifacts: must be a list, not 3",
            "line 3: agent.timeout_sec: must be a number, not 'x'",
            "line 5: verifier.environment_mode: must be 'shared' or 'separate', not 'sometimes'",
            "line 7: environment.cpus: must be a number, not 'two'",
            "line 8: environment.memory_mb: must be a whole number, not 1.5",
            "line 9: environment.env: must be a mapping of keys to values, not ['A']",
            "instruction.md: is missing",
        ]
    },
}
"""The mistakes of each file, by its name and content."""
TYPES = re.compile(r"\b(str|int|float|bool|dict|NoneType|pydantic|BaseModel|Literal|TaskFile|\w+Part|\w*Error)\b")


@pytest.mark.parametrize(("name", "content"), [(name, content) for name in PLACES for content in PLACES[name]])
def test_all_mistakes_come_at_once_with_file_line_and_key(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(TaskError) as raised:
        resolve_task(str(tmp_path))
    message = str(raised.value)
    for mistake in PLACES[name][content]:
        assert mistake in message
    assert f"{tmp_path / name}: " in message
    assert "\n" not in message
    assert not TYPES.search(message.replace(str(tmp_path), ""))
