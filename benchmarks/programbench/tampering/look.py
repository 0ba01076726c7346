"""Looks at a container whose build is over, before it is committed: `python -m ...look DOCKER CONTAINER FILE`.

The container is paused first and stays so, so nothing in it can change between the look and the commit. Its Python and
its shell are not trusted: what the image starts with, and compiled modules, are looked at in a container of the image
as it was, without network.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from benchmarks.judging.mechanisms import ANCESTORS
from benchmarks.programbench.tampering import honest
from benchmarks.programbench.tampering.observation import Observation, Seen
from benchmarks.programbench.tampering.reach import Reach
from environments.docker import daemon

if TYPE_CHECKING:
    from docker import APIClient

FILE_BYTES = 256 << 10
"""Largest file whose content is read."""
MOST_FILES = 2000
"""Largest number of files that are read one by one; compiled modules are read by directory."""
MODULES_BYTES = 256 << 20
"""Largest size of all compiled modules and their sources."""
MOST_CHANGES = 2_000_000
LOOK_S = 120.0
"""Time limit of a container that looks at the image, and of reading files, in seconds."""
_PROBE = r"""echo "PATH=$PATH"
python3 -c 'import site, sys; print("\n".join("SYS=" + p for p in [*sys.path, site.getusersitepackages()] if p))'
"""
_VERIFY = r"""
import importlib.util as util, json, marshal, re, sys, tarfile
members = {}
with tarfile.open("/tmp/modules") as tar:
    for member in tar:
        if member.isfile():
            members["/" + member.name] = tar.extractfile(member).read()
for path, data in members.items():
    match = re.fullmatch(r"(.*)/__pycache__/([^/.]+)\.([\w-]+)(?:\.opt-(\w+))?\.pyc", path)
    if not match or match[3] != sys.implementation.cache_tag:
        continue
    source = match[1] + "/" + match[2] + ".py"
    try:
        text = members[source] if source in members else open(source, "rb").read()
        code = compile(text, source, "exec", dont_inherit=True, optimize=int(match[4] or 0))
        if data[:4] == util.MAGIC_NUMBER and marshal.loads(data[16:]) == code:
            print(json.dumps(path))
    except Exception:
        pass
