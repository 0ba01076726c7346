"""Usage errors: each is one clear line with exit status 2, and nothing is started."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import agent, script


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    return tmp_path


ADHOC = ("--instruction", "x", "--workspace", "start", "--env", "local")


def refused(work: Path, *argv: str, status: int = 2, **extra: str) -> str:
    """Run `agent solve` with bad input; check that no trial begins, and return the line of the error."""
    result = agent(work, "solve", *argv, **extra)
    assert result.status == status, (result.out, result.err)
    assert result.out == ""
    assert "Traceback" not in result.err
    lines = [line for line in result.err.splitlines() if line.startswith("agent: ")]
    assert len(lines) == 1, result.err
    assert not (work / "runs").exists() or not list((work / "runs").glob("*/*"))
    return lines[0]


def test_an_unknown_task_suggests_similar_names(work: Path) -> None:
    line = refused(work, "--task", "demo/ledgre", "--model", script(work, SUBMIT))
    assert "demo/ledgre" in line
    assert "demo/ledger" in line


def test_an_unknown_model_suggests_similar_names(work: Path) -> None:
    line = refused(work, *ADHOC, "--model", "opuss")
    assert "opuss" in line
    assert "opus" in line.replace("opuss", "")


def test_a_missing_key_is_reported_with_its_variable(work: Path) -> None:
    assert "ANTHROPIC_API_KEY" in refused(work, *ADHOC, "--model", "opus")


def test_an_unreachable_endpoint_is_reported_before_anything_starts(work: Path) -> None:
    line = refused(work, *ADHOC, "--model", "openai/some", "--api-base", "http://127.0.0.1:9/v1", status=1)
    assert "127.0.0.1:9" in line


def test_a_cost_limit_on_a_model_without_a_price_is_rejected(work: Path) -> None:
    line = refused(
        work, *ADHOC, "--model", "openai/made-up", "--api-base", "http://127.0.0.1:9/v1", "--cost-limit", "1"
    )
    assert "no price" in line
    assert "--token-limit" in line


def test_a_prompt_with_an_unknown_variable_is_rejected_before_anything_starts(work: Path) -> None:
    default = (Path(__file__).parents[2] / "prompts" / "default.yaml").read_text()
    (work / "mine.yaml").write_text(default.replace("{{ exit_code }}", "{{ exit_status }}"))
    line = refused(work, *ADHOC, "--model", script(work, SUBMIT), "--prompt", "mine.yaml")
    assert "mine.yaml" in line
    assert "exit_status" in line


@pytest.mark.parametrize("text", ["runs: 5", "prompt: [a]", "step-limit: 1.5", "model: true", "[1]", "a: {b"])
def test_an_invalid_configuration_names_its_file(work: Path, text: str) -> None:
    (work / "config").mkdir()
    (work / "config" / "config.yaml").write_text(text)
    assert "config.yaml" in refused(work, *ADHOC, "--model", script(work, SUBMIT))


def test_a_missing_or_invalid_script_is_reported(work: Path) -> None:
    assert "nothing.json" in refused(work, *ADHOC, "--model", "script:nothing.json")
    (work / "bad.json").write_text("[1, 2")
    assert "bad.json" in refused(work, *ADHOC, "--model", "script:bad.json")


def test_a_plan_that_is_not_utf8_is_reported_with_the_byte(work: Path) -> None:
    (work / "plan").write_bytes(b"good \xff bad")
    assert "plan: not UTF-8 (byte 5)" in refused(work, *ADHOC, "--model", script(work, SUBMIT), "--plan", "plan")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--time-limit", "soon"), "--time-limit"),
        (("--token-limit", "-5"), "--token-limit"),
        (("--cost-limit", "0"), "--cost-limit"),
        (("--cost-limit", "inf"), "--cost-limit"),
        (("--cost-limit", "cheap"), "--cost-limit"),
        (("--step-limit", "0"), "--step-limit"),
        (("--keep",), "--keep"),
        (("--shell", "zsh"), "--shell"),
        (("--platform", "linux/arm64"), "--platform"),
        (("--platform", "foo"), "--platform"),
        (("--plan", "/dev/zero"), "/dev/zero"),
        (("--no-such-option",), "--no-such-option"),
        (("--command-timeout", "0s"), "--command-timeout"),
        (("--model-setting", "temperature"), "--model-setting"),
        (("--prompt", "no-such-prompt"), "no-such-prompt"),
    ],
)
def test_an_invalid_value_is_reported_by_name(work: Path, options: tuple[str, ...], name: str) -> None:
    assert name in refused(work, *ADHOC, "--model", script(work, SUBMIT), *options)


@pytest.mark.parametrize(
    "options",
    [
        ("--instruction", "x"),
        ("--task", "demo/ledger", "--instruction", "x"),
        ("--task", "demo/ledger", "--workspace", "start"),
        (),
    ],
)
def test_contradicting_options_are_rejected(work: Path, options: tuple[str, ...]) -> None:
    refused(work, *options, "--model", script(work, SUBMIT))


def test_an_environment_that_the_task_does_not_allow_is_rejected(work: Path) -> None:
    line = refused(work, "--task", "demo/figlet", "--env", "sandbox", "--model", script(work, SUBMIT))
    assert "sandbox" in line
    assert "docker" in line


def test_a_malformed_task_file_is_reported_with_key_and_reason(work: Path) -> None:
    task = work / "mytask"
    task.mkdir()
    (task / "instruction.md").write_text("do it")
    (task / "task.yaml").write_text("title: x\nkind: y\nenvironments: [local]\nwork_dir: /tmp/x\n")
    line = refused(work, "--task", str(task), "--model", script(work, SUBMIT))
    assert "task.yaml" in line
    assert "work_dir" in line
    (task / "task.yaml").write_text("")
    assert "task.yaml" in refused(work, "--task", str(task), "--model", script(work, SUBMIT))


def test_a_runs_directory_that_cannot_be_written_is_reported(work: Path) -> None:
    (work / "file").write_text("")
    result = agent(work, "solve", *ADHOC, "--model", script(work, SUBMIT), "--runs", "file")
    assert result.status == 2
    assert "cannot write trials to file" in result.err
    assert "--runs" in result.err


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_ends_the_trial_with_its_record_closed(work: Path) -> None:
    small = work / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)], check=True)
    try:
        noise = "head -c 400000 /dev/urandom"
        result = agent(work, "solve", *ADHOC, "--model", script(work, *[noise] * 20), "--runs", "small", "--json")
        assert result.status == 1, result.err
        assert result.json["exit"]["cause"] == "disk_full"
        assert "exit" in [event.type for event in result.events[-2:]]
        assert [event.seq for event in result.events] == list(range(len(result.events)))
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a read-only file system needs root")
def test_a_read_only_disk_is_reported_before_anything_starts(work: Path) -> None:
    read_only = work / "read-only"
    read_only.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,ro", "tmpfs", str(read_only)], check=True)
    try:
        line = refused(work, *ADHOC, "--model", script(work, SUBMIT), "--runs", "read-only/runs")
        assert "Read-only file system" in line
    finally:
        subprocess.run(["umount", "-l", str(read_only)], check=True)


def test_show_names_the_line_of_a_record_that_cannot_be_read(work: Path) -> None:
    assert "no trial 'nothing'" in agent(work, "show", "nothing").err
    trial = work / "runs" / "single" / "torn"
    trial.mkdir(parents=True)
    (trial / "events.jsonl").write_text('{"type": "nonsense"}\n')
    result = agent(work, "show", "torn")
    assert result.status == 2
    assert "events.jsonl:1" in result.err
    assert json.loads(agent(work, "trials", "--json").out)["trials"][0]["problem"]
