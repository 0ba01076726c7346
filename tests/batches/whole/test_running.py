"""Whole batches on this machine: finished, repeated, and disturbed in the ways that a long run meets."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.batches.whole.running import BUSY, Study, alive, interrupt
from tests.wire.study.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(400)]


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Study]:
    """Six trials of 8 steps, with half a second a call."""
    with Running("--busy", "8", "--latency", "0.5") as provider:
        yield Study(tmp_path, provider, f"{BUSY}\nattempts: 6\nworkers: 6\n")


def states(study: Study) -> list[tuple[str, int]]:
    return [(result.state, result.steps) for result in study.results()]


def test_a_batch_runs_once_and_bills_what_its_records_say(busy: Study) -> None:
    status, state, err = busy.run()
    assert status == 0, err
    assert (state["done"], state["judged"], state["failed"]) == (6, 6, {})
    busy.check_bill()
    requests = busy.provider.state()["requests"]
    status, again, err = busy.run()
    assert (status, again["done"]) == (0, 6), err
    assert busy.provider.state()["requests"] == requests, "nothing is paid for twice"
    assert not (busy.directory / ".workers").exists(), "workers that print nothing leave no file"


def test_ctrl_c_lets_running_trials_finish_and_begins_no_more(tmp_path: Path) -> None:
    with Running("--busy", "4", "--latency", "0.5") as provider:
        study = Study(tmp_path, provider, f"{BUSY}\nattempts: 4\nworkers: 2\n")
        process = study.start()
        study.wait_for_requests(2, process)
        interrupt(process)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 130
        assert "no more trials begin" in err
        finished = [result for result in study.results() if result.state == "finished"]
        assert 2 <= len(finished) < 4
        assert study.run()[0] == 0
        assert [state for state, _ in states(study)] == ["finished"] * 4
        study.check_bill()


def test_a_second_ctrl_c_closes_every_record_and_the_same_command_goes_on(busy: Study) -> None:
    process = busy.start()
    busy.wait_for_requests(12, process)
    workers = busy.workers(process.pid)
    assert workers
    interrupt(process)
    assert process.stderr is not None
    while "no more trials begin" not in process.stderr.readline():
        assert process.poll() is None
    interrupt(process)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not any(map(alive, workers))
    assert {result.state for result in busy.results()} == {"interrupted"}
    assert all(not result.open_calls for result in busy.results()), "calls in flight were finished, not cut off"
    assert busy.run()[0] == 0
    assert states(busy) == [("finished", 8)] * 6
    busy.check_bill()


def test_sigterm_stops_at_once(busy: Study) -> None:
    process = busy.start()
    busy.wait_for_requests(6, process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "no more trials begin" not in err
    assert {result.state for result in busy.results()} == {"interrupted"}


def test_a_killed_worker_costs_no_finished_call(busy: Study) -> None:
    process = busy.start()
    busy.wait_for_requests(12, process)
    os.kill(busy.workers(process.pid)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "worker lost (killed by SIGKILL)" in err
    assert [state for state, _ in states(busy)] == ["finished"] * 6
    assert all(steps == 8 for _, steps in states(busy)), "every step was paid for once"
    busy.check_bill()


def test_a_killed_coordinator_is_continued_by_the_same_command(busy: Study) -> None:
    process = busy.start()
    busy.wait_for_requests(12, process)
    process.kill()
    process.communicate()
    status, state, err = busy.run()
    assert (status, state["done"]) == (0, 6), err
    assert states(busy) == [("finished", 8)] * 6
    assert all(not result.open_calls for result in busy.results()), "workers finish the call in flight"
    busy.check_bill()


def test_a_second_coordinator_is_refused_with_the_host_and_the_process_of_the_first(busy: Study) -> None:
    process = busy.start()
    busy.wait_for_requests(1, process)
    status, _, err = busy.run()
    assert status == 2
    assert f"(process {process.pid}) owns this batch" in err
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)


def test_a_rejected_key_makes_all_trials_of_the_model_wait_with_the_reason(tmp_path: Path) -> None:
    with Running("--busy", "3", "--key", "sk-right") as provider:
        study = Study(tmp_path, provider, f"{BUSY}\nattempts: 4\nworkers: 1\n")
        status, state, err = study.run(OPENAI_API_KEY="sk-wrong")
        assert status == 1, err
        assert (state["held"], state["failed"]) == ({"model_unavailable": 4}, {})
        assert provider.state()["requests"] == 1, "one rejected call stops the model"
        assert err.count("no further call of openai/gpt-4.1-mini, and its trials wait: 401") == 1
        status, state, err = study.run(OPENAI_API_KEY="sk-right")
        assert (status, state["done"]) == (0, 4), err


def test_the_budget_is_never_exceeded_and_a_larger_one_continues(tmp_path: Path) -> None:
    short = BUSY.replace("openai/gpt-4.1-mini", "{name: openai/gpt-4.1-mini, settings: {max_tokens: 200}}")
    with Running("--busy", "8") as provider:
        study = Study(tmp_path, provider, f"{short}\nattempts: 4\nworkers: 4\nbudget: {{usd: 0.012}}\n")
        status, state, err = study.run()
        assert status == 1, err
        assert 0.004 < provider.state()["usd"] <= 0.012
        assert state["held"] == {"budget": state["waiting"]}
        assert "the budget holds no further call of openai/gpt-4.1-mini" in err
        requests = provider.state()["requests"]
        assert study.run()[0] == 1
        assert provider.state()["requests"] == requests, "nothing begins that cannot make a call"
        study = Study(tmp_path, provider, f"{short}\nattempts: 4\nworkers: 4\nbudget: {{usd: 1}}\n")
        status, state, err = study.run()
        assert (status, state["done"]) == (0, 4), err
        study.check_bill()


def test_postponed_evaluations_are_not_missed(tmp_path: Path) -> None:
    with Running("--busy", "2") as provider:
        study = Study(tmp_path, provider, f"{BUSY}\nattempts: 2\n")
        status, state, err = study.run("--no-evaluate")
        assert (status, state["done"], state["unevaluated"]) == (0, 2, 2), err
        status, state, err = study.run()
        assert (status, state["judged"]) == (0, 2), err
