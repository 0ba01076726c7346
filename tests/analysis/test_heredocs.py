"""Here-documents and standard input of commands, compared with what bash itself gives to them when it runs."""

from __future__ import annotations

import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.analysis.real_commands import real_commands
from tests.pace import plain_python_s
from trajectories.analysis.commands.classes import classify
from trajectories.analysis.commands.heredocs import taken_out
from trajectories.analysis.commands.shell import Command, FileWrite, items

SEE = """
see() {
    local text; text=$(cat; printf x)
    printf '%s\\037%s\\036' "$1" "${text%x}" >> "$LOG/$BASHPID"
}
. ./script
"""
"""Program that runs a script whose commands are `see NAME`: each writes its name and its standard input to a file."""


def bash_gives(folder: Path, script: str) -> set[tuple[str, str]]:
    """Run a script with bash, and return the name and the standard input of each `see`."""
    log = Path(tempfile.mkdtemp(dir=folder))
    (folder / "script").write_text(script)
    subprocess.run(
        ["bash", "-c", SEE],
        cwd=folder,
        env={"LOG": str(log), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    lines = [line for path in log.iterdir() for line in path.read_bytes().decode().split("\36")[:-1]]
    return {(name, text) for name, _, text in (line.partition("\37") for line in lines)}


def analysis_gives(script: str) -> set[tuple[str, str]]:
    """Return the name and the standard input of each `see` in a script."""
    commands = items(script)
    assert commands is not None, script
    return {
        (item.words[1], item.stdin or "")
        for item in commands
        if isinstance(item, Command) and item.words[0] == "see" and len(item.words) > 1
    }


SCRIPTS = [
    "cd . && see 1 - <<'P' && see 2\na\nP\n",
    "see 1 <<EOF\nEOFX\nEOF EOF\n EOF\nEOF\n",
    "see 1 <<-E\n\t\ttab\n\tE\nsee 2 <<-'E'\n\tx\nE\n",
    "see 1 <<A; see 2 <<B\na\nA\nb\nB\n",
    "see 1 <<A <<B\na\nA\nb\nB\n",
    "see 1 <<A | see 2 <<B\na\nA\nb\nB\n",
    'x=$(see 1 <<E\nin $\nE\n)\nsee 2 <<< "q"\n',
    "x=$(see 1 <<E)\nbody\nE\nsee 2 <<E\nafter\nE\n",
    'echo "$(see 1 <<E\nbody\nE)"\n',
    'see 1 <<E "a\nb"\nbody\nE\n',
    "see 1 <<E \\\n c\nbody\nE\n",
    "see 1 <<E\nfoo\\\nE\nbar\nE\n",
    'see 1 <<\'E\'\nfoo\\\nE\nsee 2 <<E\n\\$x \\\\ \\` "q" \\"\nE\n',
    'see 1 <<"E F"\na\nE F\nsee 2 <<E\\ F\nb\nE F\n',
    "see 1 << \\E\n$x `no`\nE\n",
    "see 1 <<$x\na\n$x\n",
    "see 1 <<''\nto the empty line\n\nsee 2 <<''\nb\n",
    'see 1 <<E; (( x = 1<<2 )); echo $((1<<3)) "$((1<<\n2))"; [[ a < b ]]\nx\nE\n',
    "echo $((1 << (2 + 1))); x=$(( 4<<1 )); see 1 <<E\na\nE\n",
    "see 1 <<E # a comment <<F 'quote\nb\nE\n: # <<G\nsee 2 <<< '<<H'\n",
    "case x in a) ;; x) see 1 <<E ;; esac\nb\nE\n",
    "y=$(case x in x) see 1 <<E ;;\nb)\nE\nesac); see 2 <<E\nc\nE\n",
    "for i in 1; do see $i <<E; done\n t\nE\n",
    "f() { see 1 <<E\na\nE\n}\nf\n",
    "{ see 1; } <<E\na\nE\n",
    "(see 1) <<E && see 2 <<F\na\nE\nb\nF\n",
    "if see 1 <<E; then see 2 <<F; fi\na\nE\nb\nF\n",
    "see 1 3<<E\nx\nE\n",
    "see 1 <<E\nunterminated",
    "see 1 <<E",
    "cat <<E | see 1\nx\nE\n",
    "cat <<E |\nx\nE\nsee 1\n",
    "echo a | cat | see 1; echo 'a  b' | see 2; printf '%s-%s\\n' a b | see 3; echo -n x | see 4\n",
    "echo aGVsbG8K | base64 -d | see 1; echo 68690a | xxd -r -p | see 2; echo uryyb | tr a-z n-za-m | see 3\n",
    "x='a b'; see 1 <<< \"$x\"; see 2 <<< a\\ b; see 3 <<< $'t\\tx'\n",
    "{ echo a; echo b; } | see 1; (echo c; printf d) | see 2\n",
    "see 1 <<E >out 2>&1 && see 2 <<E >>out\na\nE\nb\nE\n",
    "see 1 <<E &\na\nE\nwait\n",
    "! see 1 <<E || see 2 <<F\na\nE\nb\nF\n",
    "see 1 <<'EOF'\n\u201cquotes\u201d \u6f22\nEOF\nsee 2 <<'\u00e9'\na\n\u00e9\n",
    "see 1 <<'E'\r\na\nE\r\n",
]


NAMES_ONLY = [
    "echo `see 1 <<E\nbt\nE\n`; see 2 <<E\nafter\nE\n",
    "see 1 <<E\n$(see 2 <<F\nin\nF\n)\nE\n",
    'see 1 <<E\n$x "`see 2`" $(see 3)\nE\n',
    "f() { see 1; }; f <<E\na\nE\n",
]
"""Scripts in which the input is not followed: a text that a substitution is put into, and the input of a function."""


@pytest.mark.parametrize("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_a_command_gets_the_text_that_bash_gives_it(tmp_path: Path, script: str) -> None:
    assert analysis_gives(script) == bash_gives(tmp_path, script)


@pytest.mark.parametrize("script", NAMES_ONLY, ids=range(len(NAMES_ONLY)))
def test_commands_in_here_documents_are_those_that_bash_runs(tmp_path: Path, script: str) -> None:
    assert {name for name, _ in analysis_gives(script)} == {name for name, _ in bash_gives(tmp_path, script)}


@dataclass(frozen=True)
class Part:
    """A piece of a script, and the here-documents whose text follows its next newline.

    `substituted` is True if its first newline is inside of a substitution, which keeps the texts of here-documents
    around it waiting.
    """

    line: str
    bodies: str = ""
    substituted: bool = False


LINES = [
    "text",
    "EOFX",
    " EOF",
    "a 'quote",
    'b "quote',
    "paren )",
    "# <<G",
    "<<F",
    "((",
    "esac",
    "`",
    "$(",
    "\\",
    "",
    "}",
]
PLAIN_LINES = [line for line in LINES if not set(line) & set("`$\\")]


@st.composite
def _simple(draw: st.DrawFn) -> Part:
    name = draw(st.integers(0, 99))
    shape = draw(st.sampled_from(["quoted", "plain", "tabs", "string", "none"]))
    mark = draw(st.sampled_from(["EOF", "E", "END_1"]))
    if shape == "string":
        return Part(f"see {name} <<< '<<{mark}'")
    if shape == "none":
        return Part(f"see {name}")
    chosen = draw(st.lists(st.sampled_from(LINES if shape == "quoted" else PLAIN_LINES), max_size=4))
    text = "".join(f"{line}\n" for line in chosen if line.strip("\t") != mark)
    operator = {"quoted": f"<<'{mark}'", "plain": f"<<{mark}", "tabs": f"<<-{mark}"}[shape]
    end = f"\t{mark}\n" if shape == "tabs" else f"{mark}\n"
    return Part(f"see {name} {operator}", text + end)


def _joined(parts: tuple[Part, Part, str]) -> Part:
    first, second, between = parts
    before = f"{first.line} {between} "
    if not first.bodies or "\n" not in second.line:
        substituted = first.substituted if "\n" in first.line else second.substituted
        return Part(before + second.line, first.bodies + second.bodies, substituted)
    if second.substituted:
        return first
    line, _, rest = second.line.partition("\n")
    return Part(f"{before}{line}\n{first.bodies}{rest}", second.bodies, first.substituted)


def _inside(parts: tuple[Part, str]) -> Part:
    part, form = parts
    before, after = form.split("@")
    if "$(" in form and part.line.count("<<") > 1:
        return part  # bash 5.2 prints such a substitution before it runs it, and mixes up the texts
    return Part(f"{before}{part.line}\n{part.bodies}{after}", "", "$(" in form or part.substituted)


FORMS = ["( @)", "{ @}", "if true; then @fi", "x=$( @)", ': "$( @)"', "for i in 1; do @done", "case x in x) @;; esac"]
SHAPES = st.recursive(
    _simple(),
    lambda inner: st.one_of(
        st.tuples(inner, inner, st.sampled_from(["&&", "||", ";", "|"])).map(_joined),
        st.tuples(inner, st.sampled_from(FORMS)).map(_inside),
    ),
    max_leaves=5,
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(SHAPES, min_size=1, max_size=3))
def test_here_documents_of_any_shape_are_those_of_bash(tmp_path: Path, parts: list[Part]) -> None:
    script = "".join(f"{part.line}\n{part.bodies}" for part in parts)
    seen = analysis_gives(script)
    given_by_bash = bash_gives(tmp_path, script)
    # `see a || see b` runs only one of them, and what `see` prints is not known
    assert {pair for pair in given_by_bash if pair[1]} <= seen, script
    assert {name for name, _ in given_by_bash} <= {name for name, _ in seen}


def test_a_file_gets_the_text_of_the_command_that_is_redirected() -> None:
    written = {
        "cat <<E > a && ls > b\nx\nE\n": [("/w/a", "x\n"), ("/w/b", None)],
        "python3 - <<P > out\nprint(1)\nP\n": [("/w/out", None)],
        "cd src && cat > y.h <<E\nx\nE\n": [("/w/src/y.h", "x\n")],
        "(cd src; echo a > y); > z": [("/w/src/y", "a\n"), ("/w/z", None)],
        "{ echo '#!/bin/sh'; printf 'exec %s\\n' ./ref; } > run": [("/w/run", "#!/bin/sh\nexec ./ref\n")],
        "cat <<E | tee a > b\nx\nE\n": [("/w/b", "x\n")],
    }
    for script, files in written.items():
        commands = items(script, "/w") or []
        assert [(item.path, item.text) for item in commands if isinstance(item, FileWrite)] == files, script


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ("cd X && python3 - <<'P'\nopen('a', 'w').write('b')\nP\n", "write"),
        ("cat > x <<EOF\nEOFX\nEOF\n", "write"),
        ("cat <<E | bash\nmkdir src\nE\n", "write"),
        ("echo 'rm -rf build' | sh", "write"),
        ("cd /tmp; ls; cat <<'E' | python3 > /dev/null\nimport os\nos.remove('a')\nE\n", "write"),
    ],
)
def test_the_class_of_an_action_sees_its_here_documents(script: str, kind: str) -> None:
    assert classify(script) == (kind, True)


@pytest.mark.parametrize(
    "script",
    [
        "cat <<E\n" + "a" * 200_000,
        "cat <<a\n" + "a" * 200_000,
        "cat <<E\n" * 20_000,
        "cat <<-E\n" + "\tE " * 50_000,
        "cat <<E\n" + "\\\nE\n" * 50_000,
        "cat <<E\n" + "$(cat <<E\n" * 10_000,
        "cat <<E\n" + "`" * 100_000,
        "((" * 50_000 + "<<E",
        "<<E " * 20_000 + "\n",
        "$(" * 2000 + "<<E\n",
    ],
    ids=range(10),
)
def test_hostile_here_documents_take_linear_time(script: str) -> None:
    began = time.process_time()
    taken_out(script.encode())
    assert time.process_time() - began < 100 * plain_python_s()
    classify(script)


def test_real_commands_are_understood_as_bash_reads_them(shared_data: Path) -> None:
    """At least 99.9 % of the real commands that bash accepts are parsed, and those that it rejects are not."""
    scripts = sorted({script for harness in real_commands(shared_data).values() for script in harness})
    accepted = [script for script in scripts if _accepts(script)]
    understood = [script for script in accepted if items(script) is not None]
    print(f"{len(understood)} of {len(accepted)} are understood; bash rejects {len(scripts) - len(accepted)}")
    assert len(accepted) > 1000
    assert len(understood) >= 0.999 * len(accepted)


def _accepts(script: str) -> bool:
    check = subprocess.run(["bash", "-n"], input=script.encode("utf-8", "replace"), capture_output=True, check=False)
    return check.returncode == 0
