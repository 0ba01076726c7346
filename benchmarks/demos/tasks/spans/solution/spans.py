#!/usr/bin/env python3
import os
import re
import sys

LIMIT, MANY = 10**9, 10**6
out = {"separator": ",", "g": 0, "m": 2, "w": 0}
flags = set()


def fail(what, word=None):
    print(f"spans: {what}" + ("" if word is None else f" '{word}'"), file=sys.stderr)
    sys.exit(2)


def item(word):
    numbers = []
    at = 0
    while True:
        match = re.match(r"[-+]?[0-9]+", word[at:])
        if not match:
            fail("bad item", word)
        value = int(match[0])
        if abs(value) > LIMIT:
            fail("number out of range", word)
        numbers.append(value)
        at += match.end()
        if len(numbers) == 2 or word[at : at + 2] != "..":
            break
        at += 2
    if at < len(word):
        fail("bad item", word)
    low, high = numbers[0], numbers[-1]
    if high < low:
        fail("backward range", word)
    return low, high


def items(text):
    return [item(word) for word in re.split(r"[, \t\r\n]+", text.partition("\0")[0]) if word]


def settle(ranges):
    found = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def both(left, right):
    return [(max(a, c), min(b, d)) for a, b in left for c, d in right if max(a, c) <= min(b, d)]


def complement(ranges):
    found, low = [], -LIMIT
    for a, b in ranges:
        if low < a:
            found.append((low, a - 1))
        low = b + 1
    return found + ([(low, LIMIT)] if low <= LIMIT else [])


def whole(text, low, high, option):
    match = re.fullmatch(r"[0-9]+", text)
    if not match or not low <= int(text) <= high:
        print(f"spans: bad value '{text}' for -{option}", file=sys.stderr)
        sys.exit(2)
    return int(text)


def unescaped(text):
    made = ""
    while text:
        if text[0] != "\\":
            made, text = made + text[0], text[1:]
            continue
        if text[1:2] not in ("n", "t", "\\"):
            fail("bad separator")
        made, text = made + {"n": "\n", "t": "\t", "\\": "\\"}[text[1]], text[2:]
    return made


words = sys.argv[1:]
ranges, steps, given = [], [], False
while words:
    word = words.pop(0)
    if not word.startswith("-") or re.match(r"-[0-9]", word):
        given = True
        ranges += items(word)
        continue
    if len(word) < 2 or word[1] not in "cdefgimqrsuwx":
        fail("unknown option", word)
    if word[1] in "cerqs":
        if set(word[1:]) - set("cerqs"):
            fail("unknown option", word)
        flags |= set(word[1:])
        continue
    if len(word) == 2 and not words:
        fail("option needs a value", word)
    value = word[2:] or words.pop(0)
    if word[1] == "d":
        out["separator"] = unescaped(value)
    elif word[1] in "gmw":
        low, high = {"g": (0, LIMIT), "m": (2, LIMIT), "w": (0, 64)}[word[1]]
        out[word[1]] = whole(value, low, high, word[1])
    elif word[1] == "f":
        try:
            text = os.fsdecode(open(value, "rb").read())
        except IsADirectoryError:
            text = ""
        except OSError:
            fail("cannot read", value)
        given = True
        ranges += items(text)
    else:
        steps.append((word[1], value))
if not given:
    ranges = items(os.fsdecode(sys.stdin.buffer.read()))
ranges = settle(ranges)
for how, what in steps:
    other = settle(items(what))
    if how == "u":
        ranges = settle(ranges + other)
    else:
        ranges = both(ranges, complement(other) if how == "x" else other)
if out["g"]:
    found = []
    for low, high in ranges:
        if found and low - found[-1][1] - 1 <= out["g"]:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    ranges = found
total = sum(high - low + 1 for low, high in ranges)
status = 0 if ranges else 1


def text(value):
    return f"{value:0{out['w']}d}" if out["w"] else str(value)


lines = []
if "q" in flags:
    pass
elif "s" in flags:
    lines = [f"numbers {total}", f"ranges {len(ranges)}"]
    if ranges:
        lines += [f"lowest {ranges[0][0]}", f"highest {ranges[-1][1]}"]
elif "c" in flags:
    lines = [str(total)]
elif "e" in flags and total > MANY:
    fail("too many numbers to expand")
elif ranges:
    shown = []
    step = -1 if "r" in flags else 1
    for low, high in ranges[::step]:
        if "e" in flags or high - low + 1 < out["m"]:
            shown += [text(value) for value in range(low, high + 1)[::step]]
        else:
            shown.append("..".join(text(value) for value in (low, high)[::step]))
    lines = [out["separator"].join(shown)]
data = "".join(line + "\n" for line in lines)
sys.stdout.buffer.write(os.fsencode(data))
sys.exit(status)
