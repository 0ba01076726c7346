"""Makes the listings of one environment: the first whole, the others of what changed since the one before.

All is listed again whenever that might not tell everything: after an error, when the clock was set back, and when the
supervisor or the tree says so.
"""

from __future__ import annotations

import time
from collections.abc import Generator

from environments.archives import left_out
from environments.listing.listing import Listing
from environments.listing.tree import Unclear
from environments.protocol import EnvironmentFault
from environments.wire.channel import Channel, StreamEnd

_SET_BACK_S = 0.02
"""Less than the time by which what two listings look at overlaps."""


class Lister:
    """Knows the last listing."""

    def __init__(self) -> None:
        self._last: Listing | None = None
        self._ahead_s = 0.0
        """Of the monotonic clock, the one that files are stamped with."""

    def listing(self, channel: Channel) -> Listing:
        """What is in the workspace now.

        Raises: EnvironmentLost, EnvironmentFault.
        """
        last, self._last = self._last, None
        before_s, self._ahead_s = self._ahead_s, time.time() - time.monotonic()
        if last is not None and last.look_after and self._ahead_s > before_s - _SET_BACK_S:
            try:
                self._last = _listed(channel, last)
            except Unclear:
                pass
        if self._last is None:
            self._last = _listed(channel)
        return self._last


def _listed(channel: Channel, last: Listing | None = None) -> Listing:
    """Everything, or what changed since the `last` one.

    Raises: Unclear, EnvironmentLost, EnvironmentFault.
    """
    raw, told = whole(channel.read("l", (), last.look_after if last else "0"))
    busy, how = told.facts[0] == "1", told.facts[1]
    if last is not None and how == "since":
        if told.status or told.complaints:
            raise Unclear(told.complaints)
        listing = last.followed_by(raw, busy=busy)
        if listing.is_settled:
            channel.need_not_wait()
        return listing
    unlisted, rest = left_out.unlisted(told.complaints)
    if told.status > 1 or rest or (told.status and not told.complaints):
        why = "; ".join(rest[:3]) or f"its lister ended with status {told.status}"
        raise EnvironmentFault(f"the workspace cannot be listed whole: {why}")
    return Listing(raw, busy=busy, unlisted=unlisted)


def whole(stream: Generator[bytes, None, StreamEnd]) -> tuple[bytes, StreamEnd]:
    """All bytes of an answer, and what was said around them."""
    pieces: list[bytes] = []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return b"".join(pieces), end.value
