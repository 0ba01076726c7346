#!/bin/bash
# Common to all steps; each step brings its own check.
bash /tests/check.sh > /logs/verifier/reward.txt
