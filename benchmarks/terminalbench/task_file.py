"""The `task.yaml` of terminal-bench and LongCLI-Bench: its keys, their types and defaults.

Unknown keys are accepted, as upstream does; `unknown_keys` lists them for whoever checks a task.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from benchmarks.task.task import TASK_FILE, TaskError
from benchmarks.task.yaml_file import read_yaml, text_of
from benchmarks.terminalbench.test_sets import SETS, Form, SetName
from trajectories import yaml_mistakes
from trajectories.yaml_mistakes import Mistakes

LONG_CLI = "long_cli"
"""The parser name that marks a task of LongCLI-Bench."""
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Estimate = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class TerminalBenchFile(BaseModel):
    """The keys of a task.yaml."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    instruction: str
    difficulty: Literal["easy", "medium", "hard", "unknown"]
    author_name: str | None = "unknown"
    author_email: str | None = "unknown"
    category: str = "software_engineering"
    tags: list[str] = Field(default_factory=list)
    parser_name: Literal["pytest", "swebench", "swelancer", "mlebench", "sweperf", "long_cli"] = "pytest"
    parser_results_f2p: Form | None = None
    """Form of the results of the set F2P; None if there is no such set. LongCLI-Bench only."""
    parser_results_p2p: Form | None = None
    max_agent_timeout_sec: _Seconds = 360.0
    max_test_timeout_sec: _Seconds = 60.0
    """Limit of the whole test script."""
    run_tests_in_same_shell: bool = False
    disable_asciinema: bool = False
    estimated_duration_sec: _Estimate | None = None
    expert_time_estimate_min: _Estimate | None = None
    junior_time_estimate_min: _Estimate | None = None

    @field_validator("instruction")
    @classmethod
    def _has_text(cls, instruction: str) -> str:
        if not instruction.strip():
            raise ValueError("must not be empty")
        return instruction

    @model_validator(mode="after")
    def _sets_of_longcli(self) -> TerminalBenchFile:
        if self.sets and not self.is_longcli:
            raise ValueError(f"parser_results_f2p and parser_results_p2p need parser_name: {LONG_CLI}")
        return self

    @property
    def is_longcli(self) -> bool:
        """True for a task of LongCLI-Bench, False for one of terminal-bench."""
        return self.parser_name == LONG_CLI

    @property
    def sets(self) -> dict[SetName, Form]:
        """The configured test sets with their forms."""
        forms: dict[SetName, Form | None] = {"f2p": self.parser_results_f2p, "p2p": self.parser_results_p2p}
        return {name: form for name in SETS if (form := forms[name]) is not None}


def read(path: Path) -> TerminalBenchFile:
    """Return the content of a task.yaml.

    Raises: TaskError (file, lines, keys, reasons).
    """
    return read_yaml(path, TerminalBenchFile)


def unknown_keys(directory: Path) -> tuple[str, ...]:
    """Return the keys of a task.yaml that nothing reads, so a typo in one silently yields a default.

    Raises: TaskError.
    """
    path = directory / TASK_FILE
    try:
        content = yaml_mistakes.load(text_of(path))
    except Mistakes as mistakes:
        raise TaskError(f"{path}: {mistakes}") from None
    return tuple(str(key) for key in content if key not in TerminalBenchFile.model_fields)
