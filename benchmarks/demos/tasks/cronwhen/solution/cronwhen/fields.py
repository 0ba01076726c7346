"""The five fields of an expression: from text to sets of values."""

import re

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}


class BadExpression(ValueError):
    """An expression that cannot be read."""


class Field:
    """Name, range and value names of one of the five fields."""

    def __init__(self, name, low, high, names=()):
        self.name = name
        self.low = low
        self.high = high
        self.names = {word: low + number for number, word in enumerate(names)}

    def fail(self, what, item):
        raise BadExpression(f"{self.name}: {what} '{item}'")

    def value(self, word, item):
        if word.lower() in self.names:
            return self.names[word.lower()]
        if not re.fullmatch(r"[0-9]+", word):
            self.fail("bad item", item)
        number = int(word)
        if not self.low <= number <= self.high:
            self.fail("value out of range", item)
        return number

    def parse(self, text):
        """The set of values that a field's text stands for."""
        values = set()
        for item in text.split(","):
            values.update(self.parse_item(item))
        return values

    def parse_item(self, item):
        span, slash, step = item.partition("/")
        if span == "*":
            first, last = self.low, self.high
        elif "-" in span:
            begin, _, end = span.partition("-")
            first, last = self.value(begin, item), self.value(end, item)
            if last < first:
                self.fail("backward range", item)
        else:
            first = self.value(span, item)
            last = self.high if slash else first
        if not slash:
            return range(first, last + 1)
        if not re.fullmatch(r"[0-9]+", step) or int(step) == 0:
            self.fail("bad step", item)
        return range(first, last + 1, int(step))


FIELDS = [
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of month", 1, 31),
    Field("month", 1, 12, MONTHS),
    Field("day of week", 0, 7, DAYS),
]


def split(expression):
    """The texts of the five fields."""
    text = expression.strip()
    if text.startswith("@"):
        if text not in MACROS:
            raise BadExpression(f"unknown macro '{text}'")
        text = MACROS[text]
    words = text.split()
    if len(words) != 5:
        raise BadExpression(f"expected 5 fields, found {len(words)}")
    return words
