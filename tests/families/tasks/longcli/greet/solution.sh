#!/bin/bash
cat > greetings/greetings.py <<'PYTHON'
WORDS = {"en": "Hello", "de": "Hallo", "fr": "Bonjour"}


def greet(name, language="en"):
    return f"{WORDS[language]}, {name}!"
PYTHON
