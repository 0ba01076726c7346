"""Which files are in sight."""

from __future__ import annotations

import os

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.OWN_FILES, "Claims", "Naive")
def check_harness_files(place: Place) -> None:
    """A file that the harness writes for everyone to read is out of an action's sight."""
    secret = place.scratch / "secret"
    secret.write_text("for the harness alone")
    secret.chmod(0o644)
    done = place.run(f"cat {secret}")
    holds(b"alone" not in done.output and done.exit_code == 1, "it cannot be read", done)


@check(Promise.OWN_FILES, "Claims", "Naive")
def check_written_files(place: Place) -> None:
    """What an action writes to /tmp does not turn up in the harness's."""
    name = f"/tmp/conformance-{os.getpid()}"
    place.text(f"echo x >{name}")
    try:
        holds(not os.path.exists(name), "it is not there")
    finally:
        place.run(f"rm -f {name}")


@check(Promise.OWN_FILES, "Claims")
def check_two_environments(place: Place) -> None:
    """Two environments share no /tmp and no home."""
    name = f"/tmp/conformance-{os.getpid()}"
    place.text(f"echo x >{name}")
    try:
        same(place.another().text(f"ls {name} 2>/dev/null | wc -l"), "0\n")
    finally:
        place.run(f"rm -f {name}")


@check(Promise.OWN_FILES, "Claims", "Naive")
def check_host_name(place: Place) -> None:
    """The machine's name is not told."""
    holds(place.text("cat /proc/sys/kernel/hostname").strip() != os.uname().nodename, "it is another name")


@check(Promise.OWN_FILES, "ShowsTheSocket")
def check_docker_socket(place: Place) -> None:
    """No Docker socket is in sight: it would be the key to the machine."""
    same(place.text("ls /var/run/docker.sock /run/docker.sock 2>/dev/null | wc -l"), "0\n")
