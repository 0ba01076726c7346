"""The results of checks, as `agent tasks check` prints them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Status = Literal["passed", "failed", "warned", "skipped"]
"""`warned`: worth a look, but the task can be used; `skipped`: could not be checked, for the given reason."""


class Finding(BaseModel):
    """The result of one check."""

    model_config = ConfigDict(frozen=True)

    check: str
    status: Status
    detail: str = ""


class Report(BaseModel):
    """The results of all checks of one task."""

    model_config = ConfigDict(frozen=True)

    task: str
    """Id of the task, or its name as it was typed if it cannot be read."""
    format: str = ""
    """Format of its directory; empty for a task without one."""
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """True if no check failed."""
        return not any(finding.status == "failed" for finding in self.findings)
