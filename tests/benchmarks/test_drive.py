"""drive.py on the host: the input, output, limits and remains of a run of the candidate."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.judging import bundle, junit
from benchmarks.task.taskfile import EvaluationPart


class Drive:
    """A directory of the judge with a program and a suite."""

    def __init__(self, base: Path) -> None:
        self.workspace = base / "workspace"
        self.directory = base / "judge"
        (self.directory / "suite").mkdir(parents=True)
        self.workspace.mkdir()
        for part in bundle.PARTS:
            (self.directory / part.name).write_bytes(part.read_bytes())

    def program(self, text: str) -> None:
        path = self.workspace / "executable"
        path.write_text(text)
        path.chmod(0o755)

    def run(self, suite: str, *, expect: int | None = None, **evaluation: float) -> dict[str, junit.CaseResult]:
        """Run the suite and return the results by the test's name."""
        (self.directory / "suite" / "test_it.py").write_text(suite)
        (self.directory / "config.json").write_bytes(
            bundle.configuration(
                EvaluationPart(**evaluation),  # type: ignore[arg-type]
                workdir=str(self.workspace),
                workspace=str(self.workspace),
                directory=str(self.directory),
                runs=str(self.directory.parent / "runs"),
                env={"PATH": "/usr/bin:/bin", "FROM_TASK": "yes"},
            )
        )
        ended = subprocess.run(
            [sys.executable, "-I", self.directory / bundle.DRIVE.name, self.directory / "config.json"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={"PYTEST_ADDOPTS": "--collect-only", "SECRET": "s", "PATH": "/usr/bin:/bin"},
        )
        assert ended.returncode in ((0, 1) if expect is None else (expect,)), ended.stdout + ended.stderr
        if expect is not None:
            return {}
        results = junit.parse((self.directory / "out/results.xml").read_bytes())
        return {name: result for (_, name), result in results.items()}


@pytest.fixture
def drive(tmp_path: Path) -> Drive:
    return Drive(tmp_path)


def test_streams_code_arguments_files_and_environment(drive: Drive) -> None:
    drive.program(
        "#!/bin/bash\ncat; printf '%s|' \"$@\" >&2; mkdir new; cp in/a new/b; ln -s new/b link; ln -s /etc/passwd x\n"
        'mkfifo pipe; echo "$FROM_TASK $MORE $TZ $LANG ${SECRET-none} $PWD" > env; pwd >> env; umask >> env; exit 7\n'
    )
    results = drive.run(
        "def test(candidate):\n"
        "    r = candidate('a b', '', stdin=b'\\xff\\0', files={'in/a': 'text'}, env={'MORE': 'm'})\n"
        "    assert (r.stdout, r.stderr, r.code) == (b'\\xff\\0', b'a b||', 7)\n"
        "    env = r.files['env'].decode().split()\n"
        "    assert env[:5] == ['yes', 'm', 'UTC', 'C.UTF-8', 'none'] and env[5] == env[6] and env[7] == '0022'\n"
        "    assert sorted(r.files) == ['env', 'in/a', 'new/b'] and r.files['new/b'] == b'text'\n"
    )
    assert results["test"].status == "passed", results


def test_each_run_has_a_fresh_directory(drive: Drive) -> None:
    drive.program("#!/bin/sh\nls; touch left; chmod 0 .\n")
    results = drive.run("def test(candidate):\n    assert candidate().stdout == candidate().stdout == b''\n")
    assert results["test"].status == "passed", results


def test_a_signal_becomes_an_exit_code_as_in_a_shell(drive: Drive) -> None:
    drive.program("#!/bin/sh\nkill -SEGV $$\n")
    assert drive.run("def test(candidate):\n    assert candidate().code == 139\n")["test"].status == "passed"


@pytest.mark.parametrize("stdin", ["b'x' * 10_000_000", "b''"])
def test_a_program_need_not_read_its_input(drive: Drive, stdin: str) -> None:
    drive.program("#!/bin/sh\nexec <&-; echo ok\n")
    results = drive.run(f"def test(candidate):\n    assert candidate(stdin={stdin}).stdout == b'ok\\n'\n")
    assert results["test"].status == "passed", results


def test_large_input_and_output_at_the_same_time(drive: Drive) -> None:
    drive.program("#!/bin/sh\nexec cat\n")
    suite = (
        "def test(candidate):\n    data = bytes(range(256)) * 20000\n    assert candidate(stdin=data).stdout == data\n"
    )
    assert drive.run(suite)["test"].status == "passed"


def test_a_program_that_hangs_is_killed(drive: Drive) -> None:
    drive.program("#!/bin/sh\ntrap '' TERM\necho begun\nsleep 98765\n")
    result = drive.run("def test(candidate):\n    candidate(timeout=0.5)\n")["test"]
    assert result.status == "failed"
    assert result.message == "Failed: the program had not exited after 0.5 s; its output began b'begun\\n'"
    assert not running("sleep 98765")


def test_endless_output_is_cut_off(drive: Drive) -> None:
    drive.program("#!/bin/sh\nexec yes\n")
    result = drive.run("def test(candidate):\n    candidate()\n")["test"]
    assert "wrote more than 8388608 bytes" in result.message


def test_no_process_survives_a_run(drive: Drive) -> None:
    drive.program("#!/bin/bash\n(setsid nohup sleep 98764 &)\nsleep 98764 &\ndisown\necho done\n")
    suite = (
        "import subprocess\n"
        "def test(candidate):\n"
        "    assert candidate().stdout == b'done\\n'\n"
        "    assert subprocess.run(['pgrep', '-xf', 'sleep 98764']).returncode == 1\n"
    )
    result = drive.run(suite)["test"]
    assert result.status == "passed", result


def test_a_missing_program_fails_the_case(drive: Drive) -> None:
    assert drive.run("def test(candidate):\n    candidate()\n")["test"].message.endswith(
        "the workspace has no executable"
    )


def test_a_program_without_its_executable_bit_fails_the_case(drive: Drive) -> None:
    drive.program("#!/bin/sh\n")
    (drive.workspace / "executable").chmod(0o644)
    assert drive.run("def test(candidate):\n    candidate()\n")["test"].message.endswith("executable is not executable")


def test_a_program_that_cannot_be_started_fails_the_case(drive: Drive) -> None:
    drive.program("#!/no/such/interpreter\n")
    assert "cannot be started" in drive.run("def test(candidate):\n    candidate()\n")["test"].message


def test_the_time_of_all_cases_together_is_limited(drive: Drive) -> None:
    drive.program("#!/bin/sh\nsleep 0.6\n")
    suite = "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test(candidate, n):\n    candidate()\n"
    results = drive.run(suite, timeout=1.0)
    assert [result.status for result in results.values()] == ["passed", "failed", "failed", "failed"]
    assert "the time of the whole suite, 1 s, is used up" in results["test[3]"].message


def test_the_time_of_a_case_is_limited(drive: Drive) -> None:
    drive.program("#!/bin/sh\n")
    suite = "def test_slow():\n    while True: pass\ndef test_next(candidate):\n    assert candidate().code == 0\n"
    results = drive.run(suite, case_timeout=0.5)
    assert [result.status for result in results.values()] == ["failed", "passed"]
    assert "the case took more than 0.5 s" in results["test_slow"].message


def test_the_exit_status_tells_that_a_suite_cannot_be_collected(drive: Drive) -> None:
    drive.run("import nothing_like_this\n", expect=2)


def test_the_list_of_cases_is_written_before_the_first_case(drive: Drive) -> None:
    drive.run("import os\ndef test_a():\n    os._exit(9)\ndef test_b():\n    pass\n", expect=9)
    collected = json.loads((drive.directory / "out/collected.json").read_bytes())
    assert collected["cases"] == ["test_it.py::test_a", "test_it.py::test_b"]
    assert not (drive.directory / "out/results.xml").exists()


def test_failures_in_shared_modules_show_their_values(drive: Drive) -> None:
    drive.program("#!/bin/sh\nexit 3\n")
    (drive.directory / "suite/shared.py").write_text("def good(result):\n    assert result.code == 0\n")
    result = drive.run("import shared\ndef test(candidate):\n    shared.good(candidate())\n")["test"]
    assert "assert 3 == 0" in result.message


def running(line: str) -> bool:
    return subprocess.run(["pgrep", "-xf", line], capture_output=True, check=False).returncode == 0
