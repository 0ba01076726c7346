"""The rule that plans and answers hold no code."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

from agent.errors import UserError
from agent.guidance import statements
from agent.guidance.no_code import CODE, COPIED, FENCED, Violation, check, require_parsers
from tests.guidance.labeled_texts import LabeledText, labeled_texts, measured, measured_table, real_prose

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "no-code.md"

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
    "--limit=5",
    "LANG=C.UTF-8",
    "tar(5), printf(3)",
    "Functions: parse(), format()",
    "- Result: `len([1, 2])` = `2`",
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


def test_precision_and_recall_on_the_held_out_texts_are_those_of_the_docs() -> None:
    result = measured("heldout")
    print(f"precision {result.precision:.3f}, recall {result.recall:.3f}: {result}")
    assert result.honest + result.code >= 60
    assert result.honest >= 30
    assert result.precision >= 0.95
    assert result.recall >= 0.8
    assert measured_table() in DOCS.read_text(encoding="utf-8"), "run scripts/docs"


@pytest.mark.parametrize("text", list(labeled_texts("tuning")), ids=lambda text: text.text[:40])
def test_the_rule_agrees_with_the_labels_of_the_texts_it_was_made_with(text: LabeledText) -> None:
    assert text.refused == text.holds_code


def test_of_the_prose_of_real_agents_only_lines_of_code_are_refused(shared_data: Path) -> None:
    lines = real_prose(shared_data)
    assert len(lines) > 3_000
    refused = [line for line in lines if check(line, language="Python") is not None]
    sentences = [line for line in refused if re.fullmatch(r"\s*(\S+ )?[A-Z][a-z']*,? .*[.:!?]", line)]
    print(f"{len(refused)} of {len(lines)} lines refused; sentences among them: {sentences}")
    assert 50 < len(refused) < 200, "the lines of code that agents wrote outside of fences"
    assert sentences == []


ALPHABET = st.sampled_from(
    [*"(){}[]<>=+-*/%&|^~!?:;,.#@$\\'\"` \t\r\nab1é😀\0＝\u200b\u2028\ud800", "```", "def ", "<<E", "${", "{😀"]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(ALPHABET, max_size=60).map("".join), st.sampled_from([None, "any", "Python", "C++", "Bash", "Brainfuck"])
)
@example("\n".join("=" * 50), None)
@example("( a { b [ c < d = e " * 500, None)
@example("x" * 100_000, "Python")
@example("(" * 30_000, "Bash")
def test_any_text_is_judged_and_the_line_is_one_of_the_text(text: str, language: str | None) -> None:
    violation = check(text, language=language)
    if violation is not None:
        assert 1 <= violation.line_number <= len(re.split("\r\n|[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text))
        assert len(violation.line) <= 200


def test_the_number_of_parsed_characters_grows_with_the_text_and_not_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing is linear for lines of a bounded length, so it is enough to count the characters."""
    parsed: list[int] = []
    real = statements.encoded
    monkeypatch.setattr(
        statements, "encoded", lambda language, source: parsed.append(len(source)) or real(language, source)
    )
    totals = []
    for size in (2_000, 4_000, 8_000):
        for text in ("a b = (" * (size // 7), "a b = (;" * (size // 8), "a b = (\n" * (size // 8)):
            parsed.clear()
            assert check(text, language=None) is None
            assert max(parsed, default=0) < 1_100
            totals.append(sum(parsed))
    assert totals[7] > totals[4] > 0
    assert all(after <= 2 * before + 1_000 for before, after in zip(totals[3:6], totals[6:], strict=True))
    assert sum(totals[6:]) <= 60 * 3 * 8_000
