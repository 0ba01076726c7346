"""Reports of the persistent shell are read whole, although bash loses the byte that it reads as a wait ends."""

from __future__ import annotations

import re
import subprocess
from importlib import resources
from pathlib import Path

COUNT = 1000
READS = r"""
mkfifo "$1" && exec 25<>"$1" 20<>"$1.nap"
nap() { read -r -t "$1" -N 1 -u 20; }
(for ((i = 1; i <= COUNT; i++)); do
  printf 'SPACE%s\n' "prompt $i" >&25
  read -r -t 0.003$((RANDOM % 10)) -N 1 -u 20
done) &
for ((seq = 1, turns = 0; seq <= COUNT && turns < 200000; turns++)); do
  wait_for_word 0.0003 || { [[ ! $word ]] || echo "garbled: $word"; continue; }
  ((seq++))
done
echo "$seq"
"""


def test_no_report_is_joined_with_the_next(tmp_path: Path) -> None:
    source = (resources.files("environments") / "supervisor" / "45-shell.sh").read_text()
    start = source.index("wait_for_word() {")
    function = source[start : source.index("\n}\n", start) + 3]
    subprocess.run(["mkfifo", tmp_path / "told.nap"], check=True)
    blanks = re.search(r'printf "( *)keeper', source)
    assert blanks is not None
    script = function + READS.replace("COUNT", str(COUNT)).replace("SPACE", blanks[1])
    reader = ["bash", "-c", script, "reader", str(tmp_path / "told")]
    action = subprocess.run(reader, capture_output=True, text=True, timeout=120, check=False)
    assert (action.stdout, action.returncode) == (f"{COUNT + 1}\n", 0), action.stderr[-500:]
