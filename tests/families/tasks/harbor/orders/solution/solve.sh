#!/bin/bash
python3 - <<'PY'
import collections
import json
import os
import urllib.request

store = os.environ["STORE"]
orders = json.load(urllib.request.urlopen(store + "/orders"))
sums = collections.Counter()
for order in orders:
    sums[order["customer"]] += order["amount"]
open("/app/total.txt", "w").write(f"{sum(sums.values())}\n")
best = sums.most_common(1)[0][0]
urllib.request.urlopen(urllib.request.Request(store + "/best", data=best.encode(), method="PUT"))
PY
