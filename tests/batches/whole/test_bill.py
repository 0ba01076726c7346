"""The reckoning of records against a provider's bill: whole after cut replies and kills, and blind to nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.batch_bill import reckon
from tests.wire.study.faults import Faults
from tests.wire.study.running import ROOT
from tests.wire.study.server import Settings, StudyServer

SOLVE = ("solve", "--task", "demo/cronwhen", "--env", "local", "--no-evaluate", "--quiet", "--batch", "bills")


@pytest.fixture(scope="module")
def billed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, StudyServer]]:
    """The folder of two trials and their bill: one had replies cut, one was killed in mid-call."""
    folder = tmp_path_factory.mktemp("billed")
    settings = Settings(faults=Faults.parse("429@2,cut@3,hang_up@5", retry_after_s=0))
    with StudyServer(settings=settings) as server:
        assert start(folder, server).wait(300) == 0
        server.change(latency_s=600.0)
        process = start(folder, server)
        wait_for(lambda: server.in_flight == 1)
        process.kill()
        process.wait()
        yield folder / "runs" / "bills", server


def start(folder: Path, server: StudyServer) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "agent.cli.main", *SOLVE, "--model", "openai/gpt-4.1-mini"]
    variables = {**os.environ, **server.environment(), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([*command, "--runs", str(folder / "runs")], env=variables, stdin=subprocess.DEVNULL)


def wait_for(condition) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_known_costs_and_the_calls_in_flight_or_cut_are_the_bill(billed: tuple[Path, StudyServer]) -> None:
    batch, server = billed
    result = reckon([batch], server.bill.lines)
    assert result.troubles == []
    assert [call.name for call in result.listed] == ["step 2, try 2", "step 3, try 1", "step 1, try 1"]
    assert [call.name for call in result.calls if call.refused] == ["step 2, try 1"]
    assert result.known_usd > 0
    assert result.lost_usd > 0
    assert result.known_usd + result.lost_usd == pytest.approx(result.billed_usd, abs=1e-9)


def test_a_request_that_is_in_no_record_is_found(billed: tuple[Path, StudyServer]) -> None:
    batch, server = billed
    line = replace(server.bill.lines[-1], request=99)
    troubles = reckon([batch], [*server.bill.lines, line]).troubles
    assert troubles[0] == "request 99 of gpt-4.1-mini is in no record, finished or listed"


def test_a_wrong_price_is_found(billed: tuple[Path, StudyServer]) -> None:
    batch, server = billed
    lines = [replace(line, usd=line.usd * 1.01) if line.request == 1 else line for line in server.bill.lines]
    assert "step 1, try 1: cost 0.0" in reckon([batch], lines).troubles[0]


def test_a_call_that_is_in_two_records_is_found(billed: tuple[Path, StudyServer], tmp_path: Path) -> None:
    batch, server = billed
    twice = tmp_path / "bills"
    shutil.copytree(batch, twice)
    trial = min(path.parent for path in twice.glob("*/events.jsonl"))
    shutil.copytree(trial, trial.with_name("twice"))
    assert "is recorded 2 times" in reckon([twice], server.bill.lines).troubles[0]


def test_a_call_that_is_missing_from_the_records_is_found(billed: tuple[Path, StudyServer], tmp_path: Path) -> None:
    batch, server = billed
    without = tmp_path / "bills"
    shutil.copytree(batch, without)
    path = min(without.glob("*/events.jsonl"))
    lines = path.read_text().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if json.loads(line)["type"] == "call_started")
    path.write_text("".join(lines[:last]))
    assert any("is in no record" in trouble for trouble in reckon([without], server.bill.lines).troubles)
