"""Values of the form `${NAME}` or `${NAME:-default}`, which the host's variables replace."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_TEMPLATE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\}", re.DOTALL)


class UnsetVariables(ValueError):
    """Templates of variables that the host does not set; the message is one line."""


def resolved(values: Mapping[str, str], key: str) -> dict[str, str]:
    """Return the values with templates replaced from the host. Only a whole value is a template.

    Raises: UnsetVariables naming all of them, with `key` before each name.
    """
    result: dict[str, str] = {}
    unset: list[str] = []
    for name, value in values.items():
        match = _TEMPLATE.fullmatch(value)
        if match is None:
            result[name] = value
            continue
        value_of_host = os.environ.get(match[1], match[2])
        if value_of_host is None:
            unset.append(f"{key}.{name}: the variable {match[1]} is not set; export it first")
        else:
            result[name] = value_of_host
    if unset:
        raise UnsetVariables("; ".join(unset))
    return result
