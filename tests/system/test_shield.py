"""A shielded script runs as it would without a shield, with the rights of the container's root and out of its reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.judging.faults import HostFailed, SubmissionFailed
from benchmarks.judging.system.script_run import ScriptRun
from benchmarks.judging.system.shield import outcome
from environments.docker import daemon
from environments.leftovers import owner
from environments.protocol import Execution

from .conftest import Judged, suite_of

Start = Callable[[str], Judged]
RESULT = "/logs/verifier/deep/result"
RUN = ScriptRun("true", 20, results=(RESULT,), private=("/logs/verifier",), shielded=True)
PLAIN = Execution(ended="exited", output=b"", counted=0, duration_s=0)


@pytest.mark.docker
def test_a_shielded_script_is_like_another(judged: Start, tmp_path: Path) -> None:
    judged_container = judged("root")
    script = f"""env | grep -v '^OLDPWD='; id; umask; pwd; hostname; ulimit -a; cat /tests/data
readlink /proc/self/ns/net; readlink /proc/self/fd/1 | cut -c1-5
grep -E '^(Uid|Gid|NoNewPrivs|Seccomp|Groups):' /proc/self/status
mkdir -p {RESULT[:-7]}; cat >{RESULT}; echo 42 >{RESULT}; exit 3"""
    run = replace(
        RUN,
        script=script,
        extras=("/tests/data",),
        files={"/tests": suite_of(tmp_path, data="1\n")},
        env={"A": "a b=c\n"},
    )
    shielded, plain = (judged_container.judge(replace(run, shielded=shielded)) for shielded in (True, False))
    assert shielded.execution.output.splitlines() == plain.execution.output.splitlines()
    assert shielded.extras == plain.extras == {"/tests/data": b"1\n"}
    assert (shielded.execution.exit_code, shielded.results, shielded.exposed) == (3, {RESULT: b"42\n"}, ())


@pytest.mark.docker
def test_a_shielded_script_has_no_more_rights_and_leaves_no_container(judged: Start) -> None:
    judged_container = judged("root")
    run = replace(RUN, script="grep CapEff /proc/self/status; unshare -r true; unshare -m true; mount -t tmpfs x /mnt")
    script = "grep CapEff /proc/self/status"
    output = judged_container.judge(run).execution.output.split()
    own = int(judged_container.root(script).output.split()[1], 16)
    assert int(output[1], 16) ^ own == 1 << 35
    assert output.count(b"Operation") + output.count(b"permission") == 3
    api = daemon.connect()
    labels = [f"{name}={value}" for name, value in owner.this_process().labels().items()]
    others = api.containers(all=True, filters={"label": labels})
    api.close()
    assert [made["Id"] for made in others if made["Command"].startswith("perl")] == []


@pytest.mark.docker
@pytest.mark.parametrize(
    ("script", "cause"),
    [("sleep 60 & sleep 60", "time"), ("yes", "output")],
)
def test_the_end_of_a_shielded_script_is_told(judged: Start, script: str, cause: str) -> None:
    fault = judged("root").judge(replace(RUN, script=script, deadline_s=1, output_bytes=1 << 20)).ended_by(1)
    assert fault is not None
    assert fault.cause == cause


@pytest.mark.docker
@pytest.mark.parametrize("script", ["kill -9 $$", "kill -9 $PPID; sleep 1"])
def test_tests_that_are_killed_do_not_count(judged: Start, script: str) -> None:
    with pytest.raises(SubmissionFailed, match="killed from outside"):
        judged("root").judge(replace(RUN, script=f"echo 1 >{RESULT}; {script}"))


def test_what_an_agent_can_cause_never_ends_the_shield() -> None:
    assert outcome.of_line("ended 768", PLAIN, out_of_memory=False).exit_code == 3
    assert outcome.of_line("ended 9", PLAIN, out_of_memory=True).ended == "oom"
    assert outcome.of_line("", PLAIN, out_of_memory=False).ended == "supervisor_lost"
    with pytest.raises(SubmissionFailed, match="moved /logs"):
        outcome.of_line("moved /logs", PLAIN, out_of_memory=False)
    with pytest.raises(HostFailed):
        outcome.of_line("crowded fork: Resource temporarily unavailable", PLAIN, out_of_memory=False)
    with pytest.raises(outcome.Unshielded, match="refused setns: Operation not permitted"):
        outcome.of_line("unable setns: Operation not permitted", PLAIN, out_of_memory=False)
