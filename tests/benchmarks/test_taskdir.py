"""A task directory is read strictly: each problem is one line with the file, the key and the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.task import taskdir
from benchmarks.task.task import TaskError
from trajectories.record.events import Limits

LEAST = "title: T\nkind: repair\nenvironments: [sandbox]\n"
EVALUATED = LEAST + "evaluation: {suite: tests}\n"


def make(root: Path, text: str | bytes = LEAST, **files: str) -> Path:
    directory = root / "mine"
    directory.mkdir()
    (directory / "task.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    for name, content in {"instruction.md": "Do it.\n", **files}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return directory


def refused(directory: Path) -> str:
    with pytest.raises(TaskError) as caught:
        taskdir.load(directory, benchmark="path")
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(str(directory))
    return line.removeprefix(str(directory)).removeprefix("/")


def test_a_minimal_task_takes_the_defaults(tmp_path: Path) -> None:
    task = taskdir.load(make(tmp_path), benchmark="path")
    assert (task.id, task.title, task.instruction, task.kinds) == ("path/mine", "T", "Do it.\n", ("sandbox",))
    assert (task.evaluable, task.limits, task.spec.user, task.spec.network) == (False, Limits(), "agent", False)


def test_every_key_has_its_effect(tmp_path: Path) -> None:
    text = """
title: T
kind: rebuild
language: C
environments: [docker]
image: {reference: "some/image:1", build: {context: image, args: {A: b}}}
workdir: /home/agent/work
user: builder
env: {LANG: C}
network: true
resources: {cpus: 1.5, memory: 2g, pids: 99, disk: 5g, shm: 256m, ulimits: {nofile: 1024, fsize: 1g}}
limits: {steps: 5, time: 1h, tokens: 2M, cost: 3, command: 90s}
prompt: other
evaluation:
  suite: tests
  cases: 3
  program: [python3, "{workspace}/tool.py"]
  withheld: [executable]
  remove: [executable]
  build: make
  build_timeout: 1m
  timeout: 2m
