"""The instances as tasks: with the reference runner's conditions, and listed quickly."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from agent.trial.options import Options
from agent.trial.resolve import resolve
from benchmarks.demos import DEMO
from benchmarks.programbench import instances
from benchmarks.programbench.adapter import ProgramBench
from benchmarks.task.directory import TaskDirectories
from benchmarks.task.registry import resolve_task, task_lists
from benchmarks.task.task import Row, TaskError
from scoring.choices import TIERS
from tests.programbench.own import COMMIT, make_instance
from tests.solve.command import agent, environment


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory for instances of the user's own."""
    root = tmp_path / "tasks"
    root.mkdir()
    monkeypatch.setenv(instances.TASKS_VARIABLE, str(root))
    return root


def test_ffmpeg_has_the_benchmarks_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROGRAMBENCH_DOCKER_ORG", raising=False)
    task = ProgramBench().load("ffmpeg__ffmpeg.360a402")
    spec = task.spec
    assert spec.image == "programbench/ffmpeg_1776_ffmpeg.360a402:task_cleanroom_v6"
    assert (spec.platform, str(spec.workdir), spec.user, spec.network) == ("linux/amd64", "/workspace", "agent", False)
    assert (spec.cpus, spec.memory_bytes, spec.cap_drop) == (20, 60 * 1024**3, ("SYS_PTRACE",))
    assert spec.env == {"PAGER": "cat", "MANPAGER": "cat", "LESS": "-R", "PIP_PROGRESS_BAR": "off", "TQDM_DISABLE": "1"}
    limits = task.limits
    assert (limits.steps, limits.time_s, limits.command_s, limits.cost_usd) == (1000, 21600, 180, None)
    assert (task.kinds, task.prompt, task.language, task.evaluable) == (("docker",), "programbench", "c", True)
    assert task.facts == {
        "kind": "rebuild",
        "repository": "FFmpeg/FFmpeg",
        "commit": "360a4025fb2582d52d871ea2129d6b659598bb49",
        "difficulty": "hard",
        "tests": "3041",
        "branches": "12",
        "package": version("programbench"),
    }
    assert "ffmpeg" not in task.instruction.lower()


def test_all_instances_are_listed_with_their_number_of_tests() -> None:
    (tasks,) = task_lists("programbench")
    assert len(tasks.rows) == 200
    assert sum(row["tests"] for row in tasks.rows) == 247_444  # type: ignore[misc]
    for row in tasks.rows:
        assert re.fullmatch(r"programbench/[a-z0-9._-]+__[a-z0-9._-]+\.[0-9a-f]{7}", str(row["id"]))
        assert str(row["id"]).endswith(f".{str(row['commit'])[:7]}")
        assert set(tasks.columns) <= row.keys()


def test_words_match_repositories_languages_and_difficulties() -> None:
    def matches(*words: str) -> list[tuple[object, object, object]]:
        (tasks,) = task_lists("programbench", words)
        return [(row["repository"], row["language"], row["difficulty"]) for row in tasks.rows]

    everything = matches()
    assert matches("FFmpeg/") == [("FFmpeg/FFmpeg", "c", "hard")]
    assert matches("Haskell") == [row for row in everything if row[1] == "hs"] == [("jgm/pandoc", "hs", "medium")]
    for word in ("rs", "rust"):
        assert {row for row in everything if row[1] == "rs"} <= set(matches(word)) < set(everything)
    hard = [row for row in everything if row[2] == "hard"]
    assert len(hard) == 29
    by_word = matches("hard")
    assert set(hard) < set(by_word), "shellharden is easy"
    assert matches("hard", "rust") == [row for row in matches("rust") if row in by_word]


@pytest.mark.parametrize(("task", "tier"), [("ffmpeg", "hard"), ("jgm/pandoc", "medium"), ("ledger", None)])
def test_a_trial_records_its_task_s_tier(task: str, tier: str | None) -> None:
    order = resolve(Options(task=task, model="nop"))
    assert order.trial_started().tier == tier


def test_tasks_are_listed_by_tier(own: Path, tmp_path: Path) -> None:
    make_instance(own, "us/plain")
    id = make_instance(
        own, "us/hard", task_yaml=f"repository: us/hard\ncommit: {COMMIT}\nlanguage: c\ndifficulty: hard\n"
    )
    assert {tier: len(task_lists("programbench", tier=tier)[0].rows) for tier in TIERS} == {
        "easy": 28,
        "medium": 143,
        "hard": 30,
    }
    assert f"programbench/{id}" in {row["id"] for row in task_lists("programbench", tier="hard")[0].rows}
    listed = agent(tmp_path, "tasks", "list", "--tier", "hard", "pandoc")
    assert (listed.status, listed.out) == (0, "")
    assert agent(tmp_path, "tasks", "list", "--tier", "medium", "pandoc", "--json").json["tasks"][0]["difficulty"] == (
        "medium"
    )
    demos = agent(tmp_path, "tasks", "list", "--tier", "easy", "--benchmark", "demo")
    assert "the tasks of demo have no tier: leave out --tier" in demos.err
    wrong = agent(tmp_path, "tasks", "list", "--tier", "extreme")
    assert wrong.status == 2
    assert "Invalid value for '--tier': 'extreme' is not one of 'easy', 'medium', 'hard'." in wrong.err


