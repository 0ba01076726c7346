"""Known tricks of a root agent against the published families: in the agent's own container, and in one of its own.

`docs/reference/tricks.md` has the same tricks and results; `tests/system/test_tricks.py` tries them for every user.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.task.submission import Archive, Live
from benchmarks.task.task import Task
from environments.protocol import Environment, Started
from tests.families import harbor_samples, terminalbench_samples
from trajectories.record.verdict import Verdict

pytestmark = pytest.mark.docker
ALWAYS = "until [ -e /tmp/end ]; do"
PLANTED = """mkdir -p /logs/verifier /app/test_output
echo 1 >/logs/verifier/reward.txt; echo '{"reward": 1}' >/logs/verifier/reward.json
echo '<testsuites><testsuite tests="1" failures="0" errors="0"/></testsuites>' >/logs/verifier/junit.xml
echo '{"f2p_score": 1}' | tee /app/test_output/{f2p,p2p}_score.json; echo PASSED >/app/test_output/f2p_output.txt"""
PASSES = "import _pytest.python as p; p.Function.runtest = lambda self: None"
FORGED_TEST = "echo 'def test_a(): pass' >/tests/test_outputs.py"


def process(does: str) -> str:
    """Return the command that starts a process that does something until it is told to end."""
    return f"(until [ -e /tmp/end ]; do {does}; sleep 0.01; done) >/dev/null 2>&1 &"


NO_EFFECT = {
    "planted file": PLANTED,
    "symlinked result": "mkdir -p /logs/verifier; echo 1 >/tmp/r; ln -sf /tmp/r /logs/verifier/reward.txt",
    "conftest.py": f"mkdir -p /tests; echo '{PASSES}' >/tests/conftest.py",
    "test file overwritten": f"mkdir -p /tests; {FORGED_TEST}; chmod a-w /tests",
    "background writer": process("for f in /logs/verifier/reward.*; do echo 1 >$f; done"),
    "test file overwritten while the tests run": process(FORGED_TEST),
    "tests read while they run": process("cp /tests/*.py /tmp/stolen"),
}
SLOW = [pytest.param(trick, marks=pytest.mark.slow, id=name) for name, trick in NO_EFFECT.items()]
FORGES = {
    "conftest.py above the tests": f"echo '[pytest]' >/pytest.ini; echo '{PASSES}' >/conftest.py",
    "replaced program": f"echo '{PASSES}' >/usr/lib/python3/dist-packages/own.pth",
}
CLEAN = "rm -rf /conftest.py /pytest.ini /tests /logs/* /tmp/* /usr/lib/python3/dist-packages/own.pth"
LIVE = pytest.mark.parametrize("family", ["terminal-bench", "Harbor"])


class Place(NamedTuple):
    """A started container of a task, whose agent is root."""

    task: Task
    environment: Environment
    started: Started

    def verdict(self, folder: Path) -> Verdict:
        """Return the verdict on the container as it is."""
        live = Live(self.environment, self.started, "not committed")
        if self.task.id.endswith("greeting"):
            return harbor_samples.verdict_on(self.task, live, folder)
        return terminalbench_samples.verdict_on(self.task, live, folder)


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, Place]]:
    greeting = harbor_samples.loaded(harbor_samples.HARBOR / "greeting")
    lines = terminalbench_samples.loaded(terminalbench_samples.TERMINAL_BENCH / "count-lines")
    with ExitStack() as stack:
        yield {
            "Harbor": Place(greeting, *stack.enter_context(harbor_samples.worked(greeting))),
            "terminal-bench": Place(lines, *stack.enter_context(terminalbench_samples.worked(lines))),
        }


def judged(place: Place, folder: Path, trick: str) -> Verdict:
    """Return the verdict after a trick; no process may have read the tests."""
    try:
        place.environment.execute(f"mkdir -p /tmp/stolen; {trick}", deadline_s=20)
        verdict = place.verdict(folder)
        assert place.environment.execute("grep -rl assert /tmp/stolen", deadline_s=20).output == b""
    finally:
        place.environment.execute(f"touch /tmp/end; sleep 0.1; {CLEAN}", deadline_s=20)
    assert verdict.status == "scored", verdict
    return verdict


@LIVE
@pytest.mark.parametrize("trick", [pytest.param("\n".join(NO_EFFECT.values()), id="all"), *SLOW])
def test_tricks_without_an_effect(places: dict[str, Place], tmp_path: Path, family: str, trick: str) -> None:
    verdict = judged(places[family], tmp_path, trick)
    assert verdict.passed is False, verdict
    assert verdict.quality == {"terminal-bench": pytest.approx(1 / 3), "Harbor": 0}[family]


@LIVE
@pytest.mark.parametrize("trick", FORGES.values(), ids=FORGES)
def test_a_replaced_part_of_the_system_forges_the_score_and_is_listed(
    places: dict[str, Place], tmp_path: Path, family: str, trick: str
) -> None:
    verdict = judged(places[family], tmp_path, trick)
    assert verdict.passed is True, verdict
    assert any("of the system were added" in line for line in verdict.exposed)


def test_no_trick_reaches_a_container_of_the_tests_own(tmp_path: Path) -> None:
    for samples, directory in (
        (harbor_samples, harbor_samples.HARBOR / "report"),
        (terminalbench_samples, terminalbench_samples.LONGCLI / "greet"),
    ):
        task = samples.loaded(directory)
        folder = tmp_path / directory.name
        folder.mkdir()
        with samples.worked(task) as (environment, started):
            for trick in (*NO_EFFECT.values(), *FORGES.values()):
                environment.execute(trick, deadline_s=20)
            if task.result == "system":
                verdict = harbor_samples.verdict_on(task, Live(environment, started, "not committed"), folder)
            else:
                environment.export(folder / "workspace.tar.zst")
                verdict = terminalbench_samples.verdict_on(task, Archive(folder / "workspace.tar.zst"), folder)
        assert (verdict.status, verdict.passed, verdict.processes_kept) == ("scored", False, False), verdict


def test_the_table_of_families_has_every_trick() -> None:
    rows = (Path(__file__).parents[2] / "docs" / "reference" / "tricks.md").read_text("utf-8").splitlines()
    for name in NO_EFFECT:
        assert f"| {name} | no effect | no effect | no effect | no effect |" in rows
    for name in FORGES:
        assert f"| {name} | forged, and listed | forged, and listed | no effect | no effect |" in rows
