"""The wheel holds every file that the packages need, and works without the checkout."""

import json
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"][
    "packages"
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", to]
    result = subprocess.run([*command, CHECKOUT], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    (built,) = to.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment with the wheel, and with the dependencies of this environment."""
    home = tmp_path_factory.mktemp("an environment")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    result = subprocess.run([*install, wheel], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    (site,) = home.glob("lib/python*/site-packages")
    # Python reads no .pth file in this folder, so the editable installation stays out.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def test_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    """Only a user would notice a data file that .gitignore or the build leaves out."""
    expected = {
        str(path.relative_to(CHECKOUT))
        for package in PACKAGES
        for path in (CHECKOUT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert held == expected
    no_longer_executable = [
        name for name in sorted(held) if (CHECKOUT / name).stat().st_mode & 0o111 and not modes[name] & 0o111
    ]
    assert no_longer_executable == []


def test_wheel_marks_every_package_as_typed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"{package}/py.typed" for package in PACKAGES} <= names


def test_wheel_names_its_license_and_entry_point(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")).partition("/")[0]
        metadata = archive.read(f"{info}/METADATA").decode()
        entry_points = archive.read(f"{info}/entry_points.txt").decode()
        license_text = archive.read(f"{info}/licenses/LICENSE").decode()
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert "\nRequires-Python: >=3.11\n" in metadata
    assert "agent = agent.cli.main:main" in entry_points
    assert "Apache License" in license_text


def test_an_installed_wheel_runs_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    location = subprocess.run(
        [installed / "python", "-c", "import agent; print(agent.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert Path(location.stdout.strip()).is_relative_to(installed.parent)
    result = subprocess.run(
        [installed / "agent", "tasks", "list", "--json"], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["tasks"], "the demo tasks are package data"
