"""Make the hidden suite of a rebuild task from the original program: rebuild-suite TASK_DIRECTORY IMAGE [--check]

Reads TASK_DIRECTORY/cases.in.yaml (inputs, by group), runs the original on them in a container of IMAGE (built by
`scripts/rebuild-image`) and writes tests/GROUP/cases.json. A case is dropped if the original's answers differ from
run to run, or if a dummy program gives the same answer. --check writes nothing, and fails if the files are not up to
date.
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
"""Runs of the original: the first one sets the expectation, the other three must give the same answers."""
DUMMIES = {
    "silent": "#!/bin/sh\nexit 0\n",
    "failing": "#!/bin/sh\nexit 1\n",
    "echo": '#!/bin/sh\nif [ $# -gt 0 ]; then echo "$*"; else cat; fi\n',
    "usage": '#!/bin/sh\necho "Usage: ${0##*/} [OPTION]... [TEXT]..." >&2\nexit 1\n',
}
KEYS = {"id", "args", "stdin", "env", "files", "for"}

Case = dict[str, Any]


class Mistake(Exception):
    """The list of cases is invalid, or the container gave no answer."""


def substitute(value: Any, name: str, choice: str) -> Any:
    """Return a JSON value with `{name}` replaced by the choice everywhere in it."""
    if isinstance(value, str):
        return value.replace("{" + name + "}", choice)
    if isinstance(value, list):
        return [substitute(item, name, choice) for item in value]
    if isinstance(value, dict):
        return {substitute(key, name, choice): substitute(item, name, choice) for key, item in value.items()}
    return value


def expand(group: str, entry: Case) -> list[Case]:
    """Return the cases that an entry of the list stands for."""
    if unknown := set(entry) - KEYS:
        raise Mistake(
            f"{group}: {entry.get('id')}: unknown key {sorted(unknown)[0]!r}; the keys are {', '.join(sorted(KEYS))}"
        )
    case = {key: value for key, value in entry.items() if key != "for"}
    cases = [case]
    for name, choices in entry.get("for", {}).items():
        cases = [substitute(case, name, str(choice)) for case in cases for choice in choices]
    for case in cases:
        case["args"] = [str(arg) for arg in case.get("args", [])]
    return cases


def read_cases(path: Path) -> dict[str, list[Case]]:
    """Return the cases of a case list, by group. Raises: Mistake, OSError, yaml.YAMLError."""
    groups = yaml.safe_load(path.read_text(encoding="utf-8"))
    expanded = {
        group: [case for entry in entries for case in expand(group, entry)] for group, entries in groups.items()
    }
    for group, cases in expanded.items():
        repeated = [id for id, count in Counter(case["id"] for case in cases).items() if count > 1]
        if repeated:
            raise Mistake(f"{group}: the id {repeated[0]!r} occurs more than once")
    return expanded


def ask(image: str, tests: Path, cases: list[Case]) -> tuple[list[list[Case]], dict[str, list[Case]]]:
    """Return the answers of the original in each run, and the answers of each dummy."""
    runs = [[PROGRAM, None]] * RUNS + [[f"/tmp/dummy/{name}/executable", text] for name, text in DUMMIES.items()]
    command = ["docker", "run", "--rm", "-i", "--network", "none", "--user", "agent", "--workdir", "/tmp"]
    command += ["-v", f"{tests.resolve()}:/suite:ro", "-v", f"{ANSWER}:/answer.py:ro", image]
    command += ["python3", "-B", "-X", "utf8", "/answer.py", "/suite"]
    process = subprocess.run(command, input=json.dumps({"cases": cases, "runs": runs}), capture_output=True, text=True)
    if process.returncode:
        raise Mistake(f"image {image}: {process.stderr.strip() or 'no answer'}")
    answers = json.loads(process.stdout)
    return answers[:RUNS], dict(zip(DUMMIES, answers[RUNS:], strict=True))


def reason_to_drop(at: int, original: list[list[Case]], dummies: dict[str, list[Case]]) -> str | None:
    """Return the reason why the case at this position cannot be used, or None if it can."""
    expected = original[0][at]
    if "failed" in expected:
        return f"the original failed: {expected['detail']}"
    if any(run[at] != expected for run in original[1:]):
        return "the original gives different answers"
    for name, answers in dummies.items():
        if answers[at] == expected:
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


def make(task: Path, image: str, check: bool) -> int:
    """Write the suite, or compare it with its files (`check`); return the exit status."""
    tests = task / "tests"
    groups = read_cases(task / "cases.in.yaml")
    listed = [(group, case) for group, cases in groups.items() for case in cases]
    original, dummies = ask(image, tests, [case for _, case in listed])
    kept: dict[str, list[Case]] = {group: [] for group in groups}
    dropped = 0
    for at, (group, case) in enumerate(listed):
        reason = reason_to_drop(at, original, dummies)
        if reason is None:
            kept[group].append({**case, "expected": original[0][at]})
        else:
            dropped += 1
            print(f"dropped {group}/{case['id']}: {reason}")
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
        print(f"error: differs from the original's answers: {', '.join(stale)}; run without --check", file=sys.stderr)
    return 1 if stale else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="rebuild-suite", description=__doc__.splitlines()[0])
    parser.add_argument("task", type=Path, help="directory of the task, for instance benchmarks/demos/tasks/figlet")
    parser.add_argument("image", help="image with the original, built by scripts/rebuild-image")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the suite is not up to date")
    options = parser.parse_args()
    try:
        return make(options.task, options.image, options.check)
    except (Mistake, OSError, yaml.YAMLError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
