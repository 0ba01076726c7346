"""A secret that lies across a cut: nothing that is printed or recorded holds eight characters of it in a row."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import httpx
import pytest

from agent.models.litellm.exchange import Exchange
from agent.models.litellm.failures import failure_of
from agent.models.redaction import one_line
from benchmarks.judging.junit import parse
from benchmarks.judging.suite_run import build_failure, main_line
from benchmarks.programbench.official.log_errors import last_error
from benchmarks.programbench.official.results import _first_line, _message
from environments.link import ProcessLink
from environments.protocol import Execution
from environments.wire.incoming import Incoming
from tests.record.test_recorder import started
from tests.solve.command import agent
from tests.solve.test_wire import solve
from tests.wire.replies import Fault, Turn
from tests.wire.server import WireServer
from trajectories.analysis.integrity.judge import _answer
from trajectories.blobs.spooled import Spooled
from trajectories.record.events import Warned
from trajectories.record.texts.paths import to_text
from trajectories.writing import excerpts
from trajectories.writing.masking import MASK, Masker
from trajectories.writing.recorder import Recorder
from trajectories.yaml_mistakes import shown

KEY = "qx7-Zr4tVb9mKp2LwJ8sYd6GfH3"
ODD = "q\"7\\Zr4/t V%b9'mKp+2=Lwé8\tYd"
PIECE = 8


def pieces(secret: str) -> set[str]:
    return {secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1)}


def leaked(text: str, secret: str = KEY) -> list[str]:
    return sorted(piece for piece in pieces(secret) if piece in text)


def malformed(text: str) -> str:
    exchange = Exchange(time.monotonic() + 9, httpx.Response(200, text=text))
    return failure_of(ValueError("no JSON"), exchange).detail


def refused(text: str) -> str:
    body = {"error": {"message": text}}
    return failure_of(ValueError("refused"), Exchange(time.monotonic() + 9, httpx.Response(400, json=body))).detail


def junit(text: str) -> str:
    results = parse(f'<testsuite><testcase name="a"><failure message="{text}"/></testcase></testsuite>'.encode())
    return next(iter(results.values())).message


def built(text: str) -> str:
    failure = build_failure(Execution("exited", text.encode(), len(text), 1.0, exit_code=1), 9)
    assert failure is not None
    return failure.reason


def diagnosed(text: str) -> str:
    with tempfile.TemporaryFile() as errors:
        errors.write(("." * 3000 + text).encode())  # more than is kept
        errors.flush()
        with subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            return ProcessLink(process, errors).diagnostics()


def unreadable_answer(text: str) -> str:
    incoming = Incoming(Silent(text), Healthy())
    return str(incoming.loss())


class Silent:
    """A link at whose other end something ended with these words."""

    def __init__(self, text: str) -> None:
        self._text = text

    def send(self, data: bytes | memoryview, timeout_s: float) -> None:
        raise AssertionError

    def receive(self, view: memoryview, timeout_s: float) -> int:
        raise AssertionError

    def diagnostics(self) -> str:
        return self._text

    def close(self) -> None:
        pass


class Healthy:
    def trouble(self) -> str | None:
        return "it ended"

    def guard(self) -> None:
        pass


CUTS: dict[str, Callable[[str], str]] = {
    "a reply that is not JSON": malformed,
    "the message of a provider": refused,
    "the line of a failed call": one_line,
    "a beginning": lambda text: excerpts.beginning(text, 1000),
    "an ending": lambda text: excerpts.ending(text, 1000),
    "a middle": lambda text: excerpts.middle(text, 1000),
    "the end of a program's standard error": diagnosed,
    "the last words of a supervisor": unreadable_answer,
    "the output of a build": built,
    "the line of a failed suite": lambda text: main_line([f"E   {text}"]),
    "the message of a failed test": junit,
    "the message of the official evaluator": lambda text: _message({"message": text}),
    "the first line of a warning": _first_line,
    "the log of the official evaluator": last_error,
    "a value in a file": shown,
    "the reason of a judge": lambda text: _answer("tracing", {"violated": False, "why": text}, 1).why,
}


@pytest.mark.parametrize("name", CUTS)
def test_no_part_of_a_secret_is_left_at_a_cut(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    for before in range(0, 2600, 4):
        text = ("." * before + KEY).ljust(2600, ".")
        assert not leaked(CUTS[name](text)), before


@pytest.mark.parametrize("spooled", [False, True])
def test_an_output_that_its_cap_cuts_ends_without_a_part_of_a_secret(spooled: bool, tmp_path: Path) -> None:
    for kept in range(PIECE, len(KEY)):
        data = b"." * 1000 + KEY[:kept].encode()
        (tmp_path / str(kept)).mkdir()
        recorder = Recorder(tmp_path / str(kept), masker=Masker({"SOME_API_KEY": KEY}))
        cut = Spooled(lambda write, data=data: write(data)) if spooled else data  # type: ignore[misc]
        output = recorder.output(cut, 5000)
        blob = b"" if output.blob is None else recorder.blobs.get(output.blob)
        recorder.close()
        assert not leaked(output.text + blob.decode())
        assert output.text.endswith("[secret:SOME_API_KEY]")
        assert output.masked


def test_an_output_that_is_whole_keeps_what_looks_like_a_part_of_a_secret(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, masker=Masker({"SOME_API_KEY": KEY}))
    data = KEY[:-1].encode()
    assert recorder.output(data, len(data)).text == KEY[:-1]
    recorder.close()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": json.dumps,
    "JSON in ASCII, twice": lambda text: json.dumps(json.dumps(text)),
    "JSON with bare letters": lambda text: json.dumps(text, ensure_ascii=False),
    "repr": repr,
    "JSON of a repr": lambda text: json.dumps({"error": repr(text)}),
    "a path of the record": lambda text: to_text(text.replace("/", "").encode()),
    "percent": lambda text: quote(text, safe=""),
    "percent in lower case": lambda text: re.sub("%..", lambda match: match[0].lower(), quote(text)),
    "query": quote_plus,
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_secret_is_masked_in_every_spelling_that_our_own_code_writes(name: str, tmp_path: Path) -> None:
    secret = ODD.replace("/", "") if "path" in name else ODD
    spelled = SPELLINGS[name](secret)
    assert MASK in Masker({"SOME_API_KEY": secret}).text(f"at {spelled}.")
    recorder = Recorder(tmp_path, masker=Masker({"SOME_API_KEY": secret}))
    recorder.append(started())
    event = recorder.append(Warned(kind="test", text=f"at {spelled}."))
    output = recorder.output(f"at {spelled}.".encode(), 0)
    recorder.close()
    assert MASK in event.text
    assert MASK in output.text
    assert spelled.strip("\"'") not in (tmp_path / "events.jsonl").read_text()


def test_a_secret_across_every_cut_of_a_trial_is_nowhere(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()

    def across(cut: int, length: int = 4000) -> str:
        return ("." * (cut - len(KEY) + 1) + KEY).ljust(length, ".")

    turns = [
        Fault("body", body=across(100).encode()),
        Fault("error", 500, across(296), "server_error"),
        Turn(raw_calls=((across(60, 70), "{}"), ("bash", json.dumps({"command": 7, "key": KEY})))),
        Turn(commands=(f"printf %s {across(5000, 12_000)}", f"mkdir {KEY}; echo x >{KEY}/y; echo {KEY[:20]}")),
        Turn(refusal=across(200)),
    ]
    with WireServer(turns) as server:
        result = solve(tmp_path, server, "chat", SOME_API_KEY=KEY)
    assert result.json["exit"]["cause"] == "refusal", result.err
    record = (result.trial / "events.jsonl").read_text()
    written = "".join(path.read_text() for path in result.trial.glob("*.json"))
    for text in (result.out, result.err, record, written):
        assert not leaked(text.replace(KEY[:20], ""))  # which the model printed on purpose
    assert "[secret:SOME_API_KEY]" in record


def test_a_secret_in_an_argument_is_not_printed(tmp_path: Path) -> None:
    long = ("." * 60 + KEY).ljust(100, ".")
    for arguments in (("solve", long), ("show", KEY), ("solve", "hello", "--model", f"openai/{KEY}", "--env", KEY)):
        result = agent(tmp_path, *arguments, SOME_API_KEY=KEY)
        assert result.status == 2
        assert not leaked(result.out + result.err)
