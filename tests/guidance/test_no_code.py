"""The rule that plans and answers hold no code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agent.errors import UserError
from agent.guidance.no_code import CODE, COPIED, FENCED, Violation, check, require_parsers

CODE_LINES = [
    ("Python", "total = 0"),
    ("Python", "- total += amount"),
    ("Python", "1. def parse(line):"),
    ("Python", "if amount < 0:"),
    ("Python", "elif amount == limit:"),
    ("Python", "`return a + b`"),
    ("Python", "parse(line)"),
    ("Python", ">>> parse(line)"),
    ("Python", "from os import path"),
    ("C", "int total;"),
    ("C", "} else if (x == 3) {"),
    ("C", "for (i = 0; i < n; i++)"),
    ("C", "#include <stdio.h>"),
    ("C", "struct entry {"),
    ("C++", "std::vector<int> v;"),
    ("Rust", "if x == 0 {"),
    ("Rust", "let mut x = 5;"),
    ("Rust", 'println!("x");'),
    ("Go", "x := parse(line)"),
    ("Go", "func main() {"),
    ("Java", 'String s = "a";'),
    ("JavaScript", "const x = rows.map(row => row.id);"),
    ("TypeScript", "function parse(line: string): number {"),
    ("Bash", "sort input.txt | uniq -c"),
    ("any", "x = 5"),
    (None, "x = 5;"),
    (None, "cat input.txt > out.txt"),
    (None, "+    x = parse(line)"),
    (None, "**x = 5**"),
    ("Python", "ｘ＝５"),
    ("Python", "x \u200b= 5"),
    ("Python", "x = 5\r"),
    ("Python", "\tx = 5"),
    ("Python", "x = \0 5"),
]
HONEST_LINES = [
    "Run `make test` after each change",
    "use argparse (stdlib)",
    "The function parse(line) should return None",
    "Read lines;",
    "read-only",
    "src/parser",
    "let users",
    "import data",
    "C++",
    "--verbose",
    "lexer > parser > printer",
    "map input -> output",
    "# Define goals",
    "> Quote: first the parser; then the printer.",
    "- [ ] build && test",
    "Edge cases: empty",
    "Use ```make``` to build",
    "Python >= 3.11",
]


@pytest.mark.parametrize(("language", "line"), CODE_LINES)
def test_a_line_of_code_breaks_the_rule(language: str | None, line: str) -> None:
    violation = check(f"First read the input.\n{line}\n", language=language)
    assert violation is not None
    assert (violation.rule, violation.line_number) == (CODE, 2)


@pytest.mark.parametrize("language", ["Python", "C", "JavaScript", "Bash", "any", None])
@pytest.mark.parametrize("line", HONEST_LINES)
def test_an_honest_line_keeps_the_rule(language: str | None, line: str) -> None:
    assert check(line, language=language) is None


@pytest.mark.parametrize("fence", ["```", "~~~", "  ```python", "> ```", "- ```"])
def test_a_fenced_block_is_code_closed_or_not(fence: str) -> None:
    assert check(f"Do this:\n\n{fence}\nplain words\n", language=None) == Violation(FENCED, fence.strip(), 3)


def test_nine_words_in_a_row_of_the_solution_are_code(tmp_path: Path) -> None:
    nine = "alpha beta gamma delta epsilon zeta eta theta iota"
    (tmp_path / "solution").mkdir()
    (tmp_path / "solution" / "a.py").write_text("x(" + nine.replace(" ", ", ") + ")\n")
    text = "Begin.\nThen Alpha, beta gamma\ndelta - epsilon\nzeta ETA is theta; {} of iota."
    for solution, expected in ((tmp_path, Violation(COPIED, "Then Alpha, beta gamma", 2)), (None, None)):
        assert check(text, language="Python", solution=solution) == expected
    assert check(text.replace("iota", "kappa"), language="Python", solution=tmp_path) is None


def test_without_the_extra_the_rule_is_a_usage_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from trajectories.analysis.code.grammars import parser

    parser.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_rust", None)
    with pytest.raises(UserError, match=r"no-code needs tree_sitter_rust: pip install 'retrace-agent\[analysis\]'"):
        require_parsers()
