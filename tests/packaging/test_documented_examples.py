"""Every example of README.md and docs/ works: Python and shell run here, what cannot has its reason in a list."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from typer.testing import CliRunner

from agent import config
from agent.cli.main import app
from agent.guidance.answers_file import parse_answers
from agent.guidance.no_code import check as check_rule
from agent.models.aliases import load_aliases
from agent.models.choose import FREE_MODELS
from benchmarks.task.registry import resolve_task
from environments.conformance import Kit, all_checks, checking
from environments.local import LocalEnvironment
from tests.batches.files.writing import call, configuration, exited, judged, write_batch, write_trial
from tests.environments.conftest import environment
from tests.packaging.fences import PAGES, ROOT, Fence, fences
from tests.packaging.test_examples import RECORD
from tests.packaging.test_help import APPLICATION, CONTEXT
from tests.programbench.finished import IDS, finished
from tests.record.plan_records import plan_record
from tests.scoring.records import record

LANGUAGES = {"sh", "console", "python", "yaml", "json", "mermaid", "text"}
PLACEHOLDERS = {"TRIAL...": "runs/opus/ledger.opus.1", "TRIAL": "runs/opus/ledger.opus.1"}

ELSEWHERE = {
    "docs/howto/cluster.md": "needs a cluster; tests/batches/ray runs batches on two nodes",
    "docs/studies/five-arms/README.md": "tests/batches/whole/test_five_arms.py runs the study",
    "docs/studies/table4/README.md": "tests/studies/test_table4.py runs the study",
    "docs/tutorial/first-trial.md": "tests/packaging/test_tutorial.py runs the whole page in order, in Docker",
    "docs/howto/programbench.md#an-instance-of-your-own-1": (
        "tests/programbench/offline/test_docs.py runs the block, in Docker"
    ),
}
"""Pages and blocks that another test runs as a whole."""

NOT_RUN = {
    r"agent (solve|resume|fork|rollout|replay|evaluate) ": (
        "starts an environment; tests/packaging/test_tutorial.py, tests/solve and tests/rollout run these commands"
    ),
    r"agent batch (?!status)": "runs trials; tests/batches/whole/test_running.py does",
    r"agent plan ": "starts an environment and asks a model; tests/solve/test_plan_command.py does",
    r"agent .*--judge-model": "asks models; tests/integrity/test_panel.py does, over the wire",
    r"scripts/demo\b": "sets up a checkout and runs a trial; CI runs it",
    r"scripts/test\b": "runs this test",
    r"programbench submit": "tests/programbench/test_run_directory.py runs it on an evaluated trial",
    r"python -m environments.conformance (?!local --list)": "takes minutes; tests/conformance runs all checks",
}
"""Commands that are only parsed here, or not even that, each with the reason."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the batches and the trials that the examples name."""
    root = tmp_path_factory.mktemp("documented")
    batches = (("opus", "opus", 1), ("haiku", "haiku", 1), ("old", "m", 1), ("new", "m", 2))
    for batch, model, attempt in batches:
        for task, tier in (("ledger", "easy"), ("figlet", "medium"), ("mend", "hard")):
            own = {"benchmark": "demo", "tier": tier, "votes": [()] * 3}
            record(root / "runs" / batch, task, model, attempt, quality=attempt / 2, cost=0.05, **own)
    finished(root / "runs" / "mybatch", IDS[0])
    plan_record(root / "runs")
    study = write_batch(root / "runs" / "study", unit := configuration("ledger"))
    write_trial(study, unit, [*call(1), exited(), *judged(1.0)])
    text = "".join(fence.text for fence in fences("sh", "python"))
    for name in set(re.findall(r"\bruns/single/\w+[.]\w+[.][0-9a-f]{8}[.][0-9]+", text)):
        shutil.copytree(RECORD, root / name)
    (root / "docs").symlink_to(ROOT / "docs")
    return root


@pytest.fixture
def work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(folder / "config"))
    config.defaults.cache_clear()
    yield folder
    config.defaults.cache_clear()


def reason_not_to_run(fence: Fence, line: str) -> str:
    """Return the reason for which a line is not run here; empty if it is."""
    reasons = [ELSEWHERE.get(fence.id), ELSEWHERE.get(fence.page)]
    reasons += [reason for pattern, reason in NOT_RUN.items() if re.match(pattern, line)]
    return next((reason for reason in reasons if reason), "")


def words_of(line: str) -> list[str]:
    return [PLACEHOLDERS.get(word, word) for word in shlex.split(line, comments=True)]


