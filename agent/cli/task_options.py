"""Options about a task that change nothing in its files: `--overlay`, `--base-image` and those of its evaluation.

A benchmark that has no use for one of them refuses it by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import TASK
from agent.errors import UserError

if TYPE_CHECKING:
    from agent.trial.options import TaskChanges

OverlayOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Directory whose files are added to the task's, or replace them; the verdict names it [none].",
        show_default=False,
        rich_help_panel=TASK,
    ),
]

BaseImageOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=IMAGE",
        help="Image to use in place of one that the task's Dockerfile names in FROM; repeatable [none].",
        rich_help_panel=TASK,
    ),
]

TestTimeoutMultiplierOption = Annotated[
    float | None,
    typer.Option(metavar="X", help="Factor of the task's own time limits for tests [1].", rich_help_panel=TASK),
]

IsolatedVerifierOption = Annotated[
    bool,
    typer.Option(
        "--isolated-verifier",
        help="Judge the committed container without any process of the agent, where the task's authors judge it live; "
        "the score cannot be compared with published ones.",
        rich_help_panel=TASK,
    ),
]


@dataclass(frozen=True)
class TaskOptions:
    """Options about a task, as they were typed."""

    overlay: Path | None
    base_images: Sequence[str] | None
    test_timeout_multiplier: float | None = None
    isolated_verifier: bool = False

    def changes(self) -> TaskChanges:
        """Return the options that are set.

        Raises: UserError for a value that cannot be used.
        """
        changes: TaskChanges = {}
        if self.overlay is not None:
            if not self.overlay.is_dir():
                raise UserError(f"--overlay {self.overlay}: no such directory")
            changes["overlay"] = self.overlay.resolve()
        if self.base_images:
            changes["base_images"] = _base_images(self.base_images)
        if self.test_timeout_multiplier is not None:
            if not 0 < self.test_timeout_multiplier < math.inf:
                raise UserError(
                    f"--test-timeout-multiplier {self.test_timeout_multiplier:g}: give a number above 0, such as 2"
                )
            changes["test_timeout_multiplier"] = self.test_timeout_multiplier
        if self.isolated_verifier:
            changes["isolated_verifier"] = True
        return changes


def _base_images(typed: Sequence[str]) -> dict[str, str]:
    """Return the images by the names that they replace.

    Raises: UserError.
    """
    images: dict[str, str] = {}
    for text in typed:
        name, _, image = text.partition("=")
        if not name.strip() or not image.strip():
            raise UserError(f"--base-image {text!r}: write NAME=IMAGE, such as python:3.13=registry.local/python:3.13")
        if images.setdefault(name.strip(), image.strip()) != image.strip():
            raise UserError(f"--base-image {text!r}: {name.strip()} is given twice, with different images")
    return images
