"""`python -m agent.batch.worker --batch DIR`: a worker that speaks with its coordinator over standard input and output.

Only an engine starts it.
"""

from __future__ import annotations

import argparse
import os
import signal
from pathlib import Path

from trajectories import interrupts


def main() -> None:
    """Run a worker until its coordinator lets it go."""
    parser = argparse.ArgumentParser(prog="agent.batch.worker", description=__doc__)
    parser.add_argument("--batch", type=Path, required=True)
    parser.add_argument("--remote", action="store_true")
    options = parser.parse_args()
    batch: Path = options.batch
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the coordinator, which tells its workers
    interrupts.install()
    incoming, outgoing = os.dup(0), os.dup(1)  # not inherited by programs that a trial starts
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    from agent.batch.worker.process import WorkerProcess

    WorkerProcess(batch, incoming, outgoing, is_remote=options.remote).run()


if __name__ == "__main__":
    main()
