"""Reading the task directories of terminal-bench and LongCLI-Bench: keys, compose files, solutions, digests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest

from agent.loop.solution import solution_of
from benchmarks.task.formats import format_of
from benchmarks.task.settings import TaskSettings
from benchmarks.task.task import Task, TaskError
from benchmarks.terminalbench.adapter import TerminalBench
from benchmarks.terminalbench.task_file import unknown_keys
from environments.services import Healthcheck, Mount
from tests.families.terminalbench_samples import LONGCLI, TERMINAL_BENCH

TASK = "instruction: Do it.\ndifficulty: easy\n"
COMPOSE = "services:\n  client:\n    build: {dockerfile: Dockerfile}\n"


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a task directory; None leaves a file out."""

    def make(task: str = TASK, **files: str | None) -> Path:
        directory = tmp_path / "it"
        directory.mkdir(exist_ok=True)
        names = {"dockerfile": "Dockerfile", "compose": "docker-compose.yaml", "run_tests": "run-tests.sh"}
        names |= {"solution_sh": "solution.sh", "solution_yaml": "solution.yaml"}
        for key, default in {"dockerfile": "FROM x\n", "compose": COMPOSE, "run_tests": "true\n"}.items():
            files.setdefault(key, default)
        for key, text in files.items():
            if text is not None:
                (directory / names[key]).write_text(text)
        (directory / "task.yaml").write_text(task)
        return directory

    return make


def load(directory: Path, **changes: object) -> Task:
    settings = TaskSettings(**changes)  # type: ignore[arg-type]
    return TerminalBench("tb", directory.parent).load(directory.name, settings)


def mistakes(directory: Path) -> str:
    with pytest.raises(TaskError) as caught:
        load(directory)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_sample_tasks_have_the_keys_of_their_files() -> None:
    task = load(LONGCLI / "tally")
    assert (task.id, task.title) == ("tb/tally", "Count words")
    assert task.instruction.startswith("Follow the specification in INSTRUCTION.md")
    assert "the length of the longest line" in task.facts["INSTRUCTION.md"]
    assert (task.limits.time_s, task.kinds, task.spec.network) == (7200.0, ("docker",), True)
    assert task.spec.env == {"TEST_DIR": "/tests"}
    assert (task.result, task.submissions, task.shell) == ("workspace", ("archive",), None)
    assert (task.facts["tests F2P"], task.facts["tests P2P"]) == ("text", "pytest")
    task = load(TERMINAL_BENCH / "own-command")
    assert (task.result, task.submissions, task.limits.time_s) == ("system", ("live", "image"), 360.0)
    assert "difficulty" not in task.facts  # unknown
    assert load(TERMINAL_BENCH / "own-command", isolated=True).submissions == ("image",)
    for directory in (*LONGCLI.iterdir(), *TERMINAL_BENCH.iterdir()):
        assert format_of(directory) == "terminal-bench"
        assert load(directory).spec.env["TEST_DIR"] == "/tests"
        assert unknown_keys(directory) == ()


def test_tasks_are_listed_and_named() -> None:
    adapter = TerminalBench("tb", TERMINAL_BENCH)
    assert list(adapter.ids()) == ["count-lines", "greeting-server", "own-command"]
    rows = {str(row["id"]): row for row in adapter.rows()}
    assert rows["tb/count-lines"]["difficulty"] == "easy"
    assert rows["tb/own-command"]["difficulty"] == ""
    assert adapter.named("own-command").exactly == ("own-command",)
    assert adapter.named("Greeting").perhaps == ("greeting-server",)
    with pytest.raises(TaskError, match="is missing"):
        adapter.load("../longcli/tally")


