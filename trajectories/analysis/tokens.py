"""Token counts of texts without network access: tiktoken with the tokenizer files of the litellm wheel, or an estimate.

litellm itself is never imported; only its folder is looked up. The vocabulary is OpenAI's o200k. Other providers'
counts differ from it by ten percent and more, so a count is never called exact.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

BYTES_PER_TOKEN = 4
CountMethod = Literal["tokenizer", "estimated"]
TokenCounter = Callable[[str], int]


@cache
def token_counter() -> tuple[TokenCounter, CountMethod]:
    """Return a function that counts the tokens of a text, and its method: a tokenizer, or bytes divided by four."""
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
    """Estimate one token for every four bytes of UTF-8."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)
