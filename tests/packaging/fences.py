"""Code blocks of the documentation, collected from its Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


@dataclass(frozen=True)
class Fence:
    """A code block: its page, the heading above it, its number below that heading, its language, and its text."""

    page: str
    heading: str
    number: int
    language: str
    text: str

    @property
    def id(self) -> str:
        """Return a name that stays the same if lines move."""
        return f"{self.page}#{self.heading}-{self.number}"

    @property
    def commands(self) -> list[str]:
        """Return the command lines of a block of shell; in a console session those after `$ `."""
        lines = re.sub(r"\\\n\s*", " ", self.text).splitlines()
        if self.language == "console":
            return [line[2:].strip() for line in lines if line.startswith("$ ")]
        return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def fences(*languages: str) -> list[Fence]:
    """Return the blocks in these languages; all blocks, also indented ones, if none is given."""
    blocks = [fence for page in PAGES for fence in _of_page(page)]
    return [fence for fence in blocks if not languages or fence.language in languages]


def _of_page(page: Path) -> list[Fence]:
    blocks: list[Fence] = []
    heading, number = "", 0
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following is not None:
            heading, number = re.sub(r"[^\w]+", "-", following.content.lower()).strip("-"), 0
        elif token.type in ("fence", "code_block"):
            number += 1
            blocks.append(
                Fence(str(page.relative_to(ROOT)), heading, number, token.info.strip().split(" ")[0], token.content)
            )
    return blocks
