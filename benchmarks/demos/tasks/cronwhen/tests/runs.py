"""Runs of the program, and what a good one looks like."""


def good(result, *lines):
    """The run printed exactly these lines and exited with 0."""
    stdout = "".join(line + "\n" for line in lines).encode()
    assert (result.stdout, result.stderr, result.code) == (stdout, b"", 0)


def bad(result, message):
    """The run printed this error of use and nothing else, and exited with 2."""
    assert (result.stdout, result.stderr, result.code) == (b"", f"when: {message}\n".encode(), 2)


def values(candidate, expression, field):
    """What `explain` prints for a field."""
    result = candidate("explain", expression)
    assert (result.stderr, result.code) == (b"", 0)
    return dict(line.split(": ", 1) for line in result.stdout.decode().splitlines())[field]


def after(candidate, expression, start, count):
    """The times that `next` prints, without the weekday."""
    result = candidate("next", expression, "--from", start, "-n", str(count))
    assert (result.stderr, result.code) == (b"", 0)
    return [line.rpartition(" ")[0] for line in result.stdout.decode().splitlines()]


def listed(candidate, text, start, end):
    """The run of `list` on a crontab with this text."""
    return candidate("list", "tab", "--from", start, "--to", end, files={"tab": text})
