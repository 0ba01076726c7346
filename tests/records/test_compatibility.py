"""Every release reads, checks, replays, resumes, forks, exports and scores the records of all earlier ones.

The records are in `v<schema>/`. `make.py` made them with the code of their time, and stored in `expected.json` the
facts that this code read from them. If a test fails here, recorded trials of users would be read differently.
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
WHOLE = [version for version in VERSIONS if "judged" in trials_of(version)]
"""Versions with records of every kind. The others have only what the version added."""
RECORDS = [(version, name) for version in VERSIONS for name in trials_of(version)]
docker, sandbox = (pytest.mark.docker,), (pytest.mark.sandbox,)


def only(names: dict[str, Any] | list[str], **marks: tuple[pytest.MarkDecorator, ...]) -> list[Any]:
    """Return parameters (version, name) of the records with these names, with the marks of some of them.

    To go on with records of any version but the oldest is slow: most tests in `tests/solve` do that with new ones.
    """
    chosen = [(version, name) for version, name in RECORDS if name in names]
    assert {name for _, name in chosen} == set(names)
    newer = dict.fromkeys(VERSIONS[1:], (pytest.mark.slow,))
    return [
        pytest.param(
            *(version, name),
            marks=(*marks.get(name.replace("-", "_"), ()), *newer.get(version, ())),
            id=f"{version}-{name}",
        )
        for version, name in chosen
    ]


def files_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file, without the index of steps: a reader may store it."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "steps.jsonl")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Directories of copied records, by schema version; the tests that share them must not change them."""
    copies = {version: copy_of(version, tmp_path_factory.mktemp(version)) for version in VERSIONS}
    before = {version: files_of(copy) for version, copy in copies.items()}
    yield copies
    assert {version: files_of(copy) for version, copy in copies.items()} == before


@pytest.mark.parametrize(("version", "name"), RECORDS)
def test_the_facts_of_a_record_are_unchanged(copies: dict[str, Path], tmp_path: Path, version: str, name: str) -> None:
    """The facts are events, summary, identity, check, exports and workspaces."""
    facts = facts_of(copies[version] / trials_of(version)[name], tmp_path)
    assert differences(EXPECTED[version]["records"][name], json.loads(json.dumps(facts))) == []


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
        result = read_only("show", str(trial), "--step", str(step), "--json")
        assert result.status == 0, result.err
        assert result.json["step"] == step
        assert any(event["type"] == "call_finished" for event in result.json["events"])


@pytest.mark.parametrize("version", VERSIONS)
def test_all_records_are_listed(copies: dict[str, Path], version: str) -> None:
    listed = read_only("trials", "--runs", str(copies[version]), "--json").json["trials"]
    assert [trial for trial in listed if "problem" in trial] == []
    trials = {copies[version] / trial for trial in trials_of(version).values()}
    assert sorted(Path(trial["trial"]).name for trial in listed) == sorted(trial.name for trial in trials)
    assert set(trial_directories(copies[version])) == trials
    for trial in trials:
        assert find_trial(trial.name, copies[version]) == trial


@pytest.mark.parametrize("version", WHOLE)
def test_parents_still_list_their_forks(copies: dict[str, Path], version: str) -> None:
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
def test_the_scores_of_records_are_unchanged(tmp_path: Path, version: str, derived: bool) -> None:
    expected = EXPECTED[version]
    runs = copy_of(version, tmp_path)
    for path in [] if derived else runs.glob("*/*/trial.json"):
        path.unlink()
    trials = {name: runs / trial for name, trial in trials_of(version).items()}
    groups = by_benchmark(expected["records"])
    assert set(groups) == set(expected["scores"])
    for benchmark, names in groups.items():
        score = score_of([trials[name] for name in names])
        assert differences(expected["scores"][benchmark], score, benchmark) == []


@pytest.mark.parametrize("version", WHOLE)
def test_the_decisions_of_a_panel_are_unchanged(copies: dict[str, Path], version: str) -> None:
    result = read_only("analyze", str(copies[version] / trials_of(version)["judged"]), "--integrity", "--json")
    assert result.status == 0, result.err
    (trial,) = result.json["trials"]
    (panel,) = trial["panels"]
    decided = {kind: decision["violated"] for kind, decision in panel["decisions"].items()}
    no_majority = None  # an invalid vote counts for neither side
    assert decided == {"source_lookup": no_majority, "wrapping": False, "decompiling": no_majority, "tracing": False}
    assert [vote["outcome"] for vote in panel["votes"]] == ["valid", "valid", "valid", "invalid"]
    assert sum(vote["answers"].get("source_lookup", {}).get("violated", False) for vote in panel["votes"]) == 2


