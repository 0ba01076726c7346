"""Where the user's own files are, and the defaults they set.

`config.yaml` holds defaults of `agent solve` by the long names of its options.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from agent.errors import UserError

CONFIGURABLE: Mapping[str, tuple[type, ...]] = {
    "model": (str,),
    "env": (str,),
    "shell": (str,),
    "prompt": (str,),
    "step-limit": (int, str),
    "time-limit": (int, float, str),
    "cost-limit": (int, float, str),
    "token-limit": (int, str),
    "command-timeout": (int, float, str),
    "api-base": (str,),
    "runs": (str,),
    "platform": (str,),
    "prices": (str,),
}
"""Options of `agent solve` with the types that YAML may give for them."""


def config_dir() -> Path:
    """`$RETRACE_CONFIG_DIR`, else `$XDG_CONFIG_HOME/retrace`, else `~/.config/retrace`."""
    own = os.environ.get("RETRACE_CONFIG_DIR")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "retrace"


def config_path() -> Path:
    """The file with the user's defaults; it need not exist."""
    return config_dir() / "config.yaml"


def prices_dir() -> Path:
    """Where the user's price snapshots are; it need not exist."""
    return config_dir() / "prices"


def profiles_dir() -> Path:
    """Where the user's fitted scoring profiles are; it need not exist."""
    return config_dir() / "profiles"


@cache
def defaults() -> Mapping[str, Any]:
    """The user's defaults, empty without a file.

    Raises: UserError naming the file and the key.
    """
    path = config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    import yaml

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UserError(f"{path}: must be a mapping of option names to values")
    for key, value in content.items():
        if key not in CONFIGURABLE:
            raise UserError(f"{path}: unknown key {key!r}; keys are {', '.join(CONFIGURABLE)}")
        if isinstance(value, bool) or not isinstance(value, CONFIGURABLE[key]):
            kinds = " or ".join(kind.__name__ for kind in CONFIGURABLE[key])
            raise UserError(f"{path}: {key}: {value!r} is not of type {kinds}")
    return content


def runs_dir(given: Path | None, *, must_exist: bool = False) -> Path:
    """Where trials are kept: what was given, else the user's default, else `runs`.

    Raises: UserError.
    """
    place = given if given is not None else Path(defaults().get("runs") or "runs")
    if must_exist and not place.is_dir():
        raise UserError(f"{place}: no such directory; say where trials are kept with --runs")
    return place
