"""`agent prices` and `--prices` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from scoring.pricing.repricing import reprice
from scoring.pricing.snapshots import table_of_record
from tests.solve.command import CommandResult, agent
from tests.wire.replies import Turn, bad_key
from tests.wire.server import WireServer
from trajectories.record.events import CallFinished, Warned

MINE = ("prices", "snapshot", "mine", "--set", "openai/gpt-wire input=2e-6 output=8e-6 cache_read=1e-6 currency=CNY")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    return tmp_path


def solve(work: Path, server: WireServer, *options: str) -> CommandResult:
    place = ("--instruction", "Work.", "--workspace", "start", "--env", "local", "--json")
    return agent(work, "solve", *place, "--model", "openai/gpt-wire", "--api-base", server.base("chat"), *options)


def test_a_snapshot_is_made_listed_and_compared(work: Path) -> None:
    made = agent(work, *MINE, "--rate", "CNY=6.77", "--date", "2026-06-04", "--json")
    assert (made.status, made.json["models"], made.json["date"]) == (0, 1, "2026-06-04"), made.err
    listed = agent(work, "prices", "list", "--json").json["tables"]
    assert [row["name"] for row in listed][1:] == ["mine"]
    assert listed[0]["name"].startswith("litellm-")
    assert listed[1]["sha256"] == made.json["sha256"]
    (row,) = agent(work, "prices", "list", "mine", "--json").json["usd_per_million_tokens"]
    assert (row["model"], row["input"], row["cache_write_5m"]) == ("openai/gpt-wire", round(2 / 6.77, 9), None)
    assert agent(work, "prices", "snapshot", "next", "--set", "openai/gpt-wire input=1e-6 output=1e-6").status == 0
    difference = agent(work, "prices", "diff", "mine", "next", "--json").json
    assert [change["rate"] for change in difference["changed"]] == ["cache_read", "input", "output"]
    assert "rates changed" in agent(work, "prices", "diff", "mine", "next").err


def test_a_snapshot_of_litellms_table_names_aliases_and_what_it_leaves_out(work: Path) -> None:
    made = agent(
        work, "prices", "snapshot", "two", "--from", "litellm", "--model", "opus", "--model", "deepseek-v4-flash"
    )
    assert made.status == 0, made.err
    assert "cheaper at some hours" in made.err
    rows = agent(work, "prices", "list", "two", "--model", "opus", "--json").json["usd_per_million_tokens"]
    assert all("opus" in row["model"] for row in rows)
    assert {row["tier"] for row in rows} >= {"", "batch"}
    wheel = agent(work, "prices", "list", "--json").json["tables"][0]["name"]
    assert agent(work, "prices", "diff", "two", wheel, "--json").json["changed"] == []


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("snapshot", "litellm-9"), "are reserved for litellm's own tables"),
        (("snapshot", "../x", "--set", "m input=1e-6"), "is not a valid name of a snapshot"),
        (("snapshot", "x", "--set", "m input=1e-6 output=-1"), "not negative"),
        (("snapshot", "x", "--set", "m input=1e-6 currency=CNY"), "no exchange rate for CNY"),
        (("snapshot", "x", "--set", "m input=1e-6", "--rate", "CNY=0"), "an exchange rate of 0"),
        (("snapshot", "x", "--set", "m input=1e-6", "--rate", "CNY"), "write CODE=UNITS_PER_USD"),
        (("snapshot", "x", "--set", "m input=1e-6", "--set", "m input=2e-6"), "is given twice"),
        (("snapshot", "x", "--from", "nowhere.yaml"), "nowhere.yaml: cannot be read"),
        (("snapshot", "x", "--model", "opuss"), "no price for 'opuss'"),
        (("list", "nothing"), "there is no snapshot of that name"),
        (("list", "litellm-0.1"), "the table of the installed litellm is litellm-"),
        (("list", "--model", "m"), "name the table"),
        (("diff", "a", "b"), "there is no snapshot of that name"),
    ],
)
def test_a_usage_error_is_one_line(work: Path, argv: tuple[str, ...], message: str) -> None:
    result = agent(work, "prices", *argv)
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_a_name_is_not_taken_twice(work: Path) -> None:
    assert agent(work, *MINE, "--rate", "CNY=6.77").status == 0
    again = agent(work, *MINE, "--rate", "CNY=7")
    assert again.status == 2
    assert "snapshots never change" in again.err


def test_a_trial_is_priced_with_the_snapshot_and_records_it(work: Path) -> None:
    digest = agent(work, *MINE, "--rate", "CNY=6.77", "--json").json["sha256"]
    with WireServer([Turn(commands=("true",)), Turn(commands=(SUBMIT,))]) as server:
        solved = solve(work, server, "--prices", "mine", "--cost-limit", "1")  # without it: no price, so no cost limit
    assert solved.status == 0, solved.err
    first = solved.events[0]
    assert (first.prices.name, first.prices.sha256) == ("mine", digest)
    assert first.prices.rates["per_usd"] == 6.77
    finished = [event for event in solved.events if isinstance(event, CallFinished)]
    expected = sum(
        (event.usage.input * 2e-6 + event.usage.cache_read * 1e-6 + event.usage.output * 8e-6) / 6.77
        for event in finished
    )
    assert solved.json["cost_usd"]["computed"] == pytest.approx(expected)
    again = reprice(solved.events, table_of_record(first))
    assert [call.costs for call in again.calls] == [event.costs for event in finished]


def test_the_users_default_names_a_snapshot(work: Path) -> None:
    assert agent(work, *MINE, "--rate", "CNY=6.77").status == 0
    (work / "config" / "config.yaml").write_text("prices: mine\n")
    with WireServer([Turn(commands=(SUBMIT,))]) as server:
        assert solve(work, server, "--dry-run").json["prices"]["name"] == "mine"
        refused = solve(work, server, "--prices", "absent")
    assert refused.status == 2
    assert "--prices absent: there is no snapshot of that name" in refused.err


def test_a_missing_rate_rules_out_a_cost_limit(work: Path) -> None:
    assert agent(work, "prices", "snapshot", "gap", "--set", "openai/gpt-wire input=1e-6").status == 0
    with WireServer([Turn(commands=(SUBMIT,))]) as server:
        refused = solve(work, server, "--prices", "gap", "--cost-limit", "1")
    assert refused.status == 2
    assert "has no rate of output" in refused.err


def test_a_trial_is_continued_only_with_its_own_snapshot(work: Path) -> None:
    assert agent(work, *MINE, "--rate", "CNY=6.77").status == 0
    with WireServer(
        [Turn(commands=("true",)), bad_key(), Turn(commands=(SUBMIT,)), Turn(commands=(SUBMIT,))]
    ) as server:
        trial = str(solve(work, server, "--prices", "mine").trial)
        kept = work / "config" / "prices" / "mine.json"
        moved = kept.rename(work / "away.json")
        for argv in (("resume", trial), ("fork", trial, "--at", "1")):
            gone = agent(work, *argv)
            assert (gone.status, gone.err.count("\n")) == (2, 1)
            assert "was priced with the snapshot 'mine', which cannot be used" in gone.err
        assert agent(work, *MINE, "--rate", "CNY=7").status == 0
        other = agent(work, "resume", trial)
        assert other.status == 2
        assert "which has changed" in other.err
        kept.unlink()
        moved.rename(kept)
        child = agent(work, "fork", trial, "--at", "1", "--json")
        assert child.events[0].prices.name == "mine"
        resumed = agent(work, "resume", trial, "--json")
    assert (resumed.status, resumed.json["exit"]["cause"]) == (0, "submitted"), resumed.err
    assert resumed.json["cost_usd"]["computed"] > 0


def test_a_trial_priced_by_litellm_is_priced_the_same_from_its_own_record(work: Path) -> None:
    with WireServer([Turn(commands=("true",)), Turn(commands=(SUBMIT,))]) as server:
        solved = solve(work, server, "--model", "anthropic/claude-opus-4-7", "--api-base", server.base("anthropic"))
    finished = [event for event in solved.events if isinstance(event, CallFinished)]
    again = reprice(solved.events, table_of_record(solved.events[0]))
    assert [call.costs for call in again.calls] == [event.costs for event in finished]
    assert again.costs.computed > 0


def test_continuing_a_trial_with_another_litellm_is_a_warning(work: Path) -> None:
    with WireServer([Turn(commands=("true",)), bad_key(), Turn(commands=(SUBMIT,))]) as server:
        trial = solve(work, server).trial
        events = trial / "events.jsonl"
        first, rest = events.read_text().split("\n", 1)
        start = json.loads(first)
        start["prices"] |= {"source": "litellm 1.0", "sha256": "0" * 64}
        events.write_text(json.dumps(start) + "\n" + rest)
        resumed = agent(work, "resume", str(trial), "--json")
    assert resumed.status == 0, resumed.err
    (warned,) = (event for event in resumed.events if isinstance(event, Warned) and event.kind == "other_prices")
    assert "those before with litellm 1.0" in warned.text


def test_the_example_file_of_the_documentation_is_valid(tmp_path: Path) -> None:
    shown = (
        (Path(__file__).parents[2] / "docs" / "reference" / "scoring.md")
        .read_text(encoding="utf-8")
        .split("```yaml\n")[1]
        .split("```")[0]
    )
    (tmp_path / "doc.yaml").write_text(shown)
    assert agent(tmp_path, "prices", "snapshot", "doc", "--from", "doc.yaml").status == 0
    rows = json.loads(agent(tmp_path, "prices", "list", "doc", "--json").out)["usd_per_million_tokens"]
    assert [(row["tier"], row["above"], row["input"]) for row in rows] == [
        ("", 0, pytest.approx(2 / 6.77)),
        ("", 200000, pytest.approx(4 / 6.77)),
        ("batch", 0, pytest.approx(1 / 6.77)),
    ]
