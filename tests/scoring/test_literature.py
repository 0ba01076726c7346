"""Recorded costs of real runs, computed again from their records.

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
        result = repriced(path, tmp_path, then)
        finished = [call for call in result.calls if call.outcome == "finished" and call.usage is not None]
        for call in finished:
            assert call.costs.computed == pytest.approx(call.costs.billed, **TO_1E_9), (path.name, call.step)
            assert call.agentmeter_usd == pytest.approx(call.costs.computed, **TO_1E_9)
            assert call.priced_as == call.requested
        assert result.substitutions == ()
        assert (result.unpriced_models, result.gaps) == ((), ())
        runs += bool(finished)
        calls += len(finished)
    assert (runs, calls) == (22, 1432)


def test_a_run_served_by_another_model_is_explained(shared_data: Path, tmp_path: Path, then: PriceTable) -> None:
    """deepseek-chat was requested and billed, deepseek-v4-flash served: both costs and both names are reported."""
    result = repriced(shared_data / "mini-swe-agent" / SUBSTITUTED, tmp_path, then)
    (substitution,) = result.substitutions
    assert (substitution.requested, substitution.served, substitution.calls) == (
        "deepseek/deepseek-chat",
        "deepseek-v4-flash",
        64,
    )
    assert substitution.priced_as == "deepseek/deepseek-v4-flash"
    assert substitution.as_requested_usd == pytest.approx(result.costs.billed, **TO_1E_9)
    assert result.costs.billed == pytest.approx(0.04282166, **TO_1E_9)
    assert substitution.computed_usd == result.costs.computed == pytest.approx(0.03247986, **TO_1E_9)
    for call in result.calls:
        assert call.as_requested_usd == pytest.approx(call.costs.billed, **TO_1E_9)


def test_a_served_model_without_a_price_is_named_as_well(shared_data: Path, tmp_path: Path, then: PriceTable) -> None:
    table = PriceTable(then.source, "", {"deepseek/deepseek-chat": DEEPSEEK}, read=then.read)
    (substitution,) = repriced(shared_data / "mini-swe-agent" / SUBSTITUTED, tmp_path, table).substitutions
    assert (substitution.served, substitution.priced_as) == ("deepseek-v4-flash", "deepseek/deepseek-chat")
    assert substitution.computed_usd == substitution.as_requested_usd


def test_other_providers_to_the_last_digit(shared_data: Path, tmp_path: Path, then: PriceTable) -> None:
    data = shared_data / "mini-swe-agent"
    gateway = repriced(data / "excerpts" / "layout-responses.gpt-5.5.cmatrix.excerpt.json", tmp_path, then)
    assert [call.costs.computed for call in gateway.calls if call.usage] == pytest.approx(
        [0.014785, 0.01594], **TO_1E_9
    )
    claude = repriced(data / "v1" / "rfc-mini-1.13.4.traj.json", tmp_path, then)
    assert claude.costs.computed == pytest.approx(0.010521, **TO_1E_9)


def test_a_model_without_a_price_is_named_and_has_no_cost(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "mini-swe-agent" / "excerpts" / "layout-responses.gpt-5.5.cmatrix.excerpt.json"
    result = repriced(path, tmp_path, wheel_prices())
    assert result.unpriced_models == ("gpt-5-5-genai-responses",)
    assert (result.costs.computed, result.costs.list, result.agentmeter_usd) == (None, None, None)
    assert result.priced_calls == 0
