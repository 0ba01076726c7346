#!/usr/bin/env python3
"""When does a crontab line run? See README.md."""

import sys

from cronwhen.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
