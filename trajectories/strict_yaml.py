"""A YAML loader that rejects repeated keys and aliases."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml


class StrictLoader(yaml.SafeLoader):
    """Loader of safe YAML. A repeated key would lose a value, and aliases can grow a file without bound."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark: yaml.Mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key, _ in node.value:
            if key.value in seen:
                self.repeated(key.value, key.start_mark)
            if isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)

    def repeated(self, key: object, mark: yaml.Mark) -> None:
        """Reject a key that occurs a second time in its mapping."""
        raise yaml.MarkedYAMLError(problem=f"the key {key!r} occurs twice", problem_mark=mark)
