"""Lines that do not count. A missing report fails here as well."""


def rows(candidate):
    result = candidate()
    header, *rows = result.stdout.decode().splitlines()
    assert header == "path,visits"
    return dict(row.split(",") for row in rows)


def test_a_line_with_four_fields_does_not_count(candidate):
    assert rows(candidate)["/about"] == "1"


def test_a_path_with_errors_only_is_left_out(candidate):
    assert set(rows(candidate)) == {"/about", "/contact", "/home"}
