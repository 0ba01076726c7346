"""A provider on the loopback whose models follow a script: chat completions over HTTP, and a bill.

Three models answer. `worker` solves a demo task with faults: it leaves out what it was told to be careful about by a
plan, by an expert's answer, or by the results of hidden tests. `planner` writes plans and `expert` answers questions;
each warns of one fault per task. A reply depends on the messages of its request alone, so a repeated request gets the
same reply.

Each request is billed when it comes, whoever still waits for the reply, in the file BILL: one line of JSON with the
request's number, a hash of its messages, tokens and dollars.

    python provider.py --bill FILE [--port N] [--delay SECONDS] [--until-eof]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DEMOS = Path(__file__).parents[3] / "benchmarks" / "demos" / "tasks"
USD_PER_INPUT, USD_PER_OUTPUT = 3e-6, 15e-6
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
FEEDBACK = "## Results of the turn before"
"""Heading of the message with the results of hidden tests."""


@dataclass(frozen=True)
class Fault:
    """A mistake of the worker: a change of one file of the solution, the tests that show it, and a warning of it."""

    file: str
    right: str
    wrong: str
    tests: str
    warning: str


@dataclass(frozen=True)
class Task:
    """A demo task as the models know it."""

    name: str
    sign: str
    """Text of the task by which a model recognizes it."""
    check: str
    """Command with which the worker tries its work."""
    faults: tuple[Fault, ...]
    """The planner warns of the first, the expert of the second. Nobody warns of the third."""
    question: str
    careless: str
    """First reply of planner and expert, which holds code; empty if the first one is usable."""


TASKS = (
    Task(
        name="ledger",
        sign="Write `ledger`",
        check="bash compile.sh && printf '2024-01-01 One\\n a 1\\n b\\n' | ./executable balance -",
        faults=(
            Fault(
                file="ledger.py",
                right="if not self.errors:\n            self.check_assertions()",
                wrong="self.check_assertions()",
                tests="test_assertions_wait_for_other_errors",
                warning="Leave the assertions alone as long as anything else in the book is wrong.",
            ),
            Fault(
                file="ledger.py",
                right='r"[0-9]{4}-[0-9]{2}-[0-9]{2}"',
                wrong='r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"',
                tests="test_invalid_dates",
                warning="A month or a day of one digit makes a date invalid, even if the calendar has that day.",
            ),
        ),
        question="I parse dates with the standard library. Which dates does that accept that it should not?",
        careless="",
    ),
    Task(
        name="cronwhen",
        sign="Repair `cronwhen`",
        check="python3 when.py explain '5-50/10 * * * *'",
        faults=(
            Fault(
                file="cronwhen/schedule.py",
                right='self.any_day = self.texts[2].startswith("*")',
                wrong='self.any_day = self.texts[2] == "*"',
                tests="test_star_with_a_step_is_unrestricted",
                warning="In the field for days, a star with a step restricts nothing, like a bare star.",
            ),
            Fault(
                file="cronwhen/schedule.py",
                right="SEARCH_YEARS = 40",
                wrong="SEARCH_YEARS = 2",
                tests="test_leap_day_years_ahead",
                warning="The search has to go on for four decades, or leap days and yearly jobs are lost.",
            ),
            Fault(
                file="cronwhen/crontab.py",
                right=r'command.replace("\\%", "%").rstrip()',
                wrong="command.rstrip()",
                tests="test_percent_with_a_backslash",
                warning="",
            ),
        ),
        question="The search ends after a year. How far ahead does it have to look?",
        careless="Change the bound:\n\nlast = first + datetime.timedelta(days=366 * 40)",
    ),
)


def reply_to(body: dict[str, Any]) -> dict[str, Any]:
    """Return the message of a model to a request."""
    messages = body["messages"]
    text = "\n".join(str(message["content"]) for message in messages if message["role"] != "assistant")
    task = next((task for task in TASKS if task.sign in text), None)
    if task is None:
        return {"role": "assistant", "content": "This is no task that I know."}
    replies = [message for message in messages if message["role"] == "assistant"]
    role = body["model"].rpartition("/")[2]
    if role in ("planner", "expert"):
        if task.careless and not replies:
            return {"role": "assistant", "content": task.careless}
        return {"role": "assistant", "content": plan(task) if role == "planner" else task.faults[1].warning}
    tools = [tool["function"]["name"] for tool in body.get("tools", ())]
    return worker(task, text, replies, may_ask="ask" in tools)


def plan(task: Task) -> str:
    """Return the planner's text."""
    return (
        "1. Read the task to its end, and list every message that it names.\n"
        f"2. {task.faults[0].warning}\n"
        "3. Try the program on small inputs before the work is submitted."
    )


