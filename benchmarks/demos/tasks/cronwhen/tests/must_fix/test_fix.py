import pytest
from runs import after, bad, good, listed, values


@pytest.mark.parametrize(
    ("item", "expected"),
    [("5-50/10", "5 15 25 35 45"), ("5/20", "5 25 45"), ("10-40/15,3", "3 10 25 40")],
)
def test_steps_count_from_the_beginning_of_the_range(candidate, item, expected):
    assert values(candidate, f"{item} * * * *", "minute") == expected


@pytest.mark.parametrize(("item", "expected"), [("7", "0"), ("5-7", "0 5 6"), ("0,7", "0"), ("6/1", "0 6")])
def test_sunday_is_seven_too(candidate, item, expected):
    assert values(candidate, f"0 0 * * {item}", "day of week") == expected


def test_sunday_as_seven_matches(candidate):
    assert after(candidate, "0 12 * * 7", "2024-01-01T00:00", 2) == ["2024-01-07 12:00", "2024-01-14 12:00"]


def test_names_in_upper_case(candidate):
    assert values(candidate, "0 0 * JAN-Mar MON,wed", "month") == "1 2 3"
    assert values(candidate, "0 0 * JAN-Mar MON,wed", "day of week") == "1 3"


def test_either_day_field_is_enough(candidate):
    assert after(candidate, "0 0 13 * fri", "2024-09-01T00:00", 4) == [
        "2024-09-06 00:00",
        "2024-09-13 00:00",
        "2024-09-20 00:00",
        "2024-09-27 00:00",
    ]


def test_either_day_field_is_enough_to_match(candidate):
    good(candidate("match", "30 6 1 * sun", "2024-02-01T06:30"), "yes")


def test_star_with_a_step_is_unrestricted(candidate):
    assert after(candidate, "0 0 */2 * mon", "2024-01-01T00:00", 3) == [
        "2024-01-15 00:00",
        "2024-01-29 00:00",
        "2024-02-05 00:00",
    ]


def test_leap_day_years_ahead(candidate):
    assert after(candidate, "0 0 29 2 *", "2025-01-01T00:00", 2) == ["2028-02-29 00:00", "2032-02-29 00:00"]


def test_leap_day_of_this_year(candidate):
    assert after(candidate, "59 23 29 * *", "2024-02-01T00:00", 2) == ["2024-02-29 23:59", "2024-03-29 23:59"]


def test_more_than_a_year_of_times(candidate):
    assert after(candidate, "@yearly", "2024-01-01T00:00", 4)[-1] == "2028-01-01 00:00"


def test_search_ends_after_forty_years(candidate):
    result = candidate("next", "0 0 1 1 *", "--from", "2024-06-01T00:00", "-n", "60")
    assert (len(result.stdout.splitlines()), result.stderr, result.code) == (40, b"no more matches\n", 1)


def test_next_is_later(candidate):
    assert after(candidate, "0 12 * * *", "2024-01-01T12:00", 1) == ["2024-01-02 12:00"]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("10-5 * * * *", "minute: backward range '10-5'"),
        ("* * * * fri-mon", "day of week: backward range 'fri-mon'"),
        ("* * 0 * *", "day of month: value out of range '0'"),
        ("* * * 0-3 *", "month: value out of range '0-3'"),
        ("*/0 * * * *", "minute: bad step '*/0'"),
    ],
)
def test_errors_of_expressions(candidate, expression, message):
    bad(candidate("explain", expression), message)


@pytest.mark.parametrize("count", ["0", "x"])
def test_bad_counts(candidate, count):
    bad(candidate("next", "@daily", "--from", "2024-01-01T00:00", "-n", count), f"bad count '{count}'")


def test_percent_with_a_backslash(candidate):
    result = listed(candidate, "0 1 * * * date +\\%F > out%input\n", "2024-01-01T00:00", "2024-01-01T02:00")
    good(result, "2024-01-01 01:00 date +%F > out")


def test_command_with_an_equals_sign(candidate):
    text = "MAILTO=me\n PATH = /bin\n0 3 * * * TZ=UTC backup --level=1\n"
    good(
        listed(candidate, text, "2024-01-01T00:00", "2024-01-01T04:00"),
        "2024-01-01 03:00 TZ=UTC backup --level=1",
    )


def test_indented_comment(candidate):
    text = "   # not a job at all\n\t# nor this\n0 3 * * * job\n"
    good(listed(candidate, text, "2024-01-01T00:00", "2024-01-01T04:00"), "2024-01-01 03:00 job")


def test_same_minute_by_line(candidate):
    text = "0 1 * * * zeta\n0 1 * * * alpha\n0 0 * * * middle\n"
    good(
        listed(candidate, text, "2024-01-01T00:00", "2024-01-01T01:30"),
        "2024-01-01 00:00 middle",
        "2024-01-01 01:00 zeta",
        "2024-01-01 01:00 alpha",
    )
