"""Extraction from an unpacked package: links stay inside it, scripts are rejected, texts become UTF-8."""

from __future__ import annotations

import gzip
import os
import stat
from pathlib import Path

import pytest

from benchmarks.rebuild import extract

ELF = b"\x7fELF and more"


def put(tree: Path, path: str, data: bytes = ELF) -> Path:
    file = tree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def link(tree: Path, path: str, target: str) -> None:
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    os.symlink(target, tree / path)


@pytest.mark.parametrize("target", ["real", "/usr/lib/p/real", "../lib/p/real", "../../../../../usr/lib/p/real"])
def test_links_are_followed_inside_the_package(tmp_path: Path, target: str) -> None:
    real = put(tmp_path, "usr/bin/real" if target == "real" else "usr/lib/p/real")
    link(tmp_path, "usr/bin/name", target)
    assert extract.find_executable("p", tmp_path, "/usr/bin/name") == real


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../../../../../etc/passwd", "name"])
def test_a_link_never_leads_out_of_the_package(tmp_path: Path, target: str) -> None:
    link(tmp_path, "usr/bin/name", target)
    assert extract.resolve(tmp_path, "/usr/bin/name") is None


def test_a_linked_directory_on_the_way_is_followed(tmp_path: Path) -> None:
    real = put(tmp_path, "usr/lib/p/tool")
    link(tmp_path, "opt/p", "/usr/lib/p")
    assert extract.resolve(tmp_path, "/opt/p/tool") == real


def test_the_error_for_an_unknown_executable_lists_the_existing_ones(tmp_path: Path) -> None:
    put(tmp_path, "usr/bin/one")
    put(tmp_path, "usr/games/two")
    put(tmp_path, "usr/bin/script", b"#!/bin/sh\n")
    with pytest.raises(
        extract.Mistake, match=r"no executable '/usr/bin/no'; its executables: /usr/bin/one, /usr/games/two"
    ):
        extract.find_executable("p", tmp_path, "/usr/bin/no")


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"#!/bin/sh -e\nx\n", r"is a script \(#!/bin/sh -e\)"), (b"text", "is no ELF binary"), (b"", "no ELF")],
)
def test_an_executable_that_must_be_readable_is_rejected(tmp_path: Path, data: bytes, message: str) -> None:
    put(tmp_path, "usr/bin/name", data)
    with pytest.raises(extract.Mistake, match=message + ".*no binary executable at all"):
        extract.find_executable("p", tmp_path, "/usr/bin/name")


def test_a_relative_path_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(extract.Mistake, match="'name' is not an absolute path in package 'p'"):
        extract.find_executable("p", tmp_path, "name")


def test_data_keeps_its_path_and_the_modes_of_parent_directories(tmp_path: Path) -> None:
    tree, out = tmp_path / "tree", tmp_path / "out"
    put(tree, "usr/share/p/fonts/a.flf", b"font")
    put(tree, "lib/p/table", b"table")
    put(tree, "var/games/p/score", b"0")
    (tree / "var/games").chmod(0o2775)
    extract.copy_data("p", tree, ["/usr/share/p/fonts", "/lib/p/table", "/var/games/p/score"], out)
    assert (out / "usr/share/p/fonts/a.flf").read_bytes() == b"font"
    assert (out / "usr/lib/p/table").read_bytes() == b"table", "/lib is a link into /usr"
    assert stat.S_IMODE((out / "var/games").stat().st_mode) == 0o2775


@pytest.mark.parametrize("path", ["/usr/share/no", "usr/share/p", "/", "/.."])
def test_data_that_is_not_in_the_package_is_rejected(tmp_path: Path, path: str) -> None:
    tree = tmp_path / "tree"
    put(tree, "usr/share/p", b"x")
    with pytest.raises(extract.Mistake, match=f"package 'p' has no data '{path}'"):
        extract.copy_data("p", tree, [path], tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("plain", b"caf\xc3\xa9\n", "café\n"),
        ("latin", b"caf\xe9\n", "café\n"),
        ("packed.gz", gzip.compress(b"packed\n", mtime=0), "packed\n"),
        ("binary", b"\x7fELF\0", None),
        ("book.pdf", b"%PDF-1.4\n", None),
        ("book.ps.gz", gzip.compress(b"%!PS-Adobe\n", mtime=0), None),
    ],
)
def test_documents_become_texts(tmp_path: Path, name: str, data: bytes, text: str | None) -> None:
    assert extract.read_text(put(tmp_path, name, data)) == text


def test_the_documents_of_a_package_are_written_as_texts(tmp_path: Path) -> None:
    tree, out = tmp_path / "tree", tmp_path / "out"
    put(tree, "usr/share/doc/p/README.gz", gzip.compress(b"read me\n"))
    put(tree, "usr/share/doc/p/changelog.Debian.gz", gzip.compress(b"packaging\n"))
    put(tree, "usr/share/doc/p/examples/one.conf", b"x=1\n")
    put(tree, "usr/share/doc/p/logo.png", b"\x89PNG\0")
    put(tree, "usr/share/man/man1/alias.1.gz", gzip.compress(b".so man1/p.1\n"))
    out.mkdir()
    assert extract.write_docs(tree, out) == ["p/README", "p/examples/one.conf"]
    assert (out / "p/README").read_text() == "read me\n"
