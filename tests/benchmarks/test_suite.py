"""Failures of an evaluation are told apart: the submission's fault is a score, the evaluator's an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.judging import suite_container, suite_host
from benchmarks.task.submission import Archive
from environments.leftovers.removal import remove_tree
from environments.protocol import Kind
from tests.benchmarks.work import PASSES, SOLUTION, WITHIN, Maker, archive, judged_task
from trajectories.record.verdict import Verdict

DOCKER = pytest.param("docker", marks=pytest.mark.docker)
SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)


@pytest.fixture
def task(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


def failed(verdict: Verdict) -> str:
    assert (verdict.status, verdict.passed, verdict.quality, verdict.cases) == ("error", None, None, ())
    assert "\n" not in verdict.error
    return verdict.error


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX, "local"])
def test_a_verdict_records_its_evaluator_inputs_and_isolation(task: Maker, kind: Kind, tmp_path: Path) -> None:
    verdict = judged_task(task.adapter, task(), kind, SOLUTION, tmp_path / "trial")
    assert (verdict.status, verdict.passed, verdict.quality) == ("scored", True, 1.0), verdict
    assert verdict.evaluator.name == "pytest-suite"
    assert verdict.evaluator.version.startswith("1+pytest-")
    assert {"task", "suite", "workspace", "kind", "python"} <= set(verdict.evaluator.inputs)
    assert ("image_digest" in verdict.evaluator.inputs) == (kind == "docker")
    isolation = {"docker": "fresh container, network off", "sandbox": "fresh directory, suite on", "local": "none: "}
    assert verdict.isolation.startswith(isolation[kind])
    kept = {path.name for path in (tmp_path / "trial/evaluation").iterdir()}
    assert {"suite.log", "results.xml", "collected.json"} <= kept


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_the_network_is_off_for_the_build_and_for_runs(task: Maker, kind: Kind, tmp_path: Path) -> None:
    look = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"
    loaded = task(
        "def test(candidate):\n    assert candidate().stdout == b'lo\\nlo\\n'\n",
        settings="network: true",
        evaluation="build: bash build.sh",
    )
    program = f"#!/bin/sh\ncat $(dirname $0)/built\n{look}\n"
    build = f"chmod +x executable; {look} > built"
    workspace = archive(tmp_path / "w.tar.zst", ("executable", program), ("build.sh", build))
    verdict = task.adapter.evaluate(loaded, Archive(workspace), kind, tmp_path / "scratch")
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_a_build_that_fails_or_hangs_is_a_score_of_zero(task: Maker, kind: Kind, tmp_path: Path) -> None:
    loaded = task(evaluation="build: bash build.sh, build_timeout: 1s")
    for script, reason in (
        ("echo no such thing; exit 3", "exit 3: no such thing"),
        ("sleep 99", "not finished after 1 s"),
    ):
        (tmp_path / "w").mkdir(exist_ok=True)
        workspace = archive(tmp_path / "w.tar.zst", ("build.sh", script))
        verdict = task.adapter.evaluate(loaded, Archive(workspace), kind, tmp_path / "scratch")
        assert (verdict.status, verdict.quality, verdict.passed) == ("scored", 0.0, False), verdict
        assert [case.status for case in verdict.cases] == ["missing"]
        assert reason in verdict.cases[0].message


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
@pytest.mark.parametrize("name", ["../../climbed", "/climbed"])
def test_paths_that_escape_the_workspace_are_rejected(task: Maker, kind: Kind, name: str, tmp_path: Path) -> None:
    workspace = archive(tmp_path / "w.tar.zst", ("a", "1"), (name, "2"))
    assert "climbed" in failed(task.adapter.evaluate(task(), Archive(workspace), kind, tmp_path / "scratch"))
    assert not Path("/climbed").exists()
    assert not Path("/tmp/climbed").exists()


@pytest.mark.sandbox
@pytest.mark.parametrize(("content", "reason"), [(None, "No such file"), (b"", ""), (b"no zstd at all", "w.tar.zst")])
def test_an_unreadable_workspace_is_an_error(task: Maker, content: bytes | None, reason: str, tmp_path: Path) -> None:
    workspace = tmp_path / "w.tar.zst"
    if content is not None:
        workspace.write_bytes(content)
    assert reason in failed(task.adapter.evaluate(task(), Archive(workspace), "sandbox", tmp_path / "scratch"))


@pytest.mark.sandbox
def test_a_torn_workspace_is_an_error(task: Maker, tmp_path: Path) -> None:
    workspace = archive(tmp_path / "w.tar.zst", ("a", os.urandom(3000).hex()), ("b", os.urandom(3000).hex()))
    workspace.write_bytes(workspace.read_bytes()[:-2000])
    failed(task.adapter.evaluate(task(), Archive(workspace), "sandbox", tmp_path / "scratch"))


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
@pytest.mark.parametrize(
    ("suite", "evaluation", "reason"),
    [
        (PASSES, "cases: 2", "the suite has 1 cases, task.yaml says 2"),
        ("import nothing_like_this\n" + PASSES, "", "nothing_like_this"),
        ("x = 1\n", "", "the suite could not be run, exit 5"),
        ("import os\ndef test():\n    os._exit(9)\n", "", "the suite could not be run, exit 9"),
    ],
)
def test_a_broken_suite_is_an_error(
    task: Maker, kind: Kind, suite: str, evaluation: str, reason: str, tmp_path: Path
) -> None:
    workspace = archive(tmp_path / "w.tar.zst", ("executable", "x"))
    loaded = task(suite, evaluation=evaluation)
    assert reason in failed(task.adapter.evaluate(loaded, Archive(workspace), kind, tmp_path / "scratch"))


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX, "local"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "EOF"),
        ('{"pytest": "8", "python": "3", "cases": ["a', "EOF"),
        ('{"pytest": "8", "cases": []}', "python: Field required"),
        ('{"pytest": "8", "python": "3", "cases": [1]}', "cases.0: Input should be a valid string"),
        ("[" * 100000, "recursion"),
        ("\\xff\\xfe", "json"),
    ],
    ids=["empty", "torn", "lacking", "mistyped", "deep", "binary"],
)
def test_a_malformed_list_of_cases_is_an_error(
    task: Maker, kind: Kind, content: str, reason: str, tmp_path: Path
) -> None:
    workspace = archive(tmp_path / "w.tar.zst", ("executable", "x"))
    loaded = task(f"def test():\n    open('../out/collected.json', 'wb').write(b'{content}')\n")
    error = failed(task.adapter.evaluate(loaded, Archive(workspace), kind, tmp_path / "scratch"))
    assert error.startswith("the suite left a collected.json that is no list of cases: ")
    assert reason.lower() in error.lower()


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_a_suite_that_hangs_is_an_error(
    task: Maker, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (suite_container, suite_host):
        monkeypatch.setattr(module, "_GRACE_S", 0.5)
    workspace = archive(tmp_path / "w.tar.zst", ("executable", "x"))
    loaded = task("import time\ntime.sleep(98763)\n" + PASSES, evaluation="case_timeout: 1s")
    (loaded.directory / "task.yaml").write_text(  # type: ignore[operator]
        (loaded.directory / "task.yaml").read_text().replace("timeout: 60s", "timeout: 1s")  # type: ignore[operator]
    )
    error = failed(task.adapter.evaluate(loaded, Archive(workspace), kind, tmp_path / "scratch"))
    assert error.startswith("the suite was ended: deadline after")


@pytest.mark.docker
@pytest.mark.parametrize(
    ("remove", "reason"),
    [
        ("/usr/lib/python3/dist-packages/_pytest", "pytest is missing in this environment"),
        ("/usr/bin/python3", "exit 127: "),
        ("/usr/bin/setpriv", "setpriv is missing in this environment"),
    ],
)
def test_an_image_without_the_tools_of_the_suite_is_an_error(
    task: Maker, remove: str, reason: str, tmp_path: Path
) -> None:
    workbench = (WITHIN / "demos/workbench/Dockerfile").read_text()
    workspace = archive(tmp_path / "w.tar.zst", ("executable", "x"))
    verdict = task.adapter.evaluate(
        task(dockerfile=f"{workbench}RUN rm -rf {remove}\n"), Archive(workspace), "docker", tmp_path / "scratch"
    )
    assert reason in failed(verdict)


@pytest.mark.docker
def test_a_missing_image_is_an_error(task: Maker, tmp_path: Path) -> None:
    loaded = task(settings="#")
    text = (loaded.directory / "task.yaml").read_text()  # type: ignore[operator]
    lines = [
        "image: {reference: 'localhost:1/retrace-none:1'}" if "image:" in line else line for line in text.split("\n")
    ]
    (loaded.directory / "task.yaml").write_text("\n".join(lines))  # type: ignore[operator]
    workspace = archive(tmp_path / "w.tar.zst", ("executable", "x"))
    verdict = task.adapter.evaluate(task.adapter.load("it"), Archive(workspace), "docker", tmp_path / "scratch")
    assert "localhost:1/retrace-none:1" in failed(verdict)


def test_an_environment_that_the_task_does_not_allow_is_an_error(task: Maker, tmp_path: Path) -> None:
    loaded = replace(task(), kinds=("docker",))
    verdict = task.adapter.evaluate(loaded, Archive(tmp_path / "w"), "sandbox", tmp_path / "scratch")
    assert failed(verdict) == "made/it is not evaluated in sandbox, only in docker"


@pytest.mark.docker
def test_running_out_of_memory_or_processes_is_the_candidates_own_fault(task: Maker, tmp_path: Path) -> None:
    suite = (
        "import pytest\n"
        "@pytest.mark.parametrize('how', ['fine', 'memory', 'fork', 'again'])\n"
        "def test(candidate, how):\n    assert candidate(how, timeout=3).stdout == b'yes'\n"
    )
    program = (
        "#!/bin/bash\ncase $1 in\n"
        "memory) exec python3 -c \"x = [bytearray(1 << 20) for _ in range(4000)]; print('no')\";;\n"
        "fork) f() { f | f & }; f; sleep 9;;\n*) printf yes;;\nesac\n"
    )
    workspace = archive(tmp_path / "w.tar.zst", ("executable", program), ("build.sh", "chmod +x executable"))
    loaded = task(suite, "resources: {memory: 256m, pids: 100}", "build: bash build.sh")
    verdict = task.adapter.evaluate(loaded, Archive(workspace), "docker", tmp_path / "scratch")
    assert (verdict.status, verdict.error) == ("scored", "")
    assert [case.status for case in verdict.cases] == ["passed", "failed", "failed", "passed"], verdict.cases


@pytest.mark.parametrize("kind", [SANDBOX, "local"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_no_process_survives_the_end_of_the_harness(
    task: Maker, kind: Kind, name: str, tmp_path: Path, unique_sleep: Callable[[], str]
) -> None:
    line = unique_sleep()
    workspace = archive(
        tmp_path / "w.tar.zst", ("executable", f"#!/bin/sh\n{line}"), ("build.sh", "chmod +x executable")
    )
    loaded = task(evaluation="build: bash build.sh")
    code = (
        "import sys; from pathlib import Path; from benchmarks.task.directory import TaskDirectories\n"
        "from benchmarks.task.submission import Archive\n"
        "adapter = TaskDirectories('made', Path(sys.argv[1]), within=Path('/'))\n"
        "adapter.evaluate(adapter.load('it'), Archive(Path(sys.argv[2])), sys.argv[3], Path(sys.argv[4]))\n"
    )
    assert loaded.directory is not None
    arguments = [loaded.directory.parent, workspace, kind, tmp_path / "scratch"]
    with subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.DEVNULL) as harness:
        wait_for(lambda: running(line))
        harness.send_signal(getattr(signal, name))
    wait_for(lambda: not running(line))
    for place in (Path(tempfile.gettempdir()), Path("/dev/shm")):  # SIGKILL leaves nobody to remove it
        for left in place.glob(f"retrace-{harness.pid}-*"):
            remove_tree(left)


@pytest.fixture
def unique_sleep(tmp_path: Path) -> Callable[[], str]:
    return lambda: f"sleep 9{abs(hash(str(tmp_path))) % 10**8}"


def running(line: str) -> bool:
    return subprocess.run(["pgrep", "-xf", line], capture_output=True, check=False).returncode == 0


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
