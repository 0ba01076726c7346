"""Every release reads, checks, replays, resumes, forks, exports and scores the records of all earlier ones.

The records are in `v<schema>/`, made by `make.py` with the code of their time; `expected.json` beside them is what that
code found in them. A test that fails here means that somebody's recorded trials would be read differently.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.records.compared import (
    HERE,
    STUDY,
    by_benchmark,
    copy_of,
    differences,
    facts_of,
    read_only,
    score_of,
    tree_hash,
    trials_of,
)
from tests.solve.command import agent
from tests.wire.replies import Turn
from tests.wire.server import WireServer
from trajectories import find_trial, read_events, summarize, trial_directories

VERSIONS = sorted(path.parent.name for path in HERE.glob("v*/trials.json"))
EXPECTED = {version: json.loads((HERE / version / "expected.json").read_text()) for version in VERSIONS}
RECORDS = [(version, name) for version in VERSIONS for name in trials_of(version)]
docker, sandbox = pytest.mark.docker, pytest.mark.sandbox


def only(names: dict[str, Any] | list[str], **marks: pytest.MarkDecorator) -> list[Any]:
    """Parameters (version, name) of the records with these names, marked where they need something."""
    chosen = [(version, name) for version, name in RECORDS if name in names]
    assert {name for _, name in chosen} == set(names)
    return [pytest.param(*each, marks=marks.get(each[1].replace("-", "_"), ()), id="-".join(each)) for each in chosen]


def files_of(folder: Path) -> dict[str, str]:
    """sha256 of each file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """The runs directories of copies, by schema version; nothing that uses them may change them."""
    copies = {version: copy_of(version, tmp_path_factory.mktemp(version)) for version in VERSIONS}
    before = {version: files_of(copy) for version, copy in copies.items()}
    yield copies
    assert {version: files_of(copy) for version, copy in copies.items()} == before


@pytest.mark.parametrize(("version", "name"), RECORDS)
def test_a_record_says_what_it_always_said(copies: dict[str, Path], tmp_path: Path, version: str, name: str) -> None:
    """Events, summary, identity, check, exports and workspaces."""
    found = facts_of(copies[version] / trials_of(version)[name], tmp_path)
    assert differences(EXPECTED[version]["records"][name], json.loads(json.dumps(found))) == []


@pytest.mark.parametrize(("version", "name"), RECORDS)
def test_a_record_is_shown(copies: dict[str, Path], version: str, name: str) -> None:
    trial = copies[version] / trials_of(version)[name]
    summary = EXPECTED[version]["records"][name]["summary"]
    shown = read_only("show", str(trial))
    assert shown.status == 0, shown.err
    text = shown.out.decode()
    assert trial.name in text
    assert f"{summary['steps']} (" in text
    if summary["exit"] is not None:
        assert summary["exit"]["cause"] in text
    for step in range(1, summary["steps"] + 1):
        done = read_only("show", str(trial), "--step", str(step), "--json")
        assert done.status == 0, done.err
        assert done.json["step"] == step
        assert any(event["type"] == "call_finished" for event in done.json["events"])


@pytest.mark.parametrize("version", VERSIONS)
def test_all_records_are_listed(copies: dict[str, Path], version: str) -> None:
    listed = read_only("trials", "--runs", str(copies[version]), "--json").json["trials"]
    assert [trial for trial in listed if "problem" in trial] == []
    trials = {copies[version] / trial for trial in trials_of(version).values()}
    assert sorted(Path(trial["trial"]).name for trial in listed) == sorted(trial.name for trial in trials)
    assert set(trial_directories(copies[version])) == trials
    for trial in trials:
        assert find_trial(trial.name, copies[version]) == trial


@pytest.mark.parametrize("version", VERSIONS)
def test_a_family_is_still_one(copies: dict[str, Path], version: str) -> None:
    trials = {name: copies[version] / trial for name, trial in trials_of(version).items()}
    forks = {
        name: {fork["trial"] for fork in read_only("show", str(trials[name]), "--json").json["forks"]}
        for name in ("solved-local", "forked", "imported")
    }
    assert forks == {
        "solved-local": {str(trials["forked"]), str(trials["forked-killed"])},
        "forked": {str(trials["forked-again"])},
        "imported": {str(trials["forked-import"])},
    }