def test_all_mistakes_of_a_task_file_are_named_at_once_with_their_lines(made: Callable[..., Path]) -> None:
    text = mistakes(
        made(
            "instruction: ''\ndifficulty: extreme\ntags: one\nmax_test_timeout_sec: '60'\nmax_agent_timeout_sec: 0\n"
            "run_tests_in_same_shell: maybe\nparser_name: junit\n"
        )
    )
    for part in (
        "line 1: instruction: must not be empty",
        "line 2: difficulty: must be 'easy', 'medium', 'hard' or 'unknown'",
        "line 3: tags: must be a list",
        "line 4: max_test_timeout_sec: must be a number, not '60'",
        "line 5: max_agent_timeout_sec: must be greater than 0",
        "line 6: run_tests_in_same_shell: must be true or false",
        "line 7: parser_name: must be 'pytest'",
    ):
        assert part in text, text
    assert "task.yaml" in text


def test_missing_files_and_keys_are_named_at_once(made: Callable[..., Path]) -> None:
    text = mistakes(made("difficulty: easy\n", dockerfile=None, run_tests=None))
    for part in ("instruction: is missing", "Dockerfile: is missing", "run-tests.sh: is missing"):
        assert part in text, text
    text = mistakes(made("difficulty: easy\n", compose="services: {client: {cap_add: [ALL]}}"))
    for part in ("instruction: is missing", "services.client.cap_add: is not provided"):
        assert part in text, text


def test_forms_of_results_belong_to_longcli_bench(made: Callable[..., Path]) -> None:
    assert "need parser_name: long_cli" in mistakes(made(TASK + "parser_results_f2p: text\n"))
    assert "parser_results_f2p: must be 'text' or 'pytest'" in mistakes(
        made(TASK + "parser_name: long_cli\nparser_results_f2p: junit\n")
    )


def test_unknown_keys_are_accepted_and_listed(made: Callable[..., Path]) -> None:
    directory = made(TASK + "max_test_timeout: 5\nfork_key: {a: 1}\n")
    assert load(directory).facts["time limit of the tests"] == "60 s"
    assert unknown_keys(directory) == ("max_test_timeout", "fork_key")


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        ("{build: .}", ""),
        ("{image: 'ubuntu:24.04'}", ""),
        ("{build: ., command: sleep infinity, tty: true, init: true}", ""),
        ("{build: ., command: [server]}", "command: is not provided"),
        ("{build: ., privileged: true}", "privileged: is not provided"),
        ("{build: ., ports: ['80:80'], network_mode: bridge, mem_limit: 4g, cpus: '1.5'}", ""),
        ("{build: ., mem_limit: much}", "mem_limit: must be a size"),
        ("{build: ., cpus: 0}", "cpus: must be greater than 0"),
        ("{build: ., network_mode: host}", "network_mode: is not provided"),
        ("{build: ., cap_add: [NET_ADMIN]}", "cap_add: is not provided"),
        ("{build: {target: x}}", "build: target is not provided"),
        ("{build: ., volumes: ['/var/run/docker.sock:/x']}", "volumes: the mount '/var/run/docker.sock:/x'"),
        ("{build: ., environment: ['A=${HOME}']}", "the variable HOME is not set"),
        ("{build: ., environment: [[1]]}", "must be a list of NAME=VALUE"),
        ("{build: 7}", "must be a directory"),
        ("[1]", "must be a mapping"),
        ("{build: ..}", "outside of the task"),
    ],
)
def test_what_a_compose_file_asks_for_is_provided_or_refused_by_name(
    client: str, reason: str, made: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    directory = made(compose=f"services: {{client: {client}}}\n")
    if reason:
        assert reason in mistakes(directory)
    else:
        load(directory)


def test_more_services_become_services_of_the_environment(made: Callable[..., Path]) -> None:
    db = "  db: {image: 'postgres:16', healthcheck: {test: pg_isready, interval: 1m30s}, volumes: ['data:/var/db']}\n"
    spec = load(made(compose=f"{COMPOSE}    depends_on: [db]\n{db}volumes: {{data: {{}}}}\n")).spec
    (service,) = spec.services
    assert (service.name, service.image, dict(spec.member.depends_on)) == ("db", "postgres:16", {"db": "started"})
    assert service.healthcheck == Healthcheck(("/bin/sh", "-c", "pg_isready"), interval_s=90)
    assert service.member.mounts == (Mount("volume", "/var/db", "data"),)
    assert spec.member.aliases == ("client",)


def test_a_compose_file_without_the_client_is_refused(made: Callable[..., Path]) -> None:
    assert "must have the service client" in mistakes(made(compose="services: {main: {}}\n"))


def test_variables_of_the_compose_file_reach_the_container(made: Callable[..., Path]) -> None:
    pairs = ["TEST_DIR=${T_BENCH_TEST_DIR}", "A=b=c", "LOGS=$T_BENCH_CONTAINER_LOGS_PATH/x", "D=${E:-f}", "HOST"]
    task = load(made(compose=f"{COMPOSE}    environment: {pairs}\n"))
    assert task.spec.env == {"TEST_DIR": "/tests", "A": "b=c", "LOGS": "/logs/x", "D": "f"}


def test_resources_of_the_compose_file_are_those_of_the_container(made: Callable[..., Path]) -> None:
    keys = "    network_mode: none\n    cpus: 2\n    mem_limit: 4g\n    memswap_limit: 6g\n    shm_size: 64m\n"
    spec = load(made(compose=COMPOSE + keys)).spec
    assert (spec.network, spec.cpus, spec.memory_bytes, spec.shm_bytes) == (False, 2.0, 6 << 30, 64 << 20)


def test_typed_solutions_become_one_script(made: Callable[..., Path]) -> None:
    solve = load(TERMINAL_BENCH / "own-command").solve
    assert solve is not None
    assert solve.directory is None
    assert solve.script.splitlines()[0] == "cd /usr/local/bin"
    assert len(solve.script.splitlines()) == 4
    both = load(made(solution_sh="true\n", solution_yaml="- command: x\n")).solve
    assert both is not None
    assert (both.script, both.directory) == ("bash /oracle/solution.sh", "/oracle")


def test_an_empty_solution_is_none(made: Callable[..., Path]) -> None:
    assert load(made(solution_sh="\n")).solve is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- command: vim x\n- command: C-c\n", "line 2: 1.command: presses the key C-c"),
        ("- {command: 'y', append_enter: false}\n", "types text without Enter"),
        ("- {mistyped_command: x}\n- {command: 3}\n", "line 2: 1.command: must be a text"),
        ("command: x\n", "must be a list of entries"),
    ],
)
def test_keystrokes_that_no_script_can_do_leave_the_task_usable_by_models(
    text: str, reason: str, made: Callable[..., Path]
) -> None:
    task = load(made(solution_yaml=text))
    assert task.solve is None
    with pytest.raises(TaskError, match="--model oracle cannot solve tb/it") as caught:
        solution_of(task)
    assert reason in str(caught.value)


