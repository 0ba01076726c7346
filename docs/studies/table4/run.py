"""Run the experiment of LongCLI-Bench's Table 4 on two demo tasks, with the models of `provider.py`, and print it.

Each mode (base, self-correction, plan, interactive, plan and interactive) is one `agent solve` per task. If this
program or an agent is killed, run it again: it continues where it stopped, with `agent resume` for a trial that has
begun. The last line compares the calls in the records with the provider's bill (`calls.py`).

    python docs/studies/table4/run.py STUDY [--env sandbox] [--tasks ledger,cronwhen] [--modes base,plan]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trajectories.reading.plans.record import read_plan

HERE = Path(__file__).parent
TASKS = ("ledger", "cronwhen")
MODES = ("base", "self-correction", "plan", "interactive", "plan-and-interactive")


class Stopped(Exception):
    """An agent did not end its work; the message is one line."""


class Study:
    """The directory of a study: records in `runs`, the bill, and the process that runs now."""

    def __init__(self, directory: Path, env: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self.env = directory, env
        self.runs = directory / "runs"
        self.api_base = ""

    @contextmanager
    def provider(self) -> Iterator[None]:
        """Run the provider, at the same address as before. It ends with this process, because its input ends."""
        port = self.directory / "port"
        process = subprocess.Popen(
            [sys.executable, str(HERE / "provider.py"), "--bill", str(self.directory / "bill.jsonl"), "--until-eof"]
            + (["--port", port.read_text()] if port.exists() else []),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert process.stdout is not None
            self.api_base = process.stdout.readline().strip()
            if not self.api_base:
                raise Stopped("the provider did not start")
            port.write_text(self.api_base.rpartition(":")[2].partition("/")[0])
            yield
        finally:
            process.terminate()
            process.wait()

    def agent(self, *words: str) -> None:
        """Run one command of `agent` in a process group of its own.

        Raises: Stopped if it fails or is killed.
        """
        print("agent", *words, flush=True)
        process = subprocess.Popen(
            [sys.executable, "-m", "agent.cli.main", *words, "--runs", str(self.runs), "--quiet"],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        (self.directory / "agent.pid").write_text(str(process.pid))
        status = process.wait()
        (self.directory / "agent.pid").unlink()
        if status:
            raise Stopped(f"agent {words[0]} ended with {status}; run this program again to continue")

    def plan(self, task: str) -> str:
        """Return the plan for a task, which is made once; continue the one that was begun."""
        for directory in self.begun("plans", task):
            record, name = read_plan(directory), f"plans/{directory.name}"
            if record.text is not None:
                return name
            if not record.calls:  # killed before it asked
                shutil.rmtree(directory)
                continue
            self.agent("resume", name, "--api-base", self.api_base)
            return name
        self.agent(
            "plan",
            "--task",
            f"demo/{task}",
            "--model",
            "openai/planner",
            "--api-base",
            self.api_base,
            "--env",
            self.env,
        )
        return self.plan(task)

    def solve(self, task: str, mode: str) -> None:
        """Run a trial, or a chain of trials, to its end; continue the one that was begun."""
        for first in self.begun(mode, task):
            self.agent("resume", str(first), "--api-base", self.api_base)
            return
        words = ["--task", f"demo/{task}", "--model", "openai/worker", "--api-base", self.api_base, "--env", self.env]
        if mode == "self-correction":
            words += ["--self-correct", "3"]
        if mode.startswith("plan"):
            words += ["--plan", self.plan(task)]
        if mode.endswith("interactive"):
            words += ["--guidance", "openai/expert", "--guidance-api-base", self.api_base]
        self.agent("solve", *words, "--batch", mode)

    def begun(self, batch: str, task: str) -> list[Path]:
        """Return the records of a task in a batch, turn 1 first. A folder without a record holds no call: remove it."""
        directories = []
        for directory in sorted((self.runs / batch).glob(f"{task}.*")):
            events = directory / "events.jsonl"
            if events.exists() and b"\n" in events.read_bytes():
                directories.append(directory)
            else:
                shutil.rmtree(directory)
        return directories


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is left of the study, and print its table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="directory of the study")
    parser.add_argument("--env", default="sandbox", choices=("docker", "sandbox"), help="environment [sandbox]")
    parser.add_argument("--tasks", default=",".join(TASKS), help="demo tasks, separated by commas [all]")
    parser.add_argument("--modes", default=",".join(MODES), help="modes, separated by commas [all]")
    options = parser.parse_args(arguments)
    study = Study(options.study, options.env)
    try:
        with study.provider():
            for mode in options.modes.split(","):
                for task in options.tasks.split(","):
                    study.solve(task, mode)
    except Stopped as error:
        print(error, file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "agent.cli.main", "score", "--runs", str(study.runs), "--cost", "billed"]
    subprocess.run([*command], check=True)
    return subprocess.run([sys.executable, str(HERE / "calls.py"), str(options.study)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
