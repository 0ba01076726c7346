import json
import re
from pathlib import Path

OUTPUT = Path("/app/test_output")


def write(kind, initial):
    text = (OUTPUT / f"{kind}_output.txt").read_text()
    score, most = map(int, re.search(r"Score:\s*(\d+)\s*/\s*(\d+)", text).groups())
    result = {"is_pass": int(score == most), "step_score": (score - initial) / (most - initial)}
    (OUTPUT / f"{kind}_score.json").write_text(json.dumps(result))
