"""The texts that models get, as data, with a small loader.

`load` returns a `Prompt`, whose templates are compiled once; `load_judging` does so for the texts of model judges, and
`load_role` for those of other roles beside a trial. Only `agent` imports this package, which imports nothing of the
project but the messages about mistakes in users' files. The names below are loaded at their first use.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from prompts.comparing import Difference as Difference, differences as differences
    from prompts.keys import tables as tables
    from prompts.loader import (
        load as load,
        load_judging as load_judging,
        load_role as load_role,
        names as names,
        parse as parse,
        parse_role as parse_role,
        with_sha256 as with_sha256,
    )
    from prompts.prompt import Prompt as Prompt, PromptError as PromptError

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "comparing": ["Difference", "differences"],
        "keys": ["tables"],
        "loader": ["load", "load_judging", "load_role", "names", "parse", "parse_role", "with_sha256"],
        "prompt": ["Prompt", "PromptError"],
    },
)
