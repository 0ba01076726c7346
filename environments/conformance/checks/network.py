"""No network except loopback."""

from __future__ import annotations

import socket

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.NETWORK_OFF, "Claims")
def check_no_interface(place: Place) -> None:
    """There is no network interface except loopback."""
    same(place.text("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"), "lo\n")


@check(Promise.NETWORK_OFF, "Claims")
def check_harness_is_out_of_reach(place: Place) -> None:
    """A server on the harness's machine cannot be reached over loopback."""
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        action = place.run(f"(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>&1 && echo connected", 10)
    holds(b"connected" not in action.output, "no connection", action.output)


@check(Promise.NETWORK_OFF, "Claims")
def check_no_route(place: Place) -> None:
    """There is no network route."""
    same(place.text("tail -n +2 /proc/net/route | wc -l"), "0\n")


@check(Promise.NETWORK_OFF, "LoopbackDown")
def check_loopback(place: Place) -> None:
    """Loopback is up: a port without a server refuses connections instead of being unreachable."""
    action = place.run("(exec 3<>/dev/tcp/127.0.0.1/9) 2>&1; true", 10)
    holds(b"refused" in action.output, "the connection is refused", action.output)
