"""The generated parts of the documentation: one whole page, and tables inside of pages."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from agent.models.litellm.settings import settings_table
from environments.promises import table as promises_table
from prompts import tables as prompt_tables
from scripts.model_tables import batch_tables
from scripts.record_page import record_page
from trajectories.analysis.integrity import rules_table

REFERENCE = Path("docs/reference")


def with_table(text: str, name: str, table: str) -> str:
    """Return a page whose part between two markers, `<!-- NAME -->` and `<!-- end of NAME -->`, is `table`."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(begin, 1)
    return f"{before}{begin}\n{table}\n\n{end}{rest.split(end, 1)[1]}"


def _measured() -> str:
    """Return the precision and recall of the rules on the labeled commands of the tests."""
    from tests.integrity.labeled import measured_table

    return measured_table()


def _measured_texts() -> str:
    """Return the precision and recall of the rule no-code on the labeled texts of the tests."""
    from tests.guidance.labeled_texts import measured_table

    return measured_table()


PAGES: dict[str, Callable[[str], str]] = {
    "batches.md": lambda text: with_table(text, "events and fields", batch_tables()),
    "environments.md": lambda text: with_table(text, "promises", promises_table()),
    "integrity.md": lambda text: with_table(with_table(text, "rules", rules_table()), "measured", _measured()),
    "no-code.md": lambda text: with_table(text, "measured", _measured_texts()),
    "model-settings.md": lambda text: with_table(text, "settings", settings_table()),
    "prompts.md": lambda text: with_table(text, "keys", prompt_tables()),
    "record.md": lambda _: record_page(),
}
"""For each page, a function from its present text to the text that it should have."""


def main(arguments: list[str]) -> int:
    """Write each page that is out of date, or only name it; return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/docs", description="Write the generated parts of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if a page is out of date")
    check = parser.parse_args(arguments).check
    stale = 0
    for name, generate in PAGES.items():
        path = REFERENCE / name
        present = path.read_text(encoding="utf-8") if path.exists() else ""
        wanted = generate(present)
        if wanted == present:
            continue
        stale += 1
        if check:
            print(f"{path} is out of date; run scripts/docs")
        else:
            path.write_text(wanted, encoding="utf-8")
            print(f"wrote {path}")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
