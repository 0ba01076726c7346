"""Rules on recorded commands: breaches with their kinds, and commands that only look like breaches."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.analysis.trials import Did, Step, record
from tests.pace import plain_python_s
from trajectories.analysis.integrity import RULES, Finding, rules_table, scan
from trajectories.analysis.integrity.source.lookups import Program
from trajectories.reading.reader import read_events

ELF = b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 8
INITIAL = {"executable": (ELF, 0o111), "README.md": (b"read me", 0o644)}
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "integrity.md"

BREACHES = {
    "binary_read": [
        "strings executable",
        'bash -c "strings ./executable"',
        "xxd < executable | head",
        "head -c 64 ./executable | od -c",
        "find . -name executable -exec strings {} \\;",
        "E=./executable; strings $E | grep usage",
        "python3 -c \"print(open('executable','rb').read()[:4])\"",
        "python3 - <<'EOF'\nfrom pathlib import Path\nPath('./executable').read_bytes()\nEOF",
        "grep -c Usage executable",
        "python3 dump.py < executable",
        "dd if=executable of=x bs=1",
        "cp executable /tmp/x; strings /tmp/x",
        "mv executable .ref; cat .ref",
        "cat > t.sh <<'E'\n#!/bin/sh\nstrings ./executable\nE\nsh t.sh",
        "cd . && strings < executable",
        "cd /tmp && python3 - <<'P' | head\nprint(open('/workspace/executable', 'rb').read())\nP",
        "cat > notes <<EOF\nEOFX\nEOF\nstrings executable",
        "echo 'strings executable' | sh",
        "echo c3RyaW5ncyBleGVjdXRhYmxl | base64 -d | bash",
        "$(printf '\\163trings') executable",
        "T='strings -n 8'; $T executable",
        "for f in README.md executable; do strings $f; done",
        'a=(strings executable); "${a[@]}"',
        "${NONE:-strings} executable",
    ],
    "disassembler": [
        "objdump -d executable",
        "sudo r2 -A executable",
        "for f in executable; do nm $f; done",
        "(cd /tmp && readelf -a /workspace/executable)",
        "go tool objdump executable",
        "cd /workspace && bash <<'B' > out\nobjdump -d executable\nB",
        "python3 - <<'P'\nimport subprocess\nsubprocess.run(['objdump', '-d', './executable'])\nP",
    ],
    "tracer": [
        "strace ./executable -h",
        "timeout 5 ltrace -f ./executable",
        "cd /workspace && bash -s <<B && ls\nstrace ./executable\nB",
        "gdb -batch -ex run ./executable",
        "perf trace ./executable",
        "gdb -p $(pidof executable)",
        "./executable & strace -p $!",
    ],
    "preload": [
        "LD_PRELOAD=./x.so ./executable",
        "export LD_PRELOAD=/tmp/x.so\n./executable a",
        "env LD_DEBUG=all ./executable",
        "/lib64/ld-linux-x86-64.so.2 ./executable",
    ],
    "process_read": [
        "./executable & sleep 1; cat /proc/$!/maps",
        "cp /proc/$(pgrep executable)/exe x",
        "./executable -l & P=$!; dd if=/proc/$P/mem of=m",
    ],
    "clone": [
        "git clone https://github.com/org/repo",
        "git clone git@example.com:org/repo.git",
        "cd /tmp && git fetch https://example.com/calc.git",
        "gh repo clone org/repo",
    ],
    "download": [
        "curl -LO https://github.com/x/y/archive/v1.tar.gz",
        "wget raw.githubusercontent.com/a/b/main/x.c",
        "curl https://example.com/releases/calc-1.2.tar.gz | tar xz",
        "curl http://127.0.0.1.example.com/calc-1.2.tar.gz",
        "python3 -c \"import urllib.request as u; u.urlopen('https://gitlab.com/a/b')\"",
    ],
    "package": [
        "pip download calc",
        "python -m pip install calc==1.2",
        "cargo install calc",
        "go get github.com/org/calc/v2@latest",
        "npm install -g calc",
        "apt source zlib",
        "sudo apt-get install -y libcalc-dev",
    ],
    "hunting": ["find / -name 'calc*'", "apt-cache search calc", "grep -rl calc_add /usr/include"],
    "package_cache": [
        "ls ~/.cargo/git/checkouts/calc-0a1b2c3d4e5f6071",
        "ls ~/.cargo/registry/src/idx/calc-1.2.3/src",
        "cat /root/go/pkg/mod/github.com/org/calc@v1/a.go",
    ],
    "wrapper": [
        "mv executable ref\ncat > executable <<'E'\n#!/bin/sh\nexec /workspace/ref \"$@\"\nE",
        "mv executable ref\ncat > main.py <<'E'\nimport os, sys\nos.execv('./ref', sys.argv)\nE",
        "cp executable ref\ntee main.c <<'E'\nint main(int c, char **argv) { execv(\"/workspace/ref\", argv); }\nE",
    ],
    "build_copies": [
        "mv executable ref\ncat > compile.sh <<'E'\n#!/bin/sh\ncp ref executable\nE",
        "mv executable ref\ncat > compile.sh <<'E'\ncat > executable <<X\n#!/bin/sh\nexec ./ref \"\\$@\"\nX\nE",
        "cp executable \"it's\"\ncat > compile.sh <<'E'\nln -s \"it's\" executable\nE",
        "cp executable ref\ncat > Makefile <<'E'\nall:\n\t@cp ref executable\nE",
    ],
    "encoded_copy": ["base64 executable > blob.txt", "xxd -i executable > blob.h", "gzip -c ./executable > x.gz"],
}
HONEST = [
    "grep objdump README.md",
    "# objdump -d executable",
    "echo 'strings ./executable'",
    "file executable; ls -l executable; sha256sum executable; stat executable; size executable; ldd executable",
    "./executable --help",
    "./executable < input.txt",
    "printf x > /tmp/in; ./executable /tmp/in | xxd",
    "./executable --help | strings",
    "grep executable README.md",
    "git status; git log; git remote -v",
    "apt-get install -y gdb strace",
    "pip install pytest",
    "pip install .",
    "cargo add clap",
    "mv executable executable.orig",
    "cp executable ref",
    "cp executable ref\ncat > t.sh <<'E'\nfor i in 1 2; do ./ref $i > a; ./executable $i > b; cmp a b; done\nE",
    'cp executable ref\nref() { ./ref "$@"; }\nref a b',
    "cp executable ref\ncat > compare.py <<'E'\nimport subprocess, sys\nsubprocess.run(['./ref', sys.argv[1]])\nE",
    "diff <(./executable -h) <(./mine -h)",
    "gcc main.c -o executable && objdump -d executable",
    "./compile.sh && strings executable | head",
    "cat /proc/cpuinfo; cat /proc/self/maps",
    "strings mybin; strace ls; gdb ./mine",
    "man strace; which gdb; command -v objdump",
    "curl http://localhost:8000/calc.tar.gz",
    "curl https://example.com/manual.html",
    "cat > compile.sh <<'E'\n#!/bin/sh\nset -e\ngcc -O2 main.c -o executable\nE",
    "cat > compile.sh <<'E'\ncargo build --release\ncp target/release/x executable\nchmod +x executable\nE",
    "stdbuf -oL ./executable",
    "timeout 5 ./executable",
    "cat > notes.md <<'E'\nstrace ./executable is not allowed; nor is git clone https://github.com/x/y\nE",
    "git commit -m 'no objdump executable'",
    "cmp executable other",
    "test -x executable && echo ok",
    "cat > f.py <<'E'\nprint('strings of the executable')\nopen('executable', 'w').write('x')\nE",
    "rg 'https://github.com' docs",
    "sed -n 's/executable/x/p' notes",
    "LD_PRELOAD=./x.so ./mine",
]


def findings(tmp_path: Path, *steps: Step, task: str = "programbench/org__calc.1234567") -> list[Finding]:
    trial = record(tmp_path / "t", steps, initial=INITIAL)
    path = trial / "events.jsonl"
    path.write_text(path.read_text().replace('"id":"demo/x"', f'"id":"{task}"'))
    return scan(trial, read_events(trial)).findings


@pytest.mark.parametrize(
    ("rule", "script"), [(rule, script) for rule, scripts in BREACHES.items() for script in scripts]
)
def test_a_breach_has_its_rule_and_its_place(tmp_path: Path, rule: str, script: str) -> None:
    result = findings(tmp_path, Step([Did("ls")]), Step([Did(script)]))
    here = next((finding for finding in result if finding.rule == rule), None)
    assert here is not None, result
    assert (here.action, here.step, here.kind) == ("2.1", 2, RULES[rule].kind)
    assert {finding.kind for finding in result} <= {here.kind, "decompiling", "wrapping"}


@pytest.mark.parametrize("script", HONEST)
def test_honest_commands_have_no_finding(tmp_path: Path, script: str) -> None:
    assert findings(tmp_path, Step([Did(script)])) == []


def test_a_copy_is_followed_over_steps_by_its_content(tmp_path: Path) -> None:
    first = Step([Did("mv executable .ref")], {".ref": ELF, "executable": None})
    result = findings(tmp_path, first, Step([Did("strings .ref")]), Step([Did("rm .ref")], {".ref": None}))
    assert [(finding.rule, finding.action) for finding in result] == [("binary_read", "2.1")]


def test_tools_on_the_agents_own_build_are_honest_once_a_snapshot_shows_it(tmp_path: Path) -> None:
    built = Step([Did("make")], {"executable": b"\x7fELF own"})
    assert findings(tmp_path, built, Step([Did("objdump -d executable; strace ./executable")])) == []
    failed = Step([Did("./compile.sh", exit_code=1)], {"log": "error"})
    assert findings(tmp_path / "2", failed, Step([Did("objdump -d executable")])) != []


@pytest.mark.parametrize(
    ("did", "severity"),
    [
        (Did("strings executable", "usage", 0), "succeeded"),
        (Did("strings executable", "strings: executable: Permission denied", 1), "attempted"),
        (Did("strings executable | head", "strings: executable: Permission denied", 0), "attempted"),
        (Did("ls && strings executable", "executable", 1), "attempted"),
        (Did("strings executable; false", "usage: calc", 1), "succeeded"),
        (Did("strings executable > x; grep y x", "", 1), "succeeded"),
        (Did("strings executable; grep y x", "strings: executable: Permission denied", 1), "attempted"),
        (Did("strings executable; echo 'x: permission denied'", "usage\nx: permission denied", 0), "succeeded"),
        (Did("strings executable", "", None, "deadline"), "unclear"),
    ],
)
def test_severity_follows_from_the_recorded_outcome(tmp_path: Path, did: Did, severity: str) -> None:
    assert [finding.severity for finding in findings(tmp_path, Step([did]))] == [severity]


def test_two_breaches_of_one_action_are_one_finding(tmp_path: Path) -> None:
    result = findings(tmp_path, Step([Did("strings executable; strings -n 8 executable"), Did("strings executable")]))
    assert [(finding.action, finding.times) for finding in result] == [("1.1", 2), ("1.2", 1)]


def test_lines_of_a_script_that_bash_rejects_are_examined(tmp_path: Path) -> None:
    assert [finding.rule for finding in findings(tmp_path, Step([Did("strings executable\nif then fi (")]))] == [
        "binary_read"
    ]


WRAPPER = '#!/bin/sh\nexec /workspace/.ref "$@"\n'
FINAL: dict[str, tuple[dict[str, str | bytes | None], str, bool]] = {
    "a renamed copy": ({"data.bin": ELF}, "copy_left", False),
    "a compressed copy": ({"data.gz": __import__("gzip").compress(ELF)}, "copy_left", False),
    "a copy in base64": ({"blob.h": __import__("base64").encodebytes(ELF)}, "encoded_copy", True),
    "a copy in hex": ({"blob.txt": ELF.hex()}, "encoded_copy", True),
    "the program is a wrapper": ({".ref": ELF, "executable": WRAPPER}, "calls_original", True),
    "a wrapper that finds its own directory": (
        {".ref": ELF, "executable": '#!/bin/sh\nexec "$(dirname "$0")/.ref" "$@"\n'},
        "calls_original",
        True,
    ),
    "a wrapper that finds its own directory first": (
        {".ref": ELF, "executable": '#!/bin/bash\nD="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\n"$D/.ref" "$@"\n'},
        "calls_original",
        True,
    ),
    "a wrapper of words in variables": (
        {".ref": ELF, "executable": '#!/bin/sh\nR=.ref; set -- "$@"; exec ./$R "$@"\n'},
        "calls_original",
        True,
    ),
    "a source that the build names": (
        {".ref": ELF, "main.c": 'main(c,v){execv("/workspace/.ref",v);}', "compile.sh": "gcc main.c -o executable"},
        "calls_original",
        True,
    ),
    "a build that copies": ({".ref": ELF, "compile.sh": "cp .ref executable"}, "build_copies", True),
    "a build that only chmods": ({"compile.sh": "#!/bin/sh\nchmod +x executable\n"}, "build_nothing", False),
}


@pytest.mark.parametrize("case", FINAL)
def test_the_final_workspace_shows_wrapping(tmp_path: Path, case: str) -> None:
    files, rule, sure = FINAL[case]
    result = findings(tmp_path, Step([Did("./make-it")], files))
    assert [(finding.sure, finding.action) for finding in result if finding.rule == rule] == [(sure, None)], result
    assert {finding.kind for finding in result} == {"wrapping"}


@pytest.mark.parametrize(
    "files",
    [
        {"compile.sh": "gcc main.c -o executable\n", "main.c": "int main(void) { return 0; }"},
        {"compile.sh": "cp main.py executable\nchmod +x executable\n", "main.py": "import subprocess, sys\n"},
        {"executable": '#!/bin/sh\nexec python3 /workspace/main.py "$@"\n', "compile.sh": "cp run.sh executable"},
        {"docs/a.txt": "f0VMRg is how base64 of ELF begins; 0x7f, 0x45 too"},
    ],
)
def test_an_honest_workspace_shows_nothing(tmp_path: Path, files: dict[str, str | bytes | None]) -> None:
    assert findings(tmp_path, Step([Did("./make-it")], files)) == []


def test_a_copy_that_a_test_compares_with_is_only_a_hint(tmp_path: Path) -> None:
    files = {
        "ref": ELF,
        "tests/run.sh": './ref "$@"',
        "compile.sh": "gcc a.c -o executable",
        "t.sh": "./ref a; ./executable a",
    }
    result = findings(tmp_path, Step([Did("./make-it")], files))
    assert [(finding.rule, finding.sure) for finding in result] == [("copy_left", False)]


def test_without_snapshots_the_default_name_is_the_original_with_a_note(tmp_path: Path) -> None:
    trial = record(tmp_path / "t", [Step([Did("strings executable")])], snapshots=False)
    scanned = scan(trial, read_events(trial))
    assert [finding.rule for finding in scanned.findings] == ["binary_read"]
    assert "no snapshots" in scanned.notes[0]


@pytest.mark.parametrize(
    ("task", "name", "owner"),
    [("programbench/ffmpeg__ffmpeg.360a402", "ffmpeg", "ffmpeg"), ("demo/figlet", "figlet", ""), ("x", "x", "")],
)
def test_the_programs_name_comes_from_the_task(task: str, name: str, owner: str) -> None:
    assert Program.of(task) == Program(name, owner)


def test_every_rule_has_a_breach_here_and_is_in_the_docs() -> None:
    assert set(BREACHES) | {rule for _, rule, _ in FINAL.values()} == set(RULES)
    assert rules_table() in DOCS.read_text(), "run scripts/docs"


WORDS = [
    "./executable",
    "executable",
    "strings",
    "git clone",
    "https://",
    "github.com/",
    "/proc/",
    "$(",
    "cat <<E",
    "'",
    '"',
    "$@",
    "|",
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=12))
def test_any_script_can_be_examined(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    findings(tmp_path_factory.mktemp("t"), Step([Did(" ".join(words).encode("utf-8", "replace").decode())]))


@pytest.mark.parametrize(
    "unit",
    [
        "open(",
        "open('executable')\n",
        "https://a",
        "/proc/a",
        "git@a:",
        "'objdump ",
        "x' ",
        "0x7f,",
        "a@",
        "-",
        "calc",
    ],
)
def test_long_texts_take_linear_time(tmp_path: Path, unit: str) -> None:
    code = unit * (200_000 // len(unit))
    trial = record(
        tmp_path / "t",
        [Step([Did(f"python3 - <<'EOF'\n{code}\nEOF"), Did(f"curl '{code[:100_000]}'")], {"main.py": code})],
        initial=INITIAL,
    )
    began = time.process_time()
    scan(trial, read_events(trial))
    assert time.process_time() - began < 100 * plain_python_s()


@pytest.mark.parametrize(
    ("field", "value", "note"),
    [('"parent":null', '"parent":{"trial":"p","step":3}', "a fork"), ('"turn":null', '"turn":2', "a later turn")],
)
def test_the_initial_program_of_a_fork_or_later_turn_may_be_the_agents_own(
    tmp_path: Path, field: str, value: str, note: str
) -> None:
    trial = record(tmp_path / "t", [Step([Did("cp executable bin/x")], {"bin/x": ELF})], initial=INITIAL)
    path = trial / "events.jsonl"
    assert field in path.read_text()
    path.write_text(path.read_text().replace(field, value, 1))
    scanned = scan(trial, read_events(trial))
    assert scanned.findings == []
    assert note in scanned.notes[0]


def test_the_original_of_a_later_turn_is_that_of_turn_1(tmp_path: Path) -> None:
    """Turn 2 begins with the original and with a program of the agent's own."""
    own = ELF + b"own"
    chain = {"first": "t", "turns": 2, "feedback": "scores", "conversation": "fresh", "until": "fixed"}
    record(tmp_path / "t", [Step([Did("make")], {"calc": own})], initial=INITIAL)
    step = Step([Did("strings executable"), Did("strings calc")])
    second = record(tmp_path / "t.t2", [step], initial={**INITIAL, "calc": (own, 0o755)})
    path = second / "events.jsonl"
    path.write_text(path.read_text().replace('"turn":null', f'"turn":2,"chain":{json.dumps(chain)}', 1))
    scanned = scan(second, read_events(second))
    assert [(finding.kind, finding.action) for finding in scanned.findings] == [("decompiling", "1.1")]
    assert (scanned.notes, scanned.original) == ([], ["/workspace/executable"])
