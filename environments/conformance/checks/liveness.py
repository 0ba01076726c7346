"""The loss of an environment; `Place.sever` kills it from outside."""

from __future__ import annotations

import threading
import time

from environments.conformance.checking import check, holds, same
from environments.conformance.contents import contents
from environments.conformance.place import Place
from environments.promises import Promise
from environments.protocol import EnvironmentFault, EnvironmentLost

NOTICED_S = 5.0


def _lost(place: Place, script: str = "true") -> str:
    """Run an action, which must fail because the environment is lost, and return its error."""
    try:
        action = place.run(script, 30)
    except EnvironmentLost as fault:
        return str(fault)
    raise AssertionError(f"the loss came back as the outcome of an action: {action!s:.300}")


@check(Promise.LIVENESS, "LossIsAnOutcome", "LossTakesLong", severs=True)
def check_loss_during_an_action(place: Place) -> None:
    """A loss during an action raises EnvironmentLost within 5 s and is not reported as an exit code."""
    timer = threading.Timer(0.3, place.sever)
    began = time.monotonic()
    timer.start()
    try:
        _lost(place, "sleep 20")
        took_s = time.monotonic() - began
    finally:
        timer.join()
    holds(took_s < 0.3 + NOTICED_S, f"it was noticed within {NOTICED_S} s", took_s)


@check(Promise.LIVENESS, "LossIsAnOutcome", severs=True)
def check_loss_between_actions(place: Place) -> None:
    """A loss between two actions is noticed by the next one."""
    place.sever()
    time.sleep(0.2)
    _lost(place)


@check(Promise.LIVENESS, "LossWithoutWords", severs=True)
def check_reason(place: Place) -> None:
    """The error of a loss names what died, and each later action fails with the same error."""
    place.sever()
    time.sleep(0.2)
    first = _lost(place)
    holds(len(first.split()) > 2 and "\n" not in first, "it is one line of some words", first)
    same(_lost(place), first, "the second action")


@check(Promise.LIVENESS, "StopRaises", severs=True)
def check_stop_after_a_loss(place: Place) -> None:
    """A lost environment can be stopped, quickly and without an error."""
    place.sever()
    time.sleep(0.2)
    began = time.monotonic()
    try:
        place.environment.stop()
    except Exception as error:
        raise AssertionError(f"stop raised {error!r}") from error
    took_s = time.monotonic() - began
    holds(took_s < NOTICED_S, "it took less than 5 s", took_s)


@check(Promise.RESCUE, "NoRescue", "HollowRescue", severs=True)
def check_rescue(place: Place) -> None:
    """The workspace of a lost environment is exported completely."""
    place.text("mkdir kept; echo kept >kept/file; ln -s file kept/link; echo x >locked; chmod 0 locked")
    place.sever()
    time.sleep(0.2)
    _lost(place)
    to = place.scratch / "rescued.tar.zst"
    try:
        place.environment.export(to)
    except EnvironmentFault as fault:
        raise AssertionError(f"there was no rescue: {fault}") from fault
    members = contents(to)
    holds({"./kept/file", "./kept/link", "./locked"} <= set(members), "everything is in it", sorted(members))
    same(members["./kept/file"].body, b"kept\n")
    same({(member.uid, member.gid) for member in members.values()}, {(0, 0)}, "owners")
