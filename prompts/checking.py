"""Checks the content of a prompt file. All mistakes are named at once, with their lines and keys."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import jinja2
import jinja2.meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from prompts.keys import (
    ASK_FENCE,
    EXTENDS,
    EXTENSION,
    FENCE,
    INSTRUCTION,
    SETTINGS,
    SHOWN_CHARACTERS,
    VARIABLES,
    Key,
)
from prompts.prompt import RENDERING, PromptError
from trajectories.yaml_mistakes import Mistake, Mistakes, checked, decoded, kind_of, shown, unknown_key

_TAG = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_CHARACTERS = range(200, 1_000_001)
_JINJA = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=False, autoescape=False)
"""A sandbox, because the prompt in a record that somebody else made is rendered too, on the host."""


def content_of(name: str, data: bytes, keys: Mapping[str, Key], shipped: Collection[str]) -> dict[str, Any]:
    """Return the content of a file's bytes; `shipped` has the names of prompts that it may extend, if it may.

    Raises: PromptError naming all mistakes.
    """

    def mistakes_in(content: Any) -> Iterator[Mistake]:
        if not isinstance(content, dict):
            raise Mistakes(f"must be a mapping of keys to texts, not {kind_of(content)}")
        return _mistakes_in(content, keys, shipped)

    try:
        content: dict[str, Any] = checked(decoded(data), mistakes_in)
    except Mistakes as mistakes:
        raise PromptError(f"{name}: {mistakes}") from None
    return content


def _mistakes_in(content: Mapping[str, Any], keys: Mapping[str, Key], shipped: Collection[str]) -> Iterator[Mistake]:
    names = [*keys, *(SETTINGS if shipped else ()), *(EXTENSION if shipped else ())]
    for key, value in content.items():
        if key not in names:
            yield Mistake((key,), unknown_key(key, names))
        elif key in keys:
            yield from _mistakes_of_template(key, value, keys[key])
        elif key == INSTRUCTION:
            yield from _mistakes_of_instruction(value, content)
        else:
            yield from _mistakes_of_setting(key, value, shipped)
    missing = [key for key in keys if key not in content and not keys[key].without]
    if missing and EXTENDS not in content:
        way_out = f"; or write `{EXTENDS}: default`, and only what differs" if shipped else ""
        yield Mistake((), f"lacks {', '.join(missing)}{way_out}")


def require_examples(name: str, templates: Mapping[str, jinja2.Template], keys: Mapping[str, Key]) -> None:
    """Render every template with each of its examples, so that a template that fails does so before a trial begins.

    Raises: PromptError.
    """
    mistakes = []
    for key, template in templates.items():
        for example in keys[key].examples:
            try:
                template.render(example)
            except RENDERING as error:
                mistakes.append(f"{key}: fails with {_in_words(example)}: {error}")
                break
    if mistakes:
        raise PromptError(f"{name}: {'; '.join(mistakes)}")


def _in_words(example: Mapping[str, object]) -> str:
    """Return the values that templates fail on most often."""
    empty = [name for name, value in example.items() if value is None]
    return f"{', '.join(empty)} = none" if empty else "usual values"


def compiled(content: Mapping[str, str], keys: Mapping[str, Key]) -> dict[str, jinja2.Template]:
    """Return the templates of a content that was checked."""
    return {key: _template(content[key]) for key in keys if key in content}


@functools.lru_cache(maxsize=64)
def _template(text: str) -> jinja2.Template:
    """Return the template of a text. Each is needed twice: to be checked, and in the prompt.

    Raises: jinja2.TemplateError, RecursionError.
    """
    return _JINJA.from_string(text)


def _mistakes_of_template(key: str, value: object, rule: Key) -> Iterator[Mistake]:
    if not isinstance(value, str):
        yield Mistake((key,), f"must be a text (put it in quotes), not {kind_of(value)}")
        return
    try:
        used = jinja2.meta.find_undeclared_variables(_JINJA.parse(value))
        _template(value)
    except jinja2.TemplateSyntaxError as error:
        yield Mistake((key,), f"is not a valid template, in its line {error.lineno}: {error.message}")
        return
    except (jinja2.TemplateError, RecursionError) as error:
        yield Mistake((key,), f"is not a valid template: {error or 'it is nested too deeply'}")
        return
    for name in sorted(used - rule.values.keys()):
        near = difflib.get_close_matches(name, rule.values, n=1)
        usable = ", ".join(rule.values) or "none"
        way_out = f"did you mean {near[0]}?" if near else f"values of this key are {usable}"
        yield Mistake((key,), f"uses {name!r}, which does not exist; {way_out}")


def _mistakes_of_instruction(value: object, content: Mapping[str, Any]) -> Iterator[Mistake]:
    if EXTENDS not in content:
        yield Mistake((INSTRUCTION,), f"goes only with {EXTENDS!r}; write the whole `task` instead")
    elif "task" in content:
        yield Mistake((INSTRUCTION,), "goes into the task of the other prompt, but `task` replaces that; omit one")
    if not isinstance(value, str):
        yield Mistake((INSTRUCTION,), f"must be a text (put it in quotes), not {kind_of(value)}")


def _mistakes_of_setting(key: str, value: object, shipped: Collection[str]) -> Iterator[Mistake]:
    if key in (FENCE, ASK_FENCE) and not (isinstance(value, str) and _TAG.fullmatch(value)):
        yield Mistake((key,), f"must be one word of letters, digits, '_', '-' and '.', not {shown(value)}")
    if key == SHOWN_CHARACTERS and (type(value) is not int or value not in _CHARACTERS):
        range_ = f"from {_CHARACTERS[0]} to {_CHARACTERS[-1]}"
        yield Mistake((key,), f"must be a whole number {range_}, not {kind_of(value)}")
    if key == EXTENDS and not (isinstance(value, str) and value in shipped):
        yield Mistake((key,), f"must be one of {', '.join(shipped)}, not {kind_of(value)}")
    if key == VARIABLES:
        yield from _mistakes_of_variables(value)


def _mistakes_of_variables(value: object) -> Iterator[Mistake]:
    if not isinstance(value, dict):
        yield Mistake((VARIABLES,), f"must be a mapping of names to texts, not {kind_of(value)}")
        return
    for name, text in value.items():
        if not (isinstance(name, str) and _VARIABLE.fullmatch(name)):
            yield Mistake((VARIABLES, str(name)), "is not a name that a variable can have")
        elif not isinstance(text, str) or "\0" in text:
            yield Mistake((VARIABLES, name), f"must be a text (put it in quotes), not {kind_of(text)}")
