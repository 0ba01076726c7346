"""A replay of another program's run compares all that its file holds, and states what the file does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.solve.command import agent
from tests.solve.mini_file import MARK, Ran, imported
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionFinished


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    return tmp_path


def replay(work: Path, trial: Path, *argv: str, status: int = 0) -> Any:
    """Replay an import over the directory `start`; check the exit status, and return the JSON report."""
    kind = () if "--env" in argv else ("--env", "local")
    result = agent(work, "replay", str(trial), *kind, "--workspace", str(work / "start"), *argv, "--json")
    assert result.status == status, result.err
    assert "Traceback" not in result.err
    return result.json


def classes(report: Any) -> dict[str, str]:
    return {divergence["action"]: divergence["class"] for divergence in report["divergences"]}


def test_dates_of_the_run_are_noise_and_dates_in_its_data_are_not(work: Path) -> None:
    trial = imported(
        work,
        Ran("date +%F", "2026-05-28\n"),
        Ran("echo due $(date +%F)", "due 1999-12-31\n"),
        Ran("echo 2023-01-01; time -p true", "2023-01-01\nreal 0.34\nuser 0.00\nsys 0.00\n"),
    )
    report = replay(work, trial)
    assert (classes(report)["1.1"], classes(report)["2.1"]) == ("dates", "output")


def test_without_any_time_every_date_is_data(work: Path) -> None:
    trial = imported(work, Ran("date +%F", "2026-05-28\n"), Ran("echo 2023-01-01", "2023-01-01\n"), times=False)
    assert classes(replay(work, trial)) == {"1.1": "output"}


CUT = (
    "<returncode>0</returncode>\n<warning>\nThe output of your last command was too long.\n</warning>"
    "<output_head>\nabc\n</output_head>\n<elided_chars>\n{left_out} characters elided\n</elided_chars>\n"
    "<output_tail>\nxyz\n</output_tail>"
)


@pytest.mark.parametrize(
    ("shown", "bytes_"),
    [
        (CUT.format(left_out=5), 11),
        (CUT.format(left_out=0), 6),
        ("<returncode>0</returncode>\n<summary>a template without the output</summary>", 0),
        ("the command timed out", 0),
    ],
)
def test_an_output_that_the_file_does_not_hold_whole_is_not_compared(work: Path, shown: str, bytes_: int) -> None:
    trial = imported(work, Ran("printf abcxyz", shown=shown), Ran("echo same", "same\n"))
    output = next(event.output for event in read_events(trial) if isinstance(event, ActionFinished))
    assert (output.complete, output.bytes) == (False, bytes_)
    report = replay(work, trial, "--strict", status=1)
    assert classes(report) == {"1.1": "not recorded"}
    assert (report["outputs_identical"], report["actions"]) == (1, 2)


def test_a_cut_output_of_an_older_import_is_not_compared(work: Path) -> None:
    trial = imported(work, Ran("printf abcxyz", shown=CUT.format(left_out=5)))
    events = trial / "events.jsonl"
    text = events.read_text()
    assert ',"complete":false' in text
    events.write_text(text.replace(',"complete":false', ""))
    assert classes(replay(work, trial)) == {"1.1": "not recorded"}


SUBMIT = f"echo {MARK} && cat patch"


def test_the_submitting_command_runs_again_and_what_it_hands_in_is_compared(work: Path) -> None:
    trial = imported(work, Ran("echo 'a patch' >patch"), submits=(SUBMIT, "a patch\n"))
    report = replay(work, trial, "--strict")
    assert (report["submission_equal"], report["not_replayed"], report["divergences"]) == (True, [], [])


def test_another_submission_is_a_difference(work: Path) -> None:
    trial = imported(work, Ran("cat given >patch"), submits=(SUBMIT, "another patch\n"))
    (work / "start" / "given").write_text("a patch\n")
    report = replay(work, trial)
    assert report["submission_equal"] is False
    assert classes(report) == {"2.1": "submission (output)"}
    assert "'a patch'" in report["divergences"][0]["detail"]
    replay(work, trial, "--strict", status=1)


@pytest.mark.parametrize("command", [SUBMIT, f"echo {MARK}; exit 3", "echo done"])
def test_a_command_that_no_longer_submits_is_a_difference(work: Path, command: str) -> None:
    trial = imported(work, Ran("true"), submits=(command, "a patch\n"))
    report = replay(work, trial, "--strict", status=1)
    assert (report["submission_equal"], classes(report)) == (False, {"2.1": "submission"})
    assert "2.1 ended with exit code" in report["divergences"][0]["detail"]


def test_commands_of_the_submitting_reply_run_before_it(work: Path) -> None:
    trial = imported(work, Ran("true"), together=("echo late >patch",), submits=(SUBMIT, "late\n"))
    report = replay(work, trial)
    assert (report["submission_equal"], report["not_replayed"]) == (True, ["2.1"])


def test_nothing_replayed_is_not_strictly_equal(work: Path) -> None:
    trial = imported(work, together=("sleep 0",), submits=("echo nothing", ""))
    report = replay(work, trial, "--strict", status=1)
    assert report["actions"] == 0


def test_an_import_without_snapshots_has_no_known_cause(work: Path) -> None:
    trial = imported(work, Ran("cat given", "a\n"))
    (work / "start" / "given").write_text("b\n")
    report = replay(work, trial)
    assert (report["first_causal"], report["snapshots"], report["workspace_equal"]) == (None, False, None)
    place = ("--env", "local", "--workspace", str(work / "start"))
    shown = agent(work, "replay", str(trial), *place).out
    assert "the record has no snapshots: the cause of a difference is unknown" in shown
    assert "the workspace was not compared" in shown


def test_the_recorded_shell_runs_the_commands(work: Path) -> None:
    trial = imported(
        work,
        Ran("nosuch", "bash: line 1: nosuch: command not found\n", 127),
        Ran("echo $0 $#; shopt -q login_shell || echo no login", "bash 0\nno login\n"),
        Ran("if", "bash: -c: line 2: syntax error: unexpected end of file\n", 2),
        Ran("printf 'a\\r\\nb\\377'", "a\nb\ufffd"),
        Ran("cat <<\"EOF\"\n'$x' `y`\nEOF", "'$x' `y`\n"),
    )
    report = replay(work, trial)
    assert report["returncodes_equal"] == 5
    assert classes(report).keys() <= {"3.1"}  # bash 5.3 words it differently
    (note,) = report["notes"]
    assert note.endswith("were recorded in /testbed")


def test_what_the_file_does_not_name_is_noted(work: Path) -> None:
    trial = imported(work, Ran("true"), environment={"interpreter": None, "forward_env": ["HF_HOME"]})
    notes = "\n".join(replay(work, trial)["notes"])
    assert "does not name the shell" in notes
    assert "HF_HOME" in notes


@pytest.mark.sandbox
def test_a_sandbox_works_in_the_recorded_directory(work: Path) -> None:
    trial = imported(work, Ran("pwd", "/testbed\n"), environment={"env": {"PAGER": "cat"}})
    report = replay(work, trial, "--env", "sandbox", "--strict")
    assert report["notes"] == []
    inside = imported(work, Ran("pwd", "/usr/src/x\n"), environment={"cwd": "/usr/src/x"})
    report = replay(work, inside, "--env", "sandbox")
    assert "were recorded in /usr/src/x" in report["notes"][0]


def test_both_streams_behind_docker_exec_may_have_any_order(work: Path) -> None:
    command = "echo one; echo first >&2; echo two; echo second >&2; mktemp -u"
    trial = imported(
        work,
        Ran(command, "first\nsecond\none\ntwo\n/tmp/tmp.a1B2c3D4e5\n"),
        Ran(command, "one\nfirst\n/tmp/tmp.a1B2c3D4e5\ntwo\nsecond\n"),
        Ran(command, "one\nsecond\ntwo\nfirst\n/tmp/tmp.a1B2c3D4e5\n"),
        Ran("echo only >&2", "only\n"),
    )
    report = replay(work, trial)
    assert classes(report)["1.1"] == "temporary names + interleaved streams"
    assert all("order of lines" in classes(report)[action] for action in ("2.1", "3.1"))
    assert (report["outputs_identical"], report["outputs_equal_normalized"]) == (1, 2)


@pytest.mark.parametrize(
    "shell", [["true"], ["bash", "-c", "cat answers #"], ["/testbed/bash", "-c"], ["python3", "-c"]]
)
def test_a_shell_that_would_forge_outputs_is_not_used(work: Path, shell: list[str]) -> None:
    trial = imported(work, Ran("echo honest"), environment={"interpreter": shell})
    (work / "start" / "answers").write_text("")
    report = replay(work, trial, "--strict", status=1)
    assert classes(report) == {"1.1": "output"}
    assert any(f"names {shell[0]}" in note for note in report["notes"])


def test_variables_that_may_forge_outputs_are_noted(work: Path) -> None:
    variables = {"BASH_ENV": "$(echo forged >&2)", "BASH_FUNC_pytest%%": "() { echo 3 passed; }", "PAGER": "cat"}
    trial = imported(work, Ran("true"), environment={"env": variables})
    (note,) = [note for note in replay(work, trial)["notes"] if "variables" in note]
    assert "BASH_ENV, BASH_FUNC_pytest%%" in note
    assert "PAGER" not in note


def test_times_over_centuries_do_not_make_every_date_noise(work: Path) -> None:
    trial = imported(work, Ran("true"), Ran("echo due $(date +%F)", "due 1999-12-31\n"))
    events = trial / "events.jsonl"
    events.write_text(events.read_text().replace('"t":"2026-05-28', '"t":"1971-05-28', 1))
    assert classes(replay(work, trial)) == {"2.1": "output"}
