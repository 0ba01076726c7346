"""Reading task directories in Harbor's format, without a container: every key, all mistakes at once, refusals."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.harbor import rewards
from benchmarks.harbor.adapter import Harbor
from benchmarks.harbor.artifacts import is_excluded, stays_inside
from benchmarks.harbor.places import variables, verifier_spec
from benchmarks.harbor.reading.task_directory import TESTS, Source, read, stripped
from benchmarks.harbor.rewards import JSON, TEXT, NoReward
from benchmarks.task.formats import format_of
from benchmarks.task.settings import TaskSettings
from benchmarks.task.task import Task, TaskError

SAMPLES = Path(__file__).parent / "tasks" / "harbor"


def made(root: Path, toml: str = "", **files: str) -> Path:
    """Return a small task directory with this file and with further ones."""
    directory = root / "sample"
    texts = {
        "task.toml": toml,
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": "FROM scratch\n",
        "tests/test.sh": "echo 1 >/logs/verifier/reward.txt\n",
        **files,
    }
    for name, text in texts.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


def loaded(root: Path, toml: str = "", settings: TaskSettings | None = None, **files: str) -> Task:
    made(root, toml, **files)
    return Harbor("set", root).load("sample", settings or TaskSettings())


def problem(root: Path, toml: str, **files: str) -> str:
    with pytest.raises(TaskError) as raised:
        loaded(root, toml, **files)
    return str(raised.value)


def test_the_samples_are_recognized_and_listed() -> None:
    adapter = Harbor("set", SAMPLES)
    assert list(adapter.ids()) == ["greeting", "inventory", "orders", "pipeline", "report"]
    assert {format_of(SAMPLES / id) for id in adapter.ids()} == {"harbor"}
    rows = {str(row["id"]): row for row in adapter.rows()}
    assert rows["set/report"]["title"] == "Count the orders of each customer"
    assert (rows["set/report"]["difficulty"], rows["set/report"]["kind"]) == ("medium", "data-processing")
    assert adapter.named("inv").perhaps == ("inventory",)


def test_a_task_of_an_older_schema_has_its_limits_and_resources() -> None:
    task = Harbor("set", SAMPLES).load("greeting")
    assert not task.instruction.startswith(("#", "<", "\n"))
    assert (task.spec.network, task.spec.cpus, task.spec.user, task.spec.workdir) == (False, 1, None, None)
    assert (task.spec.memory_bytes, task.spec.disk_bytes) == (512 << 20, 1 << 30)
    assert task.limits.time_s == 120
    assert task.spec.build is not None
    assert task.spec.build.timeout_s == 300
    assert (task.result, task.submissions, task.feedback) == ("system", ("live", "image"), ("scores",))
    assert (task.facts["schema"], task.facts["verifier"]) == ("1.0", "shared")
    assert task.solve is not None
    assert task.solve.directory == "/solution"


def test_every_key_is_read(tmp_path: Path) -> None:
    toml = """
schema_version = "1.4"
source = "somewhere"
artifacts = ["/a", {source = "b", destination = "c/d", exclude = ["*.o"], service = "main"}]
multi_step_reward_strategy = "final"
[task]
name = "org/name.x"
version = "2"
description = "A title"
keywords = ["k"]
authors = [{name = "N", email = "e@x"}]
[metadata]
anything = {at = ["all"]}
[agent]
timeout_sec = 9
user = 1000
[verifier]
timeout_sec = 5.5
env = {A = "b"}
user = "checker"
environment_mode = "separate"
[verifier.environment]
docker_image = "img:1"
network_mode = "public"
[[verifier.collect]]
command = "dump"
timeout_sec = 3
user = 0
[environment]
build_timeout_sec = 7
docker_image = "base:2"
os = "LINUX"
cpus = 2.0
memory_mb = "1024"
storage_mb = 2048
gpus = 0
workdir = "/w"
skills_dir = "/s"
network_mode = "no-network"
[environment.env]
X = "y"
[environment.healthcheck]
command = "true"
interval_sec = 1
timeout_sec = 2
start_period_sec = 3
start_interval_sec = 4
retries = 5
[solution.env]
S = "t"
"""
    harbor = read(Source(made(tmp_path, toml)))
    assert harbor.unknown == ()
    task = Harbor("set", tmp_path).load("sample")
    assert (task.title, task.spec.image, task.spec.build, task.spec.user) == ("A title", "base:2", None, "1000")
    assert (task.spec.memory_bytes, task.spec.env, str(task.spec.workdir)) == (1 << 30, {"X": "y"}, "/w")
    assert "/s" in task.instruction
    assert variables(harbor)[1:] == ({"A": "b"}, {"S": "t"})
    verifier = verifier_spec(harbor, TaskSettings(base_images={"img:1": "mirror/img:1"}))
    assert (verifier.image, verifier.network, verifier.env) == ("mirror/img:1", True, {})
    assert harbor.tests_in_image
    hook = harbor.file.verifier.collect[0]
    assert (hook.command, hook.service, hook.user, hook.timeout_sec) == ("dump", "main", "0", 3)


def test_all_mistakes_come_at_once_with_line_and_key_in_plain_words(tmp_path: Path) -> None:
    toml = """[agent]
