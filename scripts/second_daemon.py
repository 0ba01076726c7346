"""A Docker daemon beside the machine's own: its own socket, data, process id file and network-less containers.

It can be stopped and started again, which nobody may do to the daemon of a shared machine. It needs root.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType

START_S = 60.0
STOP_S = 60.0


class DaemonUnusable(Exception):
    """The second daemon cannot be started; the message is one line."""


class SecondDaemon:
    """A Docker daemon in a `with`, whose files all lie in a new folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        """Return the value of DOCKER_HOST."""
        return f"unix://{self._folder / 'socket'}"

    def __enter__(self) -> SecondDaemon:
        self._folder.mkdir(parents=True)
        (self._folder / "daemon.json").write_text("{}")
        self.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._process is not None:
            self.remove_containers()
        self.stop()
        for line in Path("/proc/mounts").read_text().splitlines():
            if line.split()[1].startswith(f"{self._folder}/"):  # it leaves its network namespace mounted
                subprocess.run(["umount", "-l", line.split()[1]], capture_output=True, check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start the daemon, and wait until it answers.

        Raises: DaemonUnusable.
        """
        folder = self._folder
        # in a network namespace of its own: a daemon without a bridge removes docker0, which another daemon may use
        command = ["unshare", "--net", "dockerd", "--host", self.host, "--data-root", str(folder / "data")]
        command += ["--exec-root", str(folder / "exec"), "--pidfile", str(folder / "pid")]
        command += ["--config-file", str(folder / "daemon.json"), "--log-level", "error"]
        command += ["--bridge", "none", "--iptables=false", "--ip6tables=false"]
        with (folder / "log").open("ab") as log:
            try:
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            except OSError as error:
                raise DaemonUnusable(f"dockerd cannot be started: {error.strerror}") from None
        until_s = time.monotonic() + START_S
        while subprocess.run([*self._docker(), "version"], capture_output=True).returncode:
            if self._process.poll() is not None or time.monotonic() > until_s:
                lines = (folder / "log").read_text(errors="replace").strip().splitlines() or ["it does not answer"]
                self.stop()
                raise DaemonUnusable(f"a second dockerd does not start here: {lines[-1]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop the daemon, which ends its containers."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def copy_images(self, *names: str) -> None:
        """Copy images from the machine's own daemon."""
        with subprocess.Popen(["docker", "save", *names], stdout=subprocess.PIPE) as saving:
            subprocess.run([*self._docker(), "load"], stdin=saving.stdout, check=True, capture_output=True)

    def tag(self, image: str, task: str) -> None:
        """Give the images of one name the name that those of another task have."""
        command = [*self._docker(), "images", "--format", "{{.Tag}}", image]
        for tag in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split():
            subprocess.run([*self._docker(), "tag", f"{image}:{tag}", f"retrace-{task}:{tag}"], check=True)

    def containers(self, *, everything: bool = False) -> list[str]:
        """Return the ids of the containers that run, or of all."""
        command = [*self._docker(), "ps", "-q", *(["-a"] if everything else [])]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()

    def remove(self, container: str) -> None:
        """Remove a container, whatever it does."""
        subprocess.run([*self._docker(), "rm", "-f", container], capture_output=True, check=False)

    def remove_containers(self) -> None:
        """Remove all containers."""
        for container in self.containers(everything=True):
            self.remove(container)

    def _docker(self) -> list[str]:
        return ["docker", "-H", self.host]