@pytest.mark.parametrize("version", WHOLE)
def test_the_actions_of_all_records_are_analyzed(copies: dict[str, Path], version: str) -> None:
    for batch in ("single", "imported"):
        result = read_only("analyze", str(copies[version] / batch), "--json")
        assert result.status == 0, result.err
        assert result.json["trials"]


@pytest.mark.parametrize("version", VERSIONS)
def test_derived_files_are_rebuilt_from_the_events(tmp_path: Path, version: str) -> None:
    runs = copy_of(version, tmp_path)
    for trial in runs.glob("*/*/trial.json"):
        before = {name: json.loads(path.read_text()) for name in DERIVED if (path := trial.parent / name).exists()}
        for name in before:
            (trial.parent / name).unlink()
        assert read_only("show", str(trial.parent), "--rebuild").status == 0
        after = {name: json.loads((trial.parent / name).read_text()) for name in before}
        for content in (before, after):
            for volatile in ("trial", "events_bytes"):  # the panel was recorded after this file was written
                content["trial.json"].pop(volatile)
        if version == "v1.1" and after["trial.json"]["entry"]["label"].endswith("+fork"):
            _correct_fork(before["trial.json"]["entry"], after["trial.json"]["entry"])
        assert differences(before, after, trial.parent.name) == []


