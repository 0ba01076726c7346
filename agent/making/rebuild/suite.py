"""Make the hidden suite of a rebuild task from the answers of the original.

The original runs on each case of `cases.in.yaml` in a container, and `tests/GROUP/cases.json` gets what it answered. A
case is dropped if the original's answers differ from run to run, or if a dummy program gives the same answer.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.errors import UserError
from agent.making.rebuild import original
from agent.making.rebuild.cases import CASES_FILE, Case, read_cases
from benchmarks.task.task import TASK_FILE, TaskError
from benchmarks.task.taskfile import TaskFile
from benchmarks.task.yaml_file import read_yaml
from environments.protocol import Execution

ANSWER = Path(__file__).with_name("inside") / "answer.py"
RUNS = 4
"""Runs of the original: the first one sets the expectation, the other three must give the same answers."""
DUMMIES = {
    "silent": "#!/bin/sh\nexit 0\n",
    "failing": "#!/bin/sh\nexit 1\n",
    "echo": '#!/bin/sh\nif [ $# -gt 0 ]; then echo "$*"; else cat; fi\n',
    "usage": '#!/bin/sh\necho "Usage: ${0##*/} [OPTION]... [TEXT]..." >&2\nexit 1\n',
}
_GUIDE = "see docs/howto/tasks.md"
_PLACE = "/tmp/retrace-rebuild"
"""Directory in the container for the suite, the requests and the answers."""
_CASE_S = 10
"""Seconds that `answer.py` gives each run of a program."""
_EXTRA_S = 120.0


@dataclass(frozen=True)
class Suite:
    """The suite that the original's answers make."""

    tests: Path
    kept: Mapping[str, Sequence[Case]]
    """Cases with their expectations, by group."""
    dropped: Mapping[str, str]
    """Reasons for which cases were dropped, by GROUP/ID."""

    @property
    def total(self) -> int:
        """Return the number of cases that are kept."""
        return sum(map(len, self.kept.values()))

    def stale(self) -> list[Path]:
        """Return the files that differ from this suite."""
        return [path for path, text in self._files() if not path.is_file() or path.read_text(encoding="utf-8") != text]

    def write(self) -> None:
        """Write the file of each group. Raises: OSError."""
        for path, text in self._files():
            path.write_text(text, encoding="utf-8")

    def _files(self) -> Iterator[tuple[Path, str]]:
        for group, cases in self.kept.items():
            text = pretty(sorted(cases, key=lambda case: str(case["id"]))) + "\n"
            yield self.tests / group / "cases.json", text

    def declared(self) -> int | None:
        """Return the number of cases that the task's own `task.yaml` declares, if it declares one."""
        path = self.tests.parent / TASK_FILE
        with suppress(TaskError):
            evaluation = read_yaml(path, TaskFile).evaluation if path.is_file() else None
            return evaluation.cases if evaluation else None
        return None


def make(task: Path, image: str) -> Suite:
    """Return the suite of a task directory; no file is written.

    Raises: UserError (a missing part of the task, or cases that prove nothing), EnvironmentFault.
    """
    groups = read_cases(task)
    tests = _checked_tests(task / "tests", list(groups))
    listed = [(group, case) for group, cases in groups.items() for case in cases]
    answers, dummies = _ask(image, tests, [case for _, case in listed])
    kept: dict[str, list[Case]] = {group: [] for group in groups}
    dropped = {}
    for at, (group, case) in enumerate(listed):
        reason = reason_to_drop(at, answers, dummies)
        if reason is None:
            kept[group].append({**case, "expected": answers[0][at]})
        else:
            dropped[f"{group}/{case['id']}"] = reason
    for group, cases in kept.items():
        if not cases:
            first = next(f"{id}: {reason}" for id, reason in dropped.items() if id.startswith(f"{group}/"))
            raise UserError(
                f"{task / CASES_FILE}: {group}: every case was dropped ({first}); a group without a test proves nothing"
            )
    return Suite(tests, kept, dropped)


