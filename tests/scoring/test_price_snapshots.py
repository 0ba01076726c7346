"""Snapshots: their valid contents, their immutability, and the prices of their tables."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from scoring.pricing.cost import Missing, charge
from scoring.pricing.diff import diff_prices, rates_by_name
from scoring.pricing.published import PriceError, prices_of
from scoring.pricing.rates import BUCKETS
from scoring.pricing.snapshots import list_snapshots, read_snapshot, table_of, write_snapshot
from scoring.pricing.sources import combine, from_file, from_table, typed_row
from scoring.pricing.tables import PriceTable, wheel_prices
from trajectories.record.usage import Usage

ROW = {"input": 3e-6, "output": 1.5e-5}


def kept(folder: Path, content: dict, name: str = "one") -> PriceTable:
    write_snapshot(folder, name, prices_of(content, "test"), date="2026-06-04")
    return table_of(read_snapshot(folder, name))


def test_rates_are_restored_to_the_last_digit(tmp_path: Path) -> None:
    rate = 0.1 + 0.2 - 0.3 + 1.234567890123456e-7
    table = kept(tmp_path, {"models": {"m": {"input": rate, "output": 1e-6}}})
    assert table.price("m").base.input == rate
    assert (table.name, table.date) == ("one", "2026-06-04")


def test_another_currency_is_converted_at_the_stated_rate(tmp_path: Path) -> None:
    """AgentMeter's snapshot of 2026-06-04 has CNY at 6.77 per USD."""
    content = {
        "exchange": {"CNY": 6.77},
        "models": {"glm": {"currency": "CNY", "input": 2e-6, "output": 8e-6}, "m": ROW},
    }
    table = kept(tmp_path, content)
    costs = charge(Usage(input=1_000_000, output=1_000_000), table.price("z-ai/glm"))
    assert costs.computed == pytest.approx(10 / 6.77)
    assert table.price("m").base.input == 3e-6
    assert table.ref("glm").rates == {"currency": "CNY", "per_usd": 6.77, "input": 2e-6, "output": 8e-6}


def test_an_existing_snapshot_is_never_replaced(tmp_path: Path) -> None:
    first = kept(tmp_path, {"models": {"m": ROW}})
    with pytest.raises(PriceError, match="never change"):
        write_snapshot(tmp_path, "one", prices_of({"models": {"m": {**ROW, "input": 1e-6}}}, ""), date="2026-06-05")
    assert read_snapshot(tmp_path, "one").sha256 == first.sha256
    assert os.listdir(tmp_path) == ["one.json"]


def test_an_edit_is_detected(tmp_path: Path) -> None:
    kept(tmp_path, {"models": {"m": ROW}})
    path = tmp_path / "one.json"
    path.chmod(0o644)
    path.write_text(path.read_text().replace("3e-06", "2e-06"))
    with pytest.raises(PriceError, match="was edited"):
        read_snapshot(tmp_path, "one")
    assert from_file(path).prices.models["m"].input == 2e-6  # the way out that it names


