"""Runs checks on an environment, without pytest: starts places, shares them, and keeps count."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from environments.conformance.checking import Check
from environments.conformance.place import Make, Place, Sever
from environments.promises import MEANING, Promise
from environments.protocol import EnvironmentFault, Started


class Unpromised(Exception):
    """A check that does not apply, and why."""


class Kit:
    """One environment's checks. Checks with the same spec share a place, but for those that want one alone."""

    def __init__(self, make: Make, sever: Sever | None = None, name: str | None = None) -> None:
        """`name` is what reports call it; None is its kind."""
        self._make = make
        self._sever = sever
        self._name = name
        self._shared: dict[str, Place] = {}

    def run(self, check: Check) -> None:
        """Raises: AssertionError where the promise is broken; Unpromised where it is not made."""
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
                self._shared = {key: one for key, one in self._shared.items() if one is not place}
                _stop(place)

    def started(self) -> Started:
        """What the environment says of itself, with nothing asked for."""
        return self._shared_place({}).started

    @property
    def name(self) -> str:
        return self._name or self.started().kind

    def close(self) -> None:
        """Stop all that still runs."""
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
    """Without a word: whether a stop is clean is for checks to say."""
    with contextlib.suppress(Exception):
        place.environment.stop()


@dataclass
class Report:
    """What came out, check by check; texts say why."""

    name: str
    passed: list[Check] = field(default_factory=list)
    failed: list[tuple[Check, str]] = field(default_factory=list)
    unpromised: list[tuple[Check, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.failed

    def table(self) -> str:
        """One line a check, failures last, then the sum."""
        width = max((len(one.id) for one in self.passed + [c for c, _ in self.failed + self.unpromised]), default=0)
        lines = [f"passed      {one.id:{width}}  {one.says}" for one in self.passed]
        lines += [f"unpromised  {one.id:{width}}  {why}" for one, why in self.unpromised]
        lines += [f"FAILED      {one.id:{width}}  {one.says}\n{'':14}{why}" for one, why in self.failed]
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
    """Run all checks (or these) on environments that `make` makes; an error of any kind in one is a failure.

    Raises: EnvironmentUnavailable, if none can be started.

    `progress` gets `passed`, `failed` or `unpromised` and the check, as soon as it is known.
    """
    from environments.conformance.topics import all_checks

    kit = Kit(make, sever, name)
    try:
        kit.started()
        report = Report(kit.name)
        for one in all_checks() if checks is None else checks:
            try:
                kit.run(one)
                report.passed.append(one)
                outcome = "passed"
            except Unpromised as why:
                report.unpromised.append((one, str(why)))
                outcome = "unpromised"
            except Exception as error:
                what = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
                report.failed.append((one, what))
                outcome = "failed"
            if progress:
                progress(outcome, one)
        return report
    finally:
        kit.close()


def unpromised(started: Started) -> dict[Promise, str]:
    """The promises that an environment does not make, with what they mean."""
    return {promise: MEANING[promise] for promise in Promise if promise not in started.promises}
