"""A provider on the loopback: OpenAI chat completions, OpenAI Responses and Anthropic messages over HTTP.

Tests script the answers. The server counts usage and cached tokens (`prompt_cache`), rejects what a real provider
rejects (`conformance`), and keeps every request. It does not stream, because the client does not.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.wire import conformance, dialects
from tests.wire.prompt_cache import Counted, PromptCache, anthropic_blocks, openai_blocks
from tests.wire.replies import Answer, Fault, Script, Turn, bad_request

PATHS = {"/v1/chat/completions": "chat", "/v1/responses": "responses", "/v1/messages": "anthropic"}
TRICKLE_S = 0.02


@dataclass(frozen=True)
class Recorded:
    """One request as it came, and the counts of its prompt (None if it was not answered)."""

    protocol: str
    headers: dict[str, str]
    raw: bytes
    body: dict[str, Any]
    counted: Counted | None


class WireServer:
    """A provider in a `with`: `WireServer([Turn(commands=("ls",)), ...])`; after the last answer it returns a 400.

    `script` is a list of answers or a function from a request's body to an answer.
    """

    def __init__(self, script: Iterable[Answer] | Script) -> None:
        self.requests: list[Recorded] = []
        self.cache = PromptCache()
        self.stop = threading.Event()
        self._script = script if callable(script) else list(script)
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.wire = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def root(self) -> str:
        """Return the API base for Anthropic's clients."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def v1(self) -> str:
        """Return the API base for OpenAI's clients."""
        return self.root + "/v1"

    def base(self, protocol: str) -> str:
        """Return the API base for litellm, by protocol."""
        return self.root if protocol == "anthropic" else self.v1

    def __enter__(self) -> WireServer:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, protocol: str, headers: dict[str, str], raw: bytes) -> tuple[Answer, int, Counted, dict[str, Any]]:
        """Return the next answer, its number (from 0), the prompt's counts and the body."""
        body = json.loads(raw)
        with self._lock:
            number = len(self.requests)
            if callable(self._script):
                answer: Answer = self._script(body)
            elif number < len(self._script):
                answer = self._script[number]
            else:
                answer = bad_request("the test's script has no answer left")
            complaint = getattr(conformance, f"{protocol}_complaint")(body)
            if complaint:
                answer = bad_request(f"conformance: {complaint}")
            counted = Counted(0)
            if isinstance(answer, Turn):
                if protocol == "anthropic":
                    counted = self.cache.marked(body["model"], anthropic_blocks(body))
                else:
                    counted = self.cache.automatic(body["model"], openai_blocks(body))
            kept = counted if isinstance(answer, Turn) else None
            self.requests.append(Recorded(protocol, headers, raw, body, kept))
        return answer, number, counted, body


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    wire: WireServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Do nothing: tests read the requests, not a log."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        protocol = PATHS.get(self.path.split("?")[0])
        if protocol is None:
            self._send(404, {"error": {"message": f"no such path: {self.path}"}})
            return
        headers = {key.lower(): value for key, value in self.headers.items()}
        answer, number, counted, body = self.server.wire.answer(protocol, headers, raw)
        if isinstance(answer, Fault):
            self._fail(answer, protocol)
            return
        if answer.delay_s:
            time.sleep(answer.delay_s)
        self._send(200, getattr(dialects, protocol)(answer, number, body["model"], counted))

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def _fail(self, fault: Fault, protocol: str) -> None:
        if fault.kind == "error":
            self._send(fault.status, dialects.error_body(fault, protocol), dict(fault.headers))
        elif fault.kind == "body":
            self._send(fault.status, fault.body)
        elif fault.kind == "invalid_json":
            self._send(fault.status, b'{"id": "x", "choices": [{"mess')
        elif fault.kind == "html":
            self._send(fault.status, b"<html><body>502 Bad Gateway</body></html>")
        elif fault.kind == "stall":
            self.server.wire.stop.wait()
            self.close_connection = True
        elif fault.kind == "hang_up":
            self.close_connection = True
        else:
            self._half_a_body(fault)

    def _half_a_body(self, fault: Fault) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(b'{"id": "x", ')
        self.wfile.flush()
        try:
            while fault.kind == "trickle" and not self.server.wire.stop.wait(TRICKLE_S):
                self.wfile.write(b" ")
                self.wfile.flush()
        except OSError:
            pass
