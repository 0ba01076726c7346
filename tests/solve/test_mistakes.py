"""Plausible mistakes of a newcomer: each is one line that names the value and the way out. All run in this process."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent import config
from agent.cli.main import app, explain

RECORDS = Path(__file__).parents[1] / "records/v1.1/single"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory):
    """A folder with two trials, a file, and an empty directory."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "start").mkdir()
    (folder / "some-file").touch()
    shutil.copytree(RECORDS / "task.script.1930c962.1", folder / "runs/single/greet.script.0123.1")
    shutil.copytree(RECORDS / "ledger.script.22b688cc.1", folder / "runs/single/figlet.script.4567.1")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        config.defaults.cache_clear()
        yield folder


def message_of(line: str, **variables: str) -> tuple[str, int]:
    """Return the line that a command with a mistake prints, and its exit status."""
    result = CliRunner().invoke(app, shlex.split(line), prog_name="agent", env=variables, standalone_mode=False)
    assert result.stdout == ""
    assert isinstance(result.exception, Exception), result.stderr
    message, status = explain(result.exception)
    assert "\n" not in message
    return message, status


@pytest.mark.parametrize(
    ("line", "message"),
    [
        # a trial
        ("show single", "'single' is a folder of 2 trials, not a trial: name one, for instance "),
        ("show runs/single", "'runs/single' is a folder of 2 trials, not a trial: name one, for instance "),
        ("show gret", "no trial 'gret': not a trial's directory, and no trial below runs has an id that begins with "
         "it; did you mean greet?"),
        ("show xyzzy", "no trial 'xyzzy': not a trial's directory, and no trial below runs has an id that begins with "
         "it; `agent trials` lists them all"),
        ("show ''", "the name of the trial is empty; `agent trials` lists them all"),
        ("resume greet --runs elsewhere", "no trial 'greet': there is no directory elsewhere here; name that of your "
         "trials with --runs"),
        ("show greet --step 99", "runs/single/greet.script.0123.1: there is no step 99; the last is 5"),
        ("show greet --output 9.1", "runs/single/greet.script.0123.1: there is no finished command '9.1'; the last is"),
        ("show greet --tail 0", "Invalid value for '--tail': must be at least 1 (see agent show --help)"),
        ("show figlet --verdict", "runs/single/figlet.script.4567.1: has no verdict; make one with `agent evaluate "),
        ("fork greet", "Missing option '--at'. (see agent fork --help)"),
        ("fork greet --at 99", "--at 99: greet.script.0123.1 has steps 0 to 5"),
        ("fork greet --at 2 --env dokcer", "--env 'dokcer' is not one of docker, sandbox, local"),
        ("diff greet --step 99", "runs/single/greet.script.0123.1: there is no step 99; the last is 5"),
        ("replay nosuch", "no trial 'nosuch': "),
        ("trials --runs some-file", "some-file: no such directory; name the directory of your trials with --runs"),
        ("gc --runs nosuch", "nosuch: no such directory; name the directory of your trials with --runs"),
        # files
        ("checkout greet runs", "runs: the directory is not empty; give a new or an empty one"),
        ("checkout greet some-file", "some-file: cannot be made or opened (File exists); give a new directory"),
        ("export greet --format atif --output runs", "runs: is a directory; name a file"),
        ("export greet --format json", "Invalid value for '--format': 'json' is not one of 'mini', 'atif', "),
        ("score single --output report.xyz", "--output report.xyz: unknown suffix '.xyz'; use one of .json, "),
        ("score greet --output nosuch/r.md", "--output nosuch/r.md: cannot be written: there is no directory nosuch"),
        ("analyze greet --judges 3", "--judges applies to the judges of --integrity only: give --integrity as well"),
        # a task
        ("tasks show ledgre", "unknown task 'ledgre'; did you mean demo/ledger?"),
        ("tasks show ./ledger", "ledger: no such directory of a task"),
        ("tasks list --benchmark demos", "unknown benchmark 'demos'; did you mean demo?"),
        ("tasks shwo demo/ledger", "No such command 'shwo'. Did you mean 'show'? (see agent tasks --help)"),
        ("evaluate start", "start is not a trial, so its task must be given: --task TASK"),
        ("evaluate some-file --task ledger", "some-file is neither a directory nor a tar, tar.gz or tar.zst file"),
        ("evaluate start --task ledger --output some-file", "--output some-file: exists and is not an empty "),
        # solve
        ("sovle", "No such command 'sovle'. Did you mean 'solve', "),
        ("solve --task ledger", "no model: give --model, or set a default in "),
        ("solve --model nop", "give either --task TASK, or --instruction TEXT|FILE with --image or --workspace"),
        ("solve ledger --model nop", "Got unexpected extra argument(s) (ledger); name a task with --task and a model "
         "with --model (see agent solve --help)"),
        ("solve --task ledger --model opuss", "unknown model 'opuss': write an alias (`agent models list`), "),
        ("solve --task ledger --model script", "unknown model 'script': write an alias (`agent models list`), "),
        ("solve --task ledger --model script:x.yaml", "cannot read x.yaml: No such file or "),
        ("solve --task ledger --model replay:greet2", "no trial 'greet2'"),
        ("solve --task ledger --model nop --prompt defalt", "no prompt 'defalt'; give a file, or one of default, "),
        ("solve --task ledger --model nop --variant x", "demo/ledger has no variant 'x'; omit --variant"),
        ("solve --task ledger --model nop --plan start", "--plan start: not a regular file"),
        ("solve --task ledger --model nop --time-limit 2hours", "--time-limit: '2hours' is not a duration; write "),
        ("solve --task ledger --model nop --step-limit 0", "--step-limit 0: must be a number above 0"),
        ("solve --task ledger --model nop --attempts 0", "Invalid value for '--attempts': must be at least 1 (see "),
        ("solve --task ledger --model nop --prices june", "--prices june: there is no snapshot of that name in "),
        ("solve --task ledger --model nop --model-setting x", "--model-setting 'x' is not KEY=VALUE"),
        ("solve --task ledger --instruction x --model nop", "give either --task TASK, or --instruction TEXT|FILE"),
        ("solve --instruction x --model nop", "--instruction needs a place to work: give --image IMAGE or "),
        ("solve --instruction a.md --workspace start --model nop", "--instruction 'a.md': no such file (a literal "),
        ("solve --instruction x --workspace some-file --model nop", "the workspace some-file is not a directory"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_the_way_out(line: str, message: str) -> None:
    shown, status = message_of(line)
    assert shown.startswith(message)
    assert status == 2


def test_a_missing_key_and_a_missing_daemon_are_named() -> None:
    key = message_of("solve --task ledger --model opus", ANTHROPIC_API_KEY="")
    assert key[0].startswith("no key for 'anthropic/claude-opus-")
    assert "set ANTHROPIC_API_KEY" in key[0]
    daemon = message_of("solve --task ledger --model nop --env docker", DOCKER_HOST="tcp://127.0.0.1:1")
    assert daemon == ("no Docker daemon answers (Connection refused); start one, or set DOCKER_HOST", 1)


def test_a_file_as_the_directory_of_trials_is_refused() -> None:
    line = "solve --task ledger --env local --model nop --runs some-file"
    message = "cannot write trials to some-file/single: Not a directory; choose another place with --runs"
    assert message_of(line) == (message, 2)
