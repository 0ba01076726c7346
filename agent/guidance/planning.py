"""Makes a plan for a task, from the task alone, in a record of its own with the text beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.errors import UserError
from agent.guidance.first_listing import first_listing
from agent.guidance.plans import plan_text
from agent.models.choose import HUMAN, NOP, ORACLE, REPLAY, SCRIPT
from agent.roles.asking import Asker, make_asker
from agent.roles.budget import RoleBudget
from agent.roles.person import Person
from agent.roles.planner import PlanCheck, PlanRequest, ask_for_plan, first_messages
from agent.roles.recording import role_record
from agent.trial.order import Order
from benchmarks.task.task import Task
from environments.reporting import Reporter
from prompts import load_role
from trajectories.formats.errors import CannotExport
from trajectories.formats.write_file import write_file
from trajectories.reading.plans.record import RULE, PlanRecord, read_plan
from trajectories.record.events import TaskRef
from trajectories.record.interventions import CodeRule
from trajectories.record.layout import PLAN, PLANS, TrialFolder
from trajectories.writing.claim import claim_plan


@dataclass(frozen=True)
class _Lines:
    """Implements `Reporter` by a function."""

    note: Callable[[str], None]


def make_plan(order: Order, asker: Asker, rule: CodeRule, say: Callable[[str], None]) -> PlanRecord:
    """List the initial workspace of the order's task, ask for a plan, and return its record.

    The model of the order plays no part: an order says where the task begins. `say` shows lines of progress.

    Raises: MachineError if no plan came; the record stays. TaskError, RecordError; KeyboardInterrupt.
    """
    task, prompt = order.task, load_role("planner")
    reporter: Reporter = _Lines(say)
    say(f"listing the initial workspace of {task.id} in {order.spec.kind}")
    listing = first_listing(order, f"{PLANS}-{order.task.id}".replace("/", "-"), reporter)
    model = asker.model.name if ":" in asker.model.asked else asker.model.asked  # a path does not fit into a name
    directory = claim_plan(order.runs, task.id, model)
    request = PlanRequest(
        instruction=task.instruction,
        workdir=listing.workdir,
        listing=listing.text,
        left_out=listing.left_out,
    )
    reference = TaskRef(
        id=task.id, benchmark=task.benchmark, digest=task.digest, title=task.title, language=task.language or None
    )
    options: dict[str, object] = {RULE: rule, "environment": order.spec.kind, "task": order.options.task}
    options |= {"prices": order.options.prices} if order.options.prices else {}
    options |= {"variant": task.variant} if task.variant else {}
    say(f"asking {asker.model.asked} for a plan; the record is {directory}")
    with role_record(
        directory, role="planner", task=reference, asker=asker, prompt=prompt, prices=order.prices, options=options
    ) as calls:
        ask_for_plan(asker, prompt, check_of(task, rule), first_messages(prompt, request, rule), calls, say)
        record = read_plan(directory)
        write_beside(record)
    return record


def check_of(task: Task, rule: CodeRule) -> PlanCheck:
    """Return what a plan for a task is checked by."""
    return PlanCheck(rule, task.language or None, task.reference)


def planner_of(typed: str, order: Order, settings: Mapping[str, object], api_base: str | None) -> Asker:
    """Return the author that `--model` names: a person, a provider's model or a script.

    Raises: UserError.
    """
    budget = RoleBudget()
    if typed == HUMAN:
        if settings or api_base:
            given = "--api-base" if api_base else f"--model-setting {next(iter(settings))}"
            raise UserError(f"{given} does not apply to --model {HUMAN}; leave it out")
        return Asker(Person(PLAN), order.prices, budget)
    if typed in (ORACLE, NOP) or typed.startswith(REPLAY):
        raise UserError(f"--model {typed} writes no plans; name a model (agent models list), {SCRIPT}FILE or {HUMAN}")
    return make_asker(typed, option="--model", settings=settings, api_base=api_base, prices=order.prices, budget=budget)


def check_output(path: Path) -> None:
    """Check that a file of the user's can be written, before a plan is paid for.

    Raises: UserError.
    """
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UserError(f"--output {path}: name a file in a directory that exists")


def write_output(record: PlanRecord, output: Path) -> None:
    """Write the text of the plan into a file of the user's.

    Raises: CannotExport.
    """
    write_file(output, (plan_text(record) or "").encode())


def write_beside(record: PlanRecord) -> None:
    """Write the text of the plan beside its record. If that fails, the record still holds it."""
    text = plan_text(record)
    if text is not None:
        with suppress(CannotExport):
            write_file(TrialFolder(record.path).plan, text.encode())
