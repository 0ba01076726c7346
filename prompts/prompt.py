"""A prompt that was loaded and checked, ready to be rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import jinja2

RENDERING = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors of a template that is rendered."""


class PromptError(Exception):
    """A prompt that cannot be used."""


@dataclass(frozen=True)
class Prompt:
    """A named set of templates and settings; `sha256` is over `data`.

    A record keeps its prompt, and whatever is newer than a prompt is not done with it: a template or a setting that a
    prompt lacks is None here, or not in `templates`, and stands for the behavior of version 1.
    """

    name: str
    sha256: str
    templates: Mapping[str, jinja2.Template]
    data: bytes = b""
    """Content of the file, or, for a prompt that extends another, the complete prompt as YAML."""
    fence: str | None = None
    """Tag of the fenced block that is run; None for the rule of version 1 (`agent.loop.fences`)."""
    ask_fence: str = "retrace_ask"
    """Tag of the fenced block that asks the expert, in trials that have one."""
    shown_characters: int | None = None
    """Longest output that is shown whole; None for the limit of version 1."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of commands, unless the task or the image sets them."""

    def render(self, key: str, **values: object) -> str:
        """Return a template with its values filled in; an undefined variable is an error.

        Raises: PromptError.
        """
        try:
            return self.templates[key].render(values)
        except RENDERING as error:
            raise PromptError(f"prompt {self.name!r}, key {key!r}: {error}") from None
