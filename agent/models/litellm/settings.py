"""The values of `--model-setting`: settings of our own; all others are parameters of the request.

Nothing is dropped: a parameter that the provider rejects fails the first call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent.models.protocol import ActionFormat, ModelUnusable
from trajectories.record.events import Json

Api = Literal["chat", "responses"]
Cache = Literal["off", "5m", "1h"]

TIMEOUT_S = 600.0

OWN = {
    "timeout_s": (
        f"{TIMEOUT_S:g}",
        "Seconds that a whole reply may take; the call then fails, and is tried again.",
    ),
    "action": ("tool", "`tool`: commands are calls of a tool. `fenced`: commands are fenced blocks in texts."),
    "api": ("the model's", "`chat` (chat completions) or `responses` (the Responses API)."),
    "cache": ("5m", "Life of the provider's prompt cache, where it is asked for in requests: `5m`, `1h` or `off`."),
    "unlisted": ("false", "`true`: the model exists although the table of models does not list it."),
}
"""Settings of our own, each with its default and meaning; docs/reference/model-settings.md is made from them."""

_UNSUPPORTED = {
    "api_key": "put keys into environment variables, which are not recorded",
    "api_base": "use --api-base",
    "base_url": "use --api-base",
    "drop_params": "parameters are never dropped silently",
    "max_retries": "Retrace does the retries itself, and records them",
    "num_retries": "Retrace does the retries itself, and records them",
    "fallbacks": "a trial has one model",
    "timeout": "use timeout_s",
    "stream": "replies are not streamed",
    "n": "a call has one reply",
}
_SECRET = re.compile(r"(?:^|[_-])(?:api_?key|secret|password|credentials?|token|access_key(?:_id)?)$", re.I)
_SECRET_HEADER = re.compile(r"authorization|cookie|(?:^|[_-])(?:key|token|secret)$", re.I)
_SET_BY_RETRACE = ("model", "messages", "input", "tools", "store", "client", "custom_llm_provider", "mock_response")


@dataclass(frozen=True)
class Settings:
    """Settings of a provider's model; `parameters` are sent with every request."""

    action: ActionFormat = "tool"
    api: Api = "chat"
    cache: Cache = "5m"
    timeout_s: float = TIMEOUT_S
    """Maximum seconds for a whole reply, and between two parts of it."""
    unlisted: bool = False
    """True if the model exists although the table does not list it."""
    parameters: Json = field(default_factory=dict)


def parse_settings(pairs: Mapping[str, object], *, default_api: Api = "chat") -> Settings:
    """Parse KEY=VALUE pairs; texts that are JSON (numbers, true, objects) are parsed as such.

    Raises: ModelUnusable naming the setting and its valid values.
    """
    values = {key: _value(value) for key, value in pairs.items()}
    for key in values:
        if key in _UNSUPPORTED:
            raise ModelUnusable(f"--model-setting {key} is not supported: {_UNSUPPORTED[key]}")
        if _SECRET.search(key) or any(_SECRET_HEADER.search(name) for name in _headers(key, values[key])):
            raise ModelUnusable(f"--model-setting {key} is not supported: {_UNSUPPORTED['api_key']}")
        if key in _SET_BY_RETRACE:
            raise ModelUnusable(f"--model-setting {key} is not supported: Retrace sets it")
    action = _choice(values, "action", ("tool", "fenced"), "tool")
    api = _choice(values, "api", ("chat", "responses"), default_api)
    cache = _choice(values, "cache", ("off", "5m", "1h"), "5m")
    timeout_s = values.pop("timeout_s", TIMEOUT_S)
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or timeout_s <= 0:
        raise ModelUnusable(f"--model-setting timeout_s={timeout_s}: must be a number of seconds above 0")
    unlisted = values.pop("unlisted", False)
    if not isinstance(unlisted, bool):
        raise ModelUnusable(f"--model-setting unlisted={unlisted}: must be true or false")
    return Settings(action, api, cache, float(timeout_s), unlisted, values)  # type: ignore[arg-type]


def settings_table() -> str:
    """Return our own settings and those that are refused as tables in Markdown."""
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {default} | {meaning} |" for name, (default, meaning) in OWN.items()]
    lines += ["", "| not supported | instead |", "|---|---|"]
    lines += [f"| `{name}` | {way_out} |" for name, way_out in _UNSUPPORTED.items()]
    lines += [f"| {', '.join(f'`{name}`' for name in _SET_BY_RETRACE)} | Retrace sets them |"]
    return "\n".join(lines)


def _headers(key: str, value: object) -> list[str]:
    return [str(name) for name in value] if key in ("headers", "extra_headers") and isinstance(value, dict) else []


def _choice(values: Json, key: str, choices: tuple[str, ...], default: str) -> str:
    value = values.pop(key, default)
    if value not in choices:
        raise ModelUnusable(f"--model-setting {key}={value}: must be one of {', '.join(choices)}")
    return str(value)


def _value(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
