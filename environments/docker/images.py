"""Making an image available: it is here already, or it is built or pulled. A built image is found again by its content.

Our own Dockerfiles start with `ARG BASE=...` and `FROM ${BASE}`. If no registry answers, `base_image` makes the base.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from environments.docker import base_image, context, daemon
from environments.docker.build_lock import one_at_a_time
from environments.docker.context import content_hash as content_hash
from environments.docker.stored_images import (
    BUILT_LABEL,
    Image as Image,
    look_up as look_up,
    pull as pull,
)
from environments.leftovers import owner
from environments.protocol import Build, EnvironmentSpec, EnvironmentUnavailable, ImageUnusable, MachineLacks
from environments.reporting import Reporter

if TYPE_CHECKING:
    from docker import APIClient

BUILT = "retrace-build"


_NO_PROGRAM = re.compile(
    r"executable file not found|no such file or directory|exec format error|permission denied", re.I
)
"""Errors of a runtime that cannot start the first program of a container: the image lacks it, or has another one."""


@contextmanager
def reported_of_image(doing: str) -> Iterator[None]:
    """Turn the SDK's errors into ours, and tell a fault of the image apart.

    Raises: ImageUnusable, EnvironmentUnavailable, DiskFull.
    """
    try:
        with daemon.reported(doing):
            yield
    except EnvironmentUnavailable as error:
        if "bash" in str(error).removeprefix(doing) and _NO_PROGRAM.search(str(error)):
            raise ImageUnusable(f"{error}; add bash to the image, or choose another image") from error
        raise


def make_available(api: APIClient, spec: EnvironmentSpec, reporter: Reporter) -> Image:
    """Return the image that a spec requests, after pulling or building it if necessary.

    Raises: ImageUnusable, EnvironmentUnavailable if the daemon no longer answers, DiskFull.
    """
    try:
        return _available(api, spec, reporter)
    except MachineLacks:
        raise
    except EnvironmentUnavailable as error:
        if not daemon.answers(api):
            raise
        raise ImageUnusable(str(error)) from error


def _available(api: APIClient, spec: EnvironmentSpec, reporter: Reporter) -> Image:
    if spec.build is not None:
        return _built(api, spec, spec.build, reporter)
    assert spec.image is not None
    image = look_up(api, spec.image)
    if image is None:
        pull(api, spec.image, spec.platform, reporter)
        image = look_up(api, spec.image)
    if image is None:
        raise EnvironmentUnavailable(f"image {spec.image} was pulled but is not there; look at the daemon's log")
    return image


def _built(api: APIClient, spec: EnvironmentSpec, build: Build, reporter: Reporter) -> Image:
    instructions = context.instructions(build)
    content = content_hash(build, spec.platform)
    tag = f"{BUILT}:{content[:24]}"
    with one_at_a_time(content):
        if look_up(api, tag) is None:
            with daemon.reported(f"preparing {build.context}"), context.assembled(build) as directory:
                _build(api, spec, build, directory, instructions, content, tag, reporter)
        image = look_up(api, tag)
    if image is None:
        raise EnvironmentUnavailable(f"image {tag} was built but is not there; look at the daemon's log")
    if spec.image:
        repository, _, name = spec.image.partition(":")
        with daemon.reported(f"naming {tag} {spec.image}"):
            api.tag(image.id, repository, name or None, force=True)
    return Image(spec.image or tag, image.id, image.digest, image.user, image.env, image.workdir)


def _build(
    api: APIClient,
    spec: EnvironmentSpec,
    build: Build,
    directory: Path,
    instructions: str,
    content: str,
    tag: str,
    reporter: Reporter,
) -> None:
    args = dict(build.args)
    base = _declared_base(instructions)
    if base and "BASE" not in args:
        args["BASE"] = base_image.choose(api, base, spec.platform, reporter)
    reporter.note(f"building {spec.image or tag}")
    output: list[str] = []
    doing = f"building {spec.image or tag} from {build.context / build.dockerfile}"
    deadline = time.monotonic() + build.timeout_s
    with daemon.reported(doing), daemon.patience(api, math.ceil(build.timeout_s)):
        for line in api.build(
            path=str(directory),
            dockerfile=build.dockerfile,
            tag=tag,
            buildargs=args,
            platform=spec.platform,
            network_mode=None if api.networks(names=["bridge"]) else "host",  # a daemon may run without a bridge
            labels={BUILT_LABEL: content, **owner.this_process().labels()},
            rm=True,
            forcerm=True,
            decode=True,
        ):
            if time.monotonic() > deadline:
                raise OSError(f"the build had not finished after {build.timeout_s:g} s; give it more time")
            if "error" in line:
                raise OSError("; ".join([*output[-2:], line["error"].strip()]) + "; mend it and start again")
            for text in line.get("stream", "").splitlines():
                if text.strip() and not text.startswith((" ---> ", "Removing intermediate container")):
                    output.append(text.strip())
                    reporter.note(text.rstrip())


_BASE = re.compile(r"^\s*ARG\s+BASE=(\S+)\s*$", re.I | re.M)


def _declared_base(text: str) -> str | None:
    match = _BASE.search(text)
    return match[1].strip("\"'") if match and re.search(r"^\s*FROM\s+\$\{?BASE\}?", text, re.I | re.M) else None
