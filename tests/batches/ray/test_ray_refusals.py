"""Batches that cannot run on a cluster are refused in one line, and places are given as nodes declare them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from agent.batch.engines.ray.cluster import Cluster
from agent.batch.engines.ray.placing import Need, Place, place
from agent.batch.engines.ray.sending import Sending
from agent.batch.engines.ray.shipping import beginning_digest, continues
from agent.errors import MachineError
from tests.batches.files.writing import configuration, write_batch
from tests.solve.command import agent
from trajectories.record.layout import BatchFolder

SPEC = "tasks: [ledger]\nmodels: [nop]\nenv: sandbox\n"


def refusal(address: str | None) -> str:
    with pytest.raises(MachineError) as error:
        Cluster(address)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_cluster_that_is_not_there_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    assert f"no Ray cluster at {address}" in refusal(address)
    assert "ray start" in refusal(address)
    assert "HOST:PORT" in refusal("somewhere")
    assert "Ray client" in refusal("ray://10.0.0.1:10001")


def test_the_command_names_the_extra_and_the_option_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(SPEC)
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "ray.py").write_text("raise ModuleNotFoundError(\"No module named 'ray'\", name='ray')\n")
    path = f"{hidden}:{Path(__file__).parents[3]}"
    result = agent(tmp_path, "batch", "study.yaml", "--engine", "ray", PYTHONPATH=path)
    assert result.status == 1
    assert result.err.splitlines()[-1] == "agent: --engine ray needs ray: pip install 'retrace-agent[ray]'"
    result = agent(tmp_path, "batch", "study.yaml", "--address", "10.0.0.1:6379")
    assert (result.status, result.err) == (2, "agent: --address is about a Ray cluster; add --engine ray\n")


def test_a_node_holds_what_it_declares_or_what_fits() -> None:
    need = Need(cpus=2, memory_bytes=1 << 30)
    assert need.trials({"trial": 7, "CPU": 1}) == 7
    assert need.trials({"CPU": 9, "memory": 64 << 30}) == 4
    assert need.trials({"CPU": 9, "memory": 3 << 30}) == 3
    assert need.trials({"memory": 3 << 30}) == 0
    spec = {"cpus": 4, "memory_bytes": 5}
    assert Need.of([configuration(), configuration(environment_spec=spec)]) == Need(4.0, 5)
    assert Need.of([]) == Need(1.0, 0)


def test_trials_are_spread_over_nodes_and_never_more_than_wanted() -> None:
    assert place(5, {"a": 4, "b": 1, "c": 9}, {"a": 1, "b": 1, "c": 1}, 100) == [
        Place("a", 2),
        Place("b", 1),
        Place("c", 2),
    ]
    assert place(3, {"a": 9}, {"a": 1}, 2) == [Place("a", 2), Place("a", 1)]
    assert place(0, {"a": 9}, {"a": 1}, None) == place(5, {"a": 0}, {"a": 1}, None) == place(5, {}, {}, None) == []


def test_what_is_left_on_a_node_counts_only_if_it_continues_the_record_of_the_batch(tmp_path: Path) -> None:
    (tmp_path / "x.1").mkdir()
    record = tmp_path / "x.1" / "events.jsonl"
    record.write_text("one\ntwo\n")

    def counts(of_the_batch: bytes) -> bool:
        (tmp_path / "copy").write_bytes(of_the_batch)
        size = len(of_the_batch)
        digests = {"x.1/events.jsonl": beginning_digest(tmp_path / "copy", size)}
        return continues(tmp_path, "x.1", {"x.1/events.jsonl": size}, digests)

    assert counts(b"one\n")
    assert counts(b"")
    assert counts(b"one\ntwo\n")
    assert not counts(b"one\nelsewhere\n")
    assert not counts(b"one\ntwo\nthree\n")
    assert continues(tmp_path, "x.1", {}, {})
    assert not continues(tmp_path, "x.1", {"x.1.r1/events.jsonl": 4}, {"x.1.r1/events.jsonl": "a rerun elsewhere"})


def test_the_parent_of_a_fork_goes_to_the_node_once_with_its_earlier_turns(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "runs" / "study")
    parents = tmp_path / "runs" / "old"
    for name in ("p.1", "p.1.t2", "p.12"):
        (parents / name).mkdir(parents=True)
        (parents / name / "events.jsonl").write_text(f"{name}\ntorn")
    forked = configuration().model_copy(update={"options": {"fork": {"parent": str(parents / "p.1.t2"), "step": 3}}})
    sending = Sending(BatchFolder(batch), set())
    pieces = {piece.path: piece.data for piece in sending.pieces(forked, forked.trial(1))}
    place = sending.for_node(forked).options["fork"]["parent"]
    assert place.startswith("../parents/")
    folder = place.rpartition("/")[0]
    assert pieces == {f"{folder}/p.1/events.jsonl": b"p.1\n", f"{folder}/p.1.t2/events.jsonl": b"p.1.t2\n"}
    assert not list(sending.pieces(forked, forked.trial(2)))
    assert sending.for_node(forked).id == forked.id
