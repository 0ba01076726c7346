#!/bin/bash
score=0
[ "$(cat /app/total.txt 2>/dev/null)" = 23 ] && score=$((score + 1))
best=$(python3 - <<'PYTHON'
import os
import urllib.request

print(urllib.request.urlopen(os.environ["STORE"] + "/best").read().decode())
PYTHON
)
[ "$best" = ann ] && score=$((score + 1))
python3 -c "print($score / 2)" >/logs/verifier/reward.txt
