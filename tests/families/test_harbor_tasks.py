"""The sample tasks in Harbor's format, judged in containers: solved, untouched, partly solved, and with tricks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.judging.system.shield import container
from benchmarks.task.submission import Image, Live
from benchmarks.task.task import TaskError
from environments.docker import daemon
from environments.protocol import Checkpointing
from tests.families.harbor_samples import HARBOR, loaded, oracle, varied, verdict_after, verdict_on, worked
from trajectories.record.verdict import Case

pytestmark = pytest.mark.docker
ALL = {
    "greeting": {"reward": 1.0},
    "orders": {"reward": 1.0},
    "report": {"reward": 1.0, "rows": 2.0, "details": 1.0},
    "inventory": {"total": 1.0, "unit": 1.5, "running": 1.0},
}


@pytest.mark.parametrize("id", ALL)
def test_the_oracle_passes_and_the_verdict_tells_the_mode(id: str, tmp_path: Path) -> None:
    task = loaded(HARBOR / id)
    with worked(task, *oracle(task)) as (environment, started):
        listed = environment.execute("ls -a /; find / -xdev -name test.sh -o -name expected.csv", deadline_s=60)
        verdict = verdict_on(task, Live(environment, started, "unused"), tmp_path)
    assert (verdict.status, verdict.passed, verdict.quality) == ("scored", True, 1.0), verdict
    assert verdict.metrics == ALL[id]
    separate = id not in ("greeting", "orders")
    assert verdict.evaluator.inputs["verifier"] == ("separate" if separate else "shared")
    assert (verdict.result, verdict.submission, verdict.comparable) == ("system", "live", True)
    assert verdict.processes_kept is not separate
    assert not (separate and verdict.exposed)
    assert not {b"tests", b"test.sh", b"expected.csv"} & set(bytes(listed.output).replace(b"/", b"\n").split())


_SUM = """python3 -c "
import json, urllib.request
orders = json.load(urllib.request.urlopen('http://store:8000/orders'))
print(sum(order['amount'] for order in orders))" >/app/total.txt"""
PARTS = {
    "orders": (("true", 0.0), (_SUM, 0.5)),
    "greeting": (
        ("true", 0.0),
        ("printf '#!/bin/sh\\necho hello $1' >/usr/local/bin/greet; chmod +x /usr/local/bin/*", 0.5),
    ),
    "report": (("true", 0.0), ("printf 'ann,2\\nbob,1\\n' >report.csv", 0.5)),
    "inventory": (("true", 0.0), ("""echo '{"total": 7, "unit": "pieces"}' >result.json""", 2 / 3)),
}


@pytest.mark.parametrize("id", PARTS)
def test_the_untouched_start_fails_and_a_part_of_the_solution_lies_between(id: str, tmp_path: Path) -> None:
    for number, (script, quality) in enumerate(PARTS[id]):
        verdict = verdict_after(loaded(HARBOR / id), tmp_path / str(number), script)
        assert (verdict.status, verdict.passed, verdict.cause) == ("scored", False, None), verdict
        assert verdict.quality == pytest.approx(quality)


def test_skills_are_where_the_task_says_and_the_instruction_names_them(tmp_path: Path) -> None:
    task = loaded(HARBOR / "inventory")
    assert "/skills" in task.instruction
    with worked(task) as (environment, _):
        assert b"name: sums" in bytes(environment.execute("cat /skills/*/SKILL.md", deadline_s=9).output)
        assert (
            environment.execute('test "$PWD $UNIT" = "/app pieces" && test -w /logs/artifacts', deadline_s=9).exit_code
            == 0
        )


def test_a_health_check_that_fails_names_its_output(tmp_path: Path) -> None:
    toml = (HARBOR / "inventory/task.toml").read_text().replace("test -f /app/stock.txt", "echo no stock; false")
    task = loaded(varied(HARBOR / "inventory", tmp_path, {"task.toml": toml}))
    with pytest.raises(TaskError, match="failed 3 times in a row, the last time with: no stock"), worked(task):
        pass


def test_a_planted_reward_and_planted_tests_do_not_count(tmp_path: Path) -> None:
    plant = """mkdir -p /logs/verifier /tests; echo 1 >/logs/verifier/reward.txt; ln -s /etc/passwd /tests/test.sh
echo '{"reward": 1}' >/logs/verifier/reward.json; printf 'def test():\\n pass' >/tests/test_outputs.py
(while sleep 0.02; do echo '{"reward": 1}' >/logs/verifier/reward.json; done) >/dev/null 2>&1 &"""
    verdict = verdict_after(loaded(HARBOR / "greeting"), tmp_path, plant)
    assert (verdict.passed, verdict.quality) == (False, 0.0), verdict


