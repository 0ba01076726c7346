"""The words of a command as bash hands them to it, as far as a script alone shows them.

Quotes are removed and braces are expanded. Variables that the script sets to literal text are expanded and split, and
so are command substitutions whose output is known. An expansion with an unknown value stays as it is written (`$X`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trajectories.analysis.commands.heredocs import Heredoc
from trajectories.analysis.commands.outputs import output_of, unescaped

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST_VALUE = 4096
"""Longest value of a variable that is expanded, in characters: `X=$X$X` a hundred times must stay small."""
_DEEPEST = 20
_MOST_WORDS = 64
"""Largest number of words that braces are expanded to."""
_SPECIAL = re.compile(rb"[\\'\"$`{(]")
"""Characters without which a word is what is written."""
_BRACES = re.compile(r"([^\s{}]*)\{([^{}]*,[^{}]*)\}([^\s{}]*)")
_DEFAULT = re.compile(r"\$\{(\w+):?[-=](.*)\}", re.DOTALL)
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_IN_STRING = re.compile(r'\\(["$`\\\n])')


@dataclass
class Words:
    """The words of one script, whose variables are followed."""

    source: bytes
    heredocs: dict[int, Heredoc | None] = field(default_factory=dict)
    """Here-documents, and None for here-strings, by the place of their operator."""
    variables: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    """Values of arrays and of the variables of loops."""
    assigned: frozenset[str] = frozenset()
    """Names of the variables that have been set."""

    def text(self, node: Node) -> str:
        """Return a node as it is written."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def plain(self, node: Node) -> str | None:
        """Return a word without quotes and expansions; None for any other."""
        raw = self.source[node.start_byte : node.end_byte]
        return None if _SPECIAL.search(raw) else raw.decode("utf-8", "replace")

    def of(self, node: Node) -> list[str]:
        """Return the words that one node of a command becomes."""
        if (plain := self.plain(node)) is not None:
            return [plain]
        kind = node.type
        if kind == "command_name" and node.named_child_count == 1:
            return self.of(node.named_children[0])
        if kind == "word":
            return [self.value(node)]
        if kind in ("simple_expansion", "expansion"):
            values = self.lists.get(self._name(node))
            if values is not None:
                return values
            value = self._expanded(node)
            return [self.text(node)] if value is None else value.split()
        if kind == "command_substitution":
            output = self.output(node)
            return [self.text(node)] if output is None else output.split()
        if kind == "string" and node.named_child_count == 1:
            child = node.named_children[0]
            if child.end_byte - child.start_byte == node.end_byte - node.start_byte - 2:
                values = self.lists.get(self._name(child))
                if values is not None:
                    return values
        if kind == "concatenation":
            text = self.text(node)
            if "{" in text and "," in text and not re.search(r"['\"`$\\]", text) and (match := _BRACES.fullmatch(text)):
                return [f"{match[1]}{part}{match[3]}" for part in match[2].split(",")[:_MOST_WORDS]]
        return [self.value(node)]

    def value(self, node: Node, depth: int = 0) -> str:
        """Return a node's text after quote removal and the expansion of known values."""
        kind = node.type
        if kind == "word":
            text = self.text(node)
            return _ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text) if "\\" in text else text
        if kind == "raw_string":
            return self.text(node)[1:-1]
        if kind == "ansi_c_string":
            return unescaped(self.text(node)[2:-1])
        if kind == "translated_string" and node.named_child_count and depth < _DEEPEST:
            return self.value(node.named_children[0], depth + 1)
        if kind == "string":
            return self._string(node, depth) if depth < _DEEPEST else self.text(node)
        if kind in ("concatenation", "command_name"):
            return self._joined(node, depth) if depth < _DEEPEST else self.text(node)
        if kind in ("simple_expansion", "expansion"):
            value = self._expanded(node)
            return self.text(node) if value is None else value
        if kind == "command_substitution":
            output = self.output(node, depth + 1)
            return self.text(node) if output is None else output.rstrip("\n")
        return self.text(node)

    def assign(self, node: Node) -> None:
        """Record an assignment that is a command of its own."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or (node.parent is not None and node.parent.type == "command"):
            return
        key = self.text(name)
        if value is not None and value.type == "array":
            self.lists[key] = [word for child in value.named_children[:_MOST_WORDS] for word in self.of(child)]
            self.assigned |= {key}
            return
        text = self.value(value) if value is not None else ""
        if "+=" in self.text(node)[: len(key) + 3]:
            text = self.variables.get(key, "") + text
        self.lists.pop(key, None)
        if len(text) <= _LONGEST_VALUE:
            self.variables[key] = text
            self.assigned |= {key}

    def loop(self, node: Node) -> None:
        """Give a loop's variable its values: the first where it is part of a word, and all where it is the word."""
        name = node.child_by_field_name("variable")
        values = [word for child in node.children_by_field_name("value")[:_MOST_WORDS] for word in self.of(child)]
        if name is not None and values:
            self.variables[self.text(name)] = values[0][:_LONGEST_VALUE]
            self.assigned |= {self.text(name)}
            if len(values) > 1:
                self.lists[self.text(name)] = [value[:_LONGEST_VALUE] for value in values[:_MOST_WORDS]]

    def here_text(self, redirect: Node) -> str | None:
        """Return the text of a here-document or here-string; None for another redirection."""
        operator = next((child for child in redirect.children if not child.is_named), None)
        if operator is None or operator.start_byte not in self.heredocs:
            return None
        heredoc = self.heredocs[operator.start_byte]
        if heredoc is not None:
            return heredoc.text
        target = redirect.child_by_field_name("destination")
        return "\n" if target is None else self.value(target) + "\n"

    def read(self, name: str, text: str) -> None:
        """Give the variable of a `read` the lines of a text, as a loop around it would."""
        lines = text.splitlines()[:_MOST_WORDS]
        if lines:
            self.variables[name] = lines[0][:_LONGEST_VALUE]
            self.lists[name] = [line[:_LONGEST_VALUE] for line in lines]
            self.assigned |= {name}

    def output(self, node: Node, depth: int = 0, stdin: str | None = None) -> str | None:
        """Return what a command substitution, or a pipeline in one, prints; None if it is not known."""
        if depth > _DEEPEST:
            return None
        match node.type:
            case "command":
                return self._printed(node, stdin)
            case "redirected_statement" if (body := node.child_by_field_name("body")) is not None:
                redirects = node.children_by_field_name("redirect")
                texts = [self.here_text(redirect) for redirect in redirects]
                return self.output(body, depth + 1, texts[0]) if len(texts) == 1 and texts[0] is not None else None
            case "pipeline":
                text = self.output(node.named_children[0], depth + 1, stdin)
                for child in node.named_children[1:]:
                    if text is None or child.type != "command":
                        return None
                    text = self._printed(child, text)
                return text
            case "list" if node.named_children:
                *before, last = (self.output(child, depth + 1) for child in node.named_children)
                return last if not any(before) and None not in before else None
            case "command_substitution" if node.named_child_count == 1:
                return self.output(node.named_children[0], depth + 1)
        return None

    def _printed(self, command: Node, stdin: str | None) -> str | None:
        words = [word for child in command.named_children if child.type != "comment" for word in self.of(child)]
        return output_of(words, stdin) if words else None

    def _name(self, node: Node) -> str:
        """Return the name in `$X`, `${X}`, `${X[@]}`."""
        return self.text(node).strip("${}").removesuffix("[@]").removesuffix("[*]")

    def _expanded(self, node: Node) -> str | None:
        """Return the value of `$X`, `${X}` and `${X:-default}`; None if it is not known."""
        text = self.text(node)
        value = self.variables.get(text.strip("${}"))
        if value is not None or not text.startswith("${"):
            return value
        match = _DEFAULT.fullmatch(text)
        return None if match is None else self.variables.get(match[1]) or match[2].strip("'\"")

    def _joined(self, node: Node, depth: int) -> str:
        children = node.named_children
        if not children:
            return self.text(node)
        return "".join(self.value(child, depth + 1) for child in children)

    def _string(self, node: Node, depth: int) -> str:
        parts: list[str] = []
        at = node.start_byte + 1
        for child in node.named_children:
            if child.type == "string_content":
                continue
            parts.append(_IN_STRING.sub(_kept, self.source[at : child.start_byte].decode("utf-8", "replace")))
            parts.append(self.value(child, depth + 1))
            at = child.end_byte
        parts.append(_IN_STRING.sub(_kept, self.source[at : node.end_byte - 1].decode("utf-8", "replace")))
        return "".join(parts)


def _kept(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]
