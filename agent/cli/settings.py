"""Option values as typed, and the user's defaults, to `agent.trial.order.Options`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from agent.config import config_path, defaults, runs_dir
from agent.errors import UserError
from agent.trial.order import Options
from benchmarks.task.quantities import count, duration_s
from environments.protocol import KINDS, SHELLS, Kind, Shell


def parse_options(typed: Mapping[str, Any]) -> Options:
    """What was typed, else the user's default, else nothing.

    Raises: UserError.
    """
    chosen = {**{key.replace("-", "_"): value for key, value in defaults().items()}, **_given(typed)}
    model = chosen.get("model")
    if not model:
        raise UserError(f"no model: give --model, or set a default in {config_path()}")
    env = environment_kind(chosen.get("env"))
    shell: Shell = chosen.get("shell", "fresh")
    if shell not in SHELLS:
        raise UserError(f"--shell {shell!r} is none of {', '.join(SHELLS)}")
    return Options(
        model=str(model),
        task=typed["task"],
        instruction=typed["instruction"],
        image=typed["image"],
        workspace=typed["workspace"],
        env=env,
        shell=shell,
        variants=tuple(typed["variant"] or ()),
        prompt=chosen.get("prompt"),
        plan=typed["plan"],
        **limits(chosen),
        platform=chosen.get("platform"),
        api_base=chosen.get("api_base"),
        model_settings=model_settings(typed["model_setting"] or []),
        checkpoint_every=typed["checkpoint_every"],
        keep=typed["keep"],
        prices=chosen.get("prices"),
        evaluate=not typed["no_evaluate"],
        runs=runs_dir(typed["runs"]),
    )


def environment_kind(env: str | None) -> Kind | None:
    """Raises: UserError."""
    if env is not None and env not in KINDS:
        raise UserError(f"--env {env!r} is none of {', '.join(KINDS)}")
    return env


def limits(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The limits among the options, by the names of `Options`; what was not typed is left out.

    Raises: UserError.
    """
    read: dict[str, tuple[str, Callable[[str], float | int]]] = {
        "step_limit": ("step_limit", count),
        "time_limit": ("time_limit_s", duration_s),
        "token_limit": ("token_limit", count),
        "cost_limit": ("cost_limit_usd", _dollars),
        "command_timeout": ("command_timeout_s", duration_s),
    }
    found = {name: _read(typed.get(key), f"--{key.replace('_', '-')}", how) for key, (name, how) in read.items()}
    return {name: value for name, value in found.items() if value is not None}


def _given(typed: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in typed.items() if value is not None}


Number = TypeVar("Number", int, float)


def _dollars(text: str) -> float:
    try:
        return float(text.removeprefix("$"))
    except ValueError:
        raise ValueError(f"{text!r} is no amount: write US dollars, for instance 2.50") from None


def _read(value: object, option: str, read: Callable[[str], Number]) -> Number | None:
    """A number as people write it, above 0; None if it was not given."""
    if value is None:
        return None
    try:
        number = read(str(value))
    except ValueError as error:
        raise UserError(f"{option}: {error}") from None
    if not 0 < number < math.inf:
        raise UserError(f"{option} {value}: must be a number above 0")
    return number


def dollars(value: object, option: str) -> float | None:
    """An amount above 0; None if it was not given.

    Raises: UserError.
    """
    return _read(value, option, _dollars)


def model_settings(pairs: list[str], option: str = "--model-setting") -> dict[str, Any]:
    """KEY=VALUE pairs, the values read as YAML.

    Raises: UserError.
    """
    import yaml

    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UserError(f"{option} {pair!r} is not KEY=VALUE")
        try:
            settings[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise UserError(f"{option} {pair!r}: the value is not valid YAML") from None
    return settings
