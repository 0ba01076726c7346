"""The user's own files: their directories, and `config.yaml` with defaults for options of `agent solve` and datasets.

`config.yaml` names options as the command line does, without the dashes in front: `time-limit: 2h`. Its key `datasets`
maps the names of datasets to directories: `datasets: {longcli: /data/LongCLI-Bench/tasks_long_cli}`.
"""

from __future__ import annotations

import os
import re
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


DATASETS = "datasets"
"""Key of the datasets in `config.yaml`."""
RESERVED = ("adhoc", "demo", "path", "programbench")
"""Names that no dataset can have, because benchmarks have them."""
_DATASET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


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
    options = {key.replace("-", "_"): str(value) for key, value in _content().items() if key != DATASETS}
    return ConfigurableOptions(**options)


def datasets() -> Mapping[str, Path]:
    """Read the user's datasets: the folder of task directories that each name stands for. A folder need not exist.

    Raises: UserError naming the file, the lines and the keys.
    """
    folders = _content().get(DATASETS) or {}
    assert isinstance(folders, dict)  # _mistakes has checked it
    here = config_path().absolute().parent
    return {name: here / Path(folder).expanduser() for name, folder in folders.items()}


def dataset_name_problem(name: str) -> str | None:
    """Return the reason for which a dataset cannot have this name, or None."""
    if not _DATASET_NAME.fullmatch(name):
        return f"{name!r} is not a name of a dataset; use letters, digits, '.', '_' and '-', at most 64"
    if name in RESERVED:
        return f"{name!r} is the name of a benchmark; choose another name for the dataset"
    return None


def _content() -> Mapping[str, object]:
    path = config_path()
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    from trajectories import yaml_mistakes

    try:
        return yaml_mistakes.checked(yaml_mistakes.decoded(data), _mistakes) or {}
    except yaml_mistakes.Mistakes as mistakes:
        raise UserError(f"{path}: {mistakes}") from None


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
    keys = [*(field.name.replace("_", "-") for field in fields(ConfigurableOptions)), DATASETS]
    for key, value in content.items():
        if key not in keys:
            yield Mistake((str(key),), unknown_key(key, keys))
        elif key == DATASETS:
            yield from _mistakes_of_datasets(value)
        elif value is None:
            yield Mistake((str(key),), "has no value; give one, or leave out the line")
        elif isinstance(value, bool) or not isinstance(value, _NUMBERS.get(str(key), (str,))):
            rule = "must be a text or a number" if key in _NUMBERS else "must be a text (put it in quotes)"
            yield Mistake((str(key),), f"{rule}, not {shown(value)}")


def _mistakes_of_datasets(value: object) -> Iterator[Mistake]:
    from trajectories.yaml_mistakes import Mistake, kind_of

    if value is None:
        return
    if not isinstance(value, dict):
        yield Mistake((DATASETS,), f"must be a mapping of names to directories, not {kind_of(value)}")
        return
    for name, folder in value.items():
        if problem := dataset_name_problem(str(name)):
            yield Mistake((DATASETS, name), problem)
        elif not isinstance(folder, str) or not folder.strip() or "\0" in folder:
            yield Mistake((DATASETS, name), f"must be the path of a directory, not {kind_of(folder)}")


def runs_dir(typed: Path | None, *, must_exist: bool = False) -> Path:
    """Return the directory of the trials: the one that was typed, or the user's default, or `runs`.

    Raises: UserError if it must exist and does not.
    """
    runs = typed if typed is not None else Path(defaults().runs or "runs")
    if must_exist and not runs.is_dir():
        raise UserError(f"{runs}: no such directory; name the directory of your trials with --runs")
    return runs
