"""A worker that writes records without a model: it pays for each call with a line in a file that all nodes share.

`python -m tests.batches.ray.ray_worker BATCH BILL CALLS SECONDS`. A call is paid for, then recorded as a line. A unit
with lines goes on behind them. It speaks the messages of an ordinary worker.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from pathlib import Path

from agent.batch.code import code_digest, version
from agent.batch.messages import TO_WORKER, Admitted, AskCall, CallSettled, Hello, Quit, StopUnits, UnitEnded, Work
from trajectories.blobs.store import BlobStore
from trajectories.record.layout import POOL

_LOCK = threading.Lock()
_STOP = threading.Event()


def send(message: object) -> None:
    with _LOCK:
        sys.stdout.write(message.model_dump_json() + "\n")  # type: ignore[attr-defined]
        sys.stdout.flush()


def run(batch: Path, bill: Path, calls: int, seconds: float, work: Work, admitted: threading.Semaphore) -> None:
    trial = batch / work.trial
    trial.mkdir(exist_ok=True)
    record = trial / "events.jsonl"
    number = len(record.read_text().splitlines()) if record.exists() else 0
    blobs = BlobStore(trial / "blobs", batch / POOL)
    while number < calls and not _STOP.is_set():
        send(AskCall(call=1000 * work.attempt + number, unit=work.unit, model="m", usd=0.01, tokens=10))
        admitted.acquire()
        if _STOP.is_set():
            break
        with bill.open("a") as file:
            file.write(f"{work.trial} {number}\n")
        digest = blobs.put(f"{work.trial} {number}".encode())
        with record.open("a") as file:
            file.write(json.dumps({"seq": number, "blob": digest, "pid": os.getpid()}) + "\n")
        send(CallSettled(call=1000 * work.attempt + number, unit=work.unit, outcome="finished", usd=0.01, tokens=10))
        number += 1
        time.sleep(seconds)
    if number == calls:
        (trial / "evaluation").mkdir(exist_ok=True)
        (trial / "evaluation" / "log.txt").write_text("ok\n")
        (trial / "trial.json").write_text(hashlib.sha256(record.read_bytes()).hexdigest())
    send(UnitEnded(unit=work.unit, trial=work.trial))


def main() -> None:
    batch, bill, calls, seconds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    send(Hello(host=os.uname().nodename, pid=os.getpid(), version=version(), digest=code_digest()))
    running: dict[int, threading.Semaphore] = {}
    threads = []
    for line in sys.stdin:
        message = TO_WORKER.validate_json(line)
        if isinstance(message, Work):
            assert (batch / "grid.jsonl").read_text().count(message.configuration.id) >= 1
            for ref in message.configuration.inputs:
                assert BlobStore(batch / ".inputs").get(ref.sha256)
            running[message.attempt] = threading.Semaphore(0)
            arguments = (batch, bill, calls, seconds, message, running[message.attempt])
            threads.append(threading.Thread(target=run, args=arguments))
            threads[-1].start()
        elif isinstance(message, Admitted):
            running[message.call // 1000].release()
        elif isinstance(message, (StopUnits, Quit)):
            break
    _STOP.set()
    for semaphore in running.values():
        semaphore.release(1000)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
