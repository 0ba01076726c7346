"""Recorded dollars of real runs, computed again from their records.

The rates are those that the runs themselves were billed by: litellm's table of then gave `deepseek-chat` and
`deepseek-reasoner` 0.28 / 0.028 / 0.42 dollars a million (uncached, hit, output). A table of today may say otherwise,
so they are stated here. GPT-5.5 was billed at 5 / 30 below a gateway's own name, Claude 3.5 Sonnet at 3 / 15.
`deepseek-v4-flash`, which one run was served by, is as litellm 1.106.2 has it, at the standing rate. The shared data
holds no run with Gemini.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scoring.pricing.published import prices_of
from scoring.pricing.repricing import Repriced, reprice
from scoring.pricing.snapshots import read_snapshot, table_of, write_snapshot
from scoring.pricing.tables import PriceTable, wheel_prices
from trajectories.formats.trial import import_file
from trajectories.reading.reader import read_events

DEEPSEEK = {"input": 2.8e-7, "cache_read": 2.8e-8, "output": 4.2e-7}
THEN = {
    "source": "what the recorded runs were billed",
    "models": {
        "deepseek/deepseek-chat": DEEPSEEK,
        "deepseek/deepseek-reasoner": DEEPSEEK,
        "deepseek/deepseek-v4-flash": {"input": 3e-7, "cache_read": 6e-9, "output": 1.2e-6},
        "gpt-5-5-genai-responses": {"input": 5e-6, "output": 3e-5, "cache_read": 5e-7},
        "claude-3-5-sonnet-20241022": {"input": 3e-6, "output": 1.5e-5},
    },
}
SUBSTITUTED = "v2/2.3.0-astropy-12907.traj.json"
TO_1E_9 = {"rel": 0, "abs": 1e-9}


@pytest.fixture(scope="module")
def then(tmp_path_factory: pytest.TempPathFactory) -> PriceTable:
    folder = tmp_path_factory.mktemp("prices")
    write_snapshot(folder, "then", prices_of(THEN, "then"), date="2026-03-01")
    return table_of(read_snapshot(folder, "then"))


def repriced(path: Path, folder: Path, table: PriceTable) -> Repriced:
    return reprice(read_events(import_file(path, folder / "runs" / "b").directory), table)


def deepseek_runs(data: Path) -> Iterator[Path]:
    for path in sorted((data / "mini-swe-agent").glob("v2*/**/*.json")):
        if str(path).endswith(SUBSTITUTED) or '"deepseek/deepseek-' not in path.read_text():
            continue
        yield path


def test_every_call_of_the_deepseek_runs_costs_what_was_recorded(
    shared_data: Path, tmp_path: Path, then: PriceTable
) -> None:
    runs = calls = 0
    for path in deepseek_runs(shared_data):
        found = repriced(path, tmp_path, then)
        finished = [call for call in found.calls if call.outcome == "finished" and call.usage is not None]
        for call in finished:
            assert call.costs.computed == pytest.approx(call.costs.billed, **TO_1E_9), (path.name, call.step)
            assert call.agentmeter_usd == pytest.approx(call.costs.computed, **TO_1E_9)
            assert call.priced_as == call.requested
        assert found.substitutions == ()
        assert (found.unpriced_models, found.gaps) == ((), ())
        runs += bool(finished)
        calls += len(finished)
    assert (runs, calls) == (22, 1432)


def test_a_run_served_by_another_model_is_explained(shared_data: Path, tmp_path: Path, then: PriceTable) -> None:
    """Asked for deepseek-chat, served by deepseek-v4-flash, billed as asked: both figures, and the two names."""
    found = repriced(shared_data / "mini-swe-agent" / SUBSTITUTED, tmp_path, then)
    (one,) = found.substitutions
    assert (one.requested, one.served, one.calls) == ("deepseek/deepseek-chat", "deepseek-v4-flash", 64)
    assert one.priced_as == "deepseek/deepseek-v4-flash"
    assert one.as_requested_usd == pytest.approx(found.costs.billed, **TO_1E_9)
    assert found.costs.billed == pytest.approx(0.04282166, **TO_1E_9)
    assert one.computed_usd == found.costs.computed == pytest.approx(0.03247986, **TO_1E_9)
    for call in found.calls:
        assert call.as_requested_usd == pytest.approx(call.costs.billed, **TO_1E_9)


def test_it_is_named_also_where_the_served_model_has_no_price(
    shared_data: Path, tmp_path: Path, then: PriceTable
) -> None:
    table = PriceTable(then.source, "", {"deepseek/deepseek-chat": DEEPSEEK}, read=then.read)
    (one,) = repriced(shared_data / "mini-swe-agent" / SUBSTITUTED, tmp_path, table).substitutions
    assert (one.served, one.priced_as) == ("deepseek-v4-flash", "deepseek/deepseek-chat")
    assert one.computed_usd == one.as_requested_usd


def test_other_providers_to_the_last_digit(shared_data: Path, tmp_path: Path, then: PriceTable) -> None:
    data = shared_data / "mini-swe-agent"
    gateway = repriced(data / "excerpts" / "layout-responses.gpt-5.5.cmatrix.excerpt.json", tmp_path, then)
    assert [call.costs.computed for call in gateway.calls if call.usage] == pytest.approx(
        [0.014785, 0.01594], **TO_1E_9
    )
    claude = repriced(data / "v1" / "rfc-mini-1.13.4.traj.json", tmp_path, then)
    assert claude.costs.computed == pytest.approx(0.010521, **TO_1E_9)


def test_a_model_without_a_price_is_null_and_named(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "mini-swe-agent" / "excerpts" / "layout-responses.gpt-5.5.cmatrix.excerpt.json"
    found = repriced(path, tmp_path, wheel_prices())
    assert found.unpriced_models == ("gpt-5-5-genai-responses",)
    assert (found.costs.computed, found.costs.list, found.agentmeter_usd) == (None, None, None)
    assert found.priced_calls == 0