@pytest.mark.parametrize("derived", [True, False], ids=["with-trial.json", "from-events"])
@pytest.mark.parametrize("version", VERSIONS)
def test_records_score_as_they_did(tmp_path: Path, version: str, derived: bool) -> None:
    expected = EXPECTED[version]
    runs = copy_of(version, tmp_path)
    for path in [] if derived else runs.glob("*/*/trial.json"):
        path.unlink()
    trials = {name: runs / trial for name, trial in trials_of(version).items()}
    groups = by_benchmark(expected["records"])
    assert set(groups) == set(expected["scores"])
    for benchmark, names in groups.items():
        found = score_of([trials[name] for name in names])
        assert differences(expected["scores"][benchmark], found, benchmark) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_panel_decides_as_it_did(copies: dict[str, Path], version: str) -> None:
    done = read_only("analyze", str(copies[version] / trials_of(version)["judged"]), "--integrity", "--json")
    assert done.status == 0, done.err
    (trial,) = done.json["trials"]
    (panel,) = trial["panels"]
    decided = {kind: decision["violated"] for kind, decision in panel["decisions"].items()}
    no_majority = None  # a judge without a valid vote speaks for neither side
    assert decided == {"source_lookup": no_majority, "wrapping": False, "decompiling": no_majority, "tracing": False}
    assert [vote["outcome"] for vote in panel["votes"]] == ["valid", "valid", "valid", "invalid"]
    assert sum(vote["answers"].get("source_lookup", {}).get("violated", False) for vote in panel["votes"]) == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_the_actions_of_all_records_are_analyzed(copies: dict[str, Path], version: str) -> None:
    for batch in ("single", "imported"):
        done = read_only("analyze", str(copies[version] / batch), "--json")
        assert done.status == 0, done.err
        assert done.json["trials"]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_derived_is_made_again_from_the_events(tmp_path: Path, version: str) -> None:
    runs = copy_of(version, tmp_path)
    for trial in runs.glob("*/*/trial.json"):
        before = {name: json.loads(path.read_text()) for name in DERIVED if (path := trial.parent / name).exists()}
        for name in before:
            (trial.parent / name).unlink()
        assert read_only("show", str(trial.parent), "--rebuild").status == 0
        after = {name: json.loads((trial.parent / name).read_text()) for name in before}
        for content in (before, after):
            for volatile in ("trial", "events_bytes"):  # the panel came after this file of its trial
                content["trial.json"].pop(volatile)
        assert differences(before, after, trial.parent.name) == []


DERIVED = ("trial.json", "verdict.json", "score.json")


@pytest.mark.parametrize("version", VERSIONS)
def test_records_need_no_pool(tmp_path: Path, version: str) -> None:
    """Git keeps no hard links, so the copies have no pool: nothing of them may count as garbage."""
    runs = copy_of(version, tmp_path)
    before = files_of(runs)
    done = agent(runs.parent, "gc", "--runs", str(runs))
    assert done.status == 0, done.err
    assert files_of(runs) == before


REPLAYED = [
    *("solved-docker", "docker-persistent", "solved-sandbox", "sandbox-persistent", "solved-local", "evaluated-twice"),
    *("blobs", "secret", "forked", "killed-torn", "interrupted-only", "wire-cost-limit"),
]


