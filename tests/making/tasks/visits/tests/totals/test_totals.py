"""The lines of the report."""


def lines(candidate):
    result = candidate()
    assert result.code == 0
    return result.stdout.decode().splitlines()


def test_home_is_counted_without_errors(candidate):
    assert "/home,2" in lines(candidate)


def test_the_whole_report(candidate):
    assert candidate().stdout == b"path,visits\n/about,1\n/contact,1\n/home,2\n"