"""
    directory = make(tmp_path, text, **{"image/Dockerfile": "FROM x", "tests/test_a.py": ""})
    task = taskdir.load(directory, benchmark="demo")
    spec = task.spec
    assert (spec.image, spec.user, str(spec.workdir), spec.network) == (
        "some/image:1",
        "builder",
        "/home/agent/work",
        True,
    )
    assert (spec.cpus, spec.memory_bytes, spec.pids, dict(spec.env)) == (1.5, 2 << 30, 99, {"LANG": "C"})
    assert (spec.disk_bytes, spec.shm_bytes) == (5 << 30, 256 << 20)
    assert dict(spec.ulimits) == {"nofile": 1024, "fsize": 1 << 30}
    assert spec.build is not None
    assert (spec.build.context, dict(spec.build.args)) == (directory / "image", {"A": "b"})
    assert task.limits == Limits(steps=5, time_s=3600, tokens=2_000_000, cost_usd=3, command_s=90)
    assert (task.facts["tests"], task.prompt, task.evaluable) == ("3", "other", True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "task.yaml: is empty"),
        ("- a\n", "task.yaml: must be a mapping of keys to values, not a list"),
        ("title: [\n", "task.yaml: line 2: a value is missing, or a bracket is not closed"),
        ("title: a\ntitle: b\n", "task.yaml: kind: is missing; environments: is missing; line 2: title: occurs twice"),
        ("a: &x [1]\nb: *x\n", "task.yaml: line 2: aliases are not allowed"),
        (b"title: caf\xe9\n", "task.yaml: is not UTF-8 (byte 10 is 0xe9)"),
        (
            "title: !!python/name:os.system x\n",
            "task.yaml: line 1: the tag 'tag:yaml.org,2002:python/name:os.system' is not allowed",
        ),
        (LEAST + "titel: x\n", "task.yaml: line 4: titel: unknown key; did you mean title?"),
        ("kind: repair\nenvironments: [local]\n", "task.yaml: title: is missing"),
        (LEAST.replace("T", "7", 1), "task.yaml: line 1: title: must be a text (put it in quotes), not 7"),
        (
            LEAST.replace("sandbox", "vm"),
            "task.yaml: line 3: environments.0: must be 'docker', 'sandbox' or 'local', not 'vm'",
        ),
        (LEAST.replace("sandbox", "docker"), "task.yaml: image: is missing, but environments has docker"),
        (LEAST + "limits: {time: soon}\n", "task.yaml: line 4: limits.time: 'soon' is not a duration"),
        (LEAST + "limits: {steps: 0}\n", "task.yaml: line 4: limits.steps: must be greater than 0, not 0"),
        (LEAST + "resources: {memory: much}\n", "task.yaml: line 4: resources.memory: 'much' is not a size"),
        (LEAST + "resources: {shm: 0}\n", "task.yaml: line 4: resources.shm: must be greater than 0"),
        (
            LEAST + "resources: {ulimits: {files: 3}}\n",
            "task.yaml: line 4: resources.ulimits: 'files' is not a ulimit; use one of as",
        ),
        (
            LEAST + "resources: {ulimits: {nofile: -1}}\n",
            "task.yaml: line 4: resources.ulimits.nofile: -1 is not a size",
        ),
        (LEAST + "workdir: work\n", "task.yaml: line 4: workdir: 'work' is not an absolute path"),
        (LEAST + "network: maybe\n", "task.yaml: line 4: network: must be true or false, not 'maybe'"),
        (EVALUATED + "user: root\n", "task.yaml: user: the suite runs as root"),
        (LEAST + "evaluation: {remove: [../x]}\n", "task.yaml: line 4: evaluation.remove: '../x' is not a path inside"),
        (LEAST + "evaluation: {withheld: [x]}\n", "task.yaml: evaluation.withheld: only docker"),
        (EVALUATED, "task.yaml: line 4: evaluation.suite: 'tests' is not a directory"),
        (LEAST + "evaluation: {suite: ../../etc}\n", "task.yaml: line 4: evaluation.suite: '../../etc' lies outside"),
        (LEAST + "image: {build: {context: ..}}\n", "task.yaml: line 4: image.build.context: '..' lies outside"),
        (LEAST + "image: {build: {}}\n", "task.yaml: line 4: image.build.dockerfile: "),
        ("[" * 5000, "task.yaml: is nested too deeply"),
        ("x: " + "y" * 300_000, "task.yaml: is larger than 262144 bytes"),
    ],
)
def test_each_problem_is_one_line_that_names_its_place(tmp_path: Path, text: str | bytes, reason: str) -> None:
    assert refused(make(tmp_path, text)).startswith(reason)


def test_all_mistakes_are_named_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    text = LEAST.replace("T", "7", 1) + "titel: x\nlimits:\n  steps: many\n  cost: -1\nnetwork: maybe\n"
    assert refused(make(tmp_path, text)).split("; ") == [
        "task.yaml: line 1: title: must be a text (put it in quotes), not 7",
        "line 4: titel: unknown key",
        "did you mean title?",
        "line 6: limits.steps: 'many' is not a count",
        "write a whole number, or 500k, 2M",
        "line 7: limits.cost: must be greater than 0, not -1",
        "line 8: network: must be true or false, not 'maybe'",
    ]


def test_the_mistakes_of_all_files_are_named_together(tmp_path: Path) -> None:
    directory = make(tmp_path, LEAST + "image:\n  build:\n    context: nowhere\nevaluation:\n  suite: suite\n")
    (directory / "instruction.md").write_text(" ")
    (directory / "solution").mkdir()
    with pytest.raises(TaskError) as caught:
        taskdir.read(directory)
    problems = str(caught.value).replace(f"{directory}/", "").split("; ")
    assert problems == [
        "instruction.md: is empty",
        f"{directory}/solution: is empty".replace(f"{directory}/", ""),
        "remove it",
        f"task.yaml: line 8: evaluation.suite: 'suite' is not a directory in {directory}",
        f"task.yaml: line 6: image.build.context: 'nowhere' is not a directory in {directory}",
    ]


def test_missing_files_are_named(tmp_path: Path) -> None:
    directory = make(tmp_path)
    (directory / "instruction.md").unlink()
    assert refused(directory) == "instruction.md: is missing"
    (directory / "task.yaml").unlink()
    assert refused(directory) == "task.yaml: is missing"


def test_the_image_cannot_contain_the_hidden_suite(tmp_path: Path) -> None:
    text = EVALUATED + "image: {build: {context: .}}\n"
    directory = make(tmp_path, text, **{"Dockerfile": "FROM x", "tests/test_a.py": ""})
    assert "contains the hidden suite" in refused(directory)


def test_the_digest_follows_the_content_alone(tmp_path: Path) -> None:
    directory = make(tmp_path, EVALUATED, **{"tests/test_a.py": "x", "workspace/run.sh": "echo"})

    def digest() -> str:
        return taskdir.load(directory, benchmark="path").digest

    before = digest()
    os.utime(directory / "tests/test_a.py", (1, 1))
    (directory / "tests/test_a.py").chmod(0o600)
    (directory / "tests/__pycache__").mkdir()
    (directory / "tests/__pycache__/x.pyc").write_bytes(b"")
    assert digest() == before
    (directory / "workspace/run.sh").chmod(0o755)
    executable = digest()
    (directory / "tests/test_a.py").write_text("y")
    changed = digest()
    (directory / "workspace/run.sh").rename(directory / "workspace/go.sh")
    assert len({before, executable, changed, digest()}) == 4


def test_the_name_of_an_image_follows_its_content(tmp_path: Path) -> None:
    text = LEAST.replace("sandbox", "docker") + "image: {build: {context: image}}\n"
    directory = make(tmp_path, text, **{"image/Dockerfile": "FROM x"})
    first = taskdir.load(directory, benchmark="path").spec.image
    (directory / "instruction.md").write_text("Other.")
    assert taskdir.load(directory, benchmark="path").spec.image == first
    (directory / "image/Dockerfile").write_text("FROM y")
    assert taskdir.load(directory, benchmark="path").spec.image != first
    assert first is not None
    assert first.startswith("retrace-mine:")


def test_the_solution_is_not_part_of_the_digest(tmp_path: Path) -> None:
    directory = make(tmp_path, EVALUATED, **{"tests/test_a.py": "", "tests/solution/kept": ""})
    before = taskdir.load(directory, benchmark="path")
    assert before.solution is None
    (directory / "solution" / "deep").mkdir(parents=True)
    (directory / "solution" / "deep" / "answer").write_text("42")
    after = taskdir.load(directory, benchmark="path")
    assert after.solution == directory / "solution"
    assert after.digest == before.digest
    (directory / "tests" / "solution" / "kept").write_text("changed")  # only the directory of that name at the top
    assert taskdir.load(directory, benchmark="path").digest != before.digest


def test_a_solution_is_a_directory_with_at_least_one_file(tmp_path: Path) -> None:
    directory = make(tmp_path)
    (directory / "solution").mkdir()
    assert refused(directory) == "solution: is empty; remove it"
    (directory / "solution").rmdir()
    (directory / "solution").symlink_to("/usr")
    assert refused(directory) == "solution: is not a directory"


@pytest.mark.parametrize("context", [".", "solution", "solution/image"])
def test_the_image_cannot_contain_the_solution(context: str, tmp_path: Path) -> None:
    text = LEAST.replace("[sandbox]", "[docker]") + f"image: {{build: {{context: {context}}}}}\n"
    directory = make(tmp_path, text, **{f"{context}/Dockerfile": "FROM x", "solution/answer": "42"})
    assert "contains the solution" in refused(directory)


@pytest.mark.parametrize("suite", [".", "solution"])
def test_the_suite_cannot_contain_the_solution(suite: str, tmp_path: Path) -> None:
    text = LEAST + f"evaluation: {{suite: {suite}}}\n"
    directory = make(tmp_path, text, **{f"{suite}/test_a.py": "", "solution/answer": "42"})
    assert "evaluation.suite" in refused(directory)
