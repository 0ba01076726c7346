"""Any content of the user's own files is either usable or the user's mistake, never an internal error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from agent import config
from agent.cli import main
from agent.cli.settings import checked_defaults
from agent.errors import UserError
from agent.models.aliases import load_aliases
from agent.models.free.script import parse_script
from agent.models.protocol import ModelUnusable
from benchmarks.programbench import instances
from benchmarks.task.task import TaskError

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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"env:\n\tlocal\n", "line 2: a tab cannot indent YAML; use spaces"),
        (b"env: local\nenv: docker\nfoo: 1\n", "line 2: env: occurs twice; line 3: foo: unknown key; keys are model, "),
        (b"env: 'docker\nruns: r\n", "line 1: the quotation mark is not closed"),
        (b"env: a: b\n", "line 1: a second `: ` in one line, or a wrong indentation; put a text in quotes"),
        (b"env: @home\n", "line 1: a text cannot begin with @; put it in quotes"),
        (b"env: local\n---\nenv: docker\n", "line 2: only one document is allowed; remove the line `---`"),
        (b"env: !kind local\n", "line 1: the tag '!kind' is not allowed"),
        (b"env: [a\n", "line 2: a bracket is not closed, or a comma is missing"),
        (b"env: \x00\n", "is not YAML: a control character is not allowed"),
        (b"env:\nruns:\n", "line 1: env: has no value; give one, or leave out the line; line 2: runs: has no value; "),
        (b"env:docker\n", "must be a mapping of option names to values (`env: docker`), not 'env:docker'"),
        ("env: local\n".encode("utf-16"), "is not UTF-8 (byte 0 is 0xff); save it with this encoding"),
    ],
)
def test_a_mistake_of_yaml_is_told_in_plain_words(folder: Path, data: bytes, message: str) -> None:
    (folder / "config.yaml").write_bytes(data)
    config.defaults.cache_clear()
    with pytest.raises(UserError) as caught:
        config.defaults()
    assert str(caught.value).startswith(f"{folder / 'config.yaml'}: {message}")


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfenv: local\nruns: r\n", b"env: local\r\nruns: r\r\n"])
def test_a_byte_order_mark_and_other_line_ends_are_read(folder: Path, data: bytes) -> None:
    (folder / "config.yaml").write_bytes(data)
    config.defaults.cache_clear()
    assert (config.defaults().env, config.defaults().runs) == ("local", "r")
    (folder / "models.yaml").write_bytes(data.replace(b"local", b"openai/mine"))
    assert load_aliases()["env"].name == "openai/mine"
    assert [turn.calls for turn in parse_script(data.replace(b"env", b"- text").replace(b"runs", b"- text"), "s.yaml")]


def test_all_values_of_the_defaults_that_cannot_be_used_are_named_together(folder: Path) -> None:
    (folder / "config.yaml").write_text("env: dokcer\nstep-limit: -3\nmodel: nop\ntime-limit: 2 hours\nshell: zsh\n")
    config.defaults.cache_clear()
    with pytest.raises(UserError) as caught:
        checked_defaults()
    assert [part.partition(" is not")[0] for part in str(caught.value).split("; line ")] == [
        f"{folder / 'config.yaml'}: line 1: --env 'dokcer'",
        "2: --step-limit: '-3'",
        "4: --time-limit: '2 hours'",
        "5: --shell 'zsh'",
    ]


def test_a_folder_and_a_file_in_the_wrong_place_are_the_mistake_of_the_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("config.yaml", "models.yaml"):
        (folder / name).unlink(missing_ok=True)
    (folder / "file").touch()
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(folder / "file"))
    config.defaults.cache_clear()
    with pytest.raises(UserError, match=r"file/config.yaml: cannot be read: Not a directory"):
        config.defaults()
    with pytest.raises(UserError, match=r"file/models.yaml: cannot be read: Not a directory"):
        load_aliases()
    (folder / "other" / "config.yaml").mkdir(parents=True)
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(folder / "other"))
    with pytest.raises(UserError, match=r"config.yaml: cannot be read: Is a directory"):
        config.defaults()


def test_a_missing_folder_of_instances_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RETRACE_PROGRAMBENCH_TASKS", str(tmp_path / "nowhere"))
    with pytest.raises(TaskError, match=r"^RETRACE_PROGRAMBENCH_TASKS: .*nowhere: No such file or directory$"):
        instances.ids()


def test_a_misspelt_variable_is_noted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("RETRACE_CONFIG_DIRECTORY", "RETRACE_CACHEDIR", "RETRACE_MINE"):
        monkeypatch.setenv(name, "x")
    main.note_unknown_variables()
    assert sorted(capsys.readouterr().err.splitlines()) == [
        "note: the variable RETRACE_CACHEDIR has no effect; did you mean RETRACE_CACHE_DIR?",
        "note: the variable RETRACE_CONFIG_DIRECTORY has no effect; did you mean RETRACE_CONFIG_DIR?",
    ]
