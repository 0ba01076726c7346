"""Classes of actions: scripts that were labeled by hand, single and in sequence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from trajectories.analysis.commands.classes import PRIORITY, classify, first
from trajectories.analysis.commands.reference import Reference
from trajectories.analysis.commands.shell import parseable
from trajectories.record.events import Change

LABELED = {
    "write": [
        "cat > main.py <<'EOF'\nprint('git status > x')\nEOF",
        "cat <<'EOF' > src/a.c\nint main(void) { return 0; }\nEOF\nmake",
        "cat <<EOF | tee src/b.c\nx\nEOF",
        'cat >> notes.md << "END"\nmore\nEND',
        "echo 'int x;' >> a.c",
        "printf '%s\\n' a b > list.txt && ./executable < list.txt",
        "cd src && echo x > y.h",
        "sed -i 's/a/b/' main.go",
        "sed -i.bak -e 's/a/b/' main.go",
        "sed -n -i '1p' f",
        "gsed --in-place=.o s/a/b/ f",
        "perl -pi -e 's/foo/bar/g' a.c",
        "perl -i -ne 'print unless /x/' a.c",
        "patch -p1 < fix.diff",
        "patch -p0 <<'E'\n--- a\n+++ b\nE",
        "git apply fix.patch",
        "git diff > patch.txt",
        "tee out.txt < in.txt",
        "make 2>&1 | tee build.log",
        "mkdir -p src/lib",
        "cp a.c b.c && gcc b.c -o b",
        "mv old.py new.py",
        "rm -rf build",
        "touch x",
        "chmod +x compile.sh",
        "ln -s a b",
        "python3 - <<'P'\ns = open('a.py').read()\nopen('a.py', 'w').write(s.replace('x', 'y'))\nP",
        "python3 -c \"open('f.txt', mode='a').write('x')\"",
        "python - <<E\nfrom pathlib import Path\nPath('a').write_text('b')\nE",
        "node -e \"require('fs').writeFileSync('a.js', 'x')\"",
        'perl -e \'open(my $f, ">", "a"); print $f 1\'',
        "bash -c 'echo x > a.c'",
        'bash -c "cd lib && sed -i s/a/b/ c.py"',
        "bash <<'E'\ncat > a.c <<'X'\nint x;\nX\nE",
        "sudo -u root sh -c 'touch a'",
        "find . -name '*.pyc' -delete",
        "find . -name '*.o' -exec rm {} \\;",
        "ls *.bak | xargs -n 1 rm",
        "for f in a b; do echo x > $f.c; done",
        "if true; then rm a; else ls; fi",
        "(cd sub; > empty.txt)",
        "cat > /tmp/only.py <<'E'\nprint(1)\nE",
        "mkdir -p /tmp/t && cp docs/a /tmp/t/",
        "ed -s main.c <<'E'\n1d\nw\nE",
        "./executable -h &> help.txt",
        "eval 'echo a > b'",
        "tar xzf src.tar.gz",
        "dd if=/dev/zero of=blob bs=1 count=1",
        "D=$(dirname x); echo a > out/$D/x.c",
        "timeout 5 tee -a log <<< hello",
    ],
    "probe": [
        "./executable --help",
        "/workspace/executable -v | head -5",
        "echo 'a b' | ./executable -w 20",
        'E=./executable; for i in 1 2; do "$E" -I $i; echo rc=$?; done',
        "cd /tmp && /workspace/executable x",
        "cd /workspace/docs && ../executable x",
        "timeout 5 ./executable < /dev/null; echo $?",
        "env -i LANG=C ./executable",
        "printf 'x' > /tmp/in && ./executable /tmp/in",
        "./executable > /tmp/out 2>/tmp/err; cat /tmp/out",
        'x=$(./executable -v); echo "$x"',
        "diff <(./executable a) <(printf b)",
        "strings ./executable | head",
        "file executable",
        "strace -f -o /tmp/trace ./executable a",
        "python3 -c \"import subprocess; print(subprocess.run(['./executable', '-x']))\"",
        "bash -c './executable a | xxd'",
        "cat <<'E' | ./executable -\nin\nE",
        "./executable <<< hello",
        'show() { "$@" | cat -A; }; show ./executable -f x',
        "cat list | xargs -I{} ./executable {}",
        "while read -r a; do ./executable $a; done < docs/list",
        "git log --oneline; ./executable -v",
        "for x in a b; do for y in c d; do ./executable $x $y > /dev/null; done; done",
        "nohup ./executable --serve >/dev/null 2>&1 &",
        "[ -f x ] && ./executable x || echo no",
        "find docs -type f -exec ./executable {} \\;",
    ],
    "git": [
        "git status",
        "cd /workspace && git add -A && git commit -m 'Say > and | and ./executable'",
        "git log --oneline | head",
        "git checkout -- a.c",
        "git diff HEAD~1 2>/dev/null",
        "make; git status --short",
    ],
    "execute": [
        "make -j4",
        "gcc -O2 a.c -o a && ./a",
        "python3 main.py",
        "python -m pytest -q 2>&1 | tail -5",
        "cargo build --release 2>/dev/null",
        "bash compile.sh && ./executable --help",
        "./compile.sh; ./executable x",
        "gcc m.c -o executable && ./executable",
        "go test ./...",
        "pip install -e . > /dev/null 2>&1",
        "python3 -c 'print(1)'",
        "python3 - <<'E'\nprint(open('a').read())\nE",
        "npm test",
        "node app.js > /dev/null",
        "bash run.sh",
        "sh -c 'make check'",
        "echo 1 | ./mine",
        "time ./mine",
        "perl script.pl",
        "cat > /tmp/t.py <<'E'\nprint(1)\nE\npython3 /tmp/t.py",
        "rm -f /tmp/x; curl -s http://localhost:8000",
        "apt-get install -y jq",
        "python3 -c \"open('/tmp/x', 'w').write('a')\" && make",
    ],
    "read": [
        "ls -la",
        "cat README.md | head -50",
        "sed -n '1,80p' main.c",
        "grep -rn 'a > b' src",
        "find . -name '*.c' | xargs grep -l main",
        "find . -type f -exec grep -l x {} \\; | wc -l",
        "cd docs; less a",
        "wc -l $(find . -name '*.c')",
        "awk '{ print $1 > 2 }' f",
        "cat a 2>/dev/null || ls docs",
        "diff a b",
        "which python3; python3 --version",
        "head -c 100 f | xxd",
        "ls -l executable",
        "tar tzf a.tar.gz",
        "unzip -l a.zip",
        "perl -ne 'print if /x/' f",
        "man ls | cat",
        "command -v gcc",
        "cat docs/executable.md",
        "bash -n compile.sh",
    ],
    "other": [
        "",
        "# nothing",
        "cd /workspace",
        "echo 'cat > x'",
        "echo a >&2",
        "export A=1; A=2",
        "sleep 5",
        "true && false",
        "printf 'rm -rf /' > /dev/null",
        "echo 'unfinished",
        "if then fi (",
    ],
}
PAIRS = [(script, kind) for kind, scripts in LABELED.items() for script in scripts]


@pytest.mark.parametrize(("script", "kind"), PAIRS, ids=[f"{kind}-{script[:40]!r}" for script, kind in PAIRS])
def test_a_script_has_the_class_that_a_person_gives_it(script: str, kind: str) -> None:
    assert classify(script)[0] == kind


def test_there_are_enough_labels_of_every_class() -> None:
    assert len(PAIRS) >= 80
    assert list(LABELED) == list(PRIORITY)


def test_a_script_that_is_not_bash_is_other_and_unparsed() -> None:
    assert classify("echo 'unfinished") == ("other", False)
    assert classify("echo done") == ("other", True)


def test_the_first_class_of_several_counts() -> None:
    assert first(["read", "git", "other"]) == "git"
    assert first([]) is None


SEQUENCES = {
    "a copy of the reference is the reference after the build": [
        ("cp executable /tmp/ref", "write"),
        ("bash compile.sh", "execute"),
        ("./executable a", "execute"),
        ("/tmp/ref a", "probe"),
        ("diff <(/tmp/ref a) <(./executable a)", "probe"),
    ],
    "a copy into a directory keeps its name": [
        ("mkdir -p /tmp/o; cp ./executable /tmp/o", "write"),
        ("/tmp/o/executable", "probe"),
    ],
    "moved away": [("mv executable orig", "write"), ("./orig", "probe"), ("./executable", "execute")],
    "a script that names the reference runs it": [
        ("cat > /tmp/cmp.sh <<'E'\n/workspace/executable \"$@\"\nE", "write"),
        ("bash /tmp/cmp.sh a", "probe"),
        (". /tmp/cmp.sh; same a", "probe"),
        ("cat > /tmp/cmp.sh <<'E'\necho nothing\nE", "write"),
        ("bash /tmp/cmp.sh a", "execute"),
    ],
    "given to a tester": [("cp executable ref", "write"), ("python3 compare.py ./ref", "probe")],
    "written over": [("cat > executable <<'E'\n#!/bin/sh\nE", "write"), ("./executable", "execute")],
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_reference_is_followed_from_action_to_action(name: str) -> None:
    reference = Reference()
    assert [classify(script, reference)[0] for script, _ in SEQUENCES[name]] == [kind for _, kind in SEQUENCES[name]]


def test_a_snapshot_corrects_the_effects_of_a_failed_build() -> None:
    reference = Reference()
    classify("bash compile.sh", reference)
    reference.settle([Change(path="main.c", change="modified")])
    assert classify("./executable", reference)[0] == "probe"
    classify("bash compile.sh", reference)
    reference.settle([Change(path="executable", change="modified", sha256="0")])
    assert classify("./executable", reference)[0] == "execute"


def test_a_workspace_below_tmp_is_not_a_scratch_directory() -> None:
    reference = Reference("/tmp/run/w")
    assert classify("echo x > a; make", reference)[0] == "write"
    assert classify("echo x > /tmp/a; make", reference)[0] == "execute"


PIECES = [
    *(
        "cat",
        "bash -c",
        "eval",
        "$(",
        ")",
        "`",
        "'",
        '"',
        "<<E",
        "\nE\n",
        ">",
        "| xargs",
        "find . -exec",
        "\\;",
        "{",
        "}",
    ),
    *("sed -i", "X=$X$X", "$X", "for a in", "do", "done", "\\", "\n", " ", "git", "./executable", "(", "timeout", "-k"),
]
SHELLISH = st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(st.one_of(SHELLISH, st.text(), st.text(alphabet=st.characters(codec=None))))
def test_any_text_has_a_class(script: str) -> None:
    kind, parsed = classify(script)
    assert kind in PRIORITY
    assert parsed or kind == "other"


HOSTILE = [
    *("(" * 5000 + ")" * 5000, "$(" * 3000 + ")" * 3000, "{ " * 3000 + ":;" + " }" * 3000, "X=a;" + "X=$X$X;" * 2000),
    *("bash -c " * 50 + "ls", 'bash -c "eval ' * 20, "a|" * 20000 + "a", "\0", "cat <<E\n" * 1000),
    *(
        "python3 -c 'open(" + "a" * 300_000 + "'",
        "python3 -c '" + "open(a " * 50_000 + "'",
        "tar " + "t" * 300_000 + "1",
    ),
    *("sed -" + "a" * 300_000 + "'\n'", "bash -" + "c" * 300_000 + " x", "/" * 300_000, "f() { :; }; " * 3000),
]


@pytest.mark.parametrize("script", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_scripts_need_little_stack_and_memory(script: str) -> None:
    assert classify(script)[0] in PRIORITY


@pytest.mark.parametrize("character", ["\U000eb586", "\U000f5b2a", "漢", "é", "\ud800"])
def test_any_character_may_follow_a_brace(character: str) -> None:
    """For most of them the grammar's scanner read beyond a table, which sometimes crashed the process."""
    script = f"{{{character} ${{x:{character}}}"
    source = parseable(script)
    assert len(source) == len(script.encode("utf-8", "replace"))
    assert max(source.decode()) <= "\xff"
    assert classify(f"echo {{{character}}} >{character}") == ("write", True)
    for high in range(0x10000, 0x110000, 0x1003):
        classify(f"a {{{chr(high)}")
