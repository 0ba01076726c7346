#!/usr/bin/env python3
import datetime
import re
import sys

ACCOUNT = re.compile(r"[A-Za-z0-9_-]+(:[A-Za-z0-9_-]+)*")
AMOUNT = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]{1,2}))?")
OPTIONS = {"balance": ("--from", "--to", "--depth", "--zero"), "register": ("--from", "--to")}
COMMANDS = ("check", "balance", "register", "print", "csv")
BLANKS = " \t"


class Usage(Exception):
    pass


class Bad(Exception):
    pass


def date(word):
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", word):
        try:
            datetime.date(*map(int, word.split("-")))
            return word
        except ValueError:
            pass
    raise Bad(f"invalid date '{word}'")


def account(word):
    if not ACCOUNT.fullmatch(word):
        raise Bad(f"invalid account '{word}'")
    return word


def amount(text):
    match = AMOUNT.fullmatch(text)
    if not match:
        raise Bad(f"invalid amount '{text}'")
    sign, whole, part = match.groups()
    value = int(whole) * 100 + int((part or "").ljust(2, "0"))
    return -value if sign else value


def money(value):
    return f"{'-' if value < 0 else ''}{abs(value) // 100}.{abs(value) % 100:02d}"


def below(name, top):
    return name == top or name.startswith(top + ":")


class Journal:
    def __init__(self, name, text):
        self.name, self.errors = name, []
        self.transactions, self.assertions = [], []
        self.open = None
        for number, line in enumerate(text.split("\n"), 1):
            line = line.removesuffix("\r")
            bare = line.strip(BLANKS)
            if bare.startswith("#"):
                continue
            if bare and line[0] in BLANKS and self.open is not None:
                if not self.open["bad"]:
                    try:
                        self.posting(number, line)
                    except Bad as error:
                        self.open["bad"] = True
                        self.errors.append((number, str(error)))
                continue
            self.close()
            if not bare:
                continue
            try:
                if line[0] in BLANKS:
                    raise Bad("posting outside a transaction")
                self.top(number, line)
            except Bad as error:
                self.errors.append((number, str(error)))
        self.close()
        self.transactions.sort(key=lambda t: t["date"])
        if not self.errors:
            self.check_assertions()

    def top(self, number, line):
        words = re.split(r"[ \t]+", line.strip(BLANKS))
        if line[0] in "0123456789":
            self.open = {"line": number, "bad": True, "postings": [], "elided": None}
            self.open["date"] = date(words[0])
            self.open["text"] = line[len(words[0]):].strip(BLANKS)
            if not self.open["text"]:
                raise Bad("missing description")
            self.open["bad"] = False
        elif words[0] == "assert" and len(words) == 4:
            self.assertions.append((number, date(words[1]), account(words[2]), amount(words[3])))
        else:
            raise Bad("unexpected line")

    def posting(self, number, line):
        text = re.sub(r"[ \t]#.*", "", line, flags=re.S).strip(BLANKS)
        match = re.match(r"([^ \t]+)[ \t]*(.*)", text, flags=re.S)
        name, rest = account(match[1]), match[2]
        if rest:
            self.open["postings"].append([name, amount(rest)])
        elif self.open["elided"] is not None:
            raise Bad("more than one posting without an amount")
        else:
            self.open["elided"] = len(self.open["postings"])
            self.open["postings"].append([name, None])

    def close(self):
        found, self.open = self.open, None
        if found is None or found["bad"]:
            return
        postings = found["postings"]
        total = sum(value for _, value in postings if value is not None)
        if len(postings) < 2:
            self.errors.append((found["line"], "transaction needs at least two postings"))
        elif found["elided"] is not None:
            postings[found["elided"]][1] = -total
        elif total:
            self.errors.append((found["line"], f"transaction does not balance: off by {money(total)}"))
        self.transactions.append(found)

    def check_assertions(self):
        for number, day, name, expected in self.assertions:
            actual = sum(
                value
                for t in self.transactions
                if t["date"] <= day
                for posted, value in t["postings"]
                if below(posted, name)
            )
            if actual != expected:
                self.errors.append((number, f"balance of {name} on {day} is {money(actual)}, not {money(expected)}"))


