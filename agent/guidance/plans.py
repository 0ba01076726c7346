"""The plan that a trial is given: its text, who wrote it at what cost, and the rule that it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.errors import UserError
from agent.option_files import read_text
from benchmarks.task.task import Task
from trajectories.errors import RecordError
from trajectories.reading.plans.finding import find_plan, records_of
from trajectories.reading.plans.record import PlanRecord, read_plan
from trajectories.record.events import Plan
from trajectories.record.identity import sha256_of
from trajectories.record.interventions import CodeRule
from trajectories.record.layout import PLANS
from trajectories.writing import excerpts

_OPTION = "--plan"


@dataclass(frozen=True)
class GivenPlan:
    """A plan for a trial, before its beginning."""

    text: str
    ref: Plan


def given_plan(typed: Path, runs: Path, rule: CodeRule | None, task: Task) -> GivenPlan:
    """Return the plan in a file, or in a record of `agent plan` that is named by its folder or by `plans/NAME`.

    A file whose text is that of such a record has the author, the costs and the rule of the record. Without `rule` a
    plan of a record keeps the rule that it was checked by, and another one is not checked.

    Raises: UserError for a plan that cannot be read, is empty, or breaks the rule.
    """
    record = _named_record(typed, runs)
    text = read_text(typed, _OPTION) if record is None else _text_of(record, typed)
    if not text.strip():
        raise UserError(f"{_OPTION} {typed}: the file is empty; write a plan, or leave the option out")
    if record is None:
        record = next(iter(_records_with(text, typed, runs)), None)
    ref = Plan(name=str(typed), sha256=sha256_of(text), author="file", rule=rule or "none", step=0)
    if record is not None:
        ref = ref.model_copy(
            update={
                "author": record.author,
                "model": record.model if record.author == "model" else None,
                "costs": record.costs,
                "record": record.record,
                "rule": rule or record.rule,
            }
        )
    if rule == "no-code":
        require_no_code(text, typed, task)
    return GivenPlan(text, ref)


def require_no_code(text: str, typed: Path, task: Task) -> None:
    """Check that a plan keeps the rule `no-code`.

    Raises: UserError that names the rule and the line; also without the extra `analysis`.
    """
    from agent.guidance.no_code import check

    violation = check(text, language=task.language or None, solution=task.reference)
    if violation is not None:
        raise UserError(
            f"{_OPTION} {typed}: line {violation.line_number} breaks the rule no-code ({violation.rule}): "
            f"{excerpts.on_one_line(violation.line)}; describe it in words, or use --plan-rule none"
        )


def plan_text(record: PlanRecord) -> str | None:
    """Return the text of a record's plan as it is given to a trial and written into a file; None without a plan."""
    return None if record.text is None else record.text.strip("\n") + "\n"


def _named_record(typed: Path, runs: Path) -> PlanRecord | None:
    """Return the record that is named itself, and not by a file in it; None if a file is named."""
    if typed.is_file():
        return None
    try:
        directory = find_plan(str(typed), runs)
        return None if directory is None else read_plan(directory)
    except RecordError as error:
        raise UserError(f"{_OPTION} {typed}: {error}") from None


def _text_of(record: PlanRecord, typed: Path) -> str:
    text = plan_text(record)
    if text is None:
        raise UserError(f"{_OPTION} {typed}: no plan came of this record; make another one with agent plan")
    return text


def _records_with(text: str, typed: Path, runs: Path) -> list[PlanRecord]:
    """Return the records with the text of a file: the one that it lies in before others."""
    beside = typed.absolute().parent
    elsewhere = beside.parent.parent if beside.parent.name == PLANS else runs
    records = [*records_of(text, elsewhere), *(records_of(text, runs) if elsewhere != runs else ())]
    return sorted(records, key=lambda record: record.path.absolute() != beside)
