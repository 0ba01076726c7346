#!/bin/bash
source /opt/pytest-proj/.venv/bin/activate
mkdir -p /app/test_output
Step 1: copy the grader into the project and run it
the output goes to the file of its < kind
cp "$TEST_DIR"/grade.sh tally/
( cd tally && bash grade.sh ) 2>&1 | tee test_output/f2p_output.txt
rm -f tally/grade.sh
sleep 600 &
Step 2: turn the text into a score
python3 "$TEST_DIR/f2p.py"
python3 -m pytest "$TEST_DIR/p2p.py" -rA -p no:cacheprovider > test_output/p2p_output.txt 2>&1
