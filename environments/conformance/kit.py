"""Running checks on an environment without pytest: it starts environments, shares them and counts the results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from environments.conformance.checking import Check
from environments.conformance.place import Make, Place, Sever
from environments.promises import MEANING, Promise
from environments.protocol import EnvironmentFault, Started


class Unpromised(Exception):
    """Raised with the reason if a check does not apply."""


class Kit:
    """Runs the checks of one environment. Checks with the same spec share a place, unless they need one alone."""

    def __init__(self, make: Make, sever: Sever | None = None, name: str | None = None) -> None:
        """`name` is the environment's name in reports; None is its kind."""
        self._make = make
        self._sever = sever
        self._name = name
        self._shared: dict[str, Place] = {}

    def run(self, check: Check) -> None:
        """Run a check. Raises: AssertionError if the promise is broken, Unpromised if it is not made."""
        if not check.spec:
            self._applies(check, self.started())
        if check.severs and self._sever is None:
            raise Unpromised(f"no way to sever it: {self.name} needs a `sever` for this check")
        place = self._alone(check) if check.alone else self._of(check)
        kept = False
        try:
            self._applies(check, place.started)
            check.body(place)
            kept = True
        except Unpromised:
            kept = True
            raise
        except EnvironmentFault as fault:
            raise AssertionError(f"the environment failed: {type(fault).__name__}: {fault}") from fault
        finally:
            place.clean_up()
            if check.alone or not kept:
                self._shared = {key: shared for key, shared in self._shared.items() if shared is not place}
                _stop(place)

    def started(self) -> Started:
        """Return the facts that the environment reports with an unchanged spec."""
        return self._shared_place({}).started

    @property
    def name(self) -> str:
        return self._name or self.started().kind

    def close(self) -> None:
        """Stop all environments that still run."""
        for place in self._shared.values():
            _stop(place)
        self._shared = {}

    def _applies(self, check: Check, started: Started) -> None:
        if check.promise not in started.promises:
            raise Unpromised(f"{self.name} does not promise {check.promise.value}")

    def _of(self, check: Check) -> Place:
        return self._shared_place(dict(check.spec))

    def _alone(self, check: Check) -> Place:
        return self._start(dict(check.spec))

    def _shared_place(self, changes: dict[str, object]) -> Place:
        key = repr(sorted(changes.items()))
        if key not in self._shared:
            self._shared[key] = self._start(changes)
        return self._shared[key]

    def _start(self, changes: dict[str, object]) -> Place:
        made = self._make(**changes)
        return Place(made, made.start(), self._make, self._sever)


def _stop(place: Place) -> None:
    """Stop it and ignore errors: separate checks test that a stop is clean."""
    with contextlib.suppress(Exception):
        place.environment.stop()


@dataclass
class Report:
    """The results by check; texts are reasons."""

    name: str
    passed: list[Check] = field(default_factory=list)
    failed: list[tuple[Check, str]] = field(default_factory=list)
    unpromised: list[tuple[Check, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.failed

    def table(self) -> str:
        """Return one line for each check, failures last, then the sum."""
        width = max((len(check.id) for check in self.passed + [c for c, _ in self.failed + self.unpromised]), default=0)
        lines = [f"passed      {check.id:{width}}  {check.meaning}" for check in self.passed]
        lines += [f"unpromised  {check.id:{width}}  {reason}" for check, reason in self.unpromised]
        lines += [f"FAILED      {check.id:{width}}  {check.meaning}\n{'':14}{reason}" for check, reason in self.failed]
        counts = f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.unpromised)} not promised"
        return "\n".join([*lines, f"{self.name}: {counts}"])


def run_checks(
    make: Make,
    checks: Iterable[Check] | None = None,
    *,
    sever: Sever | None = None,
    name: str | None = None,
    progress: Callable[[str, Check], None] | None = None,
) -> Report:
    """Run all checks, or these, on environments that `make` makes. An error of any kind in a check is a failure.

    `progress` receives `passed`, `failed` or `unpromised` and the check, as soon as its result is known.

    Raises: EnvironmentUnavailable if no environment can be started.
    """
    from environments.conformance.topics import all_checks

    kit = Kit(make, sever, name)
    try:
        kit.started()
        report = Report(kit.name)
        for check in all_checks() if checks is None else checks:
            try:
                kit.run(check)
                report.passed.append(check)
                outcome = "passed"
            except Unpromised as exception:
                report.unpromised.append((check, str(exception)))
                outcome = "unpromised"
            except Exception as error:
                reason = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
                report.failed.append((check, reason))
                outcome = "failed"
            if progress:
                progress(outcome, check)
        return report
    finally:
        kit.close()


def unpromised(started: Started) -> dict[Promise, str]:
    """Return the promises that an environment does not make, with their meanings."""
    return {promise: MEANING[promise] for promise in Promise if promise not in started.promises}
