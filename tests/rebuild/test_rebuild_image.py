"""`agent tasks make rebuild image`: a usage error is one line and status 2, a failure of the machine is status 1."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.rebuild.containers import make_rebuild, run

FIGLET = ("figlet", "/usr/bin/figlet-figlet")


def refused(*arguments: str) -> str:
    process = make_rebuild("image", *arguments, "--tag", "retrace-test-refused:1")
    assert process.status == 2, process.out + process.err
    assert process.out == ""
    assert process.err.startswith("agent: ")
    assert process.err.count("\n") == 1
    return process.err


@pytest.mark.docker
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("figlte", "/usr/bin/figlet"), "no package 'figlte' in the base image's package sources; near names: "),
        (("Figlet", "/usr/bin/figlet"), "'Figlet' is no name of a Debian package"),
        (("awk", "/usr/bin/awk"), "no package 'awk'"),
        (
            ("figlet", "/usr/bin/figlet"),
            "has no executable '/usr/bin/figlet'; its executables: /usr/bin/chkfont, /usr/bin/fig",
        ),
        (("figlet", "figlet-figlet"), "'figlet-figlet' is not an absolute path in package 'figlet'; its executables: "),
        (("figlet", "/usr/bin/figlist"), "'/usr/bin/figlist' of package 'figlet' is a script (#!/bin/sh -): mode 0111"),
        (("toilet-fonts", "/usr/bin/toilet"), "it has no binary executable at all"),
        ((*FIGLET, "--data", "/usr/share/fonts"), "package 'figlet' has no data '/usr/share/fonts'"),
        ((*FIGLET, "--data", "/usr/share/a b"), "paths with blanks are not supported"),
        (("make", "/usr/bin/make"), "package 'make' is installed in the result"),
    ],
    ids=lambda value: "-".join(value).replace("/", "") if isinstance(value, tuple) else "",
)
def test_a_usage_error_is_one_line(image: str, arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(*arguments)


@pytest.mark.docker
def test_an_unavailable_base_is_named() -> None:
    process = make_rebuild("image", *FIGLET, "--base", "localhost:9/no/such:base")
    assert process.status == 1
    assert process.err.startswith("agent: base image localhost:9/no/such:base is not available (")
    assert "--base" in process.err


def test_a_missing_daemon_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such.sock")
    process = make_rebuild("image", *FIGLET)
    assert process.status == 1
    assert process.err.startswith("agent: ")
    assert process.err.count("\n") == 1


@pytest.mark.docker
def test_a_program_with_libraries_and_no_data_works(image: str) -> None:
    """Check another package: its dependencies are installed, and nothing but the program is copied."""
    tag = f"retrace-test-jq-{os.getpid()}:1"
    process = make_rebuild("image", "jq", "/usr/bin/jq", "--tag", tag)
    try:
        assert (process.status, process.out) == (0, f"{tag}\n"), process.err
        out = run(tag, "echo '{\"a\": [1, 2]}' | ./executable -c .a; cat executable; ls docs docs/man")
        assert out.stdout.split() == ["[1,2]", "docs:", "README.md", "jq", "man", "docs/man:", "jq.1.txt"]
        assert "Permission denied" in out.stderr
    finally:
        inspect = ["docker", "image", "inspect", "--format", "{{.Id}}", tag]
        id = subprocess.run(inspect, capture_output=True, text=True).stdout.strip()
        subprocess.run(["docker", "image", "rm", "--force", id], capture_output=True)
