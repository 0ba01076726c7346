"""A Docker daemon for one test, which can stop, kill and restart it without harm to anything else.

It has its own network namespace, because with `--bridge=none` a daemon deletes `docker0`, even that of another daemon.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

LIFE_S = 300
"""It ends by itself after so long, whatever becomes of the tests."""
START_S = 60


def problem() -> str | None:
    """Return why no second daemon can run here, or None if one can."""
    if os.geteuid():
        return "a second Docker daemon needs root"
    if not shutil.which("dockerd"):
        return "dockerd is not installed"
    return None


class SecondDaemon:
    """A daemon that its test starts, ends and removes."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.host = f"unix://{place}/sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = ["unshare", "--net", "timeout", str(LIFE_S), "dockerd", "--host", self.host]
        command += ["--data-root", f"{self.place}/data", "--exec-root", f"{self.place}/exec"]
        command += ["--pidfile", str(self._pidfile), "--log-level=error", "--shutdown-timeout=2"]
        command += ["--bridge=none", "--iptables=false", "--ip6tables=false"]
        with (self.place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + START_S
        while self.docker("version").returncode:
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError((self.place / "log").read_text()[-1000:])
            time.sleep(0.1)

    def docker(self, *words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["docker", "-H", self.host, *words],
            capture_output=True,
            timeout=60,
            check=False,
            **options,  # type: ignore[call-overload]
        )

    def load(self, image: str) -> None:
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saving:
            action = self.docker("load", stdin=saving.stdout)
        assert action.returncode == 0, action.stderr

    def end(self, how: int = signal.SIGTERM) -> None:
        """Signal the daemon, and wait until it is gone."""
        if self._process is not None:
            with suppress(OSError, ValueError):
                os.kill(int(self._pidfile.read_text()), how)
            self._process.wait(120)
            self._process = None
        if how == signal.SIGKILL:
            self._pidfile.unlink(missing_ok=True)
            with suppress(OSError, ValueError):  # it died with its parent, and nobody may have reaped it
                os.kill(int(self._containerd.read_text()), signal.SIGKILL)
            self._containerd.unlink(missing_ok=True)

    def remove(self) -> None:
        """Its processes and files. Its containers are gone by then; asked politely, it would wait for containerd."""
        self.end(signal.SIGKILL)
        for mount in sorted(self._mounts(), reverse=True):
            subprocess.run(["umount", "-l", mount], capture_output=True, check=False)
        shutil.rmtree(self.place, ignore_errors=True)

    @property
    def _pidfile(self) -> Path:
        return self.place / "pid"

    @property
    def _containerd(self) -> Path:
        return self.place / "exec/containerd/containerd.pid"

    def _mounts(self) -> list[str]:
        lines = Path("/proc/self/mounts").read_text().splitlines()
        return [line.split()[1] for line in lines if line.split()[1].startswith(f"{self.place}/")]
