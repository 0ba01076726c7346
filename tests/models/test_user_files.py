"""Any content of the user's own files is either usable or the user's mistake, never an internal error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from agent import config
from agent.errors import UserError
from agent.models.aliases import load_aliases
from agent.models.free.script import parse_script
from agent.models.protocol import ModelUnusable

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates()
KEYS = st.sampled_from(
    ["name", "settings", "date", "opus", "model", "step-limit", "text", "commands", "calls", "usage", "fail", "error"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | SCALARS, inner, max_size=3),
    max_leaves=8,
)
TEXTS = VALUES.map(lambda value: yaml.safe_dump(value, sort_keys=False)) | st.text(max_size=40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RETRACE_CONFIG_DIR", str(folder))
        yield folder
    config.defaults.cache_clear()


def assert_named(read: Callable[[], object], file: object) -> None:
    """Check that a reading succeeds, or fails as the user's mistake with the name of the file."""
    try:
        read()
        message = None
    except (ModelUnusable, UserError) as error:
        message = str(error)
    assert message is None or message.startswith(f"{file}: ")


@given(TEXTS)
def test_aliases(folder: Path, text: str) -> None:
    (folder / "models.yaml").write_text(text, encoding="utf-8")
    assert_named(load_aliases, folder / "models.yaml")


@given(TEXTS)
def test_defaults(folder: Path, text: str) -> None:
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    config.defaults.cache_clear()
    assert_named(config.defaults, folder / "config.yaml")


@given(TEXTS, st.sampled_from(["s.yaml", "s.json"]))
def test_scripts(text: str, name: str) -> None:
    assert_named(lambda: parse_script(text.encode(), name), name)


def test_the_mistakes_of_a_file_are_named_together_and_in_plain_words(folder: Path) -> None:
    (folder / "config.yaml").write_text("model: 4\nstep-limt: 3\ntime-limit: [1]\nenv: docker\n")
    config.defaults.cache_clear()
    with pytest.raises(UserError) as caught:
        config.defaults()
    assert str(caught.value).removeprefix(f"{folder / 'config.yaml'}: ").split("; ") == [
        "line 1: model: must be a text (put it in quotes), not 4",
        "line 2: step-limt: unknown key",
        "did you mean step-limit?",
        "line 3: time-limit: must be a text or a number, not [1]",
    ]


@pytest.mark.parametrize("name", ["s.yaml", "s.json"])
def test_every_wrong_turn_of_a_script_is_named_with_its_line(name: str) -> None:
    with pytest.raises(ModelUnusable) as caught:
        parse_script(b'[\n"ls",\n3,\n{"text": 1},\n{"fail": {\n"error": "timeout",\n"status": 3}}\n]', name)
    assert str(caught.value).split("; ") == [
        f"{name}: line 3: turn 2: must be a command, a list of commands or a mapping, not 3",
        "line 4: turn 3: text must be a text, not 1",
        "line 7: turn 4: status must be an HTTP status from 100 to 599, not 3",
    ]
