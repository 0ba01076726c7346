"""The user's own files: their directories, and the defaults for options of `agent solve` in `config.yaml`.

`config.yaml` names options as the command line does, without the dashes in front: `time-limit: 2h`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import UserError

if TYPE_CHECKING:
    from trajectories.yaml_mistakes import Mistake


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

    Raises: UserError naming the file, the lines and the keys.
    """
    path = config_path()
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ConfigurableOptions()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    from trajectories import yaml_mistakes

    try:
        content = yaml_mistakes.checked(yaml_mistakes.decoded(data), _mistakes)
    except yaml_mistakes.Mistakes as mistakes:
        raise UserError(f"{path}: {mistakes}") from None
    return ConfigurableOptions(**{key.replace("-", "_"): str(value) for key, value in (content or {}).items()})


def unusable(reasons: Mapping[str, str]) -> UserError:
    """Return the error for values in `config.yaml` that cannot be used, with their lines; the keys are options."""
    from trajectories.yaml_mistakes import Mistake, decoded, located

    path = config_path()
    mistakes = [Mistake((option,), reason, key="") for option, reason in reasons.items()]
    return UserError(f"{path}: {located(decoded(path.read_bytes()), mistakes)}")


def _mistakes(content: object) -> Iterator[Mistake]:
    from trajectories.yaml_mistakes import Mistake, Mistakes, kind_of, shown, unknown_key

    if content is None:
        return
    if not isinstance(content, dict):
        raise Mistakes(f"must be a mapping of option names to values (`env: docker`), not {kind_of(content)}")
    keys = [field.name.replace("_", "-") for field in fields(ConfigurableOptions)]
    for key, value in content.items():
        if key not in keys:
            yield Mistake((str(key),), unknown_key(key, keys))
        elif value is None:
            yield Mistake((str(key),), "has no value; give one, or leave out the line")
        elif isinstance(value, bool) or not isinstance(value, _NUMBERS.get(str(key), (str,))):
            rule = "must be a text or a number" if key in _NUMBERS else "must be a text (put it in quotes)"
            yield Mistake((str(key),), f"{rule}, not {shown(value)}")


def runs_dir(typed: Path | None, *, must_exist: bool = False) -> Path:
    """Return the directory of the trials: the one that was typed, or the user's default, or `runs`.

    Raises: UserError if it must exist and does not.
    """
    runs = typed if typed is not None else Path(defaults().runs or "runs")
    if must_exist and not runs.is_dir():
        raise UserError(f"{runs}: no such directory; name the directory of your trials with --runs")
    return runs
