import pytest
from books import HOME, SMALL, bad, good


def check(candidate, text):
    return candidate("check", "book", files={"book": text})


def test_counts(candidate):
    good(check(candidate, HOME), "transactions: 4\npostings: 10\nassertions: 2\n")


def test_empty_journal(candidate):
    good(check(candidate, ""), "transactions: 0\npostings: 0\nassertions: 0\n")


def test_reads_standard_input(candidate):
    good(candidate("check", "-", stdin=SMALL), "transactions: 3\npostings: 6\nassertions: 0\n")


def test_carriage_returns_and_no_last_newline(candidate):
    good(check(candidate, SMALL.replace("\n", "\r\n").rstrip()), "transactions: 3\npostings: 6\nassertions: 0\n")


def test_indented_comment_does_not_end_a_transaction(candidate):
    text = "2024-01-01 One\n a 1\n   # note\n# note\n b\n"
    good(check(candidate, text), "transactions: 1\npostings: 2\nassertions: 0\n")


def test_assertion_sees_later_lines_of_the_file(candidate):
    text = "assert 2024-01-02 a 3.00\n" + SMALL
    good(check(candidate, text), "transactions: 3\npostings: 6\nassertions: 1\n")


@pytest.mark.parametrize("word", ["2000-02-29"])
def test_dates(candidate, word):
    good(check(candidate, f"{word} Text\n a 1\n b\n"), "transactions: 1\npostings: 2\nassertions: 0\n")


@pytest.mark.parametrize("word", ["2100-02-29", "2024-04-31", "2024-1-1"])
def test_invalid_dates(candidate, word):
    bad(check(candidate, f"{word} Text\n a 1\n b\n"), 1, f"book:1: invalid date '{word}'")


@pytest.mark.parametrize("text", ["12.345", "+5", ".5", "12 34"])
def test_invalid_amounts(candidate, text):
    bad(check(candidate, f"2024-01-01 One\n b\n a {text}\n"), 1, f"book:3: invalid amount '{text}'")


@pytest.mark.parametrize("word", ["a::b", "a.b"])
def test_invalid_accounts(candidate, word):
    bad(check(candidate, f"2024-01-01 One\n {word} 1\n b\n"), 1, f"book:2: invalid account '{word}'")


def test_missing_description(candidate):
    bad(check(candidate, "2024-01-01 \n a 1\n b\n"), 1, "book:1: missing description")


def test_two_postings_without_amount(candidate):
    bad(
        check(candidate, "2024-01-01 One\n a 1\n b\n c\n"),
        1,
        "book:4: more than one posting without an amount",
    )


def test_one_posting_is_too_few(candidate):
    bad(check(candidate, "2024-01-01 One\n a 0\n"), 1, "book:1: transaction needs at least two postings")


@pytest.mark.parametrize(("amount", "off"), [("-1.50", "-0.50")])
def test_does_not_balance(candidate, amount, off):
    text = f"\n2024-01-01 One\n a 1\n b {amount}\n"
    bad(check(candidate, text), 1, f"book:2: transaction does not balance: off by {off}")


def test_each_posting_outside_is_an_error(candidate):
    text = "2024-01-01 One\n a 1\n b\n\n c 1\n d 2\n"
    bad(
        check(candidate, text),
        1,
        "book:5: posting outside a transaction",
        "book:6: posting outside a transaction",
    )


def test_unexpected_lines(candidate):
    text = "include other\nassert 2024-01-01 a\nassert 2024-01-01 a 1 2\nAssert 2024-01-01 a 1\n"
    bad(check(candidate, text), 1, *(f"book:{line}: unexpected line" for line in range(1, 5)))


def test_all_errors_by_line_and_one_for_each_transaction(candidate):
    text = (
        "2024-01-01 One\n a 1\n b 1\n\n2024-13-01 Two\n a:: 1\n b x\n\nwhat\n"
        "2024-01-03 Three\n a: x\n b y\nassert 2024-01-01 a 5.001\n"
    )
    bad(
        check(candidate, text),
        1,
        "book:1: transaction does not balance: off by 2.00",
        "book:5: invalid date '2024-13-01'",
        "book:9: unexpected line",
        "book:11: invalid account 'a:'",
        "book:13: invalid amount '5.001'",
    )


def test_failed_assertions(candidate):
    text = SMALL + "assert 2024-01-02 a 3.00\nassert 2024-01-02 a 4\nassert 2024-01-01 c 0.01\nassert 2023-12-31 a 0\n"
    bad(
        check(candidate, text),
        1,
        "book:13: balance of a on 2024-01-02 is 3.00, not 4.00",
        "book:14: balance of c on 2024-01-01 is 0.00, not 0.01",
    )


def test_assertions_wait_for_other_errors(candidate):
    bad(check(candidate, SMALL + "assert 2024-01-02 a 4\nodd\n"), 1, "book:13: unexpected line")


@pytest.mark.parametrize("command", ["balance", "csv"])
def test_no_command_prints_from_a_faulty_journal(candidate, command):
    result = candidate(command, "-", stdin=SMALL + "odd\n")
    bad(result, 1, "-:12: unexpected line")
