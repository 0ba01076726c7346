#!/bin/bash
# The parser reads pytest's summary: without -rA it lists no passed test.
python3 -m pytest -p no:cacheprovider "$TEST_DIR/test_outputs.py" -rA
