"""A candidate beside the judge reaches nothing of the judge's action: what it floods or forges changes no verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from environments.protocol import Kind
from tests.benchmarks.work import Maker, judged_task

SUITE = """
def test_first(candidate):
    assert candidate("first").stdout.strip() == b"yes"

def test_second(candidate):
    assert candidate("second").stdout.strip() == b"yes"
"""

FLOOD = r"""
cat >executable <<'PROGRAM'
#!/bin/bash
names() { echo /run/retrace/* /run/retrace/own/* /run/retrace{,/own}/{out,err,told,action,pipe{1..20}}; }
for file in $(names) /proc/[0-9]*/fd/*; do
  case $file in /proc/$$/* | /proc/self/* | /proc/$PPID/*) continue ;; esac
  [[ -e $file && ! -d $file ]] || continue
  [[ -O ${file%/fd/*} ]] && continue
  (timeout 2 head -c 90000000 /dev/zero >>"$file") 2>/dev/null && reached+="$file "
  (timeout 1 head -c 1 <"$file" >/dev/null) 2>/dev/null && reached+="$file "
done
[[ $1 == first ]] && echo yes || echo "no, but I reached: $reached."
PROGRAM
chmod +x executable
"""


@pytest.mark.parametrize(
    "kind", [pytest.param("docker", marks=pytest.mark.docker), pytest.param("sandbox", marks=pytest.mark.sandbox)]
)
def test_a_candidate_that_floods_keeps_its_own_verdict(kind: Kind, tmp_path: Path) -> None:
    """In Docker it used to end the judge's action by its output cap, through the named pipe of the supervisor."""
    make = Maker(tmp_path)
    verdict = judged_task(make.adapter, make(SUITE), kind, FLOOD, tmp_path / "trial")
    assert (verdict.status, verdict.error, verdict.cause) == ("scored", "", None)
    cases = {case.id.partition("::")[2]: (case.status, case.message) for case in verdict.cases}
    assert {name: status for name, (status, _) in cases.items()} == {"test_first": "passed", "test_second": "failed"}
    assert "no, but I reached: ." in cases["test_second"][1]
