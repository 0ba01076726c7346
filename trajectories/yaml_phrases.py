"""Errors of the YAML parser in plain words, with the line of the mistake."""

from __future__ import annotations

import re

import yaml

_PHRASES = (
    (r"found character '\\t'", "a tab cannot indent YAML; use spaces"),
    (r"found character '(.)' that cannot start", r"a text cannot begin with \1; put it in quotes"),
    (r"mapping values are not allowed", "a second `: ` in one line, or a wrong indentation; put a text in quotes"),
    (r"could not find expected ':'", "a `: ` behind the key is missing"),
    (r"expected <block end>", "is indented in another way than the lines above"),
    (r"expected ',' or '[\]}]'", "a bracket is not closed, or a comma is missing"),
    (r"expected the node content", "a value is missing, or a bracket is not closed"),
    (r"another document", "only one document is allowed; remove the line `---`"),
    (r"could not determine a constructor for the tag ('.*')", r"the tag \1 is not allowed"),
    (r"special characters are not allowed", "a control character is not allowed"),
)
"""Messages of PyYAML and of libyaml, each with what it tells a person."""


def in_plain_words(error: yaml.YAMLError) -> str:
    """Return an error of the parser as `line 3: the reason`."""
    problem = getattr(error, "problem", None) or str(error).splitlines()[0] or "is not YAML"
    mark = getattr(error, "problem_mark", None)
    if "unexpected end of stream" in problem and "quoted" in str(getattr(error, "context", "")):
        problem, mark = "the quotation mark is not closed", error.context_mark  # type: ignore[attr-defined]
    for pattern, phrase in _PHRASES:
        if match := re.search(pattern, str(problem)):
            problem = match.expand(phrase)
            break
    return f"line {mark.line + 1}: {problem}" if mark else f"is not YAML: {problem}"
