"""How many tokens a text is, without network: tiktoken over the tokenizer files in the litellm wheel, else a guess.

litellm is never imported (its folder is looked up). The vocabulary is OpenAI's o200k; another provider's tokens differ
from it by some ten percent and more, so such a count is never called exact.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

BYTES_PER_TOKEN = 4
Counted = Literal["tokenizer", "estimated"]
Counter = Callable[[str], int]


@cache
def token_counter() -> tuple[Counter, Counted]:
    """A function from text to tokens, and how it counts: a tokenizer, or bytes divided by four."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        return estimated_tokens, "estimated"
    folder = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    if not folder.is_dir():
        return estimated_tokens, "estimated"
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        import tiktoken

        encoding = tiktoken.get_encoding("o200k_base")
    except (ImportError, OSError, ValueError):
        return estimated_tokens, "estimated"
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before
    return lambda text: len(encoding.encode_ordinary(text)), "tokenizer"


def estimated_tokens(text: str) -> int:
    """One token for every four bytes of UTF-8."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)
