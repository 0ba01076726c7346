"""Takes one executable, its documentation and its data out of a Debian package. Runs in the build's first stage.

Needs apt with fresh lists, dpkg-deb and groff; nothing outside the standard library. Every mistake
of the caller is one line that begins with `rebuild: error: ` (scripts/rebuild-image looks for it).
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path, PurePosixPath

NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
BIN_DIRECTORIES = ("bin", "sbin", "usr/bin", "usr/sbin", "usr/games", "usr/libexec")
MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Directories that are links into /usr in a Debian system, but may be real ones in a package."""


class Mistake(Exception):
    """The package, the executable or the data is not what was asked for."""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise Mistake(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def unpack(package: str, into: Path) -> tuple[Path, Path]:
    """The .deb of `package` and its unpacked tree; dpkg's path-excludes of slim images do not apply to it."""
    if not NAME.fullmatch(package):
        raise Mistake(f"'{package}' is no name of a Debian package")
    known = run("apt-cache", "pkgnames").split()
    if package not in known:
        near = difflib.get_close_matches(package, known, n=3)
        hint = f"; near names: {', '.join(near)}" if near else ""
        raise Mistake(f"no package '{package}' in the base image's package sources{hint}")
    directory = into / package
    tree = directory / "tree"
    tree.mkdir(parents=True)
    try:
        run("apt-get", "-o", "APT::Sandbox::User=root", "download", package, cwd=directory)
    except Mistake as mistake:
        raise Mistake(f"package '{package}' cannot be downloaded (a virtual package?): {mistake}") from None
    (deb,) = directory.glob("*.deb")
    run("dpkg-deb", "-x", deb, tree)
    return deb, tree


def resolve(tree: Path, path: str) -> Path | None:
    """Where `path` of the package lies in its unpacked tree, its links followed inside that tree."""
    parts = list(PurePosixPath(path).parts)
    current, hops = tree, 0
    while parts:
        part = parts.pop(0)
        if part == "/":
            current = tree
        elif part == "..":
            current = tree if current == tree else current.parent
        elif (here := current / part).is_symlink():
            hops += 1
            if hops > 40:
                return None
            parts[:0] = PurePosixPath(here.readlink()).parts
        elif here.exists():
            current = here
        else:
            return None
    return current


def is_elf(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"


def executables(tree: Path) -> list[str]:
    """Paths of the package's programs that can be executed without being read."""
    found = []
    for directory in BIN_DIRECTORIES:
        for path in sorted((tree / directory).glob("*")):
            name = f"/{path.relative_to(tree)}"
            target = resolve(tree, name)
            if target is not None and target.is_file() and is_elf(target):
                found.append(name)
    return found


def find_executable(package: str, tree: Path, path: str) -> Path:
    names = executables(tree)
    there = f"its executables: {', '.join(names)}" if names else "it has no binary executable at all"
    if not path.startswith("/"):
        raise Mistake(f"'{path}' is not an absolute path in package '{package}'; {there}")
    target = resolve(tree, path)
    if target is None or not target.is_file():
        raise Mistake(f"package '{package}' has no executable '{path}'; {there}")
    if not is_elf(target):
        with target.open("rb") as stream:
            first = stream.readline(80).decode("utf-8", "replace").strip()
        what = f"a script ({first})" if first.startswith("#!") else "no ELF binary"
        raise Mistake(f"'{path}' of package '{package}' is {what}: mode 0111 works for binaries only; {there}")
    return target


def copy_data(package: str, tree: Path, paths: list[str], to: Path) -> None:
    to.mkdir()
    for path in paths:
        if not path.startswith("/") or (source := resolve(tree, path)) is None or source == tree:
            raise Mistake(f"package '{package}' has no data '{path}'")
        place = PurePosixPath(path).relative_to("/")
        if place.parts[0] in MERGED:
            place = "usr" / place
        target = to / place
        for parent in reversed(place.parents[:-1]):  # COPY gives these modes to directories that are there already
            (to / parent).mkdir(exist_ok=True)
            if (like := tree / parent).is_dir():
                (to / parent).chmod(stat.S_IMODE(like.stat().st_mode))
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)


def read_text(path: Path) -> str | None:
    """The text of a file, unpacked where it is compressed; None if it is no text. Latin-1 where it is not UTF-8."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if b"\0" in data or data.startswith((b"%PDF", b"%!PS")):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def render_manual(tree: Path, page: Path) -> str | None:
    """A manual page as plain text; None for a page that only points to another one."""
    source = read_text(page)
    if source is None or source.startswith(".so "):
        return None
    device = ("-Tutf8", "-P-c", "-P-b", "-P-o", "-P-u")
    done = subprocess.run(
        ["groff", "-k", "-t", "-mandoc", "-rLL=80n", "-rLT=80n", "-rHY=0", *device],
        input=source.encode(),
        capture_output=True,
    )
    return re.sub(r"\n{3,}", "\n\n", done.stdout.decode("utf-8", "replace")).strip("\n") + "\n"


def write_docs(tree: Path, to: Path) -> list[str]:
    """Manual pages (English, in man/) and /usr/share/doc (in PACKAGE/) as text files; returns their names."""
    texts: dict[str, str] = {}
    for page in sorted((tree / "usr/share/man").glob("man*/*")):
        if page.is_file() and not page.is_symlink() and (text := render_manual(tree, page)) is not None:
            texts[f"man/{page.name.removesuffix('.gz')}.txt"] = text
    base = tree / "usr/share/doc"
    for path in sorted(base.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.name.lower().startswith("changelog.debian"):
            continue
        if (text := read_text(path)) is not None:
            texts[str(path.relative_to(base)).removesuffix(".gz")] = text
    for name, text in texts.items():
        file = to / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return sorted(texts)


def index(package: str, version: str, data: list[str], names: list[str]) -> str:
    lines = [
        "# Documentation of the program",
        "",
        f"`/workspace/executable` comes from the Debian package {package} {version}. These are the manual",
        "pages and documents of that package, as plain text:",
        "",
        *(f"- {name}" for name in names),
    ]
    if data:
        lines += ["", "Data that the program reads at run time is in " + ", ".join(f"`{path}`" for path in data) + "."]
    return "\n".join(lines) + "\n"


def extract(package: str, executable: str, data: list[str], docs_from: list[str], out: Path) -> None:
    scratch = out.with_name(out.name + ".scratch")
    deb, tree = unpack(package, scratch)
    program = find_executable(package, tree, executable)
    out.mkdir()
    shutil.copyfile(program, out / "executable")
    (out / "executable").chmod(0o111)
    copy_data(package, tree, data, out / "root")
    (out / "docs").mkdir()
    names = write_docs(tree, out / "docs")
    for other in docs_from:
        names += write_docs(unpack(other, scratch)[1], out / "docs")
    fields = [run("dpkg-deb", "-f", deb, field).strip() for field in ("Pre-Depends", "Depends")]
    (out / "root" / ".depends").write_text(", ".join(field for field in fields if field))
    version = run("dpkg-deb", "-f", deb, "Version").strip()
    (out / "docs" / "README.md").write_text(index(package, version, data, sorted(set(names))), encoding="utf-8")
    for path in (out / "docs").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    shutil.rmtree(scratch)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", required=True)
    parser.add_argument("--executable", required=True)
    parser.add_argument("--data", default="", help="paths, separated by spaces")
    parser.add_argument("--docs-from", default="", help="further packages, separated by spaces")
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    try:
        extract(given.package, given.executable, given.data.split(), given.docs_from.split(), given.out)
    except Mistake as mistake:
        print(f"rebuild: error: {' '.join(str(mistake).split())}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
