"""Records role calls while threads make them: each before its request leaves, and again with its result."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from trajectories.analysis.integrity.judge import NOTHING, Reserved
from trajectories.record.base import Json
from trajectories.record.events import (
    BaseEvent,
    ModelRef,
    Purpose,
    Role,
    RoleCallFinished,
    RoleCallStarted,
    TextRef,
)
from trajectories.record.usage import Costs
from trajectories.writing.recorder import Recorder


class Ended(Exception):
    """Nothing may be asked any more: the user interrupted."""


@dataclass(frozen=True)
class PurposeJournal:
    """Implements `Journal` for the role calls about one matter."""

    calls: RoleCalls
    role: Role
    purpose: Purpose
    prompt: TextRef

    def started(self, model: ModelRef, messages: Sequence[Json], try_: int, reserved: Reserved = NOTHING) -> int:
        """See `Journal`.

        Raises: Ended, RecordFull.
        """
        return self.calls.started(self.role, self.purpose, model, self.prompt, messages, try_, reserved)

    def finished(self, result: RoleCallFinished) -> None:
        """See `Journal`.

        Raises: RecordFull.
        """
        self.calls.finished(result)


@dataclass
class RoleCalls:
    """The role calls of one record, and every other event that is written while threads make them."""

    recorder: Recorder
    next: int
    """Number of the next call."""
    under_way: dict[int, Purpose] = field(default_factory=dict)
    """Calls without a result, by their number."""
    made: dict[int, Purpose] = field(default_factory=dict)
    """All calls of this command, by their number."""
    _ended: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def after(cls, events: Iterable[BaseEvent], recorder: Recorder) -> RoleCalls:
        """Return the role calls of a record that continues after these events."""
        numbers = [event.call for event in events if isinstance(event, RoleCallStarted)]
        return cls(recorder, max(numbers, default=0) + 1)

    def append(self, event: BaseEvent) -> None:
        """Write another event.

        Raises: RecordFull.
        """
        with self._lock:
            self.recorder.append(event)

    def started(
        self,
        role: Role,
        purpose: Purpose,
        model: ModelRef,
        prompt: TextRef,
        messages: Sequence[Json],
        try_: int,
        reserved: Reserved = NOTHING,
    ) -> int:
        """Write that a request is about to leave, and return the number of the call.

        Raises: Ended, RecordFull.
        """
        request = json.dumps(messages, ensure_ascii=False).encode("utf-8", "replace")
        with self._lock:
            if self._ended:
                raise Ended
            digest = hashlib.sha256(request).hexdigest() if self.recorder.keep(request) else None
            call = self.next
            started = RoleCallStarted(
                call=call,
                role=role,
                purpose=purpose,
                model=model,
                prompt=prompt,
                request=digest,
                try_=try_,
                reserved_usd=reserved.usd,
                reserved_tokens=reserved.tokens,
            )
            self.recorder.append(started)
            self.recorder.sync()
            self.next += 1
            self.under_way[call] = self.made[call] = purpose
            return call

    def of(self, purpose: Purpose) -> tuple[int, ...]:
        """Return the numbers of the calls that were made for a purpose."""
        with self._lock:
            return tuple(call for call, matter in self.made.items() if matter == purpose)

    def finished(self, result: RoleCallFinished) -> None:
        """Write the result of a call. Nothing is written for a call that was given up.

        Raises: RecordFull.
        """
        with self._lock:
            if self.under_way.pop(result.call, None) is not None:
                self.recorder.append(result)

    def fail(self, purpose: Purpose, detail: str) -> None:
        """Write for the calls of a purpose that are under way that they failed, at an unknown cost.

        Raises: RecordFull.
        """
        with self._lock:
            failed = [call for call, matter in self.under_way.items() if matter == purpose]
        for call in failed:
            self.finished(RoleCallFinished(call=call, status="failed", error="other", detail=detail, costs=Costs()))

    def end(self) -> None:
        """Give up the calls that are under way, and refuse further ones.

        Raises: RecordFull.
        """
        with self._lock:
            self._ended = True
            given_up = list(self.under_way)
        for call in given_up:
            detail = "interrupted by the user"
            self.finished(
                RoleCallFinished(call=call, status="cut_off", error="interrupted", detail=detail, costs=Costs())
            )
