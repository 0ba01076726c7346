"""Messages of bash are those of `bash -lc SCRIPT`, byte for byte: they name bash, and no file of the harness."""

from __future__ import annotations

import re

import pytest

from .conftest import ALL, Place

SAME = (
    "no-such-command",
    "true\nno-such-command\n(no-such-command)\ncat <<E\n$(no-such-command)\nE\nno-such-command | cat",
    "f() {\n no-such-command\n}\nf",
    "no-such/file; /etc/passwd; cd /no-such-directory; . /no-such-file",
    'echo "$0|$BASH_SOURCE|${BASH_SOURCE[*]}|$LINENO|${FUNCNAME[*]}|$#|$-"; caller',
    "echo ${a?b}; echo not reached",
    "set -u\necho $unset\necho not reached",
    "echo $((1/0)); declare -r a=1; a=2",
    "return 3",
    "break; local x; exit 1 2",
    "cat <<E\nwithout an end",
    "set -e; trap 'echo trapped $LINENO' ERR EXIT\ntrue; false; echo not reached",
    "set -v; echo a\necho b",
    "echo 'ends with a backslash' \\",
    "# nothing",
    "",
    "cat; read -r line || echo none",
    "exec 10</dev/null 19</dev/null; echo on\necho still",
    "printf 'a\\r\\n'\r\nprintf b",
    "shopt login_shell; set -o | grep on$",
)
"""Scripts whose output and exit code are those of `bash -lc`."""
INVALID = ("if then fi (", "echo a\necho b\n}", 'echo "open\nnext', "echo $(", "case x in", "a=(1 2; echo")


def by_argument(place: Place, script: str) -> tuple[bytes, int | None]:
    """Return what `bash -lc SCRIPT` prints in the same place, and its exit code."""
    action = place.run('exec bash -lc "$GIVEN"', env={"GIVEN": script})
    return bytes(action.output), action.exit_code


@pytest.mark.parametrize("script", SAME)
def test_a_script_prints_what_it_prints_as_an_argument_of_bash(place: Place, script: str) -> None:
    action = place.run(script)
    assert (bytes(action.output), action.exit_code) == by_argument(place, script)


@pytest.mark.parametrize("script", INVALID)
def test_a_syntax_error_differs_in_one_word(place: Place, script: str) -> None:
    """`bash -c` names its option, and we evaluate the script: an argument has a limit, and all can see it."""
    output, code = by_argument(place, script)
    assert b"bash: -c: line " in output
    action = place.run(script)
    assert (bytes(action.output), bool(action.exit_code)) == (output.replace(b"bash: -c:", b"bash: eval:"), bool(code))


def test_a_message_of_a_persistent_shell_names_bash_alone(start: object) -> None:
    place: Place = start("local", shell="persistent")  # type: ignore[operator]
    assert place.run("true\nno-such-command").output == b"bash: no-such-command: command not found\n"
    assert (
        place.run("if then").output.splitlines()[0] == b"bash: eval: line 1: syntax error near unexpected token `then'"
    )
    assert place.run('echo "$0"').output == b"bash\n"
    assert place.run("return 3").exit_code == 3
    assert place.run("bash -c 'echo $0'").output == b"bash\n"


@pytest.mark.parametrize("label", ALL)
def test_no_output_names_a_file_of_the_harness(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    for script in ("no-such", "if then", "exec no-such", "set -x; f() { false; }; f", "kill -SEGV $$"):
        assert not re.search(rb"retrace|action|/proc/", bytes(place.run(script).output)), script


@pytest.mark.parametrize("raw", ["echo a\0b", "\0echo ab\0", "echo ab\n\0"])
def test_nul_in_a_script_is_ignored(place: Place, raw: str) -> None:
    """bash reads a file with NUL in it as if it were not there; an argument cannot hold one."""
    assert place.run(raw).output == b"ab\n"
