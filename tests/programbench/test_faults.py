"""A submission that ends the official evaluator scores 0 with the cause; a failure of the machine is an error."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.judging.faults import HostFailed
from benchmarks.programbench.official import causes, evaluator
from benchmarks.programbench.official.facts import Facts, Failure, read
from benchmarks.programbench.official.preparation import Prepared
from environments.docker import daemon
from environments.leftovers import owner
from tests.programbench.clean_room import CALCULATES, CALCULATOR, COMPILE, calculator
from trajectories.record.verdict import Verdict, VerdictCause

docker = [pytest.mark.docker, pytest.mark.usefixtures("offline")]
AT_LAST = """if [ -d /workspace/.git ] && grep -q 0.0.0.0 /etc/resolv.conf; then {}; fi
"""
"""Commands of a compile.sh that run only for the official evaluator, whose resolver is 0.0.0.0."""


def zero(verdict: Verdict, cause: VerdictCause | None) -> str:
    assert (verdict.status, verdict.error) == ("scored", ""), verdict.error
    assert (verdict.cause, verdict.quality, verdict.passed) == (cause, 0.0, False), verdict.notes
    assert len(verdict.cases) == 3
    return verdict.notes[0]


def error(verdict: Verdict, cause: VerdictCause = "host") -> str:
    assert (verdict.status, verdict.cause, verdict.quality) == ("error", cause, None), verdict.notes
    return verdict.error


def compiles(*lines: str) -> dict[str, str | bytes]:
    """Return a submission that builds a correct program and then runs these commands."""
    return calculator(compile_sh=COMPILE + "\n".join(lines) + "\n")


def tests_run(*lines: str) -> dict[str, str | bytes]:
    """Return a submission whose correct program first runs these commands, as root beside the tests."""
    return calculator("\n".join(lines) + "\n" + CALCULATES)


# --- what it prints --------------------------------------------------------------------------------------


@pytest.mark.docker
@pytest.mark.usefixtures("offline")
def test_a_compile_script_that_prints_more_than_the_evaluator_can_read(
    judge: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a limit it grows with the output: 3 GB take 4.5 GB, and then it is killed."""
    monkeypatch.setattr(evaluator, "_MEMORY_BYTES", 800 << 20)
    verdict = judge(compiles("head -c 600000000 /dev/zero | tr '\\0' x"))
    zero(verdict, "output")
    assert any("MemoryError" in note for note in verdict.notes)


@pytest.mark.docker
@pytest.mark.usefixtures("offline")
def test_output_that_is_not_utf8_beside_the_tests(judge: Callable[..., Verdict]) -> None:
    """Our own check saw nothing of it: the program writes into the output of the tests."""
    verdict = judge(tests_run("for p in /proc/[0-9]*; do grep -qs run.sh $p/cmdline && printf '\\377' >$p/fd/1; done"))
    zero(verdict, "output")
    assert any("UnicodeDecodeError" in note for note in verdict.notes)


# --- the results -----------------------------------------------------------------------------------------

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 12}">' for n in range(9))
    + "]><testsuites>&j;</testsuites>"
)
AFTERWARDS = """[ -e /tmp/on ] || {{
touch /tmp/on
setsid sh -c 'cd /workspace/eval; {}; until [ -s results.xml ]; do :; done; mv -fT x results.xml' </dev/null >&0 2>&0 &
}}"""
"""Commands that make `x`, which replaces the results as soon as pytest has written them."""


@pytest.mark.docker
@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("command", "cause"),
    [
        (": >x", "result"),
        ("printf garbage >x", "result"),
        pytest.param('printf "<a>\\\\0</a>" >x', "result", marks=pytest.mark.slow),
        ("mv ../laughs x", "result"),
        pytest.param("mv ../time x", "result", marks=pytest.mark.slow),
        ('printf "\\\\377" >x', "output"),
        ("truncate -s 1G x", None),
        pytest.param("ln -s /dev/zero x", None, marks=pytest.mark.slow),
        pytest.param("ln -s /etc/passwd x", None, marks=pytest.mark.slow),
        ("mkfifo x", None),
    ],
    ids=["empty", "garbage", "nul", "laughs", "time", "binary", "1 GiB", "endless link", "link", "pipe"],
)
def test_results_that_are_none(judge: Callable[..., Verdict], command: str, cause: VerdictCause | None) -> None:
    """With no cause, the evaluator itself reports that the branch has no results."""
    time_of_no_number = '<testsuites><testsuite><testcase name="x" time="soon"/></testsuite></testsuites>'
    verdict = judge({**tests_run(AFTERWARDS.format(command)), "laughs": LAUGHS, "time": time_of_no_number})
    zero(verdict, cause)
    text = " ".join(verdict.notes) + "".join(case.message for case in verdict.cases)
    assert "root:x:0:0" not in text, "a link must not be followed on the host"


