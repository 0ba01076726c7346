import pytest
from books import HOME, SMALL, good


def run(candidate, text, command, *arguments):
    return candidate(command, "book", *arguments, files={"book": text})


def test_balance(candidate):
    good(
        run(candidate, HOME, "balance"),
        "        754.80  assets:bank\n"
        "         23.50  assets:cash:wallet\n"
        "       -400.00  assets:receivable\n"
        "      -1230.50  equity:opening\n"
        "         45.20  expenses:food\n"
        "          7.00  expenses:food:out\n"
        "        800.00  expenses:rent\n"
        "--------------\n"
        "          0.00\n",
    )


def test_balance_of_nothing(candidate):
    good(run(candidate, "", "balance"), "--------------\n          0.00\n")


def test_balance_of_some_accounts(candidate):
    good(
        run(candidate, HOME, "balance", "expenses:food", "assets:cash"),
        "         23.50  assets:cash:wallet\n"
        "         45.20  expenses:food\n"
        "          7.00  expenses:food:out\n"
        "--------------\n"
        "         75.70\n",
    )


def test_an_account_is_not_a_prefix_of_letters(candidate):
    text = "2024-01-01 One\n ab 1\n a:b 2\n a-b 4\n c\n"
    good(run(candidate, text, "balance", "a"), "          2.00  a:b\n--------------\n          2.00\n")


def test_balance_depth(candidate):
    good(
        run(candidate, HOME, "balance", "--depth", "1"),
        "        378.30  assets\n"
        "      -1230.50  equity\n"
        "        852.20  expenses\n"
        "--------------\n"
        "          0.00\n",
    )


def test_balance_depth_of_some_accounts(candidate):
    good(
        run(candidate, HOME, "balance", "--depth", "2", "expenses"),
        "         52.20  expenses:food\n"
        "        800.00  expenses:rent\n"
        "--------------\n"
        "        852.20\n",
    )


def test_balance_between_days(candidate):
    good(
        run(candidate, HOME, "balance", "--from", "2024-03-02", "--to", "2024-03-31"),
        "        -45.20  assets:bank\n"
        "         -7.00  assets:cash:wallet\n"
        "         45.20  expenses:food\n"
        "          7.00  expenses:food:out\n"
        "--------------\n"
        "          0.00\n",
    )


def test_zero_balances(candidate):
    text = "2024-01-01 One\n a 1\n b\n\n2024-01-02 Back\n a -1\n c\n"
    good(
        run(candidate, text, "balance"),
        "         -1.00  b\n          1.00  c\n--------------\n          0.00\n",
    )
    good(
        run(candidate, text, "balance", "--zero"),
        "          0.00  a\n         -1.00  b\n          1.00  c\n--------------\n          0.00\n",
    )


def test_accounts_are_sorted_by_bytes(candidate):
    text = "2024-01-01 One\n b 1\n B 2\n a_ 3\n a:x 4\n a-x 5\n a0 6\n z -21\n"
    good(
        run(candidate, text, "balance"),
        "          2.00  B\n          5.00  a-x\n          6.00  a0\n          4.00  a:x\n          3.00  a_\n"
        "          1.00  b\n        -21.00  z\n--------------\n          0.00\n",
    )


def test_amounts_are_exact(candidate):
    lines = "".join(" many 0.10\n" for _ in range(1000)) + " big 999999999999.99\n big 999999999999.99\n rest\n"
    good(
        run(candidate, "2024-01-01 Sum\n" + lines, "balance"),
        "1999999999999.98  big\n        100.00  many\n-2000000000099.98  rest\n--------------\n          0.00\n",
    )


def test_no_negative_zero(candidate):
    good(
        run(candidate, "2024-01-01 Zero\n a -0.00\n b\n", "register", "a"),
        "2024-01-01  Zero                              0.00          0.00\n",
    )


def test_small_negative_amount_keeps_its_sign(candidate):
    good(
        run(candidate, "2024-01-01 Cent\n a -0.05\n b\n", "register", "a"),
        "2024-01-01  Cent                             -0.05         -0.05\n",
    )


