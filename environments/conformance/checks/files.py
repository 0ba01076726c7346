"""The files that actions can see."""

from __future__ import annotations

import os

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.OWN_FILES, "Claims", "Naive")
def check_harness_files(place: Place) -> None:
    """Actions do not see a file that the harness writes for everyone to read."""
    secret = place.scratch / "secret"
    secret.write_text("for the harness alone")
    secret.chmod(0o644)
    action = place.run(f"cat {secret}")
    holds(b"alone" not in action.output and action.exit_code == 1, "it cannot be read", action)


@check(Promise.OWN_FILES, "Claims", "Naive")
def check_written_files(place: Place) -> None:
    """Files that an action writes to /tmp do not appear in the harness's /tmp."""
    name = f"/tmp/conformance-{os.getpid()}"
    place.text(f"echo x >{name}")
    try:
        holds(not os.path.exists(name), "it is not there")
    finally:
        place.run(f"rm -f {name}")


@check(Promise.OWN_FILES, "Claims")
def check_two_environments(place: Place) -> None:
    """Two environments share neither /tmp nor home."""
    name = f"/tmp/conformance-{os.getpid()}"
    place.text(f"echo x >{name}")
    try:
        same(place.another().text(f"ls {name} 2>/dev/null | wc -l"), "0\n")
    finally:
        place.run(f"rm -f {name}")


@check(Promise.OWN_FILES, "Claims", "Naive")
def check_host_name(place: Place) -> None:
    """Actions do not see the machine's name."""
    holds(place.text("cat /proc/sys/kernel/hostname").strip() != os.uname().nodename, "it is another name")


@check(Promise.OWN_FILES, "ShowsTheSocket")
def check_docker_socket(place: Place) -> None:
    """Actions see no Docker socket, which would give them control of the machine."""
    same(place.text("ls /var/run/docker.sock /run/docker.sock 2>/dev/null | wc -l"), "0\n")
