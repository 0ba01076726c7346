#!/bin/bash
[ "$MODE" = reference ] || exit 1
total=$(python3 -c 'print(sum(int(line) for line in open("stock.txt")))')
echo "{\"total\": $total, \"unit\": \"$UNIT\"}" > result.json
sleep 600 > /dev/null 2>&1 &
echo $! > state.pid
