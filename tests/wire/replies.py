"""Answers of the test server: a `Turn` (a good reply) or a `Fault`.

Both are independent of the protocol; `dialects` converts a turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """A good reply. `commands` become `bash` tool calls; `raw_calls` are (name, arguments as sent)."""

    text: str = ""
    commands: tuple[str, ...] = ()
    raw_calls: tuple[tuple[str, str], ...] = ()
    thinking: str = ""
    refusal: str = ""
    length: bool = False
    content_filter: bool = False
    usage: Mapping[str, Any] = field(default_factory=dict)
    """Overrides fields of the counted usage; None removes one."""
    no_usage: bool = False
    delay_s: float = 0.0
    served: str | None = None
    """The model's name in the answer; None repeats the request's."""

    @property
    def calls(self) -> tuple[tuple[str, str], ...]:
        """Return name and arguments of every call."""
        return (*(("bash", json.dumps({"command": command})) for command in self.commands), *self.raw_calls)


@dataclass(frozen=True)
class Fault:
    """A fault on the wire."""

    kind: Literal["error", "cut", "trickle", "stall", "hang_up", "invalid_json", "html", "body"]
    status: int = 200
    message: str = ""
    type: str = ""
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | bytes = field(default_factory=dict)
    """Body that is sent unchanged, for kind `body`."""


Answer = Turn | Fault
Script = Callable[[Json], Answer]
"""A function that computes the answer to the body of a request."""


def rate_limited(retry_after: str | None = None) -> Fault:
    """Return a 429; `retry_after` is the value of the header: seconds or an HTTP date."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Fault("error", 429, "Rate limit reached for requests", "rate_limit_error", "rate_limit_exceeded", headers)


def server_error(status: int = 500) -> Fault:
    """Return a 5xx as JSON; 529 is Anthropic's "overloaded"."""
    return Fault("error", status, "The server had an error while processing your request", "server_error")


def bad_key() -> Fault:
    """Return a 401 with a part of the key in its message, as providers do."""
    return Fault("error", 401, "Incorrect API key provided: sk-wir**key.", "authentication_error", "invalid_api_key")


def bad_request(message: str = "Invalid value for 'temperature'") -> Fault:
    """Return a 400 that no retry can remedy."""
    return Fault("error", 400, message, "invalid_request_error", "invalid_value")


def unknown_model() -> Fault:
    """Return a 404."""
    return Fault("error", 404, "The model does not exist or you do not have access to it.", "not_found_error")


def too_long(protocol: str) -> Fault:
    """Return the error for a prompt that is too long, in each provider's own form."""
    if protocol == "anthropic":
        return Fault("error", 400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error")
    message = (
        "Your input exceeds the context window of this model. Please adjust your input and try again."
        if protocol == "responses"
        else "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens."
    )
    return Fault("error", 400, message, "invalid_request_error", "context_length_exceeded")