def _checked_tests(tests: Path, groups: Sequence[str]) -> Path:
    """Return the task's tests if they have the parts that a suite needs.

    Raises: UserError.
    """
    conftest = tests / "conftest.py"
    if not conftest.is_file():
        raise UserError(f"{conftest}: is missing; it defines observe(candidate, case, program), {_GUIDE}")
    try:
        names = set(_names(ast.parse(conftest.read_bytes(), str(conftest))))
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UserError(f"{conftest}{line}: is not Python: {getattr(error, 'msg', error)}") from None
    if "observe" not in names:
        raise UserError(f"{conftest}: defines no function observe(candidate, case, program), {_GUIDE}")
    for group in groups:
        if not any((tests / group).glob("test_*.py")):
            raise UserError(f"{tests / group}: has no test_*.py, which runs the cases of this group; {_GUIDE}")
    return tests


def _names(module: ast.Module) -> Iterator[str]:
    """Yield the names that the statements of a module bind."""
    for statement in module.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name for alias in aliases)
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def _ask(image: str, tests: Path, cases: list[Case]) -> tuple[list[list[Case]], dict[str, list[Case]]]:
    """Return the answers of the original in each run, and the answers of each dummy.

    Raises: UserError, EnvironmentFault.
    """
    runs = [[original.PROGRAM, None]] * RUNS
    runs += [[f"/tmp/dummy/{name}/executable", text] for name, text in DUMMIES.items()]
    request = json.dumps({"cases": cases, "runs": runs}).encode()
    suite = {f"suite/{name}": data for name, data in original.files_below(tests).items()}
    with original.container(original.local_image(image), user="agent") as environment:
        original.put(environment, {**suite, "answer.py": ANSWER.read_bytes(), "request.json": request}, _PLACE)
        execution = environment.execute(
            f"test -x {original.PROGRAM} || {{ echo there is no {original.PROGRAM} in it; exit 1; }}\n"
            f"cd /tmp && exec python3 -B -X utf8 {_PLACE}/answer.py {_PLACE}/suite "
            f"<{_PLACE}/request.json >{_PLACE}/answers.json",
            deadline_s=_EXTRA_S + _CASE_S * len(cases) * len(runs),
        )
        if execution.ended != "exited" or execution.exit_code != 0:
            raise UserError(f"{_place(tests, image, execution)}: {original.last_line(execution)}")
        answers = json.loads(original.get(environment, f"{_PLACE}/answers.json"))
    return answers[:RUNS], dict(zip(DUMMIES, answers[RUNS:], strict=True))


def _place(tests: Path, image: str, execution: Execution) -> str:
    """Return the line of the suite's own code that failed, or the image if the traceback names none."""
    pattern = rf'File "{_PLACE}/suite/([^"]+)", line (\d+)'
    places = re.findall(pattern, execution.output.decode("utf-8", "replace"))
    return f"{tests / places[-1][0]}, line {places[-1][1]}" if places else f"image {image}"


def reason_to_drop(at: int, answers: list[list[Case]], dummies: Mapping[str, list[Case]]) -> str | None:
    """Return the reason why the case at this position cannot be used, or None if it can."""
    expected = answers[0][at]
    if "failed" in expected:
        return f"the original failed: {expected['detail']}"
    if any(run[at] != expected for run in answers[1:]):
        return "the original gives different answers"
    for name, own in dummies.items():
        if own[at] == expected:
            return f"the dummy '{name}' passes"
    return None


def pretty(value: Any, depth: int = 0) -> str:
    """Return JSON for reading and comparing: short values on one line, each line of a longer text on its own."""
    flat = json.dumps(value, sort_keys=False)
    if not value or not isinstance(value, list | dict) or (len(flat) < 100 and depth > 1):
        return flat
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        inner = [f"{json.dumps(key)}: {pretty(item, depth + 1)}" for key, item in value.items()]
    else:
        inner = [pretty(item, depth + 1) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{pad}" + f",\n{pad}".join(inner) + f"\n{pad[1:]}{closing}"
