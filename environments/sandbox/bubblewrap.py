"""The files of this machine that a bubblewrap sandbox shows, and whether a sandbox can be made here.

Everything visible is listed by name: binding `/` read-only would show /etc/shadow to a sandbox that root starts.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from environments.protocol import WORKSPACE, EnvironmentSpec
from environments.sandbox import seccomp

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UID = 1000
"""User id of actions, as seen inside."""
NOBODY = 65534
"""User id of a sandbox that root starts, as seen outside."""

_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "fonts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "perl",
    "protocols",
    "python3",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
)
_MASKED = ("/proc/keys", "/proc/key-users", "/proc/timer_list", "/proc/sched_debug")
"""Files of /proc that tell about other users of this machine; Docker masks them too."""
OWN = Path(__file__).resolve().parents[2] / "benchmarks"
"""Our own hidden tests and solutions, which are hidden if we are installed below what is shown."""
_SHM_BYTES = 64 << 20
_ROOM_BYTES = 1 << 30
"""Size of /tmp and of home if they are in memory."""
_ETC_NETWORK = ("gai.conf", "host.conf", "hosts", "resolv.conf")


def system(spec: EnvironmentSpec, terminal: str | None = None) -> list[str]:
    """Return bwrap with the arguments for namespaces and a read-only system; the caller adds writable files."""
    command = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    command += ["--uid", str(UID), "--gid", str(UID), "--cap-drop", "ALL", "--new-session", "--die-with-parent"]
    command += ["--hostname", "retrace", "--ro-bind", "/usr", "/usr"]
    if not spec.network:
        command.append("--unshare-net")
    for name in _TOP:
        top = Path("/") / name
        if top.is_symlink():
            command += ["--symlink", os.readlink(top), str(top)]
        elif top.is_dir():
            command += ["--ro-bind", str(top), str(top)]
    for name in _ETC + (_ETC_NETWORK if spec.network else ()):
        command += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    command += ["--proc", "/proc"]
    for masked in _MASKED:
        if os.path.exists(masked):
            command += ["--ro-bind", "/dev/null", masked]
    if OWN.is_dir() and any(OWN.is_relative_to(shown) for shown in ("/usr", *(f"/{name}" for name in _TOP))):
        command += ["--tmpfs", str(OWN), "--remount-ro", str(OWN)]
    command += ["--dev", "/dev", *_in_memory("/dev/shm", spec.shm_bytes or _SHM_BYTES, "1777")]
    if terminal is not None:
        command += ["--dev-bind", terminal, "/dev/console"]
    command += ["--remount-ro", "/dev"]
    if keeps_namespaces():  # as root of a user namespace of its own, an action would have all capabilities in it
        command.append("--disable-userns")
    return command


def _in_memory(path: str, size: int, mode: str = "755") -> list[str]:
    """Return the arguments for a tmpfs, limited in size if this bubblewrap can do that (0.5 or later)."""
    limited = ["--perms", mode, "--size", str(size)] if {"--size", "--perms"} <= options() else []
    return [*limited, "--tmpfs", path]


def bwrap_prefix(
    spec: EnvironmentSpec,
    workspace: Path,
    *,
    binds: Sequence[tuple[str, str]] = (),
    chdir: str | None = None,
    filtered: bool = False,
) -> list[str]:
    """Return the command that runs one program in a sandbox of its own, with `workspace` at `spec.workdir`.

    `binds` are further writable directories, (outside, inside). The sandbox has no supervisor and no limits, and keeps
    the variables that it is started with. Its /tmp and home are empty and vanish with it. Root puts `as_user` in front.
    `filtered`: its system call filter is open as file descriptor 9 (`seccomp.behind`).
    """
    command = [
        *system(spec),
        "--ro-bind-try",
        "/etc/passwd",
        "/etc/passwd",
        "--ro-bind-try",
        "/etc/group",
        "/etc/group",
    ]
    command += [*_in_memory("/tmp", _ROOM_BYTES, "1777"), *_in_memory("/home", _ROOM_BYTES)]
    command += ["--bind", str(workspace), str(spec.workdir or WORKSPACE)]
    for outside, inside in binds:
        command += ["--bind", outside, inside]
    command += ["--remount-ro", "/"]
    if filtered:
        command += ["--seccomp", "9"]
    return [*command, "--chdir", chdir or str(spec.workdir or WORKSPACE), "--"]


def as_user(user: int | None) -> list[str]:
    """Return the command that starts a sandbox as another user, which only root can."""
    return [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def outer_user(workspace: Path | None = None) -> int | None:
    """Return the user that a sandbox runs as, seen from outside; None means our own user, if that is not root.

    It is never root: uid 0 outside may write to /proc/sys and change device files, whatever its number inside.
    """
    if os.geteuid():
        return None
    return workspace.stat().st_uid if workspace and workspace.exists() else NOBODY


@functools.cache
def obstacle(user: int | None = None) -> str | None:
    """Return why no sandbox can be made here and what to do about it; None if one can. Found out by trying."""
    for program, package in (("bwrap", "bubblewrap"), ("setpriv", "util-linux")):
        if not shutil.which(program):
            return f"the sandbox needs {program}; install it (apt-get install {package}) or use --env docker"
    sandbox = [*system(EnvironmentSpec(kind="sandbox")), "--cap-add", "CAP_DAC_OVERRIDE"]
    call_filter = seccomp.opened()
    try:
        trial = _run([*as_user(user), *sandbox, "--seccomp", str(call_filter), "--", "true"], (call_filter,))
    finally:
        os.close(call_filter)
    if trial.returncode == 0:
        return None
    reason = (trial.stderr.strip().splitlines() or [f"status {trial.returncode}"])[-1]
    return (
        f"bubblewrap cannot make a sandbox here ({reason}); allow user namespaces (sysctl "
        "kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0, "
        "in a container --privileged) or use --env docker"
    )


@functools.cache
def keeps_namespaces() -> bool:
    """Return whether bubblewrap can prevent user namespaces in actions: 0.8 can, if /proc/sys is writable."""
    if "--disable-userns" not in options():
        return False
    binds = ["--ro-bind", "/", "/", "--proc", "/proc"]
    return _run([*as_user(outer_user()), "bwrap", "--unshare-user", "--disable-userns", *binds, "true"]).returncode == 0


def _run(command: list[str], pass_fds: Sequence[int] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
        pass_fds=pass_fds,
    )


@functools.cache
def version() -> str | None:
    """Return bubblewrap's version, or None if it is not installed."""
    if not shutil.which("bwrap"):
        return None
    text = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=False).stdout
    return text.partition(" ")[2].strip()


@functools.cache
def options() -> frozenset[str]:
    """Return the options that this bubblewrap has."""
    usage = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False)
    return frozenset(word for word in (usage.stdout + usage.stderr).split() if word.startswith("--"))
