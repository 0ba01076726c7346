mkdir -p /app/test_output
export PYTHONDONTWRITEBYTECODE=1
python3 -m pytest $TEST_DIR/f2p.py -rA -p no:cacheprovider > /app/test_output/f2p_output.txt 2>&1
python3 -m pytest $TEST_DIR/p2p.py -rA -p no:cacheprovider > /app/test_output/p2p_output.txt 2>&1
