"""A wait at the gate changes nothing in a trial: its clock stands, and the tries of a call are counted on."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent.loop.actions import SUBMIT
from tests.loop.simulation import Simulation, calls
from trajectories.record.events import CallFailed, Limits
from trajectories.record.exits import Exit


def failed() -> CallFailed:
    return CallFailed(step=0, try_=0, error="rate_limit", detail="429", retry=True, wait_s=2.0, latency_s=0.0)


@given(
    # whole seconds, so that no rounding error decides if a limit is reached
    failures=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    wait_s=st.integers(1, 100_000).map(float),
    limit_s=st.integers(1, 60).map(float),
)
def test_a_trial_that_waits_goes_like_one_that_does_not(failures: list[int], wait_s: float, limit_s: float) -> None:
    def simulate(wait_s: float) -> tuple[Simulation, Exit]:
        replies = [entry for count in failures for entry in [*[failed()] * count, calls("ls")]]
        simulation = Simulation([*replies, calls(SUBMIT)], Limits(time_s=limit_s), wait_s=wait_s)
        return simulation, simulation.run()

    (plain, expected), (waiting, exit) = simulate(0.0), simulate(wait_s)
    assert exit.cause == expected.cause
    assert waiting.tries == plain.tries
    assert waiting.scripts_run() == plain.scripts_run()
    assert waiting.tally.wall_s(waiting.now_s) == pytest.approx(plain.tally.wall_s(plain.now_s), abs=1e-3)
    assert waiting.tally.working_s(waiting.now_s) == pytest.approx(plain.tally.working_s(plain.now_s), abs=1e-3)