"""
_VERIFY_BY_ALL = """cat >/tmp/modules
for python in /usr/bin/python3.* /usr/local/bin/python3.* /opt/*/bin/python3.*; do
    case $python in *[0-9]) [ -x "$python" ] && "$python" -I -c "$0" ;; esac
done
"""


def look(docker: str, container: str) -> Observation:
    """Return what is seen of a container, which is paused from then on."""
    api = daemon.connect()
    try:
        with daemon.reported("looking at the changes of a build"):
            facts = api.inspect_container(container)
            _pause(api, container)
            listed = api.diff(container) or []
            changes = tuple(("CAD"[entry["Kind"]], str(entry["Path"])) for entry in listed[:MOST_CHANGES])
        image = str(facts["Image"])
        path, modules, sourced = _probe(docker, image, facts["Config"].get("Env") or [])
        observation = Observation(changes=changes, path=path, modules=modules, sourced=sourced)
        seen, problem = _seen(api, container, observation)
        compiled = _verified(docker, image, _modules(api, container, changes))
        if len(listed) > MOST_CHANGES:
            problem = f"{len(listed)} changes"
        return observation.model_copy(update={"seen": seen, "compiled": compiled, "problem": problem})
    finally:
        api.close()


def _pause(api: APIClient, container: str) -> None:
    import docker.errors

    with contextlib.suppress(docker.errors.APIError):  # without a freezer, a process may still race the commit
        api.pause(container)


def _probe(
    docker: str, image: str, variables: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return PATH, the directories of modules, and the files that a login shell reads, in the image as it was."""
    process = _run_in(docker, image, ["bash", "-lxc", _PROBE], b"")
    lines = process.stdout.decode("utf-8", "replace").splitlines()
    traced = process.stderr.decode("utf-8", "replace")
    path = [line[5:] for line in lines if line.startswith("PATH=")]
    path += [variable[5:] for variable in variables if variable.startswith("PATH=")]
    modules = tuple(line[4:] for line in lines if line.startswith("SYS=") and not line.endswith(".zip"))
    sourced = tuple(sorted(set(re.findall(r"^\++ (?:\.|source) (/\S+)", traced, re.M))))
    return tuple(dict.fromkeys(directory for each in path for directory in each.split(":"))), modules, sourced


def _seen(api: APIClient, container: str, observation: Observation) -> tuple[dict[str, Seen], str]:
    """Return the state of each changed path that is not a mere leftover, and a reason if there are too many."""
    reach = Reach(observation.path, observation.modules, observation.sourced)
    parents = {str(parent) for _, path in observation.changes for parent in PurePosixPath(path).parents}
    wanted = [
        path
        for kind, path in observation.changes
        if kind != "D"
        and (path in ANCESTORS or path not in parents)
        and (path in ANCESTORS or _matters(kind, path, reach))
        and not path.endswith(".pyc")
    ]
    seen: dict[str, Seen] = {}
    ends = time.monotonic() + LOOK_S
    for path in wanted[:MOST_FILES]:
        if time.monotonic() > ends:
            return seen, f"reading {len(wanted)} paths took too long"
        seen[path] = _state(api, container, path)
    return seen, f"{len(wanted)} paths to read" if len(wanted) > MOST_FILES else ""


def _matters(kind: str, path: str, reach: Reach) -> bool:
    if path.startswith("/workspace/"):
        return PurePosixPath(path).name in ("pyproject.toml", "tox.ini", "setup.cfg")
    return bool(honest.content_rules(kind, path)) or bool(reach.mechanism(path)) or _may_be_named(path)


def _may_be_named(path: str) -> bool:
    """Return True for a script among leftovers: a reached file may lead there, and it may lead further."""
    return path.endswith((".sh", ".pth")) and path.startswith(("/tmp/", "/root/.cache/", "/var/tmp/"))


def _state(api: APIClient, container: str, path: str) -> Seen:
    for member, data in _members(api, container, path, FILE_BYTES):
        if member.issym():
            return Seen(link=member.linkname)
        if member.isdir():
            return Seen(directory=True)
        return Seen.model_construct(data=data if member.isfile() and member.size <= FILE_BYTES else None)
    return Seen()


def _members(api: APIClient, container: str, path: str, most: int) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Return the members of an archive of a path, each with its content; nothing if it is gone."""
    import docker.errors

    try:
        chunks, _ = api.get_archive(container, path)
    except docker.errors.NotFound:
        return
    try:
        stream = tarfile.open(fileobj=_Chunks(chunks), mode="r|")  # noqa: SIM115
        left = most
        for member in stream:
            file = stream.extractfile(member) if member.isfile() and member.size <= left else None
            data = file.read() if file is not None else b""
            left -= len(data)
            yield member, data
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()


class _Chunks(io.RawIOBase):
    """A file object over chunks of bytes."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._rest) < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self._rest += chunk
        size = len(self._rest) if size < 0 else size
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def _modules(api: APIClient, container: str, changes: Iterable[tuple[str, str]]) -> bytes:
    """Return a tar of the compiled modules that are new or changed, and of new sources beside them."""
    kinds = {path: kind for kind, path in changes}
    excused = re.compile(r"/(workspace|tmp|proc|sys|dev)/")
    modules = [path for path in kinds if path.endswith(".pyc") and "/__pycache__/" in path and kinds[path] != "D"]
    modules = [path for path in modules if not excused.match(path)]
    directories = sorted({path.rpartition("/")[0] for path in modules})
    sources = {re.sub(r"/__pycache__/([^/.]+)\..*$", r"/\1.py", path) for path in modules} & kinds.keys()
    wanted = {*modules, *(path for path in sources if kinds[path] != "D")}
    buffer = io.BytesIO()
    left = MODULES_BYTES
    with tarfile.open(fileobj=buffer, mode="w") as out:
        for top in [*directories, *sorted(sources)]:
            parent = top.rpartition("/")[0]
            for member, data in _members(api, container, top, left):
                name = f"{parent}/{member.name}"
                if member.isfile() and name in wanted and len(data) == member.size:
                    info = tarfile.TarInfo(name.lstrip("/"))
                    info.size = len(data)
                    out.addfile(info, io.BytesIO(data))
                    left -= len(data)
                    wanted.discard(name)
    return buffer.getvalue() if modules else b""


def _verified(docker: str, image: str, modules: bytes) -> tuple[str, ...]:
    """Return the compiled modules that are what the Pythons of an image compile their sources to."""
    if not modules:
        return ()
    process = _run_in(docker, image, ["bash", "-c", _VERIFY_BY_ALL, _VERIFY], modules)
    return tuple(str(json.loads(line)) for line in process.stdout.splitlines())


def _run_in(docker: str, image: str, command: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a container of an image, without network and with our labels."""
    labels = os.environ.get("RETRACE_LABELS", "").split()
    argv = [docker, "run", "--rm", "-i", "--network", "none", "--user", "0", *labels, "--entrypoint", command[0], image]
    return subprocess.run([*argv, *command[1:]], input=data, capture_output=True, timeout=LOOK_S, check=False)


def main(docker: str, container: str, to: str) -> None:
    """Write what is seen of a container to a file. A failure is written there, too."""
    try:
        observation = look(docker, container)
    except Exception as error:  # the evaluation goes on; the verdict reports it
        observation = Observation(changes=(), problem=f"{type(error).__name__}: {error}"[:500])
    Path(to).write_text(observation.model_dump_json())


if __name__ == "__main__":
    main(*sys.argv[1:])
