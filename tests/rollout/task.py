"""A small task that is repaired or lost in one command, and a trial of it that loses it at a known step.

The tests want the file `data` with the content that the task brings, and `done` beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.loop.actions import SUBMIT
from tests.solve.command import CommandResult, agent, script

FATAL = 3
"""Step of the trial that deletes what the task brought."""
STEPS = 5
WORK = "[ -e data ] && touch done"
"""The rest of the work as a command: it succeeds from any state before the fatal step, and from none after it."""


def make_task(folder: Path, image: str = "") -> Path:
    """Write the directory of the task, in an image if one is named."""
    in_image = f"image: {{reference: '{image}'}}\n" if image else ""
    directory = folder / "keep"
    (directory / "workspace").mkdir(parents=True)
    (directory / "tests").mkdir()
    (directory / "workspace/data").write_text("given\n")
    (directory / "instruction.md").write_text("Keep data, and make done.\n")
    (directory / "tests/test_it.py").write_text("def test(candidate):\n    assert candidate().stdout == b'given\\n'\n")
    (directory / "task.yaml").write_text(
        f"title: Keep\nkind: repair\nenvironments: [{'docker' if image else 'sandbox, local'}]\n{in_image}"
        "evaluation: {cases: 1, program: [cat, '{workspace}/data', '{workspace}/done'], timeout: 60s}\n"
    )
    return directory


def lost_trial(folder: Path, *options: str, image: str = "") -> CommandResult:
    """Run the trial that loses the task at the step `FATAL`. Its fourth step leaves a process running."""
    leaves = "echo >data; (sleep 60 >/dev/null 2>&1 &)"
    turns = ("cat data", "echo more >/tmp/more", "rm data", leaves, ["touch done", SUBMIT])
    task = make_task(folder, image)
    return agent(folder, "solve", "--task", str(task), "--model", script(folder, *turns), *options, "--json")


def worker(folder: Path) -> str:
    """Return a script that goes on from any step: one command that works if the state allows it, then the end."""
    return script(folder, *[[WORK, SUBMIT]] * (STEPS + 1))


@contextmanager
def checkpoints_removed(folder: Path) -> Iterator[None]:
    """Remove the images of the checkpoints of all trials below a folder at the end."""
    import docker

    try:
        yield
    finally:
        trials = tuple(f"retrace-checkpoint:{events.parent.name}-" for events in folder.glob("runs/*/*/events.jsonl"))
        client = docker.from_env()
        for image in client.images.list(name="retrace-checkpoint"):
            for tag in image.tags:
                if tag.startswith(trials):
                    client.images.remove(tag)
        client.close()
