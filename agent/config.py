"""The user's own files: their directories, and the defaults for options of `agent solve` in `config.yaml`.

`config.yaml` names options as the command line does, without the dashes in front: `time-limit: 2h`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

from agent.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ConfigurableOptions:
    """The options of `agent solve` that `config.yaml` may set, as text; None stands for an option that is not set."""

    model: str | None = None
    env: str | None = None
    shell: str | None = None
    prompt: str | None = None
    step_limit: str | None = None
    time_limit: str | None = None
    cost_limit: str | None = None
    token_limit: str | None = None
    command_timeout: str | None = None
    api_base: str | None = None
    runs: str | None = None
    platform: str | None = None
    prices: str | None = None

    def or_else(self, defaults: ConfigurableOptions) -> ConfigurableOptions:
        """Return these options, with those that are not set taken from `defaults`."""
        typed = {name: value for name, value in vars(self).items() if value is not None}
        return replace(defaults, **typed)


_NUMBERS: Mapping[str, tuple[type, ...]] = {
    "step-limit": (int, str),
    "time-limit": (int, float, str),
    "cost-limit": (int, float, str),
    "token-limit": (int, str),
    "command-timeout": (int, float, str),
}
"""Options for which YAML may give a number as well as text."""


def config_dir() -> Path:
    """Return `$RETRACE_CONFIG_DIR`, or `$XDG_CONFIG_HOME/retrace`, or `~/.config/retrace`."""
    own = os.environ.get("RETRACE_CONFIG_DIR")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "retrace"


def config_path() -> Path:
    """Return the path of `config.yaml`; the file need not exist."""
    return config_dir() / "config.yaml"


def prices_dir() -> Path:
    """Return the directory of the user's price snapshots; it need not exist."""
    return config_dir() / "prices"


def profiles_dir() -> Path:
    """Return the directory of the user's fitted scoring profiles; it need not exist."""
    return config_dir() / "profiles"


@cache
def defaults() -> ConfigurableOptions:
    """Read the user's defaults; without a file nothing is set.

    Raises: UserError naming the file and the key.
    """
    path = config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ConfigurableOptions()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    import yaml

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if content is None:
        return ConfigurableOptions()
    if not isinstance(content, dict):
        raise UserError(f"{path}: must be a mapping of option names to values")
    keys = [field.name.replace("_", "-") for field in fields(ConfigurableOptions)]
    for key, value in content.items():
        if key not in keys:
            raise UserError(f"{path}: unknown key {key!r}; keys are {', '.join(keys)}")
        types = _NUMBERS.get(key, (str,))
        if isinstance(value, bool) or not isinstance(value, types):
            names = " or ".join(kind.__name__ for kind in types)
            raise UserError(f"{path}: {key}: {value!r} is not of type {names}")
    return ConfigurableOptions(**{key.replace("-", "_"): str(value) for key, value in content.items()})


def runs_dir(typed: Path | None, *, must_exist: bool = False) -> Path:
    """Return the directory of the trials: the one that was typed, or the user's default, or `runs`.

    Raises: UserError if it must exist and does not.
    """
    runs = typed if typed is not None else Path(defaults().runs or "runs")
    if must_exist and not runs.is_dir():
        raise UserError(f"{runs}: no such directory; name the directory of your trials with --runs")
    return runs
