import pytest
from runs import after, bad, good, listed, values


def test_explain(candidate):
    good(
        candidate("explain", "*/15 9 * jan-mar mon-fri"),
        "minute: 0 15 30 45",
        "hour: 9",
        "day of month: *",
        "month: 1 2 3",
        "day of week: 1 2 3 4 5",
    )


@pytest.mark.parametrize(
    ("item", "expected"),
    [("*/20", "0 20 40"), ("0-30/10", "0 10 20 30"), ("9,3,3-5", "3 4 5 9"), ("59", "59")],
)
def test_minutes(candidate, item, expected):
    assert values(candidate, f"{item} * * * *", "minute") == expected


def test_months_step(candidate):
    assert values(candidate, "0 0 1 */4 *", "month") == "1 5 9"


@pytest.mark.parametrize(
    ("macro", "expected"),
    [
        ("@daily", "2024-03-11 00:00"),
        ("@weekly", "2024-03-17 00:00"),
        ("@monthly", "2024-04-01 00:00"),
        ("@yearly", "2025-01-01 00:00"),
    ],
)
def test_macros(candidate, macro, expected):
    assert after(candidate, macro, "2024-03-10T12:34", 1) == [expected]


def test_next_shows_the_weekday(candidate):
    good(
        candidate("next", "0 0 * * *", "--from", "2024-01-30T23:59", "-n", "2"),
        "2024-01-31 00:00 Wed",
        "2024-02-01 00:00 Thu",
    )


def test_across_the_year(candidate):
    assert after(candidate, "30 23 31 * *", "2023-12-31T00:00", 2) == ["2023-12-31 23:30", "2024-01-31 23:30"]


def test_only_weekdays(candidate):
    assert after(candidate, "0 9 * * fri", "2024-01-01T00:00", 2) == ["2024-01-05 09:00", "2024-01-12 09:00"]


def test_weekday_star_with_a_step_is_unrestricted(candidate):
    assert after(candidate, "0 0 10 * */3", "2024-01-01T00:00", 2) == ["2024-01-10 00:00", "2024-02-10 00:00"]


def test_no_matches_at_all(candidate):
    result = candidate("next", "0 0 30 2 *", "--from", "2024-01-01T00:00")
    assert (result.stdout, result.stderr, result.code) == (b"", b"no more matches\n", 1)


def test_match(candidate):
    good(candidate("match", "*/5 8-17 * * mon-fri", "2024-01-05T17:55"), "yes")


@pytest.mark.parametrize("time", ["2024-01-05T17:56", "2024-01-05T18:00", "2024-01-06T10:00"])
def test_no_match(candidate, time):
    result = candidate("match", "*/5 8-17 * * mon-fri", time)
    assert (result.stdout, result.stderr, result.code) == (b"no\n", b"", 1)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("* * * *", "expected 5 fields, found 4"),
        ("60 * * * *", "minute: value out of range '60'"),
        ("* * * foo *", "month: bad item 'foo'"),
        ("1,,2 * * * *", "minute: bad item ''"),
        ("* */x * * *", "hour: bad step '*/x'"),
        ("@never", "unknown macro '@never'"),
    ],
)
def test_errors_of_expressions(candidate, expression, message):
    bad(candidate("match", expression, "2024-01-01T00:00"), message)


@pytest.mark.parametrize("time", ["2024-02-30T00:00", "2024-01-01 00:00", "2024-01-01T24:00"])
def test_bad_times(candidate, time):
    bad(candidate("match", "@daily", time), f"bad time '{time}'")


def test_list(candidate):
    text = "# jobs\nMAILTO=root\n\n30 * * * * half past\n@daily at midnight\n"
    good(
        listed(candidate, text, "2024-01-01T23:30", "2024-01-02T00:30"),
        "2024-01-01 23:30 half past",
        "2024-01-02 00:00 at midnight",
        "2024-01-02 00:30 half past",
    )


def test_command_ends_at_percent(candidate):
    good(
        listed(candidate, "0 0 * * * mail me%Hello%you\n", "2024-01-01T00:00", "2024-01-01T00:00"),
        "2024-01-01 00:00 mail me",
    )


def test_list_reports_all_errors(candidate):
    result = listed(candidate, "61 * * * * a\n0 0 * * * b\n0 0 * * *\nx\n", "2024-01-01T00:00", "2024-01-02T00:00")
    assert (result.stdout, result.code) == (b"", 1)
    assert result.stderr.decode().splitlines() == [
        "tab:1: minute: value out of range '61'",
        "tab:3: line has no command",
        "tab:4: expected 5 fields, found 1",
    ]


def test_list_without_a_file(candidate):
    bad(candidate("list", "gone", "--from", "2024-01-01T00:00", "--to", "2024-01-01T00:00"), "cannot read 'gone'")
