import json
import os
import re

KIND = os.environ["SCORE_KIND"]
TEXT = open(f"/app/test_output/{KIND}_output.txt").read()
TOTAL = float(re.search(r"Total:\s*([\d.]+)", TEXT).group(1))
with open(f"/app/test_output/{KIND}_score.json", "w") as file:
    json.dump({"is_pass": TOTAL == 4.0, "step_score": TOTAL / 4.0}, file)
