"""A fenced reply is run as it was written, or refused; never a part of it, and never an example in prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from agent.loop.fences import NoCommand, command_in
from agent.models.protocol import FIRST_FENCE, Fence

OURS = Fence("retrace_bash")
REAL = Path(__file__).parents[2].parent / "shared" / "data" / "mini-swe-agent"
README = "cat > README.md <<'EOF'\n# Tool\n\n```\nmake\n```\n\nThen run it.\nEOF\nmake"


def run(text: str, fence: Fence = OURS, *, cut_off: bool = False) -> str | None:
    """Return the script of a reply; None if the reply is refused."""
    try:
        return command_in(text, fence, cut_off=cut_off)
    except NoCommand:
        return None


def problem(text: str, *, cut_off: bool = False) -> str:
    with pytest.raises(NoCommand) as caught:
        command_in(text, OURS, cut_off=cut_off)
    return str(caught.value)


def fence_around(script: str) -> str:
    """Return a fence as the prompt asks for it: longer than any run of backticks that begins a line of the script."""
    runs = [len(match[1]) for match in re.finditer(r"^ {0,3}(`{3,})", script, re.MULTILINE)]
    return "`" * max(3, 1 + max(runs, default=0))


LINES = st.sampled_from(
    [
        "```",
        "````",
        "  ```",
        "```sh",
        "```bash",
        "```retrace_bash",
        "~~~",
        "EOF",
        "",
        "ls",
        "    ```",
        "```\r",
        "``` x",
        ">",
    ]
) | st.text(alphabet=st.characters(exclude_characters="\n"), max_size=12)
SCRIPTS = st.lists(LINES, max_size=12).map("\n".join)
PROSE = st.lists(st.sampled_from(["I look.", "", "- `ls`", "```ls```", "a ``` b", "# A"]), max_size=4).map("\n".join)


@settings(max_examples=500, deadline=None)
@given(before=PROSE, script=SCRIPTS, after=PROSE)
@example(before="", script=README, after="")
def test_a_model_that_follows_the_prompt_can_run_any_script(before: str, script: str, after: str) -> None:
    fence = fence_around(script)
    assert run(f"{before}\n{fence}retrace_bash\n{script}\n{fence}\n{after}") == script


@settings(max_examples=500, deadline=None)
@given(before=PROSE, script=SCRIPTS, after=PROSE, marks=st.sampled_from(["```", "````", "~~~"]))
@example(before="", script=README, after="", marks="```")
@example(before="", script="cat <<'A'\n```\nA", after="", marks="```")
@example(before="", script="a\n~~~\nb", after="", marks="~~~")
def test_a_script_in_any_fence_is_run_whole_or_refused(before: str, script: str, after: str, marks: str) -> None:
    assert run(f"{before}\n{marks}retrace_bash\n{script}\n{marks}\n{after}") in (script, None)


@settings(max_examples=500, deadline=None)
@given(
    lines=st.lists(LINES | st.sampled_from(["```bash\nrm -rf build\n```", "````md\n```retrace_bash\nrm\n```\n````"]))
)
def test_no_other_block_is_run(lines: list[str]) -> None:
    """What is run stands between a line that is exactly the tag's fence and a fence that is at least as long."""
    text = "\n".join(lines)
    script = run(text)
    if script is not None:
        assert re.search(
            rf"^(`{{3,}}|~{{3,}})[ \t]*retrace_bash[ \t]*\n{re.escape(script)}\n {{0,3}}\1", text, re.M
        ) or (script == "" and re.search(r"^(`{3,}|~{3,})[ \t]*retrace_bash[ \t]*\n {0,3}\1", text, re.M))


def test_a_longer_fence_holds_the_whole_heredoc() -> None:
    script = "cat > README.md <<'EOF'\n```bash\nmake\n```\nEOF"
    assert run(f"I write it.\n\n````retrace_bash\n{script}\n````\n") == script
    first_version = command_in(f"````bash\n{script}\n````", FIRST_FENCE, cut_off=False)
    assert first_version == "make", "version 1 runs the wrong command, and stays as it was for its records"


