import json
from pathlib import Path

try:
    result = json.loads(Path("/app/result.json").read_text())
except (OSError, ValueError):
    result = {}
rewards = {
    "total": 1 if result.get("total") == 7 else 0,
    "unit": 1.5 if result.get("unit") == "pieces" else 0,
    "running": Path("/logs/artifacts/running").exists(),
}
Path("/logs/verifier/reward.json").write_text(json.dumps(rewards))
