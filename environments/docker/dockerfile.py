"""Replacing the images that a Dockerfile starts from, without changing its file.

Only instructions are read: comments, continued lines and here-documents are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_FROM = re.compile(r"(?is)^(\s*FROM(?:\s|\\\n)+(?:--\S+(?:\s|\\\n)+)*)(\S+)(.*)$")
_STAGE = re.compile(r"(?is)^(?:\s|\\\n)+AS(?:\s|\\\n)+(\S+)")
_COPY = re.compile(r"(?is)^(\s*(?:COPY|ADD)\b.*?--from=)(\S+)(.*)$")
_ARG = re.compile(r"(?is)^\s*ARG\s+(.*)$")
_DEFAULT = re.compile(r"(\w+)=(\"[^\"]*\"|'[^']*'|\S*)")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?([-+])([^}]*))?\}|(\w+))")
_HERE_DOCUMENT = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?")


def with_images(text: str, images: Mapping[str, str], args: Mapping[str, str]) -> str:
    """Return a Dockerfile that starts from other images, by the names of those that it starts from now.

    The image of a stage, or of a `COPY --from`, may be named by ARG; `args` are the arguments of the build. Names mean
    the same with and without `docker.io/library/` and `:latest`.
    """
    wanted = {_full(name): image for name, image in images.items()}
    values: dict[str, str] = {}
    stages: set[str] = set()
    changed: list[str] = []
    for instruction in _instructions(text):
        line = instruction
        start, copy = _FROM.match(line), _COPY.match(line)
        if argument := _ARG.match(line):
            if not stages:  # only arguments before the first stage count in FROM
                values |= {name: args.get(name, value.strip("\"'")) for name, value in _DEFAULT.findall(argument[1])}
        elif match := start or copy:
            name = _resolved(match[2], {**args, **values})
            if name.lower() not in stages and _full(name) in wanted:
                line = f"{match[1]}{wanted[_full(name)]}{match[3]}"
        if start:
            stage = _STAGE.match(start[3])
            stages.add(stage[1].lower() if stage else str(len(stages)))
        changed.append(line)
    return "".join(changed)


def _instructions(text: str) -> Iterator[str]:
    """Yield the instructions with their line ends, each with its continued lines and here-documents, and comments."""
    lines = iter(text.splitlines(keepends=True))
    for line in lines:
        instruction = line
        while line.rstrip().endswith("\\") and not line.lstrip().startswith("#"):
            line = next(lines, "")
            instruction += line
            while line.lstrip().startswith("#") or (line and not line.strip()):  # these do not end a continued line
                line = next(lines, "")
                instruction += line
        if re.match(r"(?i)\s*(RUN|COPY|ADD)\b", instruction):
            for word in _HERE_DOCUMENT.findall(instruction):
                for line in lines:
                    instruction += line
                    if line.strip() == word:
                        break
        yield instruction


def _resolved(name: str, values: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        plain = values.get(match[1] or match[4], "")
        if match[2] == "-":
            return plain or match[3]
        return match[3] if match[2] == "+" and plain else "" if match[2] == "+" else plain

    return _VARIABLE.sub(value, name.strip("\"'"))


def _full(name: str) -> str:
    """Return the name of an image with all that a daemon adds to a short one."""
    first, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif "." not in first and ":" not in first and first != "localhost":
        name = f"docker.io/{name}"
    return name if ":" in name.rpartition("/")[2] or "@" in name else f"{name}:latest"
