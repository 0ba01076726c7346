"""A reporter that keeps its lines."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Notes:
    """Lines about the preparation of an environment."""

    lines: list[str] = field(default_factory=list)

    def note(self, line: str) -> None:
        self.lines.append(line)