# --- the system ------------------------------------------------------------------------------------------


@pytest.mark.docker
@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("rm -f /usr/bin/sleep /bin/sleep", "program"),
        ("rm -f /usr/bin/mkdir /bin/mkdir", "program"),
        ("printf '#!/bin/sh\\n' >/usr/bin/sha256sum", "program"),
        pytest.param(
            "rm /bin/mkdir; printf '#!/bin/sh\\nsleep 99\\n' >/usr/bin/mkdir; chmod +x /usr/bin/mkdir",
            "program",
            marks=pytest.mark.slow,
        ),
        ("printf '#!/bin/sh\\necho No space left on device >&2; exit 1\\n' >/usr/bin/mkdir", "program"),
        (AT_LAST.format("kill -TERM 1; sleep 9"), "build"),
        (AT_LAST.format("echo Cannot connect to the Docker daemon. Is it running?; exit 1"), "build"),
        (
            AT_LAST.format("echo Error response from daemon: OCI runtime exec failed: no space left on device; exit 1"),
            "build",
        ),
    ],
    ids=[
        "no sleep",
        "no mkdir",
        "no sha256sum",
        "slow mkdir",
        "mkdir of a full disk",
        "ends its container",
        "forges an outage",
        "forges a full disk",
    ],
)
def test_a_broken_system_is_the_submission_s(judge: Callable[..., Verdict], line: str, cause: VerdictCause) -> None:
    zero(judge(compiles(line)), cause)


@pytest.mark.docker
@pytest.mark.usefixtures("offline")
def test_the_network_is_off_when_the_tests_of_an_own_instance_run(judge: Callable[..., Verdict]) -> None:
    verdict = judge(tests_run('[ "$(ls /sys/class/net)" = lo ] || exit 1'))
    assert (verdict.quality, verdict.cause) == (1.0, None), verdict
    assert "for each test branch (network off)" in verdict.isolation


# --- the machine -----------------------------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that puts these lines of sh before the real docker."""

    def write(lines: str) -> None:
        path = tmp_path / "my docker"
        path.write_text(f'#!/bin/sh\n{lines}\nexec docker "$@"\n')
        path.chmod(0o755)
        monkeypatch.setenv("PROGRAMBENCH_DOCKER_EXECUTABLE", str(path))

    return write


@pytest.mark.docker
@pytest.mark.usefixtures("offline")
def test_a_daemon_that_is_gone_is_the_machine_s(judge: Callable[..., Verdict], mine: Callable[[str], None]) -> None:
    mine('case "$1 $*" in version*|exec*compile.sh*) echo Cannot connect to the Docker daemon >&2; exit 1;; esac')
    assert "did not answer" in error(judge(calculator()))