def test_digests_are_equal_exactly_if_contents_are(tmp_path: Path) -> None:
    digests = [
        kept(tmp_path / str(number), {"models": {"m": {**ROW, "input": rate}}}).sha256
        for number, rate in enumerate((3e-6, 3e-6, 4e-6))
    ]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"models": {"m": {"input": float("nan")}}}, "models.m.input: nan must be finite"),
        ({"models": {"m": {"input": float("inf")}}}, "inf must be finite"),
        ({"models": {"m": {"input": -1e-6}}}, "not negative"),
        ({"models": {"m": {"input": True}}}, "must be a number"),
        ({"models": {"m": {"input": "3 dollars"}}}, "is not a number"),
        ({"models": {"m": {"input": 3}}}, "3 US dollars per token; rates are per token"),
        ({"models": {"m": {"inputs": 3e-6}}}, "models.m.inputs: unknown key; keys are input, output"),
        ({"models": {"m": {}}}, "states no rate"),
        ({"models": {}}, "names no model"),
        ({"models": {" m": ROW}}, "spaces around it"),
        ({"modles": {}, "models": {"m": ROW}}, "modles: unknown key; keys are date"),
        ({"models": {"m": {**ROW, "currency": "CNY"}}}, "model m: no exchange rate for CNY"),
        ({"currency": "CNY", "models": {"m": ROW}}, "model m: no exchange rate for CNY"),
        ({"currency": "CNY", "exchange": {"CNY": 0}, "models": {"m": ROW}}, "exchange.CNY: an exchange rate of 0"),
        ({"currency": "CNY", "exchange": {"CNY": float("nan")}, "models": {"m": ROW}}, "exchange.CNY: nan"),
        ({"exchange": {"USD": 2}, "models": {"m": ROW}}, "one USD is worth 1 USD"),
        ({"date": "2026-02-30", "models": {"m": ROW}}, "is not a date"),
        ({"models": {"m": {**ROW, "steps": [{"above": 5, "input": 1e-6}, {"above": 5, "input": 2e-6}]}}}, "ascend"),
        ({"models": {"m": {**ROW, "steps": [{"above": 5}]}}}, "states no rate"),
        ({"models": {"m": {**ROW, "tiers": {"batch": {"input": -1}}}}}, "models.m.tiers.batch.input: -1"),
    ],
)
def test_impossible_values_are_rejected_with_their_location(content: dict, message: str) -> None:
    with pytest.raises(PriceError) as error:
        prices_of(content, "FILE")
    assert message in str(error.value)
    assert str(error.value).startswith("FILE: ")
    assert "\n" not in str(error.value)


def test_a_missing_rate_is_named_and_gives_no_price(tmp_path: Path) -> None:
    prices = prices_of({"models": {"m": {"input": 3e-6}, "n": ROW}}, "test")
    assert prices.gaps == {"m": ("output",)}
    table = kept(tmp_path, {"models": {"m": {"input": 3e-6}}})
    charged = charge(Usage(input=10, output=1), table.price("m"))
    assert (charged.computed, charged.missing) == (None, (Missing("rate", "output"),))


def test_a_snapshot_of_litellms_table_has_the_same_prices(tmp_path: Path) -> None:
    """A snapshot has every row with its tiers, and all rates per token."""
    wheel = wheel_prices()
    made = from_table(wheel)
    write_snapshot(tmp_path, "all", made.prices, date="2026-11-20")
    table = table_of(read_snapshot(tmp_path, "all"))
    assert len(table.rows) > 3000
    assert {name: rates_by_name(table.price_of_row(name)) for name in table.rows} == {
        name: rates_by_name(wheel.price_of_row(name)) for name in table.rows
    }
    assert made.left_out == len(wheel.rows) - len(table.rows)


def test_models_are_looked_up_without_their_provider_prefix_as_well() -> None:
    made = from_table(wheel_prices(), ["anthropic/claude-haiku-4-5", "gemini/gemini-3-flash-preview"])
    assert list(made.prices.models) == ["claude-haiku-4-5", "gemini/gemini-3-flash-preview"]
    assert {"batch", "flex", "priority"} <= made.prices.models["gemini/gemini-3-flash-preview"].tiers.keys()
    with pytest.raises(PriceError, match=r"is it .*claude-haiku-4-5"):
        from_table(wheel_prices(), ["claude-haiku-45"])


def test_models_with_rates_by_the_hour_are_named() -> None:
    table = PriceTable(
        "t", "", {"m": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "off_peak_pricing": {}}}
    )
    assert from_table(table).off_peak == ("m",)