def test_the_digest_counts_tests_solution_and_overlay(tmp_path: Path) -> None:
    directory = tmp_path / "tally"
    copytree(LONGCLI / "tally", directory)
    digests = [load(directory).digest]
    (tmp_path / "overlay").mkdir()
    digests.append(load(directory, overlay=tmp_path / "overlay").digest)
    (tmp_path / "overlay/run-tests.sh").write_text("true\n")
    digests.append(load(directory, overlay=tmp_path / "overlay").digest)
    for name in ("tests/p2p.py", "run-tests.sh", "solution.sh", "tally/LICENSE"):
        (directory / name).write_text("other")
        digests.append(load(directory).digest)
    assert len(set(digests)) == len(digests)
    with pytest.raises(TaskError, match=r"--overlay .*none: is not a directory"):
        load(directory, overlay=tmp_path / "none")


def test_isolated_verification_does_not_apply_to_a_workspace() -> None:
    with pytest.raises(TaskError, match="--isolated-verifier does not apply to tb/tally"):
        load(LONGCLI / "tally", isolated=True)


@pytest.mark.parametrize("name", ["INSTRUCTION.md", "run-tests.sh", "tests", "docker-compose.yaml"])
def test_a_file_of_the_host_is_not_a_part_of_a_task(name: str, made: Callable[..., Path], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    directory = made()
    (directory / name).unlink(missing_ok=True)
    (directory / name).symlink_to(outside)
    if name == "tests":
        outside.mkdir()
    else:
        outside.write_text(COMPOSE)
    assert f"{name}: is a link that leads outside of the task" in mistakes(directory)
