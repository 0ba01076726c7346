"""Make an image available: it is here, or it is built or pulled. What is built is found again by its content.

A Dockerfile of ours starts with `ARG BASE=...` / `FROM ${BASE}`: where no registry answers, `base_image` makes one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from environments import base_image, daemon, owner
from environments.protocol import Build, EnvironmentSpec, EnvironmentUnavailable

if TYPE_CHECKING:
    from docker import APIClient

PULL_S = 1800
BUILD_S = 3600
BUILT = "retrace-build"
BUILT_LABEL = "retrace.build"
"""Carries the hash of what an image was built from."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Image:
    """A local image. `digest` is the registry's where it came from one, else the image's own id."""

    reference: str
    id: str
    digest: str
    user: str
    env: dict[str, str]


def make_available(api: APIClient, spec: EnvironmentSpec, progress: Progress) -> Image:
    """The image that a spec asks for, on this daemon.

    Raises: EnvironmentUnavailable, DiskFull.
    """
    if spec.build is not None:
        return _built(api, spec, spec.build, progress)
    assert spec.image is not None
    found = look_up(api, spec.image)
    if found is None:
        pull(api, spec.image, spec.platform, progress)
        found = look_up(api, spec.image)
    if found is None:
        raise EnvironmentUnavailable(f"image {spec.image} was pulled but is not there; look at the daemon's log")
    return found


def look_up(api: APIClient, reference: str) -> Image | None:
    """A local image, None if there is none of this name."""
    with daemon.told(f"looking up image {reference}"):
        try:
            facts = api.inspect_image(reference)  # type: ignore[no-untyped-call]
        except daemon.not_found():
            return None
    config = facts.get("Config") or {}
    env = dict(line.partition("=")[::2] for line in config.get("Env") or [])
    digests = facts.get("RepoDigests") or [facts["Id"]]
    return Image(reference, facts["Id"], digests[0].rpartition("@")[2], config.get("User") or "", env)


def pull(api: APIClient, reference: str, platform: str | None, progress: Progress) -> None:
    """Raises: EnvironmentUnavailable, DiskFull."""
    progress(f"pulling {reference}")
    name = reference if "@" in reference or ":" in reference.rpartition("/")[2] else f"{reference}:latest"
    try:
        with daemon.told(f"pulling {reference}"), _patience(api, PULL_S):
            for line in api.pull(name, stream=True, decode=True, platform=platform):
                if "error" in line:
                    raise OSError(line["error"])
                if line.get("status") and "progressDetail" not in line:
                    progress(f"{reference}: {line['status']}")
    except EnvironmentUnavailable as error:
        raise EnvironmentUnavailable(
            f"{error}; bring it with `docker load`, build it, or choose another with --image"
        ) from None


def _built(api: APIClient, spec: EnvironmentSpec, build: Build, progress: Progress) -> Image:
    if not (build.context / build.dockerfile).is_file():
        raise EnvironmentUnavailable(f"no {build.dockerfile} in {build.context} to build an image from")
    content = content_hash(build, spec.platform)
    tag = f"{BUILT}:{content[:24]}"
    with _one_at_a_time(content):
        if look_up(api, tag) is None:
            _build(api, spec, build, content, tag, progress)
        found = look_up(api, tag)
    if found is None:
        raise EnvironmentUnavailable(f"image {tag} was built but is not there; look at the daemon's log")
    if spec.image:
        repository, _, name = spec.image.partition(":")
        with daemon.told(f"naming {tag} {spec.image}"):
            api.tag(found.id, repository, name or None, force=True)
    return Image(spec.image or tag, found.id, found.digest, found.user, found.env)


def _build(api: APIClient, spec: EnvironmentSpec, build: Build, content: str, tag: str, progress: Progress) -> None:
    args = dict(build.args)
    base = _declared_base(build)
    if base and "BASE" not in args:
        args["BASE"] = base_image.choose(api, base, spec.platform, progress)
    progress(f"building {spec.image or tag}")
    said: list[str] = []
    with daemon.told(f"building {spec.image or tag} from {build.context / build.dockerfile}"), _patience(api, BUILD_S):
        for line in api.build(
            path=str(build.context),
            dockerfile=build.dockerfile,
            tag=tag,
            buildargs=args,
            platform=spec.platform,
            labels={BUILT_LABEL: content, **owner.this_process().labels()},
            rm=True,
            forcerm=True,
            decode=True,
        ):
            if "error" in line:
                raise OSError("; ".join([*said[-3:], line["error"].strip()]))
            for text in line.get("stream", "").splitlines():
                if text.strip():
                    said.append(text.strip())
                    progress(text.rstrip())


_BASE = re.compile(r"^\s*ARG\s+BASE=(\S+)\s*$", re.I | re.M)


def _declared_base(build: Build) -> str | None:
    text = (build.context / build.dockerfile).read_text("utf-8", "replace")
    found = _BASE.search(text)
    return found[1].strip("\"'") if found and re.search(r"^\s*FROM\s+\$\{?BASE\}?", text, re.I | re.M) else None


def content_hash(build: Build, platform: str | None) -> str:
    """sha256 over what a build depends on: its files (names, executable bits, bytes), arguments, platform."""
    digest = hashlib.sha256(repr((build.dockerfile, sorted(build.args.items()), platform)).encode())
    for path in sorted(_files(build.context)):
        mode = path.lstat().st_mode
        name = os.fsencode(path.relative_to(build.context))
        if stat.S_ISLNK(mode):
            body = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(mode):
            with path.open("rb") as file:
                body = hashlib.file_digest(file, "sha256").digest()
        else:
            continue
        digest.update(b"%d %d %d %d\0" % (stat.S_IFMT(mode), mode & 0o111, len(name), len(body)) + name + body)
    return digest.hexdigest()


def _files(directory: Path) -> Iterator[Path]:
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
        else:
            yield Path(entry.path)


@contextmanager
def _one_at_a_time(name: str) -> Iterator[None]:
    """Across processes of this user: whoever comes second finds the image built."""
    path = Path(tempfile.gettempdir()) / f"retrace-{os.geteuid()}-{name[:24]}.lock"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _patience(api: APIClient, seconds: int) -> Iterator[None]:
    """The daemon may be silent for longer than an ordinary answer takes."""
    usual, api.timeout = api.timeout, seconds
    try:
        yield
    finally:
        api.timeout = usual
