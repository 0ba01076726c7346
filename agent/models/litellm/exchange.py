"""One call over HTTP with a deadline and a limit of size, and what came back: status, headers and body.

httpx bounds each read only, so a body that arrives slowly might never end. Here the whole call has a deadline, and a
worker thread that exceeds it is abandoned. This module knows neither a provider nor litellm.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from trajectories.record.texts import bounds
from trajectories.waiting import Event

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")

GRACE_S = 0.5
"""Seconds after the deadline within which the worker may still raise its own, more precise error."""


@dataclass
class Exchange:
    """The HTTP response of one call, and its deadline."""

    deadline: float
    """Time on the monotonic clock, in seconds, at which the call must have ended."""
    response: httpx.Response | None = field(default=None, repr=False)

    @property
    def status(self) -> int | None:
        """Return the HTTP status; None if no response began."""
        return None if self.response is None else self.response.status_code

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the response, with names in lower case."""
        return {} if self.response is None else dict(self.response.headers.items())

    @property
    def text(self) -> str | None:
        """Return the body; None if it is incomplete."""
        import httpx

        try:
            return None if self.response is None else self.response.text
        except httpx.ResponseNotRead:
            return None

    @property
    def body(self) -> dict[str, Any]:
        """Return the body if it is a JSON object, otherwise an empty one."""
        try:
            content = json.loads(self.text or "")
        except (ValueError, RecursionError):
            return {}
        return content if isinstance(content, dict) else {}


class _CurrentExchange(threading.local):
    exchange: Exchange | None = None


_current = _CurrentExchange()


def run(work: Callable[[], Result], exchange: Exchange) -> Result:
    """Do `work` in a thread of its own, and wait until shortly after the exchange's deadline at most.

    The thread is needed because no client bounds a whole call, and because an interrupt must end the wait at once.

    Raises: TimeoutError; anything that `work` raises.
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []
    ended = Event()

    def worker() -> None:
        _current.exchange = exchange
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            ended.set()

    threading.Thread(target=worker, name="model call", daemon=True).start()
    if not ended.wait(max(0.0, exchange.deadline - time.monotonic()) + GRACE_S):
        raise TimeoutError
    if failure:
        raise failure[0]
    return outcome[0]


def observe(response: httpx.Response) -> None:
    """Keep a response and bound its body in time and size; a response hook of `httpx.Client`."""
    exchange = _current.exchange
    if exchange is not None:
        exchange.response = response
        response.stream = _bounded(response.stream, exchange.deadline, response.request)  # type: ignore[arg-type]


def _bounded(stream: httpx.SyncByteStream, deadline: float, request: httpx.Request) -> httpx.SyncByteStream:
    import httpx

    class Bounded(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            received = 0
            for chunk in stream:
                received += len(chunk)
                bounds.check_bytes(received)
                yield chunk
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the reply did not end in time", request=request)

        def close(self) -> None:
            stream.close()

    return Bounded()
