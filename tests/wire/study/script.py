"""The scripted models of a study: an agent that works on a known task, a planner, and an expert.

The agent is that of docs/studies/table4, which leaves fewer faults in its program the more it was told. Its skill
depends on the model's name: `gpt-4.1` solves a task wholly, `gpt-4.1-nano` only looks at it, and all others leave
faults. Two marks in the first messages change a conversation: `BUSY 20` is a trial of 20 steps that solves nothing, and
`STEPS 20` is a solution that takes 20 steps.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

Json = dict[str, Any]

STUDY = Path(__file__).parents[3] / "docs" / "studies" / "table4"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("table4_provider_of_studies", STUDY / "provider.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


_table4 = _load()
SUBMIT: str = _table4.SUBMIT
digest = _table4.digest
Fault = _table4.Fault
Task = _table4.Task

SPANS = Task(
    name="spans",
    sign="Rebuild `spans`",
    check="bash compile.sh && ./executable 3 1 2 7 9,8",
    faults=(
        Fault(
            file="spans.py",
            right='if "r" in flags else 1',
            wrong='if "R" in flags else 1',
            tests="test_writes",
            warning="One flag turns the whole order around, of the ranges and within each of them.",
        ),
        Fault(
            file="spans.py",
            right='"m": (2, LIMIT)',
            wrong='"m": (1, LIMIT)',
            tests="test_errors",
            warning="A run of a single number is never shortened, so two is the least that a run can be asked to have.",
        ),
    ),
    question="How small may the smallest run be?",
    careless="",
)
TOTAL = Task(
    name="total",
    sign="Write `total`",
    check="printf '1\\n\\n2\\n' | python3 total.py",
    faults=(
        Fault(
            file="total.py",
            right="int(line) if line.strip() else 0",
            wrong="int(line)",
            tests="test_sum_of_a_file",
            warning="A line of blanks counts as nothing, and is not an error.",
        ),
        Fault(
            file="total.py",
            right="enumerate(lines, 1)",
            wrong="enumerate(lines)",
            tests="test_a_line_that_is_not_a_number",
            warning="People count lines from one, and the message has to do so as well.",
        ),
    ),
    question="Which number has the first line?",
    careless="",
)
"""The task that `agent tasks new` writes, whose evaluation is quick."""
TASKS = (*_table4.TASKS, SPANS, TOTAL)
_DEMOS: Path = _table4.DEMOS
_SOLUTIONS = {"total": STUDY.parents[2] / "agent" / "making" / "templates" / "retrace" / "solution"}
"""Directories of solutions, for tasks that are not among the demos."""

_MARK = re.compile(r"\b(BUSY|STEPS) (\d{1,5})\b")
_PADDING = "seq {0} {1}"


def reply_to(body: Json, steps: int | None = None, busy: int | None = None) -> Json:
    """Return the message of a model to a request; `steps` and `busy` stand in for marks in its messages."""
    messages = body["messages"]
    first = _opening(messages)
    mark = _MARK.search(first)
    if mark is not None:
        steps, busy = (int(mark[2]), None) if mark[1] == "STEPS" else (None, int(mark[2]))
    tools = [tool["function"]["name"] for tool in body.get("tools", ())]
    replies = [message for message in messages if message["role"] == "assistant"]
    if tools and busy is not None:
        return _busy(replies, busy)
    task = next((task for task in TASKS if task.sign in first), None)
    if task is None:
        return {"role": "assistant", "content": "This is no task that I know."}
    if not tools:
        return _role(task, first, careless=bool(task.careless) and not replies)
    return _agent(task, messages, replies, body["model"].rpartition("/")[2], "ask" in tools, steps)


def _opening(messages: list[Json]) -> str:
    """Return the texts before the first reply."""
    texts = []
    for message in messages:
        if message["role"] == "assistant":
            break
        texts.append(str(message["content"]))
    return "\n".join(texts)


def _busy(replies: list[Json], steps: int) -> Json:
    number = len(replies)
    command = SUBMIT if number >= steps - 1 else f"echo step {number + 1}; {_PADDING.format(1, 20)}"
    return _call("bash", number, f"Step {number + 1}.", command=command)


def _role(task: Any, first: str, *, careless: bool) -> Json:
    if careless:
        return {"role": "assistant", "content": task.careless}
    planner = "You write a plan" in first
    return {"role": "assistant", "content": _table4.plan(task) if planner else task.faults[1].warning}


def _agent(task: Any, messages: list[Json], replies: list[Json], model: str, may_ask: bool, steps: int | None) -> Json:
    calls = [call["function"]["name"] for reply in replies for call in reply.get("tool_calls") or ()]
    if may_ask and "ask" not in calls:
        return _call("ask", len(replies), "I am not sure about one point.", question=task.question)
    done = calls.count("bash")
    script = [("I look at the workspace.", "ls -R")]
    if model != "gpt-4.1-nano":
        script.append(("I write the program.", ""))
        script.append(("I try it.", task.check))
    padding = max(0, (steps or 0) - len(script) - 1)
    script += [("I look again.", _PADDING.format(number, number + 20)) for number in range(1, padding + 1)]
    said, command = script[done] if done < len(script) else ("It works, as far as I see.", SUBMIT)
    if not command:
        text = "\n".join(str(message["content"]) for message in messages if message["role"] != "assistant")
        faults = () if model == "gpt-4.1" else tuple(task.faults.index(fault) for fault in _left(task, text))
        command = _written(TASKS.index(task), faults)
    return _call("bash", len(replies), said, command=command)


def _left(task: Any, text: str) -> list[Any]:
    left: list[Any] = _table4.faults_left(task, text)
    return left


@lru_cache(maxsize=64)
def _written(task: int, faults: tuple[int, ...]) -> str:
    """Return the command that writes the files of a task's solution, with these faults."""
    name = TASKS[task].name
    directory = _SOLUTIONS.get(name, _DEMOS / name / "solution")
    commands = []
    for path in sorted(path for path in directory.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        file, content = str(path.relative_to(directory)), path.read_text(encoding="utf-8")
        for fault in (TASKS[task].faults[index] for index in faults):
            if fault.file == file:
                assert fault.right in content, f"{path} does not hold {fault.right!r}"
                content = content.replace(fault.right, fault.wrong)
        commands.append(f"mkdir -p {Path(file).parent}; cat > {file} <<'END_OF_FILE'\n{content}END_OF_FILE")
    return "\n".join(commands)


def _call(name: str, number: int, text: str, **arguments: str) -> Json:
    reply: Json = _table4.call(name, number, text, **arguments)
    return reply
