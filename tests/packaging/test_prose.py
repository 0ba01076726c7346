"""`scripts/prose` counts the words that the project avoids, and prints their places."""

import ast
import subprocess
from pathlib import Path

import pytest

from scripts import prose

ROOT = Path(__file__).parents[2]

DOCUMENTED = '''
"""How a module begins."""

LIMIT = 3
"""Whether an attribute's text counts."""


class Holder:
    """What it holds."""

    size: int
    """Which size."""

    def method(self):
        """Where it ends."""
        if self.size:
            """How a string that documents nothing is passed over."""


async def later():
    """However it is written, this is another word."""
'''

NAMED = """
found = 1
for one in []: pass
[one for one in []]
def function(found, *one, key=None, **found2): pass
with open() as one: pass
if (found := 2): pass
lambda one: one
try: pass
except ValueError as found: pass
match 1:
    case [*one]: pass
    case {"a": found}: pass
import x as one
thing.found = found
call(one=one)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "agent").mkdir()
    (tmp_path / "scripts/prose.txt").write_text("# A comment.\nis no cat\nOf lists.\n")
    return tmp_path


def test_every_kind_of_docstring_is_read() -> None:
    lines = [line for line, text in prose.docstrings(ast.parse(DOCUMENTED)) if prose._QUESTION.match(text)]
    assert sorted(lines) == [2, 5, 9, 12, 15]


def test_every_kind_of_binding_is_counted() -> None:
    lines = [line for line, name in prose.names(ast.parse(NAMED)) if name in {"found", "one"}]
    assert sorted(lines) == [2, 3, 4, 5, 5, 6, 7, 8, 10, 12, 13, 14]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("It is no cat.", [1]),
        ("\nIS NO CAT", [2]),
        ("first\n# it is\n# no cat", [2]),
        ('("it is "\n f"no cat")', [1]),
        ("this no cat", []),
        ("of lists.", []),
        ("Of lists.", [1]),
    ],
)
def test_phrases_are_found_over_line_breaks(project: Path, text: str, lines: list[int]) -> None:
    (project / "README.md").write_text(text)
    patterns = prose.phrase_patterns((project / "scripts/prose.txt").read_text())
    assert [place.line for place in prose.places(project, patterns)] == lines


def test_limits_decide_the_status(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "agent/names.py").write_text("found = 1\n" * prose.LIMITS["names"])
    assert prose.main([], project) == 0
    (project / "agent/more.py").write_text("one = 1\n")
    assert prose.main([], project) == 1
    assert "21 of at most 20" in capsys.readouterr().out


def test_the_list_names_places_below_a_path(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "agent/a.py").write_text("\none = 1\n")
    (project / "README.md").write_text("This is no cat.\n")
    assert prose.main(["--list", "agent"], project) == 0
    assert capsys.readouterr().out == "agent/a.py:2: names: one\n"


def test_the_list_of_phrases_does_not_match_itself() -> None:
    result = subprocess.run([ROOT / "scripts/prose", "--list", "scripts/prose.py"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "")