def worker(task: Task, text: str, replies: list[dict[str, Any]], *, may_ask: bool) -> dict[str, Any]:
    """Return the worker's next reply: ask if it may, look, write the program, try it, submit."""
    calls = [call["function"]["name"] for reply in replies for call in reply.get("tool_calls", ())]
    if may_ask and "ask" not in calls:
        return call("ask", len(replies), "I am not sure about one point.", question=task.question)
    steps = (
        ("I look at the workspace.", "ls -R"),
        ("I write the program.", written(task, faults_left(task, text))),
        ("I try it.", task.check),
        ("It works, as far as I see.", SUBMIT),
    )
    said, command = steps[min(calls.count("bash"), len(steps) - 1)]
    return call("bash", len(replies), said, command=command)


def faults_left(task: Task, text: str) -> list[Fault]:
    """Return the faults that the worker's program has, by what the worker was told."""
    _, is_later_turn, results = text.partition(FEEDBACK)
    if is_later_turn:  # it mends the first of the faults that the tests show
        return [fault for fault in task.faults if re.search(rf"(?i)\bfailed:?\b.*\b{fault.tests}\b", results)][1:]
    return [fault for fault in task.faults if not fault.warning or fault.warning not in text]


def written(task: Task, faults: list[Fault]) -> str:
    """Return the command that writes the files of the solution, with these faults."""
    directory = DEMOS / task.name / "solution"
    commands = []
    for path in sorted(path for path in directory.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        name = str(path.relative_to(directory))
        content = path.read_text(encoding="utf-8")
        for fault in faults:
            if fault.file == name:
                if fault.right not in content:
                    raise ValueError(f"{path} does not hold {fault.right!r}")
                content = content.replace(fault.right, fault.wrong)
        commands.append(
            f"mkdir -p {path.relative_to(directory).parent}; cat > {name} <<'END_OF_FILE'\n{content}END_OF_FILE"
        )
    return "\n".join(commands)


def call(name: str, number: int, text: str, **arguments: str) -> dict[str, Any]:
    """Return a reply that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": text,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }


def digest(messages: list[dict[str, Any]]) -> str:
    """Return the sha256 of a request's messages: role, text, and the tool calls of replies."""
    content = [
        [
            message["role"],
            message.get("content") or "",
            [[call["function"]["name"], call["function"]["arguments"]] for call in message.get("tool_calls") or ()],
        ]
        for message in messages
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class Provider(ThreadingHTTPServer):
    """The server, and its bill."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, bill: Path, port: int = 0, delay_s: float = 0.1) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.bill, self.delay_s = bill, delay_s
        self._lock = threading.Lock()
        self._number = len(bill.read_text().splitlines()) if bill.exists() else 0

    @property
    def api_base(self) -> str:
        """Return the value for --api-base."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def billed(self, body: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
        """Bill a request, and return the usage that its reply reports."""
        tokens_in = len(json.dumps(body["messages"])) // 4
        tokens_out = len(json.dumps(message)) // 4
        usd = round(tokens_in * USD_PER_INPUT + tokens_out * USD_PER_OUTPUT, 6)
        with self._lock:
            self._number += 1
            number = self._number
            line = {"request": number, "model": body["model"], "messages": digest(body["messages"])}
            with self.bill.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**line, "input": tokens_in, "output": tokens_out, "usd": usd}) + "\n")
        return {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
            "cost": usd,
            "request": number,
        }


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Provider

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        """Bill and answer a chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = reply_to(body)
        usage = self.server.billed(body, message)
        time.sleep(self.server.delay_s)
        answer = {
            "id": f"chatcmpl-{usage['request']}",
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
                }
            ],
            "usage": usage,
        }
        data = json.dumps(answer).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:  # nobody waits for the reply any more; it is billed all the same
            self.close_connection = True


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bill", type=Path, required=True, help="file to which a line is added for each request")
    parser.add_argument("--port", type=int, default=0, help="port on the loopback [any that is free]")
    parser.add_argument("--delay", type=float, default=0.1, help="seconds until a reply [0.1]")
    parser.add_argument("--until-eof", action="store_true", help="end as soon as standard input ends")
    options = parser.parse_args()
    with Provider(options.bill, options.port, options.delay) as provider:
        print(provider.api_base, flush=True)
        if options.until_eof:
            threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
        provider.serve_forever()


if __name__ == "__main__":
    main()
