"""Run a study's provider as a process of its own: print its API base, and serve until the parent process is gone.

python -m tests.wire.study --bill FILE [--port N] [--latency S] [--faults 429=0.03,cut=0.01,500@7] [--seed N] ...
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from tests.wire.study.faults import Faults
from tests.wire.study.server import Settings, StudyServer

_LOOK_S = 0.2


def main() -> int:
    """Serve, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bill", type=Path, help="file to which a line is added for each request")
    parser.add_argument("--port", type=int, default=0, help="port on the loopback [any that is free]")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds until a reply [0]")
    parser.add_argument("--at-once", type=int, help="most requests at once; the next one is refused with 429")
    parser.add_argument("--key", help="key that requests must have [any]")
    parser.add_argument("--faults", default="", help="KIND=SHARE and KIND@NUMBER, separated by commas [none]")
    parser.add_argument("--seed", type=int, default=0, help="seed of the faults [0]")
    parser.add_argument("--retry-after", type=float, default=1.0, help="seconds in the header of a 429 [1]")
    parser.add_argument("--steps", type=int, help="steps of each trial that solves a task [5 at most]")
    parser.add_argument("--busy", type=int, help="steps of each trial, none of which solves anything")
    options = parser.parse_args()
    try:
        faults = Faults.parse(options.faults, options.seed, options.retry_after)
    except ValueError as error:
        parser.error(str(error))
    settings = Settings(options.latency, options.at_once, options.key, faults, options.steps, options.busy)
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the batch; this process ends with its parent
    with StudyServer(options.bill, port=options.port, settings=settings) as server:
        print(server.api_base, flush=True)
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
