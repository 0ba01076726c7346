"""The languages of a submission, and the rule of the variant `other-language`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.analysis.trials import Did, Step, record
from tests.solve.command import agent
from trajectories.analysis.integrity.language import SubmissionLanguage, submission_language
from trajectories.analysis.integrity.report import integrity_of, row
from trajectories.reading.reader import read_events

GIVEN = {"README.md": (b"read me", 0o644), "example.c": (b"int main(void) { return 0; }\n", 0o644)}
BUILD = "#!/bin/sh\nprintf '#!/bin/sh\\nexec python3 main.py\\n' >executable\n"
PYTHON = {"main.py": "import sys\n\nprint(sys.argv)\n", "compile.sh": BUILD}


def trial(
    path: Path,
    files: Mapping[str, str | bytes | None],
    *,
    original: str | None = "c",
    variant: str | None = "other-language",
    **options: bool,
) -> Path:
    """Record a trial with these files at its end."""
    record(path, [Step([Did("make")], files)], initial=GIVEN, **options)
    events = path / "events.jsonl"
    first, _, rest = events.read_text().partition("\n")
    started = json.loads(first)
    started["variant"] = variant
    started["task"]["language"] = original
    events.write_text(json.dumps(started) + "\n" + rest)
    return path


def language_of(path: Path) -> SubmissionLanguage:
    language = submission_language(path, read_events(path))
    assert language is not None
    return language


def test_a_submission_in_another_language_keeps_the_rule(tmp_path: Path) -> None:
    language = language_of(trial(tmp_path / "t", PYTHON))
    assert language.lines == {"Bash": 2, "Python": 2}
    assert (language.original, language.asked, language.kept, language.files) == ("C", True, True, [])


@pytest.mark.parametrize(
    ("original", "name", "text"),
    [
        ("c", "src/main.c", "int main(void) {}\n"),
        ("rs", "src/main.rs", "fn main() {}\n"),
        ("cpp", "a.cc", "int main() {}\n"),
        ("go", "x/a.go", "package main\n"),
        ("hs", "Main.hs", "main = pure ()\n"),
        ("java", "A.java", "class A {}\n"),
        ("c", "vendor/small.h", "int f(void);\n"),
    ],
)
def test_a_part_in_the_language_of_the_original_breaks_the_rule(
    tmp_path: Path, original: str, name: str, text: str
) -> None:
    language = language_of(trial(tmp_path / "t", {**PYTHON, name: text}, original=original))
    assert language.kept is False
    assert language.files == [name]
    assert language_of(trial(tmp_path / "u", {**PYTHON, name: text}, original=original, variant=None)).kept is None


@pytest.mark.parametrize(
    ("files", "original", "kept"),
    [
        ({"example.c": "int main(void) { return 0; }\n", "main.py": "x = 1\n"}, "c", True),
        ({"example.c": "int main(void) { return 1; }\n", "main.py": "x = 1\n"}, "c", False),
        ({"a.cpp": "int main() {}\n", "a.h": "int f();\n"}, "c", True),
        ({"a.cpp": "int main() {}\n", "a.h": "int f();\n"}, "cpp", False),
        ({"node_modules/x/a.c": "int f;\n", "main.js": "f()\n"}, "c", True),
        ({"main.txt": "int main(void) {}\n", "compile.sh": "gcc -x c main.txt -o executable\n"}, "c", None),
        ({"main.py": "x = 1\n", "compile.sh": "cat >m.rs <<E\nfn main(){}\nE\nrustc m.rs -o executable\n"}, "rs", None),
        ({"main.py": "x = 1\n"}, None, None),
        ({}, "c", None),
    ],
    ids=[
        "given",
        "changed",
        "header of C++",
        "header and C++",
        "not its own",
        "hidden",
        "in the build",
        "unknown",
        "none",
    ],
)
def test_what_counts_as_a_part(
    tmp_path: Path, files: Mapping[str, str | bytes | None], original: str | None, kept: bool | None
) -> None:
    assert language_of(trial(tmp_path / "t", files, original=original)).kept is kept


def test_without_snapshots_nothing_is_known(tmp_path: Path) -> None:
    path = trial(tmp_path / "t", PYTHON, snapshots=False)
    assert submission_language(path, read_events(path)) is None
    assert row(integrity_of(path))["other_language"] is None


def test_the_command_reports_the_rule(tmp_path: Path) -> None:
    broken = trial(tmp_path / "runs" / "b" / "t", {"main.c": "int main(void) {}\n"})
    result = agent(tmp_path, "analyze", str(broken), "--integrity", "--csv", str(tmp_path / "out.csv"))
    assert result.status == 0, result.err
    text = " ".join(result.out.split())
    assert "the rule of other-language (C) was broken by main.c; the submission is written in C (1 lines)" in text
    header, line = (tmp_path / "out.csv").read_text().splitlines()
    cells = dict(zip(header.split(","), line.split(","), strict=True))
    assert (cells["languages"], cells["original_language"], cells["other_language"]) == ("C:1", "C", "broken")
    (shown,) = agent(tmp_path, "analyze", str(broken), "--integrity", "--json").json["trials"]
    assert (shown["language"]["kept"], shown["language"]["files"]) == (False, ["main.c"])


def test_code_of_the_turn_before_is_the_agents_own(tmp_path: Path) -> None:
    """The first snapshot of a later turn holds what the turn before wrote."""
    path = trial(tmp_path / "t", {"notes.txt": "nothing new\n"})
    assert language_of(path).lines == {}
    events = path / "events.jsonl"
    first, _, rest = events.read_text().partition("\n")
    events.write_text(json.dumps({**json.loads(first), "turn": 2}) + "\n" + rest)
    assert language_of(path).lines == {"C": 1}
