#!/bin/bash
set -u
sums=0; details=0
diff -q /tests/expected.csv /app/report.csv > /dev/null 2>&1 && sums=1
[ "$(cat /app/details/*.txt 2>/dev/null | wc -l)" = 3 ] && details=1
rows=$(wc -l < /app/report.csv 2>/dev/null || echo 0)
ls -R /app
echo "expected $EXPECTED_ROWS rows, $rows found"
printf '{"reward": %s, "rows": %s, "details": %s}\n' \
  "$(python3 -c "print(($sums + $details) / 2)")" "$rows" "$details" > /logs/verifier/reward.json
exit $((1 - sums))
