"""Files that a submission, its build or its runs leave never prevent a verdict and never affect other files."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.task.submission import Archive
from environments.leftovers.owner import this_process
from environments.protocol import Kind
from tests.benchmarks.work import SOLUTION, Maker, archive, judged_task

DOCKER = pytest.param("docker", marks=pytest.mark.docker)
SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)
KINDS = [DOCKER, SANDBOX, "local"]

DIG = "import os\nfor _ in range({depth}):\n    os.mkdir('d'); os.chdir('d')\nopen('bottom', 'w').close()\n"
TWO = (
    "def test_first(candidate):\n    assert candidate().stdout == b'yes'\n"
    "def test_second(candidate):\n    assert candidate().stdout == b'yes'\n"
)


@pytest.fixture
def task(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Check that no directory of an environment or an evaluation of this process is left."""
    before = left()
    yield
    assert left() == before


def left() -> set[Path]:
    places = (Path(tempfile.gettempdir()), Path("/dev/shm"))
    return {path for place in places for path in place.glob(f"{this_process().prefix}*")}


@pytest.fixture
def outside() -> Iterator[Path]:
    """Return a directory of the host that the candidate must not touch, and check that at the end."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        yield Path(place)
        assert stat.S_IMODE(os.stat(place).st_mode) == 0o755
        assert sorted(os.listdir(place)) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [3_000, 12_000])
def test_a_very_deep_workspace_is_scored(task: Maker, kind: Kind, depth: int, tmp_path: Path) -> None:
    script = f"{SOLUTION}\nmkdir deep; cd deep; python3 - <<'X'\n{DIG.format(depth=depth)}X\n"
    verdict = judged_task(task.adapter, task(), kind, script, tmp_path / "trial")
    assert (verdict.status, verdict.passed) == ("scored", True), verdict


@pytest.mark.parametrize("kind", KINDS)
def test_a_build_and_runs_that_leave_very_deep_directories(task: Maker, kind: Kind, tmp_path: Path) -> None:
    loaded = task(TWO, evaluation="build: python3 dig.py")
    program = "#!/bin/sh\nprintf yes; exec python3 $(dirname $0)/dig.py\n"
    script = f"cat >dig.py <<'X'\n{DIG.format(depth=3000)}X\ncat >executable <<'X'\n{program}X\nchmod +x executable"
    verdict = judged_task(task.adapter, loaded, kind, script, tmp_path / "trial")
    assert verdict.status == "scored", verdict
    assert len(verdict.cases) == 2
    for case in verdict.cases:
        assert case.message.endswith("the program left directories whose path is longer than 4000 bytes"), case


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
@pytest.mark.parametrize("name", ["d/" * 3000 + "f", "n" * 300], ids=["deep", "long"])
def test_a_submission_that_cannot_be_unpacked_scores_zero(task: Maker, kind: Kind, name: str, tmp_path: Path) -> None:
    workspace = archive(tmp_path / "w.tar.zst", ("executable", "#!/bin/sh\nprintf yes"), (name, "x"))
    verdict = task.adapter.evaluate(task(TWO), Archive(workspace), kind, tmp_path / "scratch")
    assert (verdict.status, verdict.quality, verdict.passed) == ("scored", 0.0, False), verdict
    assert [case.status for case in verdict.cases] == ["missing", "missing"]
    assert any(note.startswith("the submission cannot be unpacked: ") for note in verdict.notes), verdict.notes


@pytest.mark.parametrize("kind", KINDS)
def test_links_in_locked_directories_are_not_followed(task: Maker, kind: Kind, outside: Path, tmp_path: Path) -> None:
    lock = f"mkdir -p d/e; ln -s {outside} d/k; ln -s {outside} d/e/k; chmod 555 d/e; chmod 555 d"
    program = f"#!/bin/sh\n{lock}; chmod 000 d; chmod 555 .; printf yes\n"
    script = f"{lock}; cat >executable <<'X'\n{program}X\nchmod +x executable"
    loaded = task(TWO, evaluation=f"build: '(mkdir b; cd b; {lock}); chmod 555 .'")
    verdict = judged_task(task.adapter, loaded, kind, script, tmp_path / "trial")
    assert verdict.status == "scored", verdict


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_cannot_replace_its_own_directory(task: Maker, kind: Kind, outside: Path, tmp_path: Path) -> None:
    watched = str(outside) if kind == "local" else "/usr"
    suite = (
        "import os\nmodes = lambda: [os.stat(path).st_mode for path in ('/tmp', '/usr', '/')]\nbefore = modes()\n"
        + TWO.replace("== b'yes'", "!= b''")
        + "def test_third():\n    assert modes() == before\n"
    )
    program = (
        f"#!/bin/sh\nd=$PWD; cd ..; mv $d $d.moved || rmdir $d; ln -sn {watched} $d; ls -ld $d | cut -c1\n"
        "touch planted; ls\n"
    )
    script = f"cat >executable <<'X'\n{program}X\nchmod +x executable"
    verdict = judged_task(task.adapter, task(suite), kind, script, tmp_path / "trial")
    assert verdict.status == "scored", verdict
    assert verdict.cases[2].status == "passed", verdict.cases[2]
