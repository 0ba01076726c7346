"""The privileges of actions beyond their own files."""

from __future__ import annotations

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.NO_NEW_PRIVILEGES, "Claims", "DockerAsRoot")
def check_no_capability(place: Place) -> None:
    """An action has no capability and cannot gain one."""
    seen = dict(line.split(":\t") for line in place.text("grep -E '^(Cap|NoNew)' /proc/self/status").splitlines())
    for name in ("CapPrm", "CapEff", "CapAmb"):
        same(int(seen[name], 16), 0, name)
    same(seen["NoNewPrivs"], "1", "NoNewPrivs")


@check(Promise.NO_NEW_PRIVILEGES, "AllowsSetuid")
def check_setuid(place: Place) -> None:
    """A setuid program of the administrator runs as the action's own user."""
    place.text('cp "$(type -P id)" as-owner; chmod 4755 as-owner', as_root=True)
    try:
        same(place.text("./as-owner -u"), place.text("id -u"))
    finally:
        place.text("rm -f as-owner", as_root=True)


@check(Promise.NO_NEW_PRIVILEGES, "ClaimsAsRoot")
def check_kernel_settings(place: Place) -> None:
    """An action cannot write the kernel's settings."""
    names = "/proc/sys/vm/* /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sysrq-trigger"
    same(place.text(f"for f in {names}; do [[ -w $f ]] && echo $f; done; true"), "")


@check(Promise.NO_NEW_PRIVILEGES, "ClaimsAsRoot", "DockerAsRoot")
def check_mounts(place: Place) -> None:
    """An action can make no device."""
    action = place.run("mknod device c 1 3 && echo made; rm -f device; [[ $(id -u) == 0 ]] && echo root; true")
    holds(b"made" not in action.output and b"root" not in action.output, "it could not, and is not root", action.output)


@check(Promise.NO_TRACING, "Claims", "DockerAsRoot")
def check_supervisor(place: Place) -> None:
    """An action can neither read from the first process nor write to its memory."""
    names = "mem environ maps fd/0"
    seen = place.text(f"for n in {names}; do (head -c 1 /proc/1/$n) >/dev/null 2>&1 && echo $n; done; true", 1.5)
    same(seen, "")
    same(place.text("(: >>/proc/1/mem) 2>/dev/null && echo writable; true"), "")


@check(Promise.NO_TRACING, "Claims", "DockerAsRoot")
def check_administrator(place: Place) -> None:
    """An action cannot read from a process of the administrator."""
    place.text("sleep 5 >/dev/null 2>&1 & echo $! >admin-pid; chmod 644 admin-pid", as_root=True)
    seen = place.text("(: </proc/$(cat admin-pid)/mem) 2>/dev/null && echo mem; true")
    place.run("kill $(cat admin-pid); rm -f admin-pid", as_root=True)
    same(seen, "")
