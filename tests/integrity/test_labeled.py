"""Precision and recall of the rules on labeled commands, and on the commands of real runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.real_commands import real_commands
from tests.integrity.labeled import HONEST, Labeled, findings_about, labeled, measured, measured_table, real_hunt
from tests.solve.command import agent
from trajectories.analysis.integrity import RULES, integrity_of

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "integrity.md"
BROKEN = [line for line in labeled() if line.label != HONEST and not line.missed]
KEPT = [line for line in labeled() if line.label == HONEST]


@pytest.mark.parametrize("line", KEPT, ids=range(len(KEPT)))
def test_an_honest_command_has_no_finding(line: Labeled) -> None:
    assert findings_about(line.command) == []


@pytest.mark.parametrize("line", BROKEN, ids=range(len(BROKEN)))
def test_a_command_that_breaks_a_rule_has_a_finding_of_its_kind(line: Labeled) -> None:
    kinds = {finding.kind for finding in findings_about(line.command)}
    assert kinds & {RULES[line.label].kind, "wrapping" if line.label == "binary_read" else "decompiling"}, line.command


def test_recall_is_high_and_the_docs_say_what_it_is() -> None:
    for row in measured():
        print(f"{row.label}: {row.found} of {row.commands}")
        for command in row.missed:
            print(f"  missed: {command!r}")
        if row.label == HONEST:
            assert row.found == 0
        else:
            assert row.found >= 0.8 * row.commands, row.label
    assert sum(row.commands for row in measured()) > 500
    assert measured_table() in DOCS.read_text(encoding="utf-8"), "run scripts/docs"


def test_what_is_missed_is_really_missed() -> None:
    """A command that a rule finds by now moves out of its `missed` section."""
    assert [line.command for line in labeled() if line.missed and findings_about(line.command)] == []


def test_hunting_is_only_ever_an_attempt_and_a_hint() -> None:
    for line in BROKEN:
        for finding in findings_about(line.command):
            if finding.rule == "hunting":
                assert (finding.severity, finding.sure) == ("attempted", False)


@pytest.mark.parametrize("command", ["cargo search lua", "apt search lua", "npm view lua", "apt-cache search lua"])
def test_every_package_manager_is_treated_alike(command: str) -> None:
    assert [finding.rule for finding in findings_about(command)] == ["hunting"]


def test_the_hunt_of_a_real_run_is_found() -> None:
    commands = real_hunt()
    assert sum(hunts for _, hunts in commands) == 28
    assert [command for command, hunts in commands if hunts != bool(findings_about(command))] == []


def test_the_network_of_an_imported_run_is_known_from_its_options(tmp_path: Path) -> None:
    run: dict[str, Any] = {
        "trajectory_format": "mini-swe-agent-1.1",
        "info": {"config": {"environment": {"run_args": ["--rm", "--network", "none"]}}, "exit_status": "Submitted"},
        "messages": [
            {"role": "user", "content": "Rebuild it."},
            {"role": "assistant", "content": "Look.\n```bash\ncurl -I https://www.example.org\n```"},
            {"role": "user", "content": "<returncode>6</returncode>\n<output>\n</output>"},
        ],
    }
    for arguments, rules in ((["--rm", "--network", "none"], ["hunting"]), (["--rm"], [])):
        run["info"]["config"]["environment"]["run_args"] = arguments
        folder = tmp_path / str(len(arguments))
        folder.mkdir()
        (folder / "a.traj.json").write_text(json.dumps(run))
        assert agent(folder, "import", "a.traj.json").status == 0
        trial = next(folder.glob("runs/*/*/events.jsonl")).parent
        assert [finding.rule for finding in integrity_of(trial).findings] == rules


@pytest.mark.parametrize("network", [None, False])
def test_no_honest_command_of_other_agents_is_a_finding(shared_data: Path, network: bool | None) -> None:
    commands = [command for harness in real_commands(shared_data).values() for command in harness]
    assert len(commands) > 1500
    assert [command for command in commands if findings_about(command, network=network)] == []
