"""An image to be built: types only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Build:
    """An image to be built from a Dockerfile."""

    context: Path
    dockerfile: str = "Dockerfile"
    args: Mapping[str, str] = field(default_factory=dict)
    overlay: Path | None = None
    """Directory whose files are added to those of the context, or replace them."""
    base_images: Mapping[str, str] = field(default_factory=dict)
    """Images to start from, by the names of those that the Dockerfile starts from."""
    timeout_s: float = 3600.0
    """Time that the build may take; not part of what the image depends on."""
