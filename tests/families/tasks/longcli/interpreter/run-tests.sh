#!/bin/bash
mkdir -p /app/test_output
cd /app/calc
cp $TEST_DIR/ok.py .
python3 ok.py --local --score 2>&1 | tee /app/test_output/f2p_output.txt
rm -f ok.py
SCORE_KIND=f2p python3 $TEST_DIR/f2p.py
