"""The lock of a batch: one coordinator, named by host and process to everybody else."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from trajectories.batches.events import Holder
from trajectories.batches.lock import BatchLock, coordinator_of
from trajectories.errors import BatchInUse, RecordError

HOLD = """
import sys, time
from pathlib import Path
from trajectories.batches.lock import BatchLock
with BatchLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_coordinator_is_refused_with_host_and_process_until_the_first_is_killed(tmp_path: Path) -> None:
    first = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        assert coordinator_of(tmp_path) == Holder(host=socket.gethostname(), pid=first.pid)
        with pytest.raises(BatchInUse) as error, BatchLock(tmp_path):
            pass
        assert f"the coordinator on {socket.gethostname()} (process {first.pid}) owns this batch" in str(error.value)
        assert isinstance(error.value, RecordError), "commands show it as one line"
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
        first.stdout and first.stdout.close()
    assert coordinator_of(tmp_path) is None, "the text of a dead coordinator names nobody"
    with BatchLock(tmp_path):
        assert coordinator_of(tmp_path) == Holder(host=socket.gethostname(), pid=os.getpid())


@pytest.mark.parametrize("text", ["", "nonsense", "[1]", '{"pid": 1}', '{"host": "x", "pid": "y"}'])
def test_a_holder_whose_name_cannot_be_read_still_holds_the_batch(tmp_path: Path, text: str) -> None:
    with BatchLock(tmp_path):
        (tmp_path / "batch.lock").write_text(text)
        assert coordinator_of(tmp_path) == Holder(host="", pid=0)
        with pytest.raises(BatchInUse, match="another coordinator owns this batch"), BatchLock(tmp_path):
            pass


def test_a_folder_without_a_lock_has_no_coordinator_and_gets_none_by_looking(tmp_path: Path) -> None:
    assert coordinator_of(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    os.mkfifo(tmp_path / "batch.lock")
    assert coordinator_of(tmp_path) is None
    with pytest.raises(OSError, match="a pipe"), BatchLock(tmp_path):
        pass