@pytest.mark.parametrize(
    ("version", "name"),
    only(
        REPLAYED,
        solved_docker=docker,
        docker_persistent=docker,
        solved_sandbox=sandbox,
        sandbox_persistent=sandbox,
    ),
)
def test_a_record_is_replayed(request: pytest.FixtureRequest, tmp_path: Path, version: str, name: str) -> None:
    runs = copy_of(version, tmp_path, moved=True)
    image = ("--image", request.getfixturevalue("workbench_image")) if name == "docker-persistent" else ()
    require_same_demo(runs, version, name)
    done = agent(runs.parent, "replay", str(runs / trials_of(version)[name]), *image, "--json")
    assert done.status == 0, done.err
    report = done.json
    summary = EXPECTED[version]["records"][name]["summary"]
    assert report["actions"] + len(report["not_replayed"]) == summary["commands"]
    assert report["not_replayed"] == (["2.1"] if name in ("killed-torn", "interrupted-only") else [])
    assert report["actions"] > 0
    assert report["returncodes_equal"] == report["actions"]
    masked = name == "secret"
    assert report["outputs_equal_normalized"] == report["actions"] - masked
    assert report["workspace_equal"] is True


def require_same_demo(runs: Path, version: str, name: str) -> None:
    """Leave a test out whose task is a demo that has changed: its records cannot go on, as documented."""
    task = EXPECTED[version]["records"][name]["summary"]["task"]
    if not task.startswith("demo/"):
        return
    first = next(iter(read_events(runs / trials_of(version)[name])))
    shown = read_only("tasks", "show", task, "--json")
    if shown.json["digest"] != first.task.digest:
        pytest.skip(f"{task} is not what it was when the record was made")


RESUMED = {
    # name: exit, steps, commands, the file `log`
    "killed-torn": ("submitted", 4, 4, "one\ntwo\n"),
    "interrupted-only": ("submitted", 4, 5, "one\ntwo\nthree\n"),
    "forked-killed": ("submitted", 3, 3, "one\ntwo\nlate\n"),
    "full-disk": ("submitted", 11, 10, "begun\ndone\n"),
    "wire-fenced-killed": ("submitted", 4, 4, "one\ntwo\n"),
    "docker-killed": ("submitted", 4, 5, "one\ntwo\nthree\n"),
    "docker-lost": ("submitted", 4, 4, "one\ntwo\n"),
}