def _correct_fork(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Change the entry of a fork without a hint, which used to share its setup with forks that have one."""
    before["label"] = before["label"].replace("+hint", "+fork")
    assert before.pop("setup") != after.pop("setup")


DERIVED = ("trial.json", "verdict.json", "score.json")


@pytest.mark.parametrize("version", VERSIONS)
def test_records_need_no_pool(tmp_path: Path, version: str) -> None:
    """Git does not keep hard links, so the copies have no pool, and none of their files may count as garbage."""
    runs = copy_of(version, tmp_path)
    before = files_of(runs)
    result = agent(runs.parent, "gc", "--runs", str(runs))
    assert result.status == 0, result.err
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
    result = agent(runs.parent, "replay", str(runs / trials_of(version)[name]), *image, "--json")
    assert result.status == 0, result.err
    report = result.json
    summary = EXPECTED[version]["records"][name]["summary"]
    assert report["actions"] + len(report["not_replayed"]) == summary["commands"]
    assert report["not_replayed"] == (["2.1"] if name in ("killed-torn", "interrupted-only") else [])
    assert report["actions"] > 0
    assert report["returncodes_equal"] == report["actions"]
    masked = name == "secret"
    assert report["outputs_equal_normalized"] == report["actions"] - masked
    assert report["workspace_equal"] is True


def require_same_demo(runs: Path, version: str, name: str) -> None:
    """Skip a test whose task is a demo that has changed, because its trials cannot be continued."""
    task = EXPECTED[version]["records"][name]["summary"]["task"]
    if not task.startswith("demo/"):
        return
    first = next(iter(read_events(runs / trials_of(version)[name])))
    shown = read_only("tasks", "show", task, "--json")
    if shown.json["digest"] != first.task.digest:
        pytest.skip(f"{task} has changed since the record was made")


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
def test_an_unfinished_trial_is_resumed(tmp_path: Path, version: str, name: str) -> None:
    runs = copy_of(version, tmp_path, moved=True)
    require_same_demo(runs, version, name)
    trial = runs / trials_of(version)[name]
    before = (trial / "events.jsonl").read_bytes().rpartition(b"\n")[0]
    turns = [Turn(text=f"```bash\n{line}\n```") for line in ("cat log", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")]
    with WireServer(turns) as server:
        base = ("--api-base", server.base("chat")) if name.startswith("wire-") else ()
        result = agent(runs.parent, "resume", str(trial), *base, "--json")
    remove_checkpoints(trial, before)
    assert result.status == 0, result.err
    assert (trial / "events.jsonl").read_bytes().startswith(before)
    cause, steps, commands, log = RESUMED[name]
    assert (result.json["exit"]["cause"], result.json["steps"], result.json["commands"]) == (cause, steps, commands)
    assert result.json["entry"]["identity"] == EXPECTED[version]["records"][name]["summary"]["entry"]["identity"]
    assert read_only("show", str(trial), "--check").status == 0
    assert read_only("checkout", str(trial), str(tmp_path / "out")).status == 0
    assert (tmp_path / "out" / "log").read_text() == log


def remove_checkpoints(trial: Path, before: bytes) -> None:
    """Remove the images of checkpoints that the record did not name `before`."""
    images = {event.image for event in read_events(trial) if event.type == "checkpoint"}
    for image in sorted(image for image in images if image.encode() not in before):
        subprocess.run(["docker", "rmi", image], check=True, capture_output=True)


@pytest.mark.parametrize(("version", "name"), only(["solved-local", "gave-up", "resumed-after-kill"]))
def test_a_finished_trial_is_not_continued(tmp_path: Path, version: str, name: str) -> None:
    runs = copy_of(version, tmp_path, moved=True)
    trial = runs / trials_of(version)[name]
    before = (trial / "events.jsonl").read_bytes()
    result = agent(runs.parent, "resume", str(trial), "--json")
    assert result.status == 0, result.err
    summary = EXPECTED[version]["records"][name]["summary"]
    assert result.json["exit"]["cause"] == summary["exit"]["cause"]
    assert (trial / "events.jsonl").read_bytes() == before


FORKED = {
    # the name of the parent: the name of the recorded fork, the step, further options, the script of the model
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
def test_a_repeated_fork_equals_the_recorded_fork(tmp_path: Path, version: str, name: str) -> None:
    """Both have the same configuration, messages and workspace; the repeated one is the next attempt.

    A fork of an import is another configuration than it was with schema 1.1: it keeps the limits and variables of the
    file, in a batch of its own.
    """
    runs = copy_of(version, tmp_path, moved=True)
    child, step, options, script = FORKED[name]
    argv = ("--at", step, *options, "--model", f"script:{STUDY}/models/{script}.json", "--runs", str(runs), "--json")
    result = agent(runs.parent, "fork", str(runs / trials_of(version)[name]), *argv)
    assert result.status == 0, result.err
    expected = EXPECTED[version]["records"][child]
    recorded, summary = expected["summary"], result.json
    if name == "imported":  # its file holds no prompt of ours, so a fork takes the newest version of the default one
        assert result.trial.parent.name == "imported-forks"
    else:
        assert (summary["attempt"], summary["entry"]["configuration"]) == (2, recorded["entry"]["configuration"])
        assert summary["entry"]["setup"] == recorded["entry"]["setup"]
    assert (summary["exit"], summary["steps"], summary["commands"]) == (
        recorded["exit"],
        recorded["steps"],
        recorded["commands"],
    )
    assert summary["parent"] == recorded["parent"]
    fork = Path(summary["trial"])
    fork = fork if fork.is_absolute() else runs.parent / fork
    assert inherited(fork) == inherited(runs / trials_of(version)[child])
    assert read_only("checkout", str(fork), str(tmp_path / "out")).status == 0
    assert tree_hash(tmp_path / "out") == expected["workspaces"]["last"]


def inherited(trial: Path) -> list[tuple[str, str]]:
    """Return the messages and replies with which a fork begins."""
    return [
        (event.type, event.content if event.type == "message" else event.reply.model_dump_json())
        for event in read_events(trial)
        if getattr(event, "inherited", False) or event.type == "inherited_reply"
    ]


@pytest.mark.parametrize(("version", "name"), only(["evaluated-twice", "solved-sandbox"], solved_sandbox=sandbox))
def test_a_workspace_is_evaluated_again(tmp_path: Path, version: str, name: str) -> None:
    runs = copy_of(version, tmp_path, moved=True)
    trial = runs / trials_of(version)[name]
    result = agent(runs.parent, "evaluate", str(trial), "--json")
    assert result.status == 0, result.err
    summary = summarize(trial, read_events(trial))
    assert summary.verdict is not None
    verdict = summary.verdict.model_dump(mode="json")
    recorded = EXPECTED[version]["records"][name]["summary"]["verdict"]
    assert {key: verdict[key] for key in ("status", "passed", "quality", "groups")} == {
        key: recorded[key] for key in ("status", "passed", "quality", "groups")
    }


@pytest.mark.parametrize("version", WHOLE)
def test_the_same_file_is_not_imported_twice(tmp_path: Path, version: str) -> None:
    runs = copy_of(version, tmp_path)
    trial = trials_of(version)["imported"]
    before = files_of(runs)
    result = agent(runs.parent, "import", "imported.traj.json", "--runs", str(runs), "--json")
    assert result.status == 0, result.err
    (imported,) = result.json["trials"]
    assert imported["already"] is True
    after = files_of(runs)
    assert {path for path in before | after if before.get(path) != after.get(path)} <= {f"{trial}/trial.json"}
    exported = read_only("export", str(runs / trial), "--format", "mini")
    assert exported.out == (runs.parent / "imported.traj.json").read_bytes()
