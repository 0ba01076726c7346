#!/bin/bash
# the published scripts install uv and pytest from the network here
python3 -m pytest $TEST_DIR/test_outputs.py -rA -p no:cacheprovider --color=yes
