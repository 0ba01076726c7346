"""`agent analyze` from outside: its outputs, its files, and its messages about bad input."""

from __future__ import annotations

import csv
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.analysis.trials import Did, Step, record
from tests.solve.command import agent, environment
from trajectories.analysis import analyze_trials

PICTURES = {"classes", "growth", "step-sizes", "observations"}


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """Record six trials, one of them with a name and a command that could break a table or a picture."""
    for number in range(5):
        steps = [
            Step([Did("cat > a.py <<'E'\nx\nE")], {"a.py": "x = 1\n" * (number + 1)}),
            Step([Did("make", "no\n", 2)] * 3),
        ]
        record(tmp_path / "batch" / f"trial.{number}", steps)
    odd = Did("echo $x_{ \x1b[31m \u4e2d\u6587 $$ \\$", "a")
    record(tmp_path / "batch" / "$odd_{name", [Step([odd]), Step()], closed=False)
    return tmp_path / "batch"


def test_one_json_object_has_every_trial_and_the_aggregate(tmp_path: Path, batch: Path) -> None:
    run = agent(tmp_path, "analyze", str(batch), "--json")
    assert run.status == 0, run.err
    assert run.err == ""
    assert len(run.json["trials"]) == 6
    assert run.json["unreadable"] == []
    together = run.json["aggregate"]
    assert together["trials"] == 6
    assert together["actions"] == {"write": 5, "probe": 0, "git": 0, "execute": 15, "read": 0, "other": 1}
    assert together["spreads"]["surviving_lines"]["max"] == 5
    assert together["spreads"]["repeated_actions"]["median"] == 2


def test_the_table_has_a_column_for_each_trial_or_a_spread_of_many(tmp_path: Path, batch: Path) -> None:
    few = agent(tmp_path, "analyze", str(batch / "trial.3"), str(batch / "$odd_{name"))
    assert few.status == 0, few.err
    assert "trial.3" in few.out.splitlines()[0]
    assert "3 times with the same outcome (2.1 to 2.3, 3 in a row): make" in few.out
    assert "\x1b" not in few.out
    trials = [str(batch / f"trial.{number}") for number in range(5)]
    assert "4 trials" not in agent(tmp_path, "analyze", *trials[:4]).out
    assert "5 trials" in agent(tmp_path, "analyze", *trials).out
    many = agent(tmp_path, "analyze", "batch")
    assert many.status == 0, many.err
    assert "6 trials" in many.out
    assert "median" in many.out


def test_csv_has_one_row_for_each_trial_and_pictures_are_valid(tmp_path: Path, batch: Path) -> None:
    run = agent(tmp_path, "analyze", str(batch), "--csv", "t.csv", "--plots", "p", "--format", "png", "--format", "svg")
    assert run.status == 0, run.err
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert {row["surviving_lines"] for row in rows} == {"0", "1", "2", "3", "4", "5"}
    assert {path.stem for path in (tmp_path / "p").iterdir()} == PICTURES
    for path in (tmp_path / "p").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        assert path.stat().st_size > 5000
    for path in (tmp_path / "p").glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert "Warning" not in run.err


def test_recordings_of_the_program_itself(tmp_path: Path, recordings: Path) -> None:
    run = agent(tmp_path, "analyze", str(recordings / "figlet"), str(recordings / "ledger"), "--json")
    figlet, ledger = run.json["trials"]
    assert figlet["actions"]["by_class"]["probe"] >= 10
    assert ledger["actions"]["by_class"]["probe"] == 0
    assert ledger["turns"]["sequence"] == ["read", "write", "execute", "execute", None]
    assert figlet["structure"]["functions"]["count"] > 50


def test_a_live_trial_with_a_torn_line_and_an_open_action(tmp_path: Path) -> None:
    trial = record(tmp_path / "t", [Step([Did("make")]), Step([Did("ls")])], closed=False)
    events = trial / "events.jsonl"
    whole = [line for line in events.read_bytes().splitlines(keepends=True) if b'"action_finished"' not in line]
    events.write_bytes(b"".join(whole) + b'{"seq": 99, "ty')
    run = agent(tmp_path, "analyze", str(trial), "--json")
    (analysis,) = run.json["trials"]
    assert (analysis["actions"]["total"], analysis["outcomes"]["finished"], analysis["exit"]) == (2, 0, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"{}\n", ":1:"),
        (b"\xff\xfe\n", ":1:"),
        (b'{"type":"exit"}\n', ":1:"),
        (None, "no trial"),
    ],
)
def test_a_bad_record_is_one_line_and_status_2(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "bad").mkdir()
        (tmp_path / "bad" / "events.jsonl").write_bytes(content)
    run = agent(tmp_path, "analyze", "bad", "--json")
    assert (run.status, run.out) == (2, "")
    assert run.err.count("\n") == 1
    assert message in run.err


def test_a_bad_trial_in_a_batch_is_listed_and_the_others_are_analyzed(tmp_path: Path, batch: Path) -> None:
    (batch / "trial.0" / "events.jsonl").write_bytes(b"nonsense\n")
    run = agent(tmp_path, "analyze", str(batch), "--json")
    assert run.status == 0
    assert len(run.json["trials"]) == 5
    (broken,) = run.json["unreadable"]
    assert broken["trial"].endswith("trial.0")


def test_a_damaged_workspace_is_a_note(tmp_path: Path) -> None:
    trial = record(tmp_path / "t", [Step([Did("ls")])], snapshots=False)
    (trial / "workspace.tar.zst").write_bytes(b"\x28\xb5\x2f\xfdnonsense")
    run = agent(tmp_path, "analyze", str(trial), "--json")
    (analysis,) = run.json["trials"]
    assert analysis["structure"] is None
    assert any("workspace.tar.zst" in note for note in analysis["notes"])


def test_usage_errors_name_the_way_out(tmp_path: Path, batch: Path) -> None:
    for arguments, message in (
        ([str(batch), "--format", "svg"], "--plots"),
        ([str(batch), "--csv", "none/t.csv"], "none/t.csv"),
        ([str(batch), "--plots", str(batch / "trial.1" / "events.jsonl")], "events.jsonl"),
        ([], "TRIAL"),
    ):
        run = agent(tmp_path, "analyze", *arguments)
        assert run.status == 2, arguments
        assert message in run.err
        assert run.err.count("\n") == 1


def test_a_missing_extra_names_the_command_that_installs_it(tmp_path: Path, batch: Path) -> None:
    """A failing import stands for a base installation, which has no tree-sitter."""
    program = "import sys; sys.modules['tree_sitter'] = None; from agent.cli.main import main; main()"
    command = [sys.executable, "-c", program, "analyze", str(batch)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path))
    assert run.returncode == 2
    assert "pip install 'retrace-agent[analysis]'" in run.stderr
    assert run.stderr.count("\n") == 1


def test_the_same_record_gives_the_same_analysis(tmp_path: Path, batch: Path) -> None:
    first, second = (analyze_trials([str(batch)], tmp_path) for _ in range(2))
    assert first == second
