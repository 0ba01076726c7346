"""A prompt file of a user: what it may hold, and what is said about mistakes in it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import prompts
from prompts import PromptError
from prompts.checking import require_examples
from prompts.keys import SETTINGS, TEMPLATES

FOLDER = Path(prompts.__file__).parent
WHOLE = (FOLDER / "default-1.yaml").read_text()


def mistakes(tmp_path: Path, text: str | bytes) -> str:
    """Return the message about a file, without its path."""
    path = tmp_path / "mine.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PromptError) as caught:
        prompts.load(str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


SHIPPED = "default, default-1, default-2, programbench, programbench-1, programbench-2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a mapping of keys to texts, not empty"),
        ("- a\n", "must be a mapping of keys to texts, not a list"),
        (b"\xff", "is not UTF-8 (byte 0 is 0xff); save it with this encoding"),
        ("system: 'a\n", "line 1: the quotation mark is not closed"),
        (
            "extends: default\nsystem: a\nsystem: b\nplan: 1\n",
            "line 3: system: occurs twice; line 4: plan: must be a text (put it in quotes), not 1",
        ),
        ("extends: nothing\n", f"line 1: extends: must be one of {SHIPPED}, not 'nothing'"),
        ("extends: [default]\n", f"line 1: extends: must be one of {SHIPPED}, not a list"),
        ("extends: default\nsytem: a\n", "line 2: sytem: unknown key; did you mean system?"),
        ("extends: default\nsystem: 5\n", "line 2: system: must be a text (put it in quotes), not 5"),
        (
            "extends: default\nfence: two words\n",
            "line 2: fence: must be one word of letters, digits, '_', '-' and '.', not 'two words'",
        ),
        (
            "extends: default\nshown_characters: many\n",
            "line 2: shown_characters: must be a whole number from 200 to 1000000, not 'many'",
        ),
        (
            "extends: default\nshown_characters: true\n",
            "line 2: shown_characters: must be a whole number from 200 to 1000000, not True",
        ),
        (
            "extends: default\nvariables:\n  A B: x\n  CI: 1\n",
            "line 3: variables.A B: is not a name that a variable can have; "
            "line 4: variables.CI: must be a text (put it in quotes), not 1",
        ),
        ("extends: default\nvariables: []\n", "line 2: variables: must be a mapping of names to texts, not a list"),
        (
            "extends: default\nsystem: |\n  a\n  {% if %}\n",
            "line 2: system: is not a valid template, in its line 2: Expected an expression, got 'end of statement "
            "block'",
        ),
        (
            "extends: default\nplan: '{{ plam }}'\n",
            "line 2: plan: uses 'plam', which does not exist; did you mean plan?",
        ),
        (
            "extends: default\nsystem: '{{ workdir }}'\n",
            "line 2: system: uses 'workdir', which does not exist; values of this key are none",
        ),
        (
            "extends: default\ninstruction: a\ntask: b\n",
            "line 2: instruction: goes into the task of the other prompt, but `task` replaces that; omit one",
        ),
        (
            "instruction: a\n",
            "lacks system, task, plan, observation, format_error_tool, format_error_fenced, not_executed; or write "
            "`extends: default`, and only what differs; line 1: instruction: goes only with 'extends'; write the whole "
            "`task` instead",
        ),
        (
            "extends: default\nsytem: a\nplan: '{{ plam }}'\nshown_characters: 0\n",
            "line 2: sytem: unknown key; did you mean system?; line 3: plan: uses 'plam', which does not exist; did "
            "you mean plan?; line 4: shown_characters: must be a whole number from 200 to 1000000, not 0",
        ),
    ],
)
def test_all_mistakes_are_named_with_their_lines_and_keys(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert mistakes(tmp_path, text) == message


@pytest.mark.parametrize("name", ["", ".", "a\0b", "x" * 5000])
def test_a_name_of_no_file_is_one_line(name: str) -> None:
    with pytest.raises(PromptError) as caught:
        prompts.load(name)
    assert "\n" not in str(caught.value)


def test_a_whole_prompt_of_version_1_keeps_the_behavior_of_version_1(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(WHOLE)
    prompt = prompts.load(str(path))
    assert (prompt.fence, prompt.shown_characters, prompt.variables) == (None, None, {})
    assert "cut" not in prompt.templates
    assert "gone are: x" in prompt.render("resumed", lost=["x"])


def test_a_prompt_that_extends_another_takes_its_settings_and_may_replace_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: programbench\nshown_characters: 500\nvariables: {CI: 'yes'}\nfence: my_tag\n")
    prompt = prompts.load(str(path))
    assert (prompt.shown_characters, prompt.variables, prompt.fence) == (500, {"CI": "yes"}, "my_tag")
    again = prompts.parse("mine.yaml", prompt.data)  # as a record holds it
    assert (again.shown_characters, again.variables, again.sha256) == (500, {"CI": "yes"}, prompt.sha256)
    assert yaml.safe_load(prompt.data)["system"] == prompts.load("default").render("system")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("resumed: '{{ lost + 1 }}'", "resumed: fails with usual values: "),
        ("observation: '{{ exit_code + 1 }}'", "observation: fails with exit_code, "),
        ("task: '{{ steps // 2 }}'", "task: fails with user, steps, time_s, tokens, cost_usd = none"),
        ("cut: '{{ lines / (lines - 1) }}'", "cut: fails with usual values: division by zero"),
    ],
)
def test_a_template_that_fails_on_a_value_is_refused_before_a_trial_begins(
    tmp_path: Path, line: str, message: str
) -> None:
    assert message in mistakes(tmp_path, f"extends: default\n{line}\n")


def test_a_template_of_a_record_that_fails_is_an_error_of_the_prompt() -> None:
    prompt = prompts.parse("mine.yaml", b"extends: default\nresumed: '{{ lost + 1 }}'\n")
    with pytest.raises(PromptError, match="key 'resumed'"):
        prompt.render("resumed", lost=[])


@pytest.mark.parametrize(
    "attack",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ lost.__class__.__base__.__subclasses__() }}",
        "{{ '{0.__class__.__mro__}'.format(lost) }}",
        "{{ lost.append('x') }}",
    ],
)
def test_the_prompt_of_a_record_reaches_nothing_of_the_host(attack: str) -> None:
    """A record may come from somebody else, and its prompt is rendered when it is resumed or forked."""
    prompt = prompts.parse("mine.yaml", yaml.safe_dump({"extends": "default", "resumed": attack}).encode())
    with pytest.raises(PromptError):
        prompt.render("resumed", lost=[])


@pytest.mark.parametrize("attack", ["{{ lipsum.__globals__ }}", "{% include '/etc/passwd' %}"])
def test_a_template_has_its_own_values_only(tmp_path: Path, attack: str) -> None:
    assert mistakes(tmp_path, yaml.safe_dump({"extends": "default", "resumed": attack}))


@pytest.mark.parametrize("name", prompts.names())
def test_shipped_prompts_use_keys_that_are_described(name: str) -> None:
    content = yaml.safe_load(prompts.load(name).data)
    assert set(content) <= {*TEMPLATES, *SETTINGS}
    assert all(key.meaning and all(key.values.values()) for key in TEMPLATES.values())
    require_examples(name, prompts.load(name).templates, TEMPLATES)


def test_the_examples_have_exactly_the_values_of_their_key() -> None:
    for key in TEMPLATES.values():
        assert bool(key.examples) == bool(key.values)
        assert all(set(example) == set(key.values) for example in key.examples)
