"""The server of a study: HTTP/1.1 by hand in one thread, because hundreds of trials ask it at once.

Besides chat completions it answers `GET /bill` (the lines of the bill), `GET /state` (counts) and `POST /change` with
some of `faults`, `latency_s` and `at_once`, so that a test can change a provider that runs in another process.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.wire import conformance, dialects
from tests.wire.replies import bad_key, bad_request, rate_limited, server_error
from tests.wire.study.bill import Bill, Line, count, usage
from tests.wire.study.faults import REFUSED, Faults
from tests.wire.study.script import digest, reply_to

Json = dict[str, Any]
Script = Callable[[Json], Json]
"""A function from the body of a request to the message of its reply."""

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True)
class Settings:
    """Behavior of a provider."""

    latency_s: float = 0.0
    """Seconds until a reply."""
    at_once: int | None = None
    """Largest number of requests at once; the next one is refused with 429."""
    key: str | None = None
    """Key that a request must have."""
    faults: Faults = field(default_factory=Faults)
    steps: int | None = None
    busy: int | None = None


class StudyServer:
    """A provider in a `with`, in a thread of its own."""

    def __init__(
        self,
        bill: Path | None = None,
        *,
        script: Script | None = None,
        port: int = 0,
        settings: Settings | None = None,
    ) -> None:
        self.bill = Bill(bill)
        self.settings = settings or Settings()
        self.in_flight = 0
        self.peak = 0
        """Largest number of requests at once so far."""
        self._script = script
        self._port = port
        self._ready = threading.Event()
        self._failure: OSError | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def api_base(self) -> str:
        """Return the API base for OpenAI's clients: the value of OPENAI_API_BASE."""
        return f"http://127.0.0.1:{self._port}/v1"

    def environment(self) -> dict[str, str]:
        """Return the variables with which a process reaches this provider."""
        return {"OPENAI_API_BASE": self.api_base, "OPENAI_API_KEY": self.settings.key or "sk-study"}

    def reply(self, body: Json) -> Json:
        """Return the message that answers a request."""
        if self._script is not None:
            return self._script(body)
        return reply_to(body, self.settings.steps, self.settings.busy)

    def change(self, **changes: Any) -> None:
        """Change some settings from now on."""
        self.settings = replace(self.settings, **changes)

    def __enter__(self) -> StudyServer:
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self.bill.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            server = self._loop.run_until_complete(
                self._loop.create_server(lambda: _Connection(self), "127.0.0.1", self._port, backlog=4096)
            )
        except OSError as error:
            self._failure = error
            self._ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.close()


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self, server: StudyServer) -> None:
        self._server = server
        self._data = bytearray()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            return
        lines = self._data[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        size = int(headers.get("content-length", 0))
        if len(self._data) < end + 4 + size:
            return
        body = bytes(self._data[end + 4 : end + 4 + size])
        del self._data[: end + 4 + size]
        method, path, _ = lines[0].split(" ", 2)
        try:
            self._take(method, path, headers, body)
        except Exception as error:  # a mistake in a test's script must be seen by its trials, not end the provider
            self._send(400, dialects.error_body(bad_request(f"the provider's script: {error!r}"), "chat"))

    def _take(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> None:
        server = self._server
        match method, path:
            case "POST", "/v1/chat/completions":
                self._complete(headers, json.loads(raw))
            case "GET", "/bill":
                self._send(200, [asdict(line) for line in server.bill.lines])
            case "GET", "/state":
                billed = {"requests": len(server.bill.lines), "usd": server.bill.usd, "tokens": server.bill.tokens}
                self._send(200, {**billed, "in_flight": server.in_flight, "peak": server.peak})
            case "POST", "/change":
                changes = json.loads(raw)
                if "faults" in changes:
                    changes["faults"] = Faults.parse(changes["faults"], server.settings.faults.seed)
                server.change(**changes)
                self._send(200, {})
            case _:
                self._send(404, {"error": {"message": f"no such path: {path}"}})

    def _complete(self, headers: dict[str, str], body: Json) -> None:
        server, settings = self._server, self._server.settings
        model, messages = body["model"], digest(body["messages"])
        fault = settings.faults.of(server.bill.next_number())
        if settings.key is not None and headers.get("authorization") != f"Bearer {settings.key}":
            fault = "401"
        elif settings.at_once is not None and server.in_flight >= settings.at_once:
            fault = "429"
        complaint = conformance.chat_complaint(body)
        if complaint is not None:
            server.bill.refuse(model, messages, "400")
            self._send(400, dialects.error_body(bad_request(f"conformance: {complaint}"), "chat"))
            return
        if fault in REFUSED:
            server.bill.refuse(model, messages, fault)
            wait = f"{settings.faults.retry_after_s:g}"
            answer = {"429": rate_limited(wait), "500": server_error(), "401": bad_key()}[fault]
            self._send(answer.status, dialects.error_body(answer, "chat"), dict(answer.headers))
            return
        reply = server.reply(body)
        line = server.bill.add(model, messages, count(body, reply), fault or "answered")
        server.in_flight += 1
        server.peak = max(server.peak, server.in_flight)
        loop = asyncio.get_running_loop()
        if settings.latency_s:
            loop.call_later(settings.latency_s, self._answer, line, reply)
        else:
            self._answer(line, reply)

    def _answer(self, line: Line, reply: Json) -> None:
        self._server.in_flight -= 1
        if line.outcome == "stall":
            return  # until the client goes
        if line.outcome == "hang_up":
            self._transport.close()
            return
        self._send(200, _completion(line, reply), cut=line.outcome == "cut")

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None, *, cut: bool = False) -> None:
        if self._transport.is_closing():
            return
        data = json.dumps(body).encode()
        head = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}", "Content-Type: application/json"]
        head += [f"Content-Length: {len(data)}", *(f"{name}: {value}" for name, value in (headers or {}).items())]
        if cut:
            data = data[: len(data) // 2]
        self._transport.write("\r\n".join([*head, "", ""]).encode() + data)
        if cut:
            self._transport.close()


def _completion(line: Line, reply: Json) -> Json:
    finish = "tool_calls" if reply.get("tool_calls") else "stop"
    return {
        "id": f"chatcmpl-{line.request}",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": line.model,
        "choices": [{"index": 0, "message": reply, "finish_reason": finish}],
        "usage": usage(line),
    }
