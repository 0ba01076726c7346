"""The commands that print information and start nothing: tasks, models, doctor, schema."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import agent, script

RECORDS = Path(__file__).parents[1] / "records" / "v2.0"


def test_the_demos_are_listed_and_shown(tmp_path: Path) -> None:
    rows = {row["id"]: row for row in agent(tmp_path, "tasks", "list", "--json").json["tasks"]}
    assert {"demo/cronwhen", "demo/figlet", "demo/ledger", "demo/spans"} <= rows.keys()
    assert rows["demo/figlet"]["environments"] == ["docker"]
    assert rows["demo/figlet"]["tests"] >= 150
    task = agent(tmp_path, "tasks", "show", "ledger", "--json").json
    assert task["id"] == "demo/ledger"
    assert "keeps a cash book" in task["instruction"]
    unknown = agent(tmp_path, "tasks", "show", "ledgr")
    assert unknown.status == 2
    assert "demo/ledger" in unknown.err
    assert agent(tmp_path, "tasks", "list", "--benchmark", "nothing").status == 2


def test_models_are_listed_with_prices_and_keys(tmp_path: Path) -> None:
    rows = {row["alias"]: row for row in agent(tmp_path, "models", "list", "--json").json["models"]}
    assert {"opus", "sonnet", "gpt", "gemini"} <= rows.keys()
    assert rows["opus"]["input"] > 0
    assert rows["opus"]["key"] is False
    with_key = agent(tmp_path, "models", "list", "--json", ANTHROPIC_API_KEY="sk-not-a-key").json["models"]
    assert {row["alias"]: row for row in with_key}["opus"]["key"] is True


def test_the_doctor_names_variables_of_keys_and_never_shows_the_keys(tmp_path: Path) -> None:
    result = agent(tmp_path, "doctor", "--json", OPENAI_API_KEY="sk-very-secret-1")
    assert result.status == 0, result.err
    assert "OPENAI_API_KEY" in result.json["keys_set"]
    assert "sk-very-secret-1" not in result.out
    assert result.json["machine"]["cores"] == len(os.sched_getaffinity(0))
    assert result.json["environments"]["local"]["works"]
    assert result.json["config"]["path"] == str(tmp_path / "config" / "config.yaml")
    assert "docker" in agent(tmp_path, "doctor").out


def test_the_doctor_gives_the_reason_why_docker_does_not_work(tmp_path: Path) -> None:
    result = agent(tmp_path, "doctor", "--json", DOCKER_HOST=f"unix://{tmp_path}/nothing.sock")
    docker = result.json["environments"]["docker"]
    assert not docker["works"]
    assert not docker["answers"]
    assert docker["trouble"]


def test_recorded_events_match_the_printed_schema(tmp_path: Path) -> None:
    schema = agent(tmp_path, "schema").json
    validator = jsonschema.Draft202012Validator(schema)
    events = [
        json.loads(line) for file in RECORDS.glob("*/*/events.jsonl") for line in file.read_bytes().split(b"\n")[:-1]
    ]
    for event in events:
        validator.validate(event)
    kinds = {"trial_started", "call_finished", "action_finished", "exit", "evaluation_started", "evaluation", "vote"}
    assert kinds <= {event["type"] for event in events}
    assert not validator.is_valid({"type": "exit", "seq": 1})


def test_without_docker_a_task_that_needs_it_ends_with_an_error_that_names_it(tmp_path: Path) -> None:
    nowhere = f"unix://{tmp_path}/nothing.sock"
    model = script(tmp_path, SUBMIT)
    result = agent(tmp_path, "solve", "--task", "demo/figlet", "--model", model, DOCKER_HOST=nowhere)
    assert result.status == 1
    assert "docker" in result.err.lower()
    options = ("--task", "demo/ledger", "--env", "docker", "--model", model)
    assert agent(tmp_path, "solve", *options, DOCKER_HOST=nowhere).status == 1


@pytest.mark.parametrize("group", [(), ("tasks",), ("models",), ("prices",)])
def test_a_group_without_a_command_prints_its_help(tmp_path: Path, group: tuple[str, ...]) -> None:
    result = agent(tmp_path, *group)
    assert (result.status, result.out) == (2, "")
    assert " ".join(("Usage: agent", *group)) in result.err