def test_a_fence_inside_of_the_script_is_refused_with_the_way_out() -> None:
    for script in (README, "cat <<'EOF'\n```\nEOF", "cat <<'EOF'\n```sh\nmake\n```\nEOF"):
        assert "begin and end the block with a longer one" in problem(f"```retrace_bash\n{script}\n```")


def test_a_reply_that_was_cut_off_is_not_run_in_part() -> None:
    cut = "```retrace_bash\ncat > R <<'EOF'\n```\nmake\n"
    assert "its end is missing" in problem(cut, cut_off=True)
    assert "its block is not closed by a line of 4 or more of `" in problem("````retrace_bash\nls\n```\n")


@pytest.mark.parametrize(
    "text",
    [
        "```bash\nrm -rf build\n```",
        "```\nrm -rf build\n```",
        "````markdown\n```retrace_bash\nrm -rf build\n```\n````",
        "```python\n```retrace_bash\nrm -rf build\n```",
        "Blocks begin with ```retrace_bash and end with ```.",
        "```Retrace_bash\nls\n```",
        "",
    ],
)
def test_a_reply_without_a_block_of_ours_is_refused(text: str) -> None:
    assert "it holds no fenced block that begins with ```retrace_bash" in problem(text)


@pytest.mark.parametrize(
    "line",
    [" ```retrace_bash", "1. ```retrace_bash", "> ```retrace_bash", "\t```retrace_bash", "```retrace_bash ls -la"],
)
def test_a_block_that_does_not_begin_alone_in_the_first_column_is_refused(line: str) -> None:
    assert "from the first column on" in problem(f"{line}\n  ls\n```")


def test_lines_that_end_with_a_carriage_return_are_refused() -> None:
    assert "end them with a line feed alone" in problem("```retrace_bash\r\nls\r\n```\r\n")


def test_other_blocks_may_come_before() -> None:
    assert run("It printed\n\n```\n2 errors\n```\n\nso I look:\n\n```retrace_bash\nls\n```") == "ls"
    assert run("~~~retrace_bash\nls\n~~~\nDone.") == "ls"


def replies_of(path: Path) -> Iterator[dict[str, Any]]:
    content = json.loads(path.read_text())
    messages = content if isinstance(content, list) else content.get("messages", [])
    yield from (m for m in messages if isinstance(m, dict) and m.get("role") == "assistant")


def scripts_of(reply: dict[str, Any]) -> Iterator[str]:
    for action in (reply.get("extra") or {}).get("actions") or []:
        yield action["command"]


@pytest.mark.skipif(not REAL.is_dir(), reason="the real trajectories are not on this machine (../shared/data)")
def test_real_fenced_replies_hold_their_recorded_commands() -> None:
    """The rule for tags and version 1 find the same commands in them; version 1 only where the tag is `bash`."""
    counts = {"mswea_bash_command": 0, "bash": 0}
    for path in sorted(REAL.rglob("*.json")):
        for reply in replies_of(path):
            for tag in counts:
                text = str(reply.get("content") or "")
                if f"```{tag}\n" not in text or reply.get("tool_calls"):
                    continue
                recorded = re.findall(rf"```{tag}\s*\n(.*?)\n```", text, re.DOTALL)  # the rule of the program itself
                assert [run(text, Fence(tag))] == recorded
                assert run(text, FIRST_FENCE) == (recorded[0] if tag == "bash" else None)
                counts[tag] += 1
    assert counts == {"mswea_bash_command": 12, "bash": 3}


@pytest.mark.skipif(not REAL.is_dir(), reason="the real trajectories are not on this machine (../shared/data)")
def test_real_commands_survive_the_round_trip() -> None:
    scripts = [s for path in sorted(REAL.rglob("*.json")) for reply in replies_of(path) for s in scripts_of(reply)]
    assert len(scripts) == 1499
    for script in scripts:
        fence = fence_around(script)
        assert run(f"I do this.\n\n{fence}retrace_bash\n{script}\n{fence}\n") == script
        assert run(f"```retrace_bash\n{script}\n```") in (script, None)
