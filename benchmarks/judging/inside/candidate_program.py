"""One run of the candidate: its fresh directory, its user or sandbox, and the files that it left.

Standard library of Python 3.9 only: this file runs in containers, beside `drive.py`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from benchmarks.judging.inside import candidate_processes as processes
    from environments.leftovers import removal
else:
    import candidate_processes as processes
    import removal

FILES_BYTES = 64 << 20
"""Largest total size of the files that a run may leave."""
PATH_BYTES = 4000
"""Longest path of a directory that a run may leave, relative to the run's directory."""
_ALWAYS = {"LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb"}
_OURS = ("HOME", "USER", "LOGNAME", "MAIL", "SHELL", "SHLVL", "OLDPWD", "_", "LC_ALL")
"""Variables that the candidate does not get from the image's environment."""

Text = Union[str, bytes]  # noqa: UP007 - Python 3.9


class Unusable(Exception):
    """The configuration cannot be followed in this environment."""


class RunFailed(Exception):
    """A run without a result, by the candidate's own fault."""


@dataclass(frozen=True)
class Result:
    """Output and files of one run of the candidate. `code` is 128 + n after signal n, as in a shell."""

    stdout: bytes
    stderr: bytes
    code: int
    files: Mapping[str, bytes]
    """Every regular file below the run's directory, by relative path."""


class Candidate:
    """The program under test, as the configuration describes it (see `benchmarks/judging/bundle.py`)."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self.workspace = Path(str(config["workspace"]))
        self._program = _words(config["program"])
        self._needs = _words(config["needs"])
        self._executable = config["executable"]
        self._launcher = _words(config["launcher"])
        self._env = {key: value for key, value in os.environ.items() if config["inherit"] and key not in _OURS}
        self._env.update(_ALWAYS, **dict(config["env"]))  # type: ignore[call-overload]
        self._runs = str(config["runs"])
        """Holds the directories of runs. The candidate cannot write to it, so it cannot replace its own directory."""
        self._time_s = float(str(config["time_s"]))
        owner = config["owner"]
        self._owner = (int(str(owner)), int(str(owner))) if owner is not None else None
        """(uid, gid) that own the directory of a run, or None for this process's own."""
        user = config["user"]
        os.makedirs(self._runs, exist_ok=True)
        os.chmod(self._runs, 0o711)
        self.sweep = processes.Sweeper(self._become(str(user)) if user is not None else None)
        self._started = time.monotonic()

    def _become(self, user: str) -> int:
        name = user.partition(":")[0]
        try:
            account = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
        except KeyError:
            raise Unusable(f"the image has no user {name!r}") from None
        if account.pw_uid == 0:
            raise Unusable("the candidate's user is root, so it could write its own verdict")
        if shutil.which("setpriv") is None:
            raise Unusable("setpriv is missing in this environment; install util-linux in the image")
        self._owner = (account.pw_uid, account.pw_gid)
        ids = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--init-groups", "--no-new-privs"]
        self._launcher = ["setpriv", *ids, "--", *self._launcher]
        self._env.update(HOME=account.pw_dir, USER=account.pw_name, LOGNAME=account.pw_name)
        return account.pw_uid

    def run(
        self,
        arguments: Sequence[str],
        stdin: Text,
        files: Mapping[str, Text],
        env: Mapping[str, str],
        timeout: float,
        program: str | None,
    ) -> Result:
        """Run the program once. None of its processes runs any more when this returns.

        Raises: RunFailed, processes.Unkillable.
        """
        left = self._time_s - (time.monotonic() - self._started)
        if left <= 0:
            raise RunFailed(f"the time of the whole suite, {self._time_s:g} s, is used up")
        if program is None:
            self._check_needs()
        directory = tempfile.mkdtemp(prefix="run-", dir=self._runs)
        try:
            for name, content in files.items():
                path = Path(directory, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_bytes(content))
                path.chmod(0o644)
            if self._owner is not None:
                _give(directory, *self._owner)
            argv = [word.replace("{cwd}", directory) for word in self._launcher]
            argv += [*(self._program if program is None else [program]), *arguments]
            env = {**self._env, "PWD": directory, **env}
            stdout, stderr, code, reason = processes.run(
                argv, directory, env, _bytes(stdin), min(timeout, left), self.sweep
            )
            if reason:
                raise RunFailed(f"the program {reason}; its output began {stdout[:200]!r}")
            return Result(stdout, stderr, code, _regular_files(directory))
        except OSError as error:
            raise RunFailed(f"the program cannot be started: {error}") from None
        finally:
            removal.remove_tree(directory)

    def _check_needs(self) -> None:
        for path in self._needs:
            if not os.path.isfile(path):
                raise RunFailed(f"the workspace has no {os.path.relpath(path, self.workspace)}")
        if self._executable is not None and not os.stat(str(self._executable)).st_mode & 0o111:
            raise RunFailed(f"{os.path.relpath(str(self._executable), self.workspace)} is not executable")


def _words(value: object) -> list[str]:
    assert isinstance(value, list)
    return [str(word) for word in value]


def _bytes(value: Text) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _give(directory: str, uid: int, gid: int) -> None:
    for path, _, names in os.walk(directory):
        os.chown(path, uid, gid)
        for name in names:
            os.chown(os.path.join(path, name), uid, gid)


def _regular_files(directory: str) -> dict[str, bytes]:
    """Return the files by relative path. No link is followed: the target of a candidate's link is not its output."""
    contents: dict[str, bytes] = {}
    total = 0
    top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        todo = ["."]
        while todo:
            below = todo.pop()
            if len(os.fsencode(below)) > PATH_BYTES:
                raise RunFailed(f"the program left directories whose path is longer than {PATH_BYTES} bytes")
            at = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
            try:
                for name in sorted(os.listdir(at)):
                    mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode):
                        todo.append(os.path.join(below, name))
                    if not stat.S_ISREG(mode):
                        continue
                    with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at), "rb") as file:
                        data = file.read(FILES_BYTES + 1 - total)
                    total += len(data)
                    if total > FILES_BYTES:
                        raise RunFailed(f"the program left files of more than {FILES_BYTES} bytes")
                    contents[os.path.normpath(os.path.join(below, name))] = data
            finally:
                os.close(at)
    finally:
        os.close(top)
    return contents
