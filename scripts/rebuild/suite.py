"""Makes the hidden suite of a rebuild task from the original program: rebuild-suite TASK_DIRECTORY IMAGE [--check]

Reads TASK_DIRECTORY/cases.in.yaml (inputs, by group), runs the original on them in a container of
IMAGE (`scripts/rebuild-image` makes one) and writes tests/GROUP/cases.json. A case is dropped if the
original does not answer it in the same way each time, or if a dummy program answers it as well.
--check writes nothing and fails if the files differ from what would be written.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

ANSWER = Path(__file__).resolve().with_name("answer.py")
PROGRAM = "/workspace/executable"
RUNS = 4
"""The first run is the expectation; the original must then meet it three times in a row."""
DUMMIES = {
    "silent": "#!/bin/sh\nexit 0\n",
    "failing": "#!/bin/sh\nexit 1\n",
    "echo": '#!/bin/sh\nif [ $# -gt 0 ]; then echo "$*"; else cat; fi\n',
    "usage": '#!/bin/sh\necho "Usage: ${0##*/} [OPTION]... [TEXT]..." >&2\nexit 1\n',
}
KEYS = {"id", "args", "stdin", "env", "files", "for"}

Case = dict[str, Any]


class Mistake(Exception):
    """The case list cannot be used, or the container gave no answer."""


def substitute(value: Any, name: str, choice: str) -> Any:
    if isinstance(value, str):
        return value.replace("{" + name + "}", choice)
    if isinstance(value, list):
        return [substitute(item, name, choice) for item in value]
    if isinstance(value, dict):
        return {substitute(key, name, choice): substitute(item, name, choice) for key, item in value.items()}
    return value


def expand(group: str, given: Case) -> list[Case]:
    """The cases that one entry of the list stands for."""
    if unknown := set(given) - KEYS:
        raise Mistake(
            f"{group}: {given.get('id')}: unknown key {sorted(unknown)[0]!r}; there are {', '.join(sorted(KEYS))}"
        )
    case = {key: value for key, value in given.items() if key != "for"}
    cases = [case]
    for name, choices in given.get("for", {}).items():
        cases = [substitute(case, name, str(choice)) for case in cases for choice in choices]
    for case in cases:
        case["args"] = [str(arg) for arg in case.get("args", [])]
    return cases


def read_cases(path: Path) -> dict[str, list[Case]]:
    groups = yaml.safe_load(path.read_text(encoding="utf-8"))
    expanded = {group: [case for given in cases for case in expand(group, given)] for group, cases in groups.items()}
    for group, cases in expanded.items():
        twice = [id for id, count in Counter(case["id"] for case in cases).items() if count > 1]
        if twice:
            raise Mistake(f"{group}: the id {twice[0]!r} occurs twice")
    return expanded


def ask(image: str, tests: Path, cases: list[Case]) -> tuple[list[list[Case]], dict[str, list[Case]]]:
    """What the original answers in each run, and what each dummy answers."""
    runs = [[PROGRAM, None]] * RUNS + [[f"/tmp/dummy/{name}/executable", text] for name, text in DUMMIES.items()]
    command = ["docker", "run", "--rm", "-i", "--network", "none", "--user", "agent", "--workdir", "/tmp"]
    command += ["-v", f"{tests.resolve()}:/suite:ro", "-v", f"{ANSWER}:/answer.py:ro", image]
    command += ["python3", "-B", "-X", "utf8", "/answer.py", "/suite"]
    done = subprocess.run(command, input=json.dumps({"cases": cases, "runs": runs}), capture_output=True, text=True)
    if done.returncode:
        raise Mistake(f"image {image}: {done.stderr.strip() or 'no answer'}")
    answers = json.loads(done.stdout)
    return answers[:RUNS], dict(zip(DUMMIES, answers[RUNS:], strict=True))


def why_dropped(at: int, original: list[list[Case]], dummies: dict[str, list[Case]]) -> str | None:
    expected = original[0][at]
    if "failed" in expected:
        return f"the original failed: {expected['detail']}"
    if any(run[at] != expected for run in original[1:]):
        return "the original does not repeat its answer"
    for name, answers in dummies.items():
        if answers[at] == expected:
            return f"the dummy '{name}' passes"
    return None


def pretty(value: Any, depth: int = 0) -> str:
    """JSON with one line for what is short and one for each line of a longer text: made to be read and compared."""
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


def make(task: Path, image: str, check: bool) -> int:
    tests = task / "tests"
    groups = read_cases(task / "cases.in.yaml")
    listed = [(group, case) for group, cases in groups.items() for case in cases]
    original, dummies = ask(image, tests, [case for _, case in listed])
    kept: dict[str, list[Case]] = {group: [] for group in groups}
    dropped = 0
    for at, (group, case) in enumerate(listed):
        why = why_dropped(at, original, dummies)
        if why is None:
            kept[group].append({**case, "expected": original[0][at]})
        else:
            dropped += 1
            print(f"dropped {group}/{case['id']}: {why}")
    stale = []
    for group, cases in kept.items():
        file = tests / group / "cases.json"
        text = pretty(sorted(cases, key=lambda case: str(case["id"]))) + "\n"
        if check:
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                stale.append(str(file))
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    counts = ", ".join(f"{group} {len(cases)}" for group, cases in kept.items())
    print(f"{len(listed)} cases, {dropped} dropped, {len(listed) - dropped} kept: {counts}")
    if stale:
        print(f"error: not what the original answers: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="rebuild-suite", description=__doc__.splitlines()[0])
    parser.add_argument("task", type=Path, help="the task's directory, for instance benchmarks/demos/tasks/figlet")
    parser.add_argument("image", help="an image with the original, from scripts/rebuild-image")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the suite is not up to date")
    given = parser.parse_args()
    try:
        return make(given.task, given.image, given.check)
    except (Mistake, OSError, yaml.YAMLError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