def test_register(candidate):
    good(
        run(candidate, HOME, "register", "assets"),
        "2024-03-01  Opening balances               1200.00       1200.00\n"
        "2024-03-01  Opening balances                 30.50       1230.50\n"
        "2024-03-02  Weekly shop                     -45.20       1185.30\n"
        '2024-03-02  Coffee, with "friends"           -7.00       1178.30\n'
        "2024-04-01  A description that is...       -400.00        778.30\n"
        "2024-04-01  A description that is...       -400.00        378.30\n",
    )


def test_register_of_an_unknown_account(candidate):
    good(run(candidate, HOME, "register", "nothing"), "")


def test_register_between_days_counts_from_zero(candidate):
    good(
        run(candidate, HOME, "register", "--from", "2024-04-01", "assets:bank", "--to", "2024-04-01"),
        "2024-04-01  A description that is...       -400.00       -400.00\n",
    )


def test_last_option_counts(candidate):
    good(
        run(candidate, SMALL, "register", "a", "--to", "2024-01-01", "--to", "2024-01-02"),
        "2024-01-01  One                               1.00          1.00\n"
        "2024-01-02  Two                               2.00          3.00\n",
    )


def test_register_counts_characters(candidate):
    name = "K\u00e4sekuchen f\u00fcr Gr\u00fc\u00dfe"
    good(
        run(candidate, f"2024-01-01 {name}\n a 1\n b\n", "register", "a"),
        f"2024-01-01  {name:<24}          1.00          1.00\n",
    )


@pytest.mark.parametrize(("length", "shown"), [(24, "x" * 24), (25, "x" * 21 + "...")])
def test_register_cuts_only_what_is_too_long(candidate, length, shown):
    text = f"2024-01-01 {'x' * length}\n a 1\n b\n"
    good(run(candidate, text, "register", "b"), f"2024-01-01  {shown}         -1.00         -1.00\n")


def test_print(candidate):
    good(
        run(candidate, HOME, "print"),
        "2024-03-01 Opening balances\n"
        "    assets:bank                          1200.00\n"
        "    assets:cash:wallet                     30.50\n"
        "    equity:opening                      -1230.50\n"
        "\n"
        "2024-03-02 Weekly shop\n"
        "    expenses:food                          45.20\n"
        "    assets:bank                           -45.20\n"
        "\n"
        '2024-03-02 Coffee, with "friends"\n'
        "    expenses:food:out                       7.00\n"
        "    assets:cash:wallet                     -7.00\n"
        "\n"
        "2024-04-01 A description that is too long for its column\n"
        "    expenses:rent                         800.00\n"
        "    assets:bank                          -400.00\n"
        "    assets:receivable                    -400.00\n",
    )


def test_print_twice_is_the_same(candidate):
    once = run(candidate, HOME.replace("too long", "too   long"), "print")
    again = candidate("print", "-", stdin=once.stdout)
    assert (once.code, again.code) == (0, 0)
    assert b"too   long" in once.stdout
    assert again.stdout == once.stdout


def test_print_long_account(candidate):
    name = "a" * 20 + ":" + "b" * 20
    good(
        run(candidate, f"2024-01-01   Wide \n {name} 1\n b\n", "print"),
        f"2024-01-01 Wide\n    {name}          1.00\n    b                                      -1.00\n",
    )


def test_csv(candidate):
    good(
        run(candidate, HOME, "csv"),
        "date,description,account,amount\n"
        "2024-03-01,Opening balances,assets:bank,1200.00\n"
        "2024-03-01,Opening balances,assets:cash:wallet,30.50\n"
        "2024-03-01,Opening balances,equity:opening,-1230.50\n"
        "2024-03-02,Weekly shop,expenses:food,45.20\n"
        "2024-03-02,Weekly shop,assets:bank,-45.20\n"
        '2024-03-02,"Coffee, with ""friends""",expenses:food:out,7.00\n'
        '2024-03-02,"Coffee, with ""friends""",assets:cash:wallet,-7.00\n'
        "2024-04-01,A description that is too long for its column,expenses:rent,800.00\n"
        "2024-04-01,A description that is too long for its column,assets:bank,-400.00\n"
        "2024-04-01,A description that is too long for its column,assets:receivable,-400.00\n",
    )


def test_the_journal_is_not_changed(candidate):
    result = run(candidate, HOME, "print")
    assert result.code == 0
    assert dict(result.files) == {"book": HOME.encode()}