@pytest.mark.docker
@pytest.mark.usefixtures("offline")
def test_a_full_disk_is_the_machine_s_unless_the_submission_filled_it(
    judge: Callable[..., Verdict], mine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine('[ "$1" != commit ] || { echo Error response from daemon: write /x: no space left on device >&2; exit 1; }')
    assert "wrote only 0 MiB" in error(judge(calculator()))
    monkeypatch.setattr(causes, "WRITTEN_BYTES", 4 << 20)
    zero(judge(compiles("head -c 9000000 /dev/urandom >/opt/large")), "disk")


@pytest.mark.docker
@pytest.mark.usefixtures("offline")
def test_a_container_that_somebody_kills_is_the_machine_s(judge: Callable[..., Verdict]) -> None:
    def kill() -> None:
        until = time.monotonic() + 60
        api = daemon.connect()
        mark = {"label": ["retrace.evaluation", f"{owner.PID}={owner.this_process().pid}"]}
        while time.monotonic() < until:
            for container in api.containers(filters=mark):
                if any("sleep 77" in " ".join(words) for words in api.top(container["Id"])["Processes"]):
                    api.kill(container["Id"])
                    return
            time.sleep(0.1)

    thread = threading.Thread(target=kill)
    thread.start()
    verdict = judge(compiles(AT_LAST.format("sleep 77")))
    thread.join()
    assert "somebody killed" in error(verdict)


FREE = 100 << 30
PREPARED = Prepared(
    instance=CALCULATOR, workspace="", image="", tests="", package="", submission="", original=None, withheld=(),
    builds=True, why="", utf8=True, ended="exited", written_bytes=0, check_seconds=1.0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "function", "message", "cause"),
    [
        ("MemoryError", "_run_step", "", "output"),
        ("RecursionError", "parse_test_results", "maximum recursion depth exceeded", "result"),
        ("RuntimeError", "_run_test_branch", "Failed to start container: OCI runtime create failed: sleep", "program"),
        ("RuntimeError", "_run_test_branch", "Failed to start container: Conflict. The name is in use", None),
        ("RuntimeError", "_new_env", "Failed to start container: Range of CPUs is from 0.01 to 2.00", None),
        ("RuntimeError", "_new_env", "Failed to start container: OCI runtime create failed: sleep", None),
        ("TimeoutExpired", "commit", "timed out after 300 seconds", "host"),
        ("AssertionError", "run", "", None),
    ],
)
def test_the_error_of_the_evaluator_names_the_cause(name: str, function: str, message: str, cause: str | None) -> None:
    failure = Failure(error=name, functions=("run", function), message=message)
    if cause == "host":
        with pytest.raises(HostFailed):
            causes.of_failure(Facts(failure), PREPARED, FREE)
        assert causes.of_failure(Facts(failure, written_bytes=9 << 30), PREPARED, FREE).cause == "disk"  # type: ignore[union-attr]
        return
    fault = causes.of_failure(Facts(failure), PREPARED, FREE)
    assert (fault.cause if fault else None) == cause
    with pytest.raises(HostFailed, match="did not answer"):
        causes.of_failure(Facts(failure, unreachable=True), PREPARED, FREE)


def test_a_crash_for_memory_is_the_submission_s_and_a_kill_the_machine_s() -> None:
    fault = causes.of_signal(-signal.SIGABRT, Facts())
    assert fault is not None
    assert fault.cause == "output"
    with pytest.raises(HostFailed, match="too little memory"):
        causes.of_signal(-signal.SIGKILL, Facts())


def test_a_full_disk_is_believed_if_it_is_full_without_the_submission() -> None:
    causes.check_disk(Facts(), PREPARED, 100 << 30)  # the step printed it
    causes.check_disk(Facts(written_bytes=9 << 30), PREPARED, 0)  # the submission wrote it
    with pytest.raises(HostFailed, match="an evaluation needs 8 GiB"):
        causes.check_disk(Facts(), PREPARED, 1 << 20)


@pytest.mark.parametrize(("status", "asked"), [(137, True), (1, False)])
def test_a_command_that_was_killed_may_end_before_its_container_counts_as_ended(
    tmp_path: Path, status: int, asked: bool
) -> None:
    """The script that stands for docker, with a daemon that still calls the container running."""
    stub = tmp_path / "docker"
    stub.write_text(f"#!/bin/sh\ncase $1 in exec) exit {status};; inspect) echo true;; events) echo killed 9;; esac\n")
    stub.chmod(0o755)
    facts_file = tmp_path / "facts"
    env = {"PATH": "/usr/bin:/bin", "RETRACE_DOCKER": str(stub), "RETRACE_FACTS": str(facts_file)}
    script = Path(evaluator.__file__).with_name("docker-labelled")
    ended = subprocess.run(["sh", script, "exec", "a" * 64, "true"], env=env, check=False)
    assert ended.returncode == status
    assert read(facts_file, tmp_path / "failure").killed == asked


def test_results_are_copied_only_as_regular_files_of_bounded_size(tmp_path: Path) -> None:
    """The script that stands for docker, without a container: a link in the results would be read on the host."""
    stub = tmp_path / "docker"
    stub.write_text(
        '#!/bin/sh\nrm -f "$3"\n'
        'case $2 in *:link) ln -s /etc/passwd "$3";; *) head -c 9000 /dev/zero >"$3" && chmod 0 "$3";; esac\n'
    )
    stub.chmod(0o755)

    def copy(name: str, blocks: str) -> int:
        env = {"PATH": "/usr/bin:/bin", "RETRACE_DOCKER": str(stub), "RETRACE_RESULT_BLOCKS": blocks}
        script = Path(evaluator.__file__).with_name("docker-labelled")
        return subprocess.run(["sh", script, "cp", f"c:{name}", tmp_path / "to"], env=env, check=False).returncode

    assert copy("file", "100") == 0
    assert os.stat(tmp_path / "to").st_mode & 0o600 == 0o600, "whoever the user is, the file can be read"
    assert copy("file", "10") != 0
    assert copy("link", "100") == 1
    assert not (tmp_path / "to").is_symlink()