def parse(line: str) -> None:
    """Parse a line with the real application. Raises: a usage error, AssertionError for an unknown model or task."""
    words = [word for word in words_of(line)[1:] if word != "&"]
    if ">" in words:
        words = words[: words.index(">")]
    command, context, name = APPLICATION, CONTEXT, "agent"
    while hasattr(command, "list_commands") and words and not words[0].startswith("-"):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"agent has no command {name}"
        command = found
    values = command.make_context(name, words).params
    model, task = values.get("model"), values.get("task")
    if isinstance(model, str):
        assert model.partition(":")[0] in (*load_aliases(), *FREE_MODELS, "script", "replay"), model
    if isinstance(task, str) and task != "number":  # which the page makes
        assert resolve_task(task)


@pytest.mark.parametrize("fence", fences("sh", "console"), ids=lambda fence: fence.id)
def test_an_example_of_shell_runs(fence: Fence, work: Path) -> None:
    assert fence.commands
    for line in fence.commands:
        is_agent = line.startswith("agent ")
        if is_agent:
            parse(line)
        if not reason_not_to_run(fence, line):
            run_agent(line) if is_agent else run_python(line)


def run_agent(line: str) -> None:
    words = words_of(line)[1:]
    to = None
    if ">" in words:
        words, to = words[: words.index(">")], Path(words[-1])
    result = CliRunner().invoke(app, words, prog_name="agent", standalone_mode=False)
    assert result.exception is None, (line, result.output, result.exception)
    assert not result.return_value, (line, result.output)
    assert result.output.strip()
    if to is not None:
        to.write_text(result.stdout)
        json.loads(result.stdout)
    for option, name in pairwise(words):
        if option in ("--output", "--plots"):
            assert Path(name).exists(), f"{line}: wrote no {name}"


def run_python(line: str) -> None:
    """Run a line that begins with `python -m`; another one has neither a way to run nor a reason not to."""
    words = words_of(line)
    assert words[:2] == ["python", "-m"], f"{line}: add a way to run it, or a reason not to"
    result = subprocess.run([sys.executable, *words[1:]], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("fence", fences("python"), ids=lambda fence: fence.id)
def test_an_example_of_python_runs(fence: Fence, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mypackage = ModuleType("mypackage")
    mypackage.Mine = LocalEnvironment  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mypackage", mypackage)
    monkeypatch.setattr(checking, "_REGISTER", dict(checking._REGISTER))
    names: dict[str, object] = {"__name__": "documented"}
    exec(compile(fence.text, fence.id, "exec"), names)
    for name, value in names.items():
        if name.startswith("Test"):
            kit = Kit(value().make)  # type: ignore[operator]
            kit.run(all_checks()[0])
            kit.close()
        if name.startswith("check_"):
            kit = Kit(lambda **changes: environment("local", **changes))
            kit.run(replace(all_checks()[0], body=value))  # type: ignore[arg-type]
            kit.close()


@pytest.mark.parametrize("fence", fences("yaml", "json"), ids=lambda fence: fence.id)
def test_an_example_of_data_can_be_read(fence: Fence, work: Path) -> None:
    if fence.language == "json":
        json.loads(fence.text)
        return
    content = yaml.safe_load(fence.text)
    if isinstance(content, list):
        parse_answers(fence.text.encode(), fence.id, lambda answer: check_rule(answer, language="python"))
        return
    assert isinstance(content, dict)
    if "exchange" in content:
        (work / "prices.yaml").write_text(fence.text)
        run_agent("agent prices snapshot documented --from prices.yaml")


def test_every_example_names_its_language() -> None:
    assert len(PAGES) > 10
    assert [fence.id for fence in fences() if fence.language not in LANGUAGES] == []
    ids = [fence.id for fence in fences()]
    assert len(set(ids)) == len(ids)


def test_every_reason_is_needed() -> None:
    blocks = fences("sh", "console")
    lines = [line for fence in blocks for line in fence.commands]
    assert [pattern for pattern in NOT_RUN if not any(re.match(pattern, line) for line in lines)] == []
    assert set(ELSEWHERE) <= {fence.id for fence in blocks} | {fence.page for fence in blocks}
    run = [line for fence in blocks for line in fence.commands if not reason_not_to_run(fence, line)]
    assert len(run) > 15
    for reason in [*NOT_RUN.values(), *ELSEWHERE.values()]:
        for path in re.findall(r"tests/[\w/.]+\w", reason):
            assert (ROOT / path).exists(), f"{reason}: no {path}"
