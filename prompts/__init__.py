"""The texts that models get, as data, with a small loader.

`load` returns a `Prompt`, whose templates are compiled once; `load_judging` does so for the texts of model judges. Only
`agent` imports this package, which imports nothing of the project. The names below are loaded at their first use.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from prompts.loader import (
        Prompt as Prompt,
        PromptError as PromptError,
        load as load,
        load_judging as load_judging,
        names as names,
        parse as parse,
        with_sha256 as with_sha256,
    )

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"loader": ["Prompt", "PromptError", "load", "load_judging", "names", "parse", "with_sha256"]},
)