timeout_sec = "long"
[verifier]
environment_mode = "own"
[environment]
memory = "much"
workdir = "here"
note = \"\"\"
[agent]
user = 1
\"\"\"
[[environment.mcp_servers]]
name = "a"
url = "http://x"
[[environment.mcp_servers]]
name = "b"
transport = "stdio"
[task]
name = "no slash"
"""
    text = problem(tmp_path, toml, **{"instruction.md": "  \n"})
    assert "task.toml: line 2: agent.timeout_sec: must be a number, not 'long'" in text
    assert "line 4: verifier.environment_mode: must be 'shared' or 'separate', not 'own'" in text
    assert 'line 6: environment.memory: must be like "512M" or "2G", not \'much\'' in text
    assert "line 7: environment.workdir: must be an absolute path" in text
    assert "line 15: environment.mcp_servers.1: command: is missing" in text
    assert "line 19: task.name: must be org/name" in text
    assert "instruction.md: is empty" in text
    assert not any(word in text for word in ("string", "pydantic", "Optional", "validation", "type="))


@pytest.mark.parametrize(
    ("toml", "reason"),
    [
        ("a = \n", "line 1: is not TOML: invalid value (column 5)"),
        ("[agent]\n[agent]\n", "line 2: is not TOML: cannot declare agent twice (column 7)"),
        ('[environment]\nmemory = "2G"\nmemory_mb = 512', "memory: '2G' contradicts memory_mb: 512"),
        ('[verifier]\nenvironment_mode = "shared"\n[verifier.environment]', 'environment_mode: "shared" contradicts'),
        ('[environment]\nallowed_hosts = ["http://x/y"]', "must be a host name"),
        ('[environment]\nnetwork_mode = "public"\nallowed_hosts = ["x.org"]', "allowed_hosts needs network_mode"),
        ('artifacts = ["../x"]', "source: must be a path without '..'"),
        ('artifacts = [{source = "/x", destination = "/y"}]', "destination: must be a relative path"),
        ('[[steps]]\nname = "A"\n[[steps]]\nname = "a"', "two steps are named 'a'"),
        ('[[steps]]\nname = "nul.txt"', "must be usable as the name of a directory"),
        ("[agent]\ntimeout_sec = nan", "agent.timeout_sec: must be a finite number"),
        ('[environment]\nos = "plan9"', "environment.os: must be 'linux' or 'windows'"),
    ],
)
def test_a_mistake_names_its_reason(toml: str, reason: str, tmp_path: Path) -> None:
    assert reason in problem(tmp_path, toml)


@pytest.mark.parametrize(
    ("toml", "name"),
    [
        ('[environment]\nallowed_hosts = ["Example.org."]', "allowlist"),
        ('[agent]\nnetwork_mode = "allowlist"\n[verifier]\nnetwork_mode = "public"', "allowlist"),
        ("[environment]\ngpus = 1", "environment.gpus"),
        ('[environment.tpu]\ntype = "v"\ntopology = "2x4"', "environment.tpu"),
        ('[environment]\nos = "Windows"', "environment.os"),
        (
            '[[environment.mcp_servers]]\nname = "files"\nurl = "http://x"',
            "mcp_servers: MCP servers cannot be provided",
        ),
        ('[verifier]\nnetwork_mode = "no-network"', "a shared verifier has the network of the agent (public)"),
        ('[[verifier.collect]]\ncommand = "x"\nservice = "db"', "only, not in 'db'"),
        ('artifacts = [{source = "/x", service = "db"}]', "only, not from 'db'"),
    ],
)
def test_what_cannot_be_provided_is_refused_by_name(toml: str, name: str, tmp_path: Path) -> None:
    assert name in problem(tmp_path, toml)


def test_unknown_keys_have_no_effect_and_are_named(tmp_path: Path) -> None:
    task = loaded(tmp_path, "[agent]\ntimeout_secs = 5\n[metadata]\nfree = 1\n[verifier.environment]\ncpu = 2\n")
    assert task.limits.time_s != 5
    assert task.facts["keys without effect"] == (
        "line 2: agent.timeout_secs: unknown key; did you mean timeout_sec?; "
        "line 6: verifier.environment.cpu: unknown key; did you mean cpus?"
    )


def test_templates_come_from_the_host_and_all_unset_ones_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETRACE_SET", "from the host")
    monkeypatch.delenv("RETRACE_UNSET", raising=False)
    toml = '[environment.env]\nA = "${RETRACE_SET}"\nB = "${RETRACE_UNSET:-}"\nC = "x${RETRACE_SET}"\n'
    assert loaded(tmp_path, toml).spec.env == {"A": "from the host", "B": "", "C": "x${RETRACE_SET}"}
    text = problem(tmp_path, toml + 'D = "${RETRACE_UNSET}"\n[verifier.env]\nE = "${RETRACE_UNSET}"\n')
    assert "environment.env.D: the variable RETRACE_UNSET is not set" in text
    assert "verifier.env.E: the variable RETRACE_UNSET is not set" in text


def test_missing_files_and_links_that_leave_the_directory_are_named_together(tmp_path: Path) -> None:
    directory = made(tmp_path)
    for name in ("environment/Dockerfile", "tests/test.sh", "instruction.md"):
        (directory / name).unlink()
    (directory / "tests/secret").symlink_to("/etc/passwd")
    (directory / "tests/inside").symlink_to("../task.toml")
    (directory / "tests/loop").symlink_to("loop")
    with pytest.raises(TaskError) as raised:
        Harbor("set", tmp_path).load("sample")
    text = str(raised.value)
    for part in (
        "Dockerfile: is missing",
        "test.sh: is missing",
        "instruction.md: is missing",
        "tests/secret: is a link",
    ):
        assert part in text
    assert "inside" not in text


def test_canary_lines_are_left_out_only_at_the_top() -> None:
    assert stripped("<!-- CANARY x -->\n# a canary\n\n\n# Title\n# canary\n") == "# Title\n# canary\n"
    assert stripped("\n# Title\n") == "\n# Title\n"


def test_ignored_files_come_neither_with_the_tests_nor_with_the_solution(tmp_path: Path) -> None:
    files = {
        ".harborignore": "*.txt\n",  # has no effect outside of the directories below
        "environment/skills/.harborignore": "*.md\n",
        "environment/skills/SKILL.md": "",
        "tests/.harborignore": "*.log\nbig/\n",
        "tests/a.log": "",
        "tests/a.txt": "",
        "tests/big/.harborignore": "!x\n",
        "tests/big/x": "",
        "tests/sub/.harborignore": "!kept.log\n",
        "tests/sub/kept.log": "",
        "tests/sub/b.log": "",
        "solution/.harborignore": "notes/\n",
        "solution/solve.sh": "",
        "solution/notes/plan": "",
        "solution/b.log": "",
    }
    directory = made(tmp_path, **files)
    (directory / "tests/link").symlink_to("a.log")
    (directory / "tests/shortcut").symlink_to("a.txt")
    with Source(directory).tree(TESTS) as tests:
        names = {entry.path for entry in tests.entries if entry.type != "directory"}
    assert names == {b"test.sh", b"a.txt", b"shortcut", b"sub/kept.log"}
    with Source(directory).tree("environment/skills") as skills:
        assert {entry.path for entry in skills.entries} == {b".harborignore", b"SKILL.md"}
    solve = Harbor("set", tmp_path).load("sample").solve
    assert solve is not None
    assert {entry.path for entry in solve.files().entries} == {b"solve.sh", b"b.log"}


def test_a_script_that_is_ignored_is_an_error_with_its_name(tmp_path: Path) -> None:
    files = {"tests/.harborignore": "*.sh\n", "solution/.harborignore": "solve*\n", "solution/solve.sh": ""}
    text = problem(tmp_path, "", **files)
    assert "tests/test.sh: is left out by a .harborignore" in text
    assert "solution/solve.sh: is left out by a .harborignore" in text
    text = problem(tmp_path / "other", "", **{"tests/.harborignore": b"\xff".decode("latin-1")}) if False else ""


def test_an_overlay_of_a_deeper_folder_is_laid_over_it(tmp_path: Path) -> None:
    directory = made(tmp_path, **{"environment/skills/a/SKILL.md": "old", "environment/skills/b/SKILL.md": "kept"})
    (tmp_path / "overlay/environment/skills/a").mkdir(parents=True)
    (tmp_path / "overlay/environment/skills/a/SKILL.md").write_text("new")
    with Source(directory, tmp_path / "overlay").tree("environment/skills") as skills:
        assert (skills.root / "a/SKILL.md").read_text() == "new"
        assert (skills.root / "b/SKILL.md").read_text() == "kept"


def test_an_overlay_comes_first_and_changes_the_digest(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    for name, text in (("tests/more.py", ""), ("environment/x", ""), ("instruction.md", "Other.\n")):
        (overlay / name).parent.mkdir(parents=True, exist_ok=True)
        (overlay / name).write_text(text)
    (tmp_path / "set").mkdir()
    plain = loaded(tmp_path / "set")
    settings = TaskSettings(overlay=overlay)
    mended = Harbor("set", tmp_path / "set").load("sample", settings)
    assert (plain.instruction, mended.instruction) == ("Do it.\n", "Other.\n")
    assert plain.digest != mended.digest
    assert mended.spec.build is not None
    assert mended.spec.build.overlay == overlay / "environment"
    with Source.of(tmp_path / "set/sample", settings).tree(TESTS) as tests:
        assert {entry.path for entry in tests.entries} == {b"test.sh", b"more.py"}


def test_a_text_is_one_finite_number() -> None:
    assert rewards.parsed(TEXT, b" 0.25\n") == {"reward": 0.25}
    for data in (b"", b"nan", b"1 2", b"inf", b"yes"):
        with pytest.raises(NoReward):
            rewards.parsed(TEXT, data)


def test_the_file_that_the_tests_name_counts() -> None:
    both = {JSON: b"{}", TEXT: b"0"}
    assert rewards.choose(both, b"echo 0 >/logs/verifier/reward.txt") == TEXT
    assert rewards.choose(both, b"reward.txt reward.json") == JSON
    assert rewards.choose(both, b"f'reward.{kind}'") == JSON
    assert rewards.choose({JSON: b"{}"}, b"reward.txt") == JSON
    with pytest.raises(NoReward, match="neither"):
        rewards.choose({}, b"")


@pytest.mark.parametrize(
    ("left", "quality"),
    [({"reward": 0.5, "x": 1}, 0.5), ({"acc": 2.0}, 1.0), ({"a": 1, "b": -1}, 0.5), ({"reward": -3}, 0.0)],
)
def test_the_quality_is_the_reward_or_the_only_one_or_the_mean(left: dict[str, float], quality: float) -> None:
    assert math.isclose(rewards.quality(left), quality)


@pytest.mark.parametrize(
    ("link", "target", "inside"),
    [
        ("/a/out/x", "y", True),
        ("/a/out/sub/x", "../y", True),
        ("/a/out/x", "../y", False),
        ("/a/out/x", "/a/out/y", True),
        ("/a/out/x", "/tests/y", False),
        ("/a/out/x", "sub/../y", False),  # `sub` may be a link to a directory elsewhere
        ("/a/out/x", "/a/out/../y", False),
        ("/a/out", "y", False),
    ],
)
def test_a_link_of_an_artifact_must_stay_inside(link: str, target: str, inside: bool) -> None:
    assert stays_inside(link, target, "/a/out") is inside


def test_excluded_paths_match_as_tar_matches_them() -> None:
    assert is_excluded("out/a/b.tmp", ["*.tmp"])
    assert is_excluded("out/cache/x", ["cache"])
    assert is_excluded("out/a/b", ["a/b"])
    assert not is_excluded("out/cached", ["cache"])
