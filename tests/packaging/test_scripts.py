"""The scripts of the checkout are executable and free of syntax errors, and their errors name the cause."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPTS = [".ci/run", "scripts/check", "scripts/demo", "scripts/setup", "scripts/test"]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that scripts/setup reads, in a folder that has a blank in its name and was never set up."""
    to = tmp_path / "a checkout"
    (to / "scripts").mkdir(parents=True)
    for name in ("pyproject.toml", "constraints.txt", "scripts/setup"):
        shutil.copy(CHECKOUT / name, to / name)
    return to


def setup(copy: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [copy / "scripts" / "setup", *arguments], env={**os.environ, **env}, capture_output=True, text=True, cwd="/"
    )


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_executable_and_has_no_syntax_error(script: str) -> None:
    path = CHECKOUT / script
    assert os.access(path, os.X_OK)
    assert subprocess.run(["bash", "-n", path], capture_output=True, text=True).stderr == ""


def test_setup_without_python_names_the_packages_to_install(copy: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bash", "env", "dirname", "mktemp", "rm", "cat", "sha256sum", "flock", "tail"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    result = setup(copy, PATH=str(tools))
    assert result.returncode == 1
    assert "no Python 3.11 or newer on PATH" in result.stderr
    assert "apt-get install" in result.stderr
    assert not (copy / ".venv").exists()


def test_setup_rejects_a_python_that_does_not_run(copy: Path) -> None:
    result = setup(copy, PYTHON="/bin/false")
    assert result.returncode == 1
    assert result.stderr == "setup: PYTHON=/bin/false is not a Python 3.11 or newer that runs\n"


def test_setup_rejects_an_unknown_set_of_packages(copy: Path) -> None:
    result = setup(copy, "everything")
    assert result.returncode == 2
    assert "'everything' is not a set of packages" in result.stderr


def test_a_failed_installation_shows_the_error_and_is_tried_again(copy: Path) -> None:
    """An empty index takes the place of a machine without a network."""
    for _ in range(2):
        result = setup(copy, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(copy), PIP_CONFIG_FILE=os.devnull)
        assert result.returncode == 1
        assert "ERROR: " in result.stderr, "the error of pip"
        assert result.stderr.splitlines()[-1].startswith("setup: the installation failed")
