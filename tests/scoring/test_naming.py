"""Names of configurations: made of what differs, never a hash, never the same name twice."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from scoring.selecting.naming import configuration_names, model_names, shared_conditions
from scoring.selecting.selection import labels, with_labels
from tests.scoring.trials import trial

DIGEST = "49ad44dd8f04be5385768803e7d38560654f61f0b9c4d6e25a79a05db21b0000"
OTHER = DIGEST[::-1]
NAMES = (
    "model",
    "harness",
    "setting temperature",
    "setting sha256",
    "setting body",
    "prompt",
    "prompt sha256",
    "variant",
)
VALUES = st.one_of(
    st.sampled_from(["", "a", "b", "x/a", "y/a", "a #1", "a+b", "0", DIGEST, OTHER]), st.text(max_size=40)
)
CONFIGURATIONS = st.dictionaries(
    st.text(min_size=1, max_size=3), st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6), max_size=8
)


@given(CONFIGURATIONS)
def test_a_name_is_one_line_of_one_configuration_without_a_hash(configurations: dict[str, dict[str, str]]) -> None:
    names = configuration_names(configurations)
    assert names.keys() == configurations.keys()
    assert len(set(names.values())) == len(names)
    for key, name in names.items():
        assert name == " ".join(name.split()) != ""
        if DIGEST not in configurations[key].get("model", ""):
            assert DIGEST[:6] not in name


@given(CONFIGURATIONS)
def test_names_are_the_same_in_every_run(configurations: dict[str, dict[str, str]]) -> None:
    assert configuration_names(configurations) == configuration_names(dict(configurations))


@given(st.sets(st.text(st.characters(codec="ascii", categories=["L", "P"]), min_size=1, max_size=12), max_size=8))
def test_models_have_different_short_names(models: set[str]) -> None:
    names = model_names(models)
    assert len(set(names.values())) == len(models)
    assert all(model.rstrip("/").endswith(name.rstrip("/")) for model, name in names.items())


@pytest.mark.parametrize(
    ("conditions", "names"),
    [
        ([{"model": "anthropic/opus", "setting temperature": "0", "prompt": "default-2"}], ["opus"]),
        (
            [{"model": "maker/opus", "setting temperature": "0"}, {"model": "maker/opus", "setting temperature": "1"}],
            ["opus temperature=0", "opus temperature=1"],
        ),
        ([{"model": "openai/gpt"}, {"model": "azure/gpt"}, {"model": "x/opus"}], ["openai/gpt", "azure/gpt", "opus"]),
        (
            [{"model": "opus", "prompt": "default-1"}, {"model": "opus", "prompt": "default-2"}],
            ["opus prompt=default-1", "opus prompt=default-2"],
        ),
        (
            [{"model": "opus", "variant": ""}, {"model": "opus", "variant": "no-docs+hard", "plan": "plan"}],
            ["opus", "opus +no-docs +hard +plan"],
        ),
        ([{"model": "opus", "harness": ""}, {"model": "opus", "harness": "mini"}], ["opus", "opus (mini)"]),
        (
            [{"model": "script", "setting sha256": DIGEST}, {"model": "script", "setting sha256": OTHER}],
            ["script #1", "script #2"],
        ),
        (
            [{"model": "opus", "setting body": "x" * 99}, {"model": "opus", "setting body": "y" * 99}],
            ["opus body#1", "opus body#2"],
        ),
        ([{"model": "opus"}, {"model": "opus", "batch": "old"}], ["opus", "opus @old"]),
        ([{"name": "mine"}, {"name": "mine"}, {"name": "mine #1"}], ["mine #2", "mine #3", "mine #1"]),
    ],
)
def test_a_name_tells_what_differs(conditions: list[dict[str, str]], names: list[str]) -> None:
    numbered = {str(number): configuration for number, configuration in enumerate(conditions)}
    assert list(configuration_names(numbered).values()) == names


def test_what_all_share_is_told_once() -> None:
    first = {"model": "opus", "setting temperature": "0", "prompt": "default-2", "prompt sha256": DIGEST, "variant": ""}
    assert shared_conditions([first]) == "temperature=0, prompt=default-2"
    assert shared_conditions([first, {**first, "setting temperature": "1"}]) == "prompt=default-2"
    assert shared_conditions([]) == ""


def test_the_setup_that_began_first_is_number_1() -> None:
    """So a trial that is added later does not change the names of the others."""
    conditions = {"model": "script", "setting sha256": DIGEST}
    rows = [
        trial("a", "late", label="x", conditions=conditions, started="2026-11-02T00:00:00Z"),
        trial("a", "early", label="x", conditions={**conditions, "setting sha256": OTHER}, started="2026-11-01T00:00Z"),
    ]
    assert labels(rows) == labels(rows[::-1]) == {"early": "script #1", "late": "script #2"}
    named = with_labels(rows)
    assert [row.label for row in named] == ["script #2", "script #1"]
    assert labels(named[:1]) == {"late": "script #2"}
