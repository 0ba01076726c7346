"""Documents in which one value is replaced by another, for tests of readers."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=10), below, max_size=4),
    max_leaves=10,
)


def mutated(draw: st.DrawFn, value: Any) -> Any:
    """Replace one value, at any depth, and return the document."""
    target = value
    while True:
        keys = list(range(len(target))) if isinstance(target, list) else list(target)
        key = draw(st.sampled_from(keys))
        if isinstance(target[key], dict | list) and target[key] and draw(st.integers(0, 3)):
            target = target[key]
            continue
        target[key] = draw(JSON)
        return value
