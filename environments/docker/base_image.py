"""The base of the images that we build: one from a registry, or one made here from Debian's packages."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

from environments.docker import build_lock, daemon, stored_images
from environments.leftovers import owner
from environments.protocol import EnvironmentUnavailable
from environments.reporting import Reporter
from trajectories.waiting import process_ended

if TYPE_CHECKING:
    from docker import APIClient

SUITE = "bookworm"
REPOSITORY, TAG = "retrace-base", SUITE
MADE = f"{REPOSITORY}:{TAG}"
MAKE_S = 900


def choose(api: APIClient, wanted: str, platform: str | None, reporter: Reporter) -> str:
    """Return the image to build on: `wanted` if it is here or can be pulled, otherwise a Debian made with mmdebstrap.

    Raises: EnvironmentUnavailable, DiskFull.
    """
    if stored_images.look_up(api, wanted):
        return wanted
    if stored_images.look_up(api, MADE):
        return MADE
    try:
        stored_images.pull(api, wanted, platform, reporter)
        return wanted
    except EnvironmentUnavailable as error:
        if not shutil.which("mmdebstrap"):
            raise EnvironmentUnavailable(
                f"{error}; or install mmdebstrap (apt-get install mmdebstrap), so that a base image can be made here"
            ) from None
        if platform is not None:
            raise EnvironmentUnavailable(f"{error}; for {platform} no base image can be made here") from None
        reporter.note(str(error))
    with build_lock.one_at_a_time("base"):
        if not stored_images.look_up(api, MADE):
            make(api, reporter)
    return MADE


def make(api: APIClient, reporter: Reporter) -> None:
    """Import a minimal Debian as `MADE`.

    Raises: EnvironmentUnavailable, DiskFull.
    """
    reporter.note(f"making {MADE} with mmdebstrap")
    with tempfile.TemporaryFile() as tree, tempfile.TemporaryFile() as errors:
        command = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates", SUITE, "-"]
        try:
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=tree, stderr=errors) as process:
                try:
                    status: Any = process_ended(process, MAKE_S)
                except BaseException:
                    process.kill()
                    raise
        except subprocess.TimeoutExpired:
            status = f"not finished after {MAKE_S} s"
        if status:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            reason = f"mmdebstrap could not make a base image ({status}): {' '.join(lines[-2:])}"
            raise EnvironmentUnavailable(f"{reason}; load one with `docker load`")
        tree.seek(0)
        labels = {stored_images.BUILT_LABEL: "base", **owner.this_process().labels()}
        with daemon.reported(f"importing {MADE}"):
            api.import_image_from_stream(
                iter(lambda: tree.read(1 << 20), b""),  # the SDK sends chunks; a file object would go out unchunked
                repository=REPOSITORY,
                tag=TAG,
                changes=[*(f'LABEL {name}="{value}"' for name, value in labels.items()), 'CMD ["bash"]'],
            )