def test_other_benchmarks_with_tiers_are_listed_by_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tiered(TaskDirectories):
        def rows(self) -> list[Row]:
            return [{**row, "difficulty": "easy" if row["id"] == "demo/ledger" else "hard"} for row in super().rows()]

    monkeypatch.setattr("benchmarks.demos.DEMO", Tiered("demo", DEMO.root, DEMO.root.parents[1]))
    (tasks,) = task_lists("demo", tier="easy")
    assert [row["id"] for row in tasks.rows] == ["demo/ledger"]


def test_an_instance_of_the_user_is_treated_like_the_others(own: Path) -> None:
    id = make_instance(own, "Us/Wc-Clone", language="hs", tests={"a" * 12: ["t.one", "t.two"], "b" * 12: []})
    assert id in ProgramBench().ids()
    _, task = resolve_task("wc-clone")
    assert (task.id, task.facts["tests"], task.facts["branches"]) == (f"programbench/{id}", "2", "2")
    assert (task.facts["commit"], task.facts["difficulty"], task.solution) == (COMMIT, "", None)
    (own / id / "solution").mkdir()
    assert ProgramBench().load(id).solution == own / id / "solution"
    shown = agent(own.parent, "tasks", "show", "wc-clone", RETRACE_PROGRAMBENCH_TASKS=str(own)).out
    assert "\ndifficulty: not specified\n" in shown
    (tasks,) = task_lists("programbench", ["wc-clone"])
    assert [row["id"] for row in tasks.rows] == [f"programbench/{id}"]


def test_the_digest_follows_the_instance_s_files(own: Path) -> None:
    id = make_instance(own, "us/one")
    other = make_instance(own, "us/two", task_yaml=(own / id / "task.yaml").read_text())
    load = ProgramBench().load
    before = load(id).digest
    assert load(other).digest == before, "the same content"
    tests = own / id / "tests.json"
    tests.write_text(tests.read_text().replace("test_one", "test_two"))
    changed = load(id).digest
    assert changed != before
    (own / id / "task.yaml").write_text((own / id / "task.yaml").read_text() + "difficulty: easy\n")
    assert load(id).digest not in (before, changed)


@pytest.mark.parametrize(
    ("file", "content"),
    [("task.yaml", "{"), ("task.yaml", "repository: a/b\n"), ("tests.json", "[]"), ("tests.json", '{"branches": 1}')],
)
def test_the_error_for_a_malformed_instance_names_the_file(own: Path, file: str, content: str) -> None:
    id = make_instance(own, "us/odd")
    (own / id / file).write_text(content)
    with pytest.raises(TaskError, match=re.escape(str(own / id / file))):
        resolve_task("us/odd")


def test_the_command_lists_without_importing_slow_packages(tmp_path: Path) -> None:
    code = (
        "import sys; from agent.cli.main import app; import typer\n"
        "typer.main.get_command(app)(['tasks', 'list', '--benchmark', 'programbench'], standalone_mode=False)\n"
        "slow = {'rich.console', 'litellm', 'docker', 'programbench', 'jinja2', 'numpy'}\n"
        "print(*sorted(slow & sys.modules.keys()), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True)
    heading, *lines = result.stdout.splitlines()
    assert heading.split() == ["id", "repository", "language", "difficulty", "tests"]
    assert len(lines) == 200
    assert result.stderr.strip() == ""


def test_the_command_searches(tmp_path: Path) -> None:
    result = agent(tmp_path, "tasks", "list", "--benchmark", "programbench", "FFMPEG", "--json")
    (row,) = result.json["tasks"]
    assert row["id"] == "programbench/ffmpeg__ffmpeg.360a402"
    assert row["commit"] == "360a4025fb2582d52d871ea2129d6b659598bb49"
    assert (row["language"], row["difficulty"], row["tests"]) == ("c", "hard", 3041)
    nothing = agent(tmp_path, "tasks", "list", "no-such-thing")
    assert (nothing.status, nothing.out) == (0, "")
    assert "no task matches" in nothing.err


def test_the_command_shows_a_task_by_its_short_name(tmp_path: Path) -> None:
    result = agent(tmp_path, "tasks", "show", "ffmpeg", "--json")
    assert result.json["id"] == "programbench/ffmpeg__ffmpeg.360a402"
    assert sorted(result.json["variants"]) == ["internet", "other-language"]
    assert result.json["feedback"] == ["scores"]
    shown = agent(tmp_path, "tasks", "show", "ffmpeg").out
    assert "--variant other-language: " in shown
    assert "\nfeedback: scores\n" in shown
    assert "\nfeedback with --reveal-tests: output, failing, paths\n" in shown


def test_doctor_reports_the_benchmark_s_package_and_directories(tmp_path: Path) -> None:
    variables = {"PROGRAMBENCH_BLOB_DIR": str(tmp_path), instances.TASKS_VARIABLE: str(tmp_path)}
    make_instance(tmp_path, "us/mine")
    report = json.loads(agent(tmp_path, "doctor", "--json", **variables).out)["programbench"]
    assert (report["package"], report["tasks"], report["own_tasks"]) == (version("programbench"), 200, 1)
    assert report["PROGRAMBENCH_BLOB_DIR"] == [{"path": str(tmp_path), "exists": True}]
    variables[instances.TASKS_VARIABLE] += f":{tmp_path / 'none'}"
    report = json.loads(agent(tmp_path, "doctor", "--json", **variables).out)["programbench"]
    assert [entry["exists"] for entry in report[instances.TASKS_VARIABLE]] == [True, False]
    assert (report["tasks"], report["trouble"].partition(":")[0]) == (None, instances.TASKS_VARIABLE)
