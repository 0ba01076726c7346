"""The kit itself: its report, its command, and the checks that it skips."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from environments.conformance import Kit, Unpromised, all_checks, broken, run_checks, unpromised
from environments.promises import Promise
from environments.protocol import Environment
from tests.environments.conftest import environment

CHECKS = {check.id: check for check in all_checks()}


def local(**changes: object) -> Environment:
    return environment("local", **changes)


def test_a_report_has_every_check_in_one_of_three_places() -> None:
    checks = [CHECKS[name] for name in ("exit_status-exit_codes", "network-loopback", "liveness-reason", "caps-flood")]
    report = run_checks(local, checks, name="mine")
    assert [check.id for check in report.passed] == ["exit_status-exit_codes", "caps-flood"]
    assert [reason for _, reason in report.unpromised] == [
        "mine does not promise network-off",
        "no way to sever it: mine needs a `sever` for this check",
    ]
    assert report.ok
    assert report.table().splitlines()[-1] == "mine: 2 passed, 0 failed, 2 not promised"


def test_a_failure_shows_the_actual_and_the_expected_value() -> None:
    def zero(**changes: object) -> Environment:
        return broken.make_broken("AlwaysZero", lambda _, **more: local(**more), **changes)

    report = run_checks(zero, [CHECKS["exit_status-exit_codes"], CHECKS["shells-files_stay"]])
    assert [check.id for check in report.passed] == ["shells-files_stay"]
    assert report.failed[0][1] == "exit 1: got ('exited', 0, None), expected ('exited', 1, None)"
    assert not report.ok


def test_an_environment_that_dies_fails_its_check_and_the_next_has_another() -> None:
    kit = Kit(local)

    def dies(place) -> None:
        place.environment.stop()
        place.run("true")

    with pytest.raises(AssertionError, match="the environment failed: EnvironmentLost"):
        kit.run(replace(CHECKS["exit_status-exit_codes"], body=dies))
    kit.run(CHECKS["exit_status-exit_codes"])
    with pytest.raises(Unpromised):
        kit.run(CHECKS["forging-names"])
    assert Promise.UNFORGEABLE in unpromised(kit.started())
    kit.close()


@pytest.mark.parametrize(("factory", "status"), [("local", 0), ("mine:make", 1), ("nothing", 2)])
def test_the_command(factory: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from environments.conformance.broken import Naive\nfrom environments.protocol import EnvironmentSpec\n"
        "def make(**changes): return Naive(EnvironmentSpec(kind='local', **changes))\n"
    )
    command = [sys.executable, "-m", "environments.conformance", factory, "--only", "exit_status-"]
    root = Path(__file__).parents[2]
    result = subprocess.run(
        command,
        cwd=root,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{tmp_path}:{root}"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == status, result.stderr
    assert ("FAILED" in result.stdout) == (status == 1)
    assert result.stdout.endswith("0 failed, 0 not promised\n") == (status == 0)
