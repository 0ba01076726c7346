import pytest


def runs(candidate, words, stdout, code=0, stderr="", **given):
    result = candidate(*words, **given)
    assert (result.stdout, result.stderr, result.code) == (stdout.encode(), stderr.encode(), code)


@pytest.mark.parametrize(
    ("words", "stdout"),
    [
        ("3 1 2 7 9,8", "1..3,7..9"),
        ("5", "5"),
        ("4..6 5..9 1", "1,4..9"),
        ("1..3 4..6", "1..6"),
        ("-3 -2..1 -9", "-9,-3..1"),
        ("007 +8", "7..8"),
        ("7..7", "7"),
        ("-1000000000 1000000000", "-1000000000,1000000000"),
        ("1..3 5 7 -e", "1,2,3,5,7"),
        ("-r 1..3 5 8..9", "9..8,5,3..1"),
        ("-er 1..3 5", "5,3,2,1"),
        ("-m 3 1 2 5..7", "1,2,5..7"),
        ("-m4 -r 1..3 10..13", "13..10,3,2,1"),
        ("-g 1 1 3 5 8", "1..5,8"),
        ("-g 2 1 3 5 8 -20", "-20,1..8"),
        ("-w 3 1..5 12 1234", "001..005,012,1234"),
        ("-w4 -7 7", "-007,0007"),
        ("-d ; 1 3", "1;3"),
        (r"-d \n 1 3", "1\n3"),
        (r"-d \t\\ 1 3 5..6", "1\t\\3\t\\5..6"),
        ("-d- 1..2 4", "1..2-4"),
        ("-u 4..6,9 1..3", "1..6,9"),
        ("-i 2..4,8 1..3 8 9", "2..3,8"),
        ("-x 3..5,9 1..10", "1..2,6..8,10"),
        ("-x 1..10 -u 5 1..20", "5,11..20"),
        ("-u 5 -x 1..10 1..20", "11..20"),
        ("-u 30 -i 5..40 -x 7 1..9", "5..6,8..9,30"),
        ("-x 4 -g 1 1..9", "1..9"),
        ("-i1..3 2..5", "2..3"),
    ],
)
def test_writes(candidate, words, stdout):
    runs(candidate, words.split(), stdout + "\n")


@pytest.mark.parametrize(
    ("words", "stdout"),
    [
        ("-c 1..10 20", "11\n"),
        ("-c -e -1000000000..1000000000", "2000000001\n"),
        ("-s 5..7 1 -4", "numbers 5\nranges 3\nlowest -4\nhighest 7\n"),
        ("-s -g 3 5..7 1 -4", "numbers 8\nranges 2\nlowest -4\nhighest 7\n"),
        ("-cs 3", "numbers 1\nranges 1\nlowest 3\nhighest 3\n"),
        ("-q 3", ""),
    ],
)
def test_tells(candidate, words, stdout):
    runs(candidate, words.split(), stdout)


@pytest.mark.parametrize(
    ("words", "stdout"),
    [("-x 1..5 2", ""), ("-c -i 9 1", "0\n"), ("-s -i 9 1", "numbers 0\nranges 0\n"), ("-q -x 1 1", "")],
)
def test_empty_sets(candidate, words, stdout):
    runs(candidate, words.split(), stdout, code=1)


@pytest.mark.parametrize(
    ("words", "stderr"),
    [
        ("1 x", "bad item 'x'"),
        ("1..", "bad item '1..'"),
        ("1...3", "bad item '1...3'"),
        ("1-3", "bad item '1-3'"),
        ("5..1", "backward range '5..1'"),
        ("1000000001", "number out of range '1000000001'"),
        ("-k 1", "unknown option '-k'"),
        ("-ez 1", "unknown option '-ez'"),
        ("-m 1 1", "bad value '1' for -m"),
        ("-w 65 1", "bad value '65' for -w"),
        ("1 -d", "option needs a value '-d'"),
        (r"-d \x 1", "bad separator"),
        ("-f gone", "cannot read 'gone'"),
        ("-x 3,a 1", "bad item 'a'"),
        ("-e 1..1000001", "too many numbers to expand"),
    ],
)
def test_errors(candidate, words, stderr):
    runs(candidate, words.split(), "", 2, f"spans: {stderr}\n")


def test_reads_standard_input(candidate):
    runs(candidate, [], "1..3,7\n", stdin="3 1\n2,\t7\r\n\n,")


def test_empty_standard_input(candidate):
    runs(candidate, [], "", code=1)


def test_arguments_win_over_standard_input(candidate):
    runs(candidate, ["4"], "4\n", stdin="1 2 3")


def test_an_empty_argument_is_an_argument(candidate):
    runs(candidate, [""], "", code=1, stdin="1 2 3")


def test_reads_files_as_well(candidate):
    files = {"one": "1\n2\n", "two": "3, 9\n"}
    runs(candidate, ["-f", "one", "-ftwo", "10"], "1..3,9..10\n", files=files)


def test_many_numbers(candidate):
    numbers = " ".join(str(number) for number in range(0, 20000, 2))
    runs(candidate, ["-c"], "10000\n", stdin=numbers)
    runs(candidate, ["-g1"], "0..19998\n", stdin=numbers)
