"""Journals that several tests read, and what a good run looks like."""

HOME = """\
# the year so far
2024-03-02 Weekly shop
    expenses:food          45.20
    assets:bank

2024-03-01 Opening balances
    assets:bank          1200.00   # from the old book
    assets:cash:wallet     30.5
    equity:opening

2024-03-02 Coffee, with "friends"
\texpenses:food:out\t7
\tassets:cash:wallet\t-7.00
2024-04-01 A description that is too long for its column
    expenses:rent       800
    # half of it is paid back
    assets:bank        -400.00
    assets:receivable
assert 2024-03-31 assets:bank 1154.80
assert 2024-03-31 assets 1178.3
"""

SMALL = "2024-01-01 One\n a 1.00\n b\n\n2024-01-03 Three\n a 3.00\n c\n\n2024-01-02 Two\n a:x 2.00\n c -2.00\n"


def good(result, stdout):
    """The run printed exactly this and exited with 0."""
    assert (result.stdout, result.stderr, result.code) == (stdout.encode(), b"", 0)


def bad(result, code, *lines):
    """The run printed exactly these lines on standard error, and nothing else."""
    stderr = "".join(line + "\n" for line in lines).encode()
    assert (result.stdout, result.stderr, result.code) == (b"", stderr, code)