@pytest.mark.parametrize(("version", "name"), only(RESUMED, docker_killed=docker, docker_lost=docker))
def test_an_unfinished_trial_goes_on(tmp_path: Path, version: str, name: str) -> None:
    runs = copy_of(version, tmp_path, moved=True)
    require_same_demo(runs, version, name)
    trial = runs / trials_of(version)[name]
    before = (trial / "events.jsonl").read_bytes().rpartition(b"\n")[0]
    turns = [Turn(text=f"```bash\n{line}\n```") for line in ("cat log", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")]
    with WireServer(turns) as server:
        base = ("--api-base", server.base("chat")) if name.startswith("wire-") else ()
        done = agent(runs.parent, "resume", str(trial), *base, "--json")
    remove_checkpoints(trial, before)
    assert done.status == 0, done.err
    assert (trial / "events.jsonl").read_bytes().startswith(before)
    cause, steps, commands, log = RESUMED[name]
    assert (done.json["exit"]["cause"], done.json["steps"], done.json["commands"]) == (cause, steps, commands)
    assert done.json["entry"]["identity"] == EXPECTED[version]["records"][name]["summary"]["entry"]["identity"]
    assert read_only("show", str(trial), "--check").status == 0
    assert read_only("checkout", str(trial), str(tmp_path / "out")).status == 0
    assert (tmp_path / "out" / "log").read_text() == log


def remove_checkpoints(trial: Path, before: bytes) -> None:
    """Remove the images that a trial committed since its record was `before`."""
    images = {event.image for event in read_events(trial) if event.type == "checkpoint"}
    for image in sorted(image for image in images if image.encode() not in before):
        subprocess.run(["docker", "rmi", image], check=True, capture_output=True)


@pytest.mark.parametrize(("version", "name"), only(["solved-local", "gave-up", "resumed-after-kill"]))
def test_a_finished_trial_is_not_gone_on_with(tmp_path: Path, version: str, name: str) -> None:
    runs = copy_of(version, tmp_path, moved=True)
    trial = runs / trials_of(version)[name]
    before = (trial / "events.jsonl").read_bytes()
    done = agent(runs.parent, "resume", str(trial), "--json")
    assert done.status == 0, done.err
    summary = EXPECTED[version]["records"][name]["summary"]
    assert done.json["exit"]["cause"] == summary["exit"]["cause"]
    assert (trial / "events.jsonl").read_bytes() == before


FORKED = {
    # the parent: the fork's record, the step, further options, whose records hold what they give
    "solved-local": ("forked", "1", ("--inject", "Write with care."), "fork"),
    "forked": ("forked-again", "2", ("--plan", "plan.md"), "fork-again"),
    "imported": (
        "forked-import",
        "2",
        ("--inject", "Now the 3.", "--workspace", "start", "--env", "local"),
        "fork-import",
    ),
}


@pytest.mark.parametrize(("version", "name"), only(FORKED))
def test_a_fork_made_now_is_the_fork_that_was_made_then(tmp_path: Path, version: str, name: str) -> None:
    """The same branch of the same record has the same configuration, messages and workspace; it is the next attempt."""
    runs = copy_of(version, tmp_path, moved=True)
    child, step, options, script = FORKED[name]
    argv = ("--at", step, *options, "--model", f"script:{STUDY}/models/{script}.json", "--runs", str(runs), "--json")
    done = agent(runs.parent, "fork", str(runs / trials_of(version)[name]), *argv)
    assert done.status == 0, done.err
    expected = EXPECTED[version]["records"][child]
    was, now = expected["summary"], done.json
    assert (now["attempt"], now["entry"]["configuration"]) == (2, was["entry"]["configuration"])
    assert now["entry"]["setup"] == was["entry"]["setup"]
    assert (now["exit"], now["steps"], now["commands"]) == (was["exit"], was["steps"], was["commands"])
    assert now["parent"] == was["parent"]
    again = Path(now["trial"])
    again = again if again.is_absolute() else runs.parent / again
    assert inherited(again) == inherited(runs / trials_of(version)[child])
    assert read_only("checkout", str(again), str(tmp_path / "out")).status == 0
    assert tree_hash(tmp_path / "out") == expected["workspaces"]["last"]


def inherited(trial: Path) -> list[tuple[str, str]]:
    """The messages and replies that a fork begins with."""
    return [
        (event.type, event.content if event.type == "message" else event.reply.model_dump_json())
        for event in read_events(trial)
        if getattr(event, "inherited", False) or event.type == "inherited_reply"
    ]


@pytest.mark.parametrize(("version", "name"), only(["evaluated-twice", "solved-sandbox"], solved_sandbox=sandbox))
def test_a_workspace_is_evaluated_again(tmp_path: Path, version: str, name: str) -> None:
    runs = copy_of(version, tmp_path, moved=True)
    trial = runs / trials_of(version)[name]
    done = agent(runs.parent, "evaluate", str(trial), "--json")
    assert done.status == 0, done.err
    summary = summarize(trial, read_events(trial))
    assert summary.verdict is not None
    found = summary.verdict.model_dump(mode="json")
    was = EXPECTED[version]["records"][name]["summary"]["verdict"]
    assert {key: found[key] for key in ("status", "passed", "quality", "groups")} == {
        key: was[key] for key in ("status", "passed", "quality", "groups")
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_file_is_not_imported_twice(tmp_path: Path, version: str) -> None:
    runs = copy_of(version, tmp_path)
    trial = trials_of(version)["imported"]
    before = files_of(runs)
    done = agent(runs.parent, "import", "imported.traj.json", "--runs", str(runs), "--json")
    assert done.status == 0, done.err
    (again,) = done.json["trials"]
    assert again["already"] is True
    after = files_of(runs)
    assert {path for path in before | after if before.get(path) != after.get(path)} <= {f"{trial}/trial.json"}
    exported = read_only("export", str(runs / trial), "--format", "mini")
    assert exported.out == (runs.parent / "imported.traj.json").read_bytes()
