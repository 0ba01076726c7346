"""Each known trick against a test script, by an agent that is an ordinary user and by one that is root.

`docs/reference/tricks.md` has the same tricks and results.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import pytest

from benchmarks.judging.faults import SubmissionFailed
from benchmarks.judging.system.opening import Opened, opened
from benchmarks.judging.system.script_run import ScriptResult, ScriptRun
from benchmarks.task.registry import benchmark
from benchmarks.task.submission import Live
from environments.choose import make
from environments.reporting import LogReporter

from .conftest import Judged, suite_of

pytestmark = pytest.mark.docker
Start = Callable[[str], Judged]
REWARD = "/logs/verifier/reward.txt"
FORGED = b"1"
NAME = attrgetter("name")
TABLE = Path(__file__).parents[2] / "docs" / "reference" / "tricks.md"
TEST = f"""echo 0 >{REWARD}; touch /tmp/tests-run
for i in {{1..100}}; do [ -e /tmp/tried ] && break; sleep 0.02; done
head -n 1 /tests/expected >{REWARD}"""
"""A test that gives an agent's process two seconds to do what it can, if one says that it tries."""


@dataclass(frozen=True)
class Trick:
    """A trick of an agent, and the users whose agents it works for."""

    name: str
    agent: str
    works_for: tuple[str, ...] = ()
    outlives: bool = False
    """It is what a process of the agent does while the tests run."""


def process(does: str) -> str:
    """Return the command that starts a process that acts when tests run, until it is told to end."""
    script = f"until [ -e /tmp/tests-run ]; do sleep 0.01; done; {does}; touch /tmp/tried"
    return f"rm -f /tmp/tests-run /tmp/tried; (exec bash -c {shlex.quote(script)}) >/dev/null 2>&1 &"


ALL = "for p in /proc/[0-9]*; do"
TRICKS = (
    Trick("planted file", f"mkdir -p /logs/verifier; echo 1 >{REWARD}"),
    Trick("symlinked result", f"mkdir -p /logs/verifier; echo 1 >/tmp/r; ln -s /tmp/r {REWARD}"),
    Trick("symlinked directory", "mkdir /tmp/logs; ln -s /tmp/logs /logs"),
    Trick("test file overwritten", f"mkdir -p /tests; echo 'echo 1 >{REWARD}' >/tests/test.sh; chmod a-w /tests"),
    Trick("conftest.py", "mkdir -p /tests; echo 'raise SystemExit(0)' >/tests/conftest.py"),
    Trick("replaced program", "echo 'echo 1' >/usr/local/bin/head; chmod +x /usr/local/bin/head", works_for=("root",)),
    Trick(
        "background writer",
        f"(while [ -e /tmp/tests-run ]; do echo 1 >/tmp/1; mv /tmp/1 {REWARD}; done) & sleep 0.2",
        outlives=True,
    ),
    Trick("test file overwritten while the tests run", "echo 1 >/tests/expected", outlives=True),
    Trick(
        "directory moved while the tests run", "mv /tests /old; mkdir /tests; echo 1 >/tests/expected", outlives=True
    ),
    Trick(
        "files of the tests' processes",
        f"{ALL} echo 1 >$p/root/tests/expected; [ $p = /proc/1 ] || echo forged >$p/fd/1; done",
        outlives=True,
    ),
    Trick("tests killed", f"{ALL} grep -q [t]est.sh $p/cmdline && kill -9 ${{p#/proc/}}; done", outlives=True),
)


@pytest.fixture
def clean(judged: Start) -> Callable[[str], Judged]:
    def start(user: str) -> Judged:
        container = judged(user)
        container.root("rm -rf /tmp/tests-run; sleep 0.05; rm -rf /logs /tests /old /tmp/* /usr/local/bin/head")
        return container

    return start


def judge(container: Judged, directory: Path, *, shielded: bool) -> ScriptResult:
    run = ScriptRun(
        "bash /tests/test.sh; ls /tests >/logs/verifier/listing",
        20,
        files={"/tests": suite_of(directory, test__sh=TEST, expected="0")},
        results=(REWARD, "/logs/verifier/listing"),
        private=("/logs/verifier",),
        shielded=shielded,
    )
    return container.judge(run)


def tried(container: Judged, directory: Path, trick: Trick, *, shielded: bool) -> bytes:
    """Try a trick and return the reward, which is empty if the tests did not count."""
    container.agent(process(trick.agent) if trick.outlives else f"{trick.agent}\ntouch /tmp/tried")
    try:
        result = judge(container, directory, shielded=shielded)
    except SubmissionFailed:
        return b""
    finally:
        container.root("touch /tmp/tests-run; until [ -e /tmp/tried ]; do sleep 0.01; done")
    assert result.exposed == ()
    assert trick.outlives or result.results["/logs/verifier/listing"] == b"expected\ntest.sh\n"
    assert b"forged" not in result.execution.output
    return result.results[REWARD].strip()


@pytest.mark.parametrize("user", ["agent", "root"])
@pytest.mark.parametrize("trick", TRICKS, ids=NAME)
def test_a_trick_has_the_result_that_the_table_tells(clean: Start, tmp_path: Path, trick: Trick, user: str) -> None:
    container = clean(user)
    shielded = Opened(container.environment, container.started, processes_kept=True).needs_shield()
    assert shielded is (user == "root")
    assert (tried(container, tmp_path, trick, shielded=shielded) == FORGED) is (user in trick.works_for)


@pytest.mark.parametrize(
    "trick", [trick for trick in TRICKS if trick.outlives and "/proc" not in trick.agent], ids=NAME
)
def test_what_a_process_of_root_does_works_without_a_shield(clean: Start, tmp_path: Path, trick: Trick) -> None:
    assert tried(clean("root"), tmp_path, trick, shielded=False) == FORGED


def test_every_trick_is_in_the_table() -> None:
    table = TABLE.read_text("utf-8")
    for trick in TRICKS:
        for user in ("ordinary user", "root"):
            works = {"ordinary user": "agent", "root": "root"}[user] in trick.works_for
            assert f"| {trick.name} | {user} | {'score forged' if works else 'no effect'} |" in table


@pytest.mark.parametrize("user", ["agent", "root"])
def test_what_lives_on_and_what_was_replaced_is_listed(clean: Start, user: str) -> None:
    container = clean(user)
    container.agent("sleep 4321 & echo $! >/tmp/pid")
    container.root("echo 'echo 1' >/usr/local/bin/head; echo >>/etc/bash.bashrc; rm /usr/bin/factor; touch /srv/file")
    live = Live(container.environment, container.started, "none")
    with opened(live, benchmark("demo").load("ledger"), make, LogReporter()) as place:
        lines = place.exposed()
    container.root("kill $(cat /tmp/pid)")
    uid = {"agent": "1000", "root": "0"}[user]
    assert lines[-1] == f"a process of user {uid} ran beside the tests: sleep 4321"
    replaced = (
        "programs of the system were added: /usr/local/bin/head",
        "programs of the system were removed: /usr/bin/factor",
        "start-up files of shells of the system were changed: /etc/bash.bashrc",
    )
    assert lines[:-1] == (replaced if user == "root" else ())