def arguments(command, words):
    options, rest = {}, []
    words = list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            rest.append(word)
            continue
        if word not in OPTIONS.get(command, ()):
            raise Usage(f"ledger: unknown option '{word}'")
        if word == "--zero":
            options[word] = True
            continue
        if not words:
            raise Usage(f"ledger: option '{word}' needs a value")
        value = words.pop(0)
        if word == "--depth":
            if not re.fullmatch(r"[0-9]+", value) or int(value) < 1:
                raise Usage(f"ledger: invalid depth '{value}'")
            value = int(value)
        else:
            try:
                date(value)
            except Bad as error:
                raise Usage(f"ledger: {error}") from None
        options[word] = value
    if not rest:
        raise Usage(f"ledger: '{command}' needs a FILE")
    if command == "register" and len(rest) < 2:
        raise Usage("ledger: 'register' needs an ACCOUNT")
    most = {"balance": len(rest), "register": 2}.get(command, 1)
    if len(rest) > most:
        raise Usage(f"ledger: unexpected argument '{rest[most]}'")
    return rest[0], rest[1:], options


def postings(journal, options):
    for t in journal.transactions:
        if options.get("--from", "") <= t["date"] <= options.get("--to", "9999-99-99"):
            for name, value in t["postings"]:
                yield t, name, value


def balance(journal, names, options):
    sums = {}
    for _, name, value in postings(journal, options):
        if names and not any(below(name, top) for top in names):
            continue
        name = ":".join(name.split(":")[: options.get("--depth")])
        sums[name] = sums.get(name, 0) + value
    shown = {name: value for name, value in sorted(sums.items()) if value or "--zero" in options}
    for name, value in shown.items():
        yield f"{money(value):>14}  {name}"
    yield "-" * 14
    yield f"{money(sum(shown.values())):>14}"


def register(journal, names, options):
    total = 0
    for t, name, value in postings(journal, options):
        if below(name, names[0]):
            total += value
            text = t["text"] if len(t["text"]) <= 24 else t["text"][:21] + "..."
            yield f"{t['date']}  {text:<24}  {money(value):>12}  {money(total):>12}"


def printed(journal, names, options):
    for number, t in enumerate(journal.transactions):
        if number:
            yield ""
        yield f"{t['date']} {t['text']}"
        for name, value in t["postings"]:
            yield f"    {name:<30}  {money(value):>12}"


def field(text):
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def csv(journal, names, options):
    yield "date,description,account,amount"
    for t, name, value in postings(journal, options):
        yield f"{t['date']},{field(t['text'])},{name},{money(value)}"


def check(journal, names, options):
    yield f"transactions: {len(journal.transactions)}"
    yield f"postings: {sum(len(t['postings']) for t in journal.transactions)}"
    yield f"assertions: {len(journal.assertions)}"


def main(words):
    if not words:
        raise Usage("usage: ledger COMMAND FILE [ARGUMENT...]")
    command = words[0]
    if command not in COMMANDS:
        raise Usage(f"ledger: unknown command '{command}'")
    name, names, options = arguments(command, words[1:])
    try:
        data = sys.stdin.buffer.read() if name == "-" else open(name, "rb").read()
    except OSError:
        raise Usage(f"ledger: cannot read '{name}'") from None
    journal = Journal(name, data.decode())
    if journal.errors:
        for number, message in sorted(journal.errors):
            print(f"{name}:{number}: {message}", file=sys.stderr)
        return 1
    run = {"check": check, "balance": balance, "register": register, "print": printed, "csv": csv}[command]
    sys.stdout.write("".join(line + "\n" for line in run(journal, names, options)))
    return 0


try:
    sys.exit(main(sys.argv[1:]))
except Usage as error:
    print(error, file=sys.stderr)
    sys.exit(2)
