#!/bin/sh
if [ $# -ne 1 ]; then
    echo 'usage: greet NAME' >&2
    exit 2
fi
printf 'Hello, %s!\n' "$1"
