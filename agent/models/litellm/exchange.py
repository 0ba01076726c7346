"""One call over HTTP, bounded in time and size and observed: its deadline, its status, headers and body.

httpx bounds each read only, so a body that trickles in would never end; here the whole call has a
deadline, and a worker that outlives it is abandoned. Knows no provider and no litellm.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from trajectories.record import bounds

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")

GRACE_S = 0.5
"""So long after the deadline the worker may still bring its own, better error."""


@dataclass
class Exchange:
    """What came over the wire for one call."""

    deadline: float
    """On the monotonic clock."""
    response: httpx.Response | None = field(default=None, repr=False)

    @property
    def status(self) -> int | None:
        """The HTTP status; None if no answer began."""
        return None if self.response is None else self.response.status_code

    @property
    def headers(self) -> dict[str, str]:
        """The answer's headers, names in lower case."""
        return {} if self.response is None else dict(self.response.headers.items())

    @property
    def text(self) -> str | None:
        """The whole body; None if it did not come whole."""
        import httpx

        try:
            return None if self.response is None else self.response.text
        except httpx.ResponseNotRead:
            return None

    @property
    def body(self) -> dict[str, Any]:
        """The body if it is a JSON object, else empty."""
        try:
            found = json.loads(self.text or "")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


class _Here(threading.local):
    exchange: Exchange | None = None


_here = _Here()


def run(work: Callable[[], Result], exchange: Exchange) -> Result:
    """Do `work` in a thread of its own, at most until a little after the exchange's deadline.

    A thread, because no client bounds a whole call, and because Ctrl-C must end a wait at once.
    Raises: TimeoutError; whatever `work` raises.
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def worker() -> None:
        _here.exchange = exchange
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=worker, name="model call", daemon=True).start()
    if not done.wait(max(0.0, exchange.deadline - time.monotonic()) + GRACE_S):
        raise TimeoutError
    if failure:
        raise failure[0]
    return outcome[0]


def observe(response: httpx.Response) -> None:
    """A response hook of an `httpx.Client`: keeps the answer and puts the deadline and the size limit on its body."""
    exchange = _here.exchange
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
