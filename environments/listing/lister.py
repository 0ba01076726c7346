"""The lister of one environment: its first listing is complete, each later one asks only for what changed.

Everything is listed again whenever changes alone might not tell everything: after an error, when the clock was set
back, and when the supervisor or the tree reports so. `listing.py` explains the theory.
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
"""Seconds by which the clock may go back unnoticed: less than the overlap of what two listings look at."""


class Lister:
    """Makes the listings of one environment and remembers the last one."""

    def __init__(self) -> None:
        self._last: Listing | None = None
        self._ahead_s = 0.0
        """Seconds by which the clock that stamps files was ahead of the monotonic clock."""

    def listing(self, channel: Channel) -> Listing:
        """List the workspace as it is now.

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
    """List everything, or only what changed since the `last` listing.

    Raises: Unclear, EnvironmentLost, EnvironmentFault.
    """
    raw, end = whole(channel.read("l", (), last.look_after if last else "0"))
    busy, extent = end.facts[0] == "1", end.facts[1]
    if last is not None and extent == "since":
        if end.status or end.complaints:
            raise Unclear(end.complaints)
        listing = last.followed_by(raw, busy=busy)
        if listing.is_settled:
            channel.need_not_wait()
        return listing
    unlisted, rest = left_out.unlisted(end.complaints)
    if end.status > 1 or rest or (end.status and not end.complaints):
        reason = "; ".join(rest[:3]) or f"its lister ended with status {end.status}"
        raise EnvironmentFault(f"the workspace cannot be listed whole: {reason}")
    return Listing(raw, busy=busy, unlisted=unlisted)


def whole(stream: Generator[bytes, None, StreamEnd]) -> tuple[bytes, StreamEnd]:
    """Return all bytes of a stream, and the facts about it."""
    pieces: list[bytes] = []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return b"".join(pieces), end.value
