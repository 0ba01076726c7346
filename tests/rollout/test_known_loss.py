"""A rollout over a real task, with a provider that acts by what it sees, finds the known step that lost the trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rollout.repairer import FATAL, MODEL, Repairer
from tests.rollout.task import checkpoints_removed
from tests.solve.command import agent
from tests.wire.server import WireServer


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.docker
def test_the_step_that_lost_a_trial_of_a_demo_is_found_beyond_chance(tmp_path: Path) -> None:
    """The provider fails in a part of the children from before the loss as well."""
    provider = Repairer(forgets=0.2, seed=3)
    with checkpoints_removed(tmp_path), WireServer(provider) as server:
        model = ("--model", MODEL, "--api-base", server.base("anthropic"))
        solve = ("solve", "--task", "demo/cronwhen", "--env", "docker", "--checkpoint-every", "1", *model, "--json")
        parent = agent(tmp_path, *solve, ANTHROPIC_API_KEY="k")
        assert parent.status == 0, parent.err
        assert parent.json["verdict"]["passed"] is False
        provider.is_parent = False
        where = (str(parent.trial), "--at", f"2,{FATAL - 1},{FATAL},{FATAL + 2}", "--times", "7", "--json")
        result = agent(tmp_path, "rollout", *where, ANTHROPIC_API_KEY="k", timeout=1200)
    assert result.status == 0, result.err
    report = result.json
    assert all(value["whole"] for value in report["steps"])
    assert [value["passed"] > 0 for value in report["steps"]] == [True, True, False, False]
    drop = report["drop"]
    assert (drop["after"], drop["by"], drop["is_beyond_chance"]) == (FATAL - 1, FATAL, True)
    assert report["cost"]["usd"] == pytest.approx(sum(child["cost"]["usd"] for child in report["children"]))
