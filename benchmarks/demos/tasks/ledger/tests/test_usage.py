import pytest
from books import SMALL, bad


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", "usage: ledger COMMAND FILE [ARGUMENT...]"),
        ("total book", "ledger: unknown command 'total'"),
        ("register book", "ledger: 'register' needs an ACCOUNT"),
        ("check book --zero", "ledger: unknown option '--zero'"),
        ("balance book --from", "ledger: option '--from' needs a value"),
        ("balance book --from 2024-02-30", "ledger: invalid date '2024-02-30'"),
        ("balance --depth x --to y", "ledger: invalid depth 'x'"),
        ("check missing", "ledger: cannot read 'missing'"),
    ],
)
def test_errors_of_use(candidate, words, line):
    bad(candidate(*words.split(), files={"book": SMALL}), 2, line)


def test_the_command_line_comes_before_the_file(candidate):
    bad(candidate("balance", "missing", "--nope"), 2, "ledger: unknown option '--nope'")