def test_three_kinds_of_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("date: 2026-06-04\nmodels:\n  m: {input: 3e-6, output: 15e-6}\n")
    (tmp_path / "litellm.json").write_text(
        json.dumps({"sample_spec": {}, "m": {"input_cost_per_token": 3e-6, "output_cost_per_token": 15e-6}, "i": {}})
    )
    kept(tmp_path, {"models": {"m": ROW}})
    rows = [from_file(tmp_path / name).prices.models["m"] for name in ("own.yaml", "litellm.json", "one.json")]
    assert rows[0] == rows[1] == rows[2]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.yaml", "models:\n  m: {input: .nan}\n", "models.m.input: nan"),
        ("p.yaml", "models:\n  m: {input: 1e-6}\n  m: {input: 2e-6}\n", "'m' occurs twice"),
        ("p.json", '{"models": {"m": {"input": 1e-6, "input": 2e-6}}}', "'input' occurs twice"),
        ("p.json", '{"models": {"m": {"input": NaN}}}', "models.m.input: nan"),
        ("p.json", '{"models": ', "not valid JSON"),
        ("p.json", "[]", "must be a mapping"),
        ("p.json", '{"m": {"input": 1}}', "must be a mapping with `models`"),
        ("p.json", '{"m": {"input_cost_per_token": "x"}}', "model m: "),
        ("p.json", '{"m": {"input_cost_per_token": -1, "output_cost_per_token": 1e-6}}', "models.m.input: -1"),
        ("p.yaml", "a: [\n", "not valid YAML"),
    ],
)
def test_an_invalid_file_is_rejected_with_the_location(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PriceError) as error:
        from_file(tmp_path / name)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_row_can_be_typed() -> None:
    words = "m input=3e-6 output=1.5e-5 input@200000=6e-6 batches.input=1.5e-6 batch.output@200000=2e-5 currency=CNY"
    prices = combine(None, models=dict([typed_row(words.split())]), exchange={"CNY": 6.77}, currency=None, date=None)
    row = prices.models["m"]
    assert rates_by_name(row.price(1.0)) == {
        "input": 3e-6,
        "output": 1.5e-5,
        "input@200000": 6e-6,
        "batch.input": 1.5e-6,
        "batch.output@200000": 2e-5,
    }
    assert (row.currency, prices.source) == ("CNY", "by hand: m")


@pytest.mark.parametrize("words", ["m", "m input", "m inputs=1", "m input@x=1", "m input=1 input=2", "m a.b=1"])
def test_a_mistyped_row_is_rejected(words: str) -> None:
    with pytest.raises(PriceError, match="--set"):
        typed_row(words.split())


def test_differences_are_named_by_rate(tmp_path: Path) -> None:
    old = kept(tmp_path, {"models": {"a": ROW, "b": ROW, "c": ROW}}, "old")
    new = {**ROW, "input": 4e-6, "cache_read": 1e-7, "tiers": {"batch": {"input": 1e-6}}}
    difference = diff_prices(old, kept(tmp_path, {"models": {"b": new, "c": ROW, "d": ROW}}, "new"))
    assert (difference.added, difference.removed, difference.same) == (("d",), ("a",), 1)
    assert [(change.model, change.rate, change.old, change.new) for change in difference.changed] == [
        ("b", "batch.input", None, 1e-6),
        ("b", "cache_read", None, 1e-7),
        ("b", "input", 3e-6, 4e-6),
    ]


RATES = st.dictionaries(st.sampled_from(BUCKETS), st.floats(0, 0.009), min_size=1)
STEPS = st.dictionaries(st.integers(1, 10**6), RATES, max_size=3).map(
    lambda steps: [{"above": above, **rates} for above, rates in sorted(steps.items())]
)
TIER = st.tuples(RATES, STEPS).map(lambda parts: {**parts[0], "steps": parts[1]})
MODEL = st.tuples(TIER, st.dictionaries(st.sampled_from(["batch", "flex"]), TIER)).map(
    lambda parts: {**parts[0], "tiers": parts[1]}
)


@given(st.dictionaries(st.text("abc/.-", min_size=1, max_size=8), MODEL, min_size=1, max_size=4))
def test_snapshots_are_read_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, models: dict) -> None:
    folder = tmp_path_factory.mktemp("prices")
    prices = prices_of({"source": "s", "models": models}, "test")
    write_snapshot(folder, "one", prices, date="2026-01-01")
    assert read_snapshot(folder, "one").models == prices.models


def test_a_listing_names_unusable_snapshots(tmp_path: Path) -> None:
    kept(tmp_path, {"models": {"m": ROW}})
    (tmp_path / "torn.json").write_text("{")
    sound, torn = list_snapshots(tmp_path)
    assert (sound.name, sound.models, sound.problem) == ("one", 1, "")
    assert "torn.json: not valid JSON" in torn.problem
