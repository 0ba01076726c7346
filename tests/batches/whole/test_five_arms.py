"""The documented study gives its table and its bill, also when a worker and the coordinator are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batches.whole.five_arms import TABLE, FiveArms, kill, worker_of

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(900)]


def test_the_table_and_the_bill_survive_a_killed_worker_and_a_killed_coordinator(tmp_path: Path) -> None:
    with FiveArms(tmp_path, attempts=1) as study:
        process = study.start()
        study.wait_for_bill(15, process)
        kill(worker_of(process.pid))
        study.wait_for_bill(40, process)
        process.kill()
        process.wait()
        study.finish()
        assert study.table() == TABLE
        assert {result.state for result in study.results()} == {"finished"}
        study.check_bill()
        study.check_no_call_twice()
        billed = len(study.bill)
        study.finish()
        assert len(study.bill) == billed, "a finished study costs nothing more"


@pytest.mark.slow
def test_the_study_undisturbed_bills_exactly_what_its_records_say(tmp_path: Path) -> None:
    with FiveArms(tmp_path, attempts=2) as study:
        study.finish()
        assert study.table() == TABLE
        assert study.check_bill() == 0
        assert len(study.bill) == 184
