"""Variables in the texts of a compose file: `$NAME`, `${NAME}`, `${NAME:-default}`, `$$` and the other forms.

The rules are those of the Compose Specification. No variable of this machine is handed in: a task could read a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trajectories.yaml_mistakes import Mistake, Place

_VARIABLE = re.compile(
    r"\$(?:(?P<escaped>\$)|(?P<plain>[A-Za-z_]\w*)|\{(?P<name>[A-Za-z_]\w*)(?:(?P<rule>:?[-?+])(?P<word>[^}]*))?\})"
)


def interpolated(content: Any, variables: Mapping[str, str]) -> Any:
    """Return a content with the variables in its texts replaced; those without a value are empty."""
    if isinstance(content, dict):
        return {key: interpolated(value, variables) for key, value in content.items()}
    if isinstance(content, list):
        return [interpolated(value, variables) for value in content]
    return _VARIABLE.sub(lambda match: _value(match, variables) or "", content) if isinstance(content, str) else content


def unset(content: Any, variables: Mapping[str, str], place: Place = ()) -> Iterator[Mistake]:
    """Yield a mistake for each variable that has neither a value nor a default."""
    if isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in items:
            yield from unset(value, variables, (*place, key))
    elif isinstance(content, str):
        for match in _VARIABLE.finditer(content):
            if _value(match, variables) is None:
                yield Mistake(place, _reason(match))


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str | None:
    """Return the text for a variable; None if it has none."""
    if match["escaped"]:
        return "$"
    value = variables.get(match["plain"] or match["name"])
    rule, word = match["rule"], match["word"]
    if rule is None:
        return value
    is_set = bool(value) if rule.startswith(":") else value is not None
    if rule.endswith("+"):
        return word if is_set else ""
    if is_set:
        return value
    return word if rule.endswith("-") else None


def _reason(match: re.Match[str]) -> str:
    name = match["plain"] or match["name"]
    message = f" ({match['word']})" if match["word"] else ""
    return f"the variable {name} is not set{message}; variables of this machine are not handed in"
