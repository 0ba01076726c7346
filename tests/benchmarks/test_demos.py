"""The demo tasks: the reference solves them, an empty workspace does not, half a solution gets partial credit."""

from __future__ import annotations

from pathlib import Path

import pytest

from environments.protocol import Kind
from tests.benchmarks.work import judged, reference

DOCKER = pytest.param("docker", marks=pytest.mark.docker)
SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)
EMPTY = "find . -mindepth 1 -delete"


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX, "local"])
@pytest.mark.parametrize("id", ["ledger", "cronwhen"])
def test_the_reference_solves_the_task(id: str, kind: Kind, tmp_path: Path) -> None:
    verdict = judged(f"demo/{id}", kind, reference(id), tmp_path)
    assert verdict.error == ""
    assert [case.id for case in verdict.cases if case.status != "passed"] == []
    assert (verdict.status, verdict.passed, verdict.quality) == ("scored", True, 1.0)


@pytest.mark.docker
def test_the_reference_solves_the_rebuild(tmp_path: Path) -> None:
    verdict = judged("demo/spans", "docker", reference("spans"), tmp_path)
    assert [case.id for case in verdict.cases if case.status != "passed"] == []
    assert (verdict.status, verdict.passed, verdict.quality, verdict.error) == ("scored", True, 1.0, "")


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_an_empty_workspace_does_not_build(kind: Kind, tmp_path: Path) -> None:
    verdict = judged("demo/ledger", kind, EMPTY, tmp_path)
    assert (verdict.status, verdict.passed, verdict.quality, verdict.error) == ("scored", False, 0.0, "")
    assert {(case.group, case.status) for case in verdict.cases} == {("tests", "missing")}
    assert len(verdict.cases) == 60
    assert "the build failed: exit 127" in verdict.notes[0]
    assert verdict.cases[0].message == verdict.notes[0]


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_repair_in_an_empty_workspace_fails_every_case(kind: Kind, tmp_path: Path) -> None:
    verdict = judged("demo/cronwhen", kind, EMPTY, tmp_path)
    assert (verdict.passed, verdict.quality) == (False, 0.0)
    assert {case.status for case in verdict.cases} == {"failed"}
    assert verdict.cases[0].message.endswith("the workspace has no when.py")


@pytest.mark.parametrize("kind", [DOCKER, SANDBOX])
def test_an_unchanged_repair_task_fixes_and_breaks_no_case(kind: Kind, tmp_path: Path) -> None:
    verdict = judged("demo/cronwhen", kind, "true", tmp_path)
    assert (verdict.status, verdict.passed) == ("scored", False)
    groups = {name: (group.passed, group.total) for name, group in verdict.groups.items()}
    assert groups == {"must_fix": (0, 28), "must_not_break": (32, 32)}
    assert verdict.quality == pytest.approx(32 / 60)


@pytest.mark.sandbox
def test_a_repair_that_breaks_a_case_does_not_pass(tmp_path: Path) -> None:
    verdict = judged(
        "demo/cronwhen", "sandbox", reference("cronwhen") + "\nsed -i 's/yes/Yes/' cronwhen/cli.py\n", tmp_path
    )
    assert verdict.passed is False
    assert {case.group for case in verdict.cases if case.status != "passed"} == {"must_fix", "must_not_break"}


@pytest.mark.sandbox
def test_half_a_ledger_gets_partial_credit(tmp_path: Path) -> None:
    script = reference("ledger") + "\nsed -i 's/^COMMANDS = .*/COMMANDS = (\"check\",)/' ledger.py\n"
    verdict = judged("demo/ledger", "sandbox", script, tmp_path)
    assert verdict.quality is not None
    assert 0.4 < verdict.quality < 0.7
    assert verdict.passed is False


@pytest.mark.docker
def test_half_a_rebuild_gets_partial_credit(tmp_path: Path) -> None:
    verdict = judged(
        "demo/spans", "docker", reference("spans") + "\nsed -i 's/shown.append/shown.remove/' spans.py\n", tmp_path
    )
    assert verdict.quality is not None
    assert 0.4 < verdict.quality < 0.8


@pytest.mark.docker
@pytest.mark.parametrize(
    "script",
    [
        "echo true > compile.sh",
        "mv executable kept && printf 'chmod 755 kept; mv kept executable' > compile.sh",
        "mkdir a && mv executable 'a/x\ny' && printf 'chmod 755 a/*; cp a/* executable' > compile.sh",
        "ln executable twin 2>/dev/null; printf 'cp twin executable || cp docs/../executable executable' > compile.sh",
    ],
)
def test_a_copy_of_the_original_scores_zero(script: str, tmp_path: Path) -> None:
    verdict = judged("demo/spans", "docker", script, tmp_path)
    assert (verdict.status, verdict.passed, verdict.quality) == ("scored", False, 0.0), verdict.error
    assert {case.status for case in verdict.cases} <= {"failed", "missing"}


@pytest.mark.docker
def test_the_rebuild_image_reveals_no_source_and_no_tests(tmp_path: Path) -> None:
    look = r"""
if cat executable; then exit 11; fi
everywhere='find / -xdev ( -path /proc -o -path /sys -o -path /workspace/docs ) -prune -o -type f'
if $everywhere -path '*spans*' -print 2>/dev/null | grep .; then exit 12; fi
if $everywhere -name 'test_*' -size -64k -print 2>/dev/null | xargs -r grep -l candidate; then exit 13; fi
if $everywhere -newer /etc/passwd -print 2>/dev/null | xargs -r grep -laF 'backward range'; then exit 14; fi
test "$(./executable 3 1 2)" = 1..3 && test "$(stat -c %U:%a executable)" = root:111 && grep -q SPANS docs/spans.txt
"""
    verdict = judged("demo/spans", "docker", look, tmp_path)
    assert verdict.quality == 0.0
