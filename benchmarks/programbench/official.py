"""The official evaluator, as a subprocess around which nothing is taken on trust."""

from __future__ import annotations

from pathlib import Path

from benchmarks.programbench.instances import Instance
from trajectories.verdict import Verdict


def evaluate(instance: Instance, workspace: Path, scratch: Path) -> Verdict:
    """Helper B writes this."""
    raise NotImplementedError
