"""Batches whose calls, sandboxes, containers, workers, coordinator, disk and daemon fail: `scripts/batch-test`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from scripts.batch_test import KINDS, BatchTest, Outcome


def batch_test(trials: int, docker: int, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # pytest's own are closed to a sandbox
        return BatchTest(Path(folder) / "test", trials, docker, seed, KINDS).run()


@pytest.mark.sandbox
@pytest.mark.timeout(1800)
def test_a_small_batch_among_faults_is_accounted_for_to_the_cent() -> None:
    outcome = batch_test(28, 0, seed=3)
    assert outcome.troubles == []
    assert outcome.states == {"finished": 28}
    expected = {"429", "500", "cut", "hang_up", "sandbox", "worker", "coordinator"}
    assert set(outcome.struck) == (expected if os.geteuid() else expected | {"disk"})  # only root can mount a disk
    assert outcome.runs[-1] == 0
    assert len(outcome.runs) > 1, "the coordinator was killed, so the batch was run again"


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.docker
@pytest.mark.timeout(7200)
def test_a_batch_of_300_trials_among_faults_is_accounted_for_to_the_cent() -> None:
    if os.geteuid():
        pytest.skip("a second Docker daemon needs root")
    outcome = batch_test(300, 40, seed=1)
    assert outcome.troubles == []
    assert outcome.states.total() > 290
    assert set(outcome.struck) == set(KINDS)