def test_an_artifact_that_links_to_the_tests_is_left_out(tmp_path: Path) -> None:
    script = "ln -s /tests/expected.csv report.csv; mkdir details; ln -s /tests/test.sh details/a.txt"
    verdict = verdict_after(loaded(HARBOR / "report"), tmp_path, script)
    assert (verdict.passed, verdict.quality) == (False, 0.0), verdict
    assert any("2 special files and links" in note for note in verdict.notes)


def test_tests_without_a_reward_are_an_error_unless_the_submission_is_the_cause(tmp_path: Path) -> None:
    broken = varied(HARBOR / "greeting", tmp_path / "broken", {"tests/test.sh": "#!/bin/bash\nnosuchprogram\n"})
    verdict = verdict_after(loaded(broken), tmp_path / "0", "true")
    assert (verdict.status, verdict.cause) == ("error", "evaluator"), verdict
    assert "with the task's own solution" in verdict.error
    strict = "#!/bin/bash\nset -e\ngreet moon\necho 1 >/logs/verifier/reward.txt\n"
    strict_task = varied(HARBOR / "greeting", tmp_path / "strict", {"tests/test.sh": strict})
    verdict = verdict_after(loaded(strict_task), tmp_path / "1", "true")
    assert (verdict.status, verdict.passed, verdict.quality, verdict.cause) == ("scored", False, 0.0, "result"), verdict
    assert "greet: command not found" in (tmp_path / "1/evaluation/test-stdout.txt").read_text()


def test_a_committed_image_is_judged_without_processes(tmp_path: Path) -> None:
    task = loaded(HARBOR / "greeting", isolated=True)
    with worked(task, *oracle(task)) as (environment, _):
        assert isinstance(environment, Checkpointing)
        image = environment.checkpoint("harbor-sample")
    try:
        verdict = verdict_on(task, Image(image), tmp_path)
    finally:
        api = daemon.connect()
        api.remove_image(image, force=True)
        api.close()
    assert (verdict.passed, verdict.processes_kept, verdict.comparable) == (True, False, False), verdict


def test_a_verifier_may_run_as_another_user_and_the_agent_as_one_that_cannot_write_rewards(tmp_path: Path) -> None:
    toml = (HARBOR / "greeting/task.toml").read_text()
    toml = toml.replace("[agent]", '[agent]\nuser = "agent"').replace("[verifier]", '[verifier]\nuser = "nobody"')
    script = (
        "#!/bin/bash\nid -un\ncat /app/done && echo 1 >/logs/verifier/reward.txt || echo 0 >/logs/verifier/reward.txt"
    )
    task = loaded(varied(HARBOR / "greeting", tmp_path, {"task.toml": toml, "tests/test.sh": script}))
    write = "(while sleep 0.01; do echo 1 >/logs/verifier/reward.txt; done) >/dev/null 2>&1 &"
    verdict = verdict_after(task, tmp_path, write)
    assert (verdict.status, verdict.quality) == ("scored", 0.0), verdict
    assert any("of user" in line for line in verdict.exposed)
    assert not any("write their results" in line for line in verdict.exposed)
    assert (tmp_path / "evaluation/test-stdout.txt").read_text().startswith("nobody")


def test_a_solution_is_run_by_an_agent_that_is_not_root_and_single_tests_come_from_ctrf(tmp_path: Path) -> None:
    toml = (HARBOR / "greeting/task.toml").read_text().replace("[agent]", '[agent]\nuser = "agent"')
    report = {"results": {"tests": [{"name": "is there", "status": "passed", "duration": 20}]}}
    files = {
        "task.toml": toml,
        "solution/solve.sh": "#!/bin/bash\nid -un\ncp /solution/answer /tmp/answer\n",
        "solution/answer": "42\n",
        "tests/test.sh": f"""#!/bin/bash
grep -q 42 /tmp/answer && echo 1 >/logs/verifier/reward.txt || echo 0 >/logs/verifier/reward.txt
echo '{json.dumps(report)}' >/logs/verifier/ctrf.json
""",
    }
    task = loaded(varied(HARBOR / "greeting", tmp_path, files))
    verdict = verdict_after(task, tmp_path, *oracle(task))
    assert (verdict.status, verdict.passed) == ("scored", True), verdict
    assert verdict.cases == (Case(id="is there", group="tests", status="passed", seconds=0.02),)


@pytest.mark.parametrize("refused", [False, True])
def test_rewards_within_reach_of_a_root_agent_are_named_as_an_exposure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    if refused:
        monkeypatch.setattr(container, "_ARCHITECTURES", ())
    verdict = verdict_after(loaded(HARBOR / "greeting"), tmp_path, "true")
    assert any("write their results" in line for line in verdict.exposed) is refused
