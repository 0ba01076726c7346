"""Packages of an optional extra, imported when they are first needed.

They come with `pip install 'retrace-agent[NAME]'`; a base installation has none of them.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class Extra:
    """An extra by its name, and the error that reports one of its packages as missing."""

    name: str
    error: type[Exception]

    def load(self, module: str, purpose: str) -> ModuleType:
        """Import a module of the extra; `purpose` begins the message if it is missing.

        Raises: the extra's error, with the command that installs the package.
        """
        try:
            return importlib.import_module(module)
        except ImportError as error:
            install = f"pip install 'retrace-agent[{self.name}]'"
            raise self.error(f"{purpose} needs {error.name or module}: {install}") from None
