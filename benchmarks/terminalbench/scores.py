"""The score of a submission from what its test script left: by the sets of LongCLI-Bench, or by a parser's results."""

from __future__ import annotations

from statistics import fmean

from benchmarks.judging.faults import Fault, SubmissionFailed
from benchmarks.judging.system.evaluating import Outcome
from benchmarks.judging.system.script_run import ScriptResult
from benchmarks.terminalbench import parsers, test_sets
from benchmarks.terminalbench.task_file import TerminalBenchFile
from trajectories.record.verdict import Case

TESTS = "tests"
"""Group of the cases of a task that has no sets."""


class NoResult(Exception):
    """The tests came to their end and left nothing that can be read. The message is one line."""


def score(file: TerminalBenchFile, result: ScriptResult, deadline_s: float) -> Outcome:
    """Return the score of a task by its parser.

    Raises: SubmissionFailed if the tests did not come to their end, NoResult.
    """
    if file.is_longcli:
        return _of_sets(file, result, deadline_s)
    fault = result.ended_by(deadline_s)
    if fault is not None:
        raise SubmissionFailed(fault.cause, fault.reason)
    return _of_parser(file, bytes(result.execution.output))


def zero(file: TerminalBenchFile, fault: Fault) -> Outcome:
    """Return the score of a submission that ended its own tests."""
    groups = {str(name): name.upper() for name in file.sets} or {TESTS: TESTS}
    cases = tuple(Case(id=id, group=group, status="missing", message=fault.reason) for id, group in groups.items())
    metrics = {f"{name}_{value}": 0.0 for name in file.sets for value in ("pass", "step")}
    return Outcome(False, 0.0, cases, metrics, (fault.reason,), fault)


def _of_sets(file: TerminalBenchFile, result: ScriptResult, deadline_s: float) -> Outcome:
    """Return the score of a task of LongCLI-Bench: all configured sets must pass, and their steps are the quality.

    Tests that were ended early still count as far as they left results, as in the authors' harness.
    """
    fault = result.ended_by(deadline_s)
    output = bytes(result.execution.output)
    sets = [test_sets.read_set(name, form, result.results, output) for name, form in file.sets.items()]
    if sets and not any(of_set.delivered for of_set in sets):
        if fault is not None:
            raise SubmissionFailed(fault.cause, fault.reason)
        raise NoResult(f"the tests left no result of {' or '.join(of_set.name.upper() for of_set in sets)}")
    notes = tuple(note for of_set in sets for note in of_set.notes)
    notes += test_sets.disagreements(sets)
    if not sets:
        notes += ("the task configures neither F2P nor P2P, so nothing can solve it",)
    if fault is not None:
        notes += (f"{fault.reason}; what they had left by then counts",)
    return Outcome(
        passed=bool(sets) and all(of_set.passes for of_set in sets),
        quality=fmean(of_set.quality for of_set in sets) if sets else 0.0,
        cases=tuple(case for of_set in sets for case in of_set.cases),
        metrics=test_sets.metrics(sets),
        notes=notes,
    )


def _of_parser(file: TerminalBenchFile, output: bytes) -> Outcome:
    """Return the score of a task of terminal-bench: every test must pass. Raises: NoResult."""
    try:
        results = parsers.PARSERS[file.parser_name](parsers.text_of(output))
    except parsers.ParserError as error:
        raise NoResult(str(error)) from None
    if not results:
        raise NoResult("the summary of the tests lists no test")
    passed = sum(result.passes for result in results.values())
    return Outcome(
        passed=passed == len(results),
        quality=passed / len(results),
        cases=tuple(result.case(name, TESTS) for name, result in results.items()),
        notes=parsers.skipped_note(results),
    )
