"""The test server itself: its counts and its complaints."""

from __future__ import annotations

from tests.wire import conformance
from tests.wire.prompt_cache import LOOK_BACK, Block, PromptCache, tokens


def blocks(*texts: str, marks: tuple[int, ...] = ()) -> list[Block]:
    return [Block(text, "5m" if index in marks else None) for index, text in enumerate(texts)]


def test_the_automatic_cache_is_the_longest_common_prefix():
    cache = PromptCache()
    assert cache.automatic("m", blocks("a b", "c d")).read == 0
    assert cache.automatic("m", blocks("a b", "c d", "e")).read == tokens("a b") + tokens("c d")
    assert cache.automatic("m", blocks("a b", "c x")).read == tokens("a b") + tokens("c ")
    assert cache.automatic("other model", blocks("a b")).read == 0


def test_the_marked_cache_needs_marks():
    cache = PromptCache()
    assert cache.marked("m", blocks("a", "b")).write_5m == 0
    first = cache.marked("m", blocks("a", "b", "c", marks=(1,)))
    assert (first.input, first.read, first.write_5m) == (1, 0, 2)
    again = cache.marked("m", blocks("a", "b", "c", "d", marks=(3,)))
    assert (again.input, again.read, again.write_5m) == (0, 2, 2)


def test_the_marked_cache_looks_back_only_so_far():
    cache = PromptCache()
    cache.marked("m", blocks("a", marks=(0,)))
    near = blocks(*"a" + "b" * LOOK_BACK, marks=(LOOK_BACK,))
    far = blocks(*"a" + "c" * (LOOK_BACK + 1), marks=(LOOK_BACK + 1,))
    assert cache.marked("m", near).read == 1
    assert cache.marked("m", far).read == 0


def test_complaints_of_chat():
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "x"}
    assistant = {"role": "assistant", "content": None, "tool_calls": [call]}
    broken = {**assistant, "tool_calls": [{**call, "function": {"name": "bash", "arguments": "{"}}]}

    def complaint(*messages):
        return conformance.chat_complaint({"messages": list(messages)})

    assert complaint(assistant, result) is None
    assert "without results" in complaint(assistant)
    assert "unknown call" in complaint(assistant, result, result)
    assert "JSON object" in complaint(broken, result)
    assert "needs content" in complaint({"role": "assistant", "content": ""})
    assert "changed" in complaint(
        {"role": "assistant", "content": "x", "reasoning_content": "y", "reasoning_seal": "z"}
    )


def test_complaints_of_responses():
    reasoning = {"type": "reasoning", "id": "rs", "encrypted_content": conformance.seal("rs")}
    call = {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "x"}

    def complaint(*items, store=False):
        return conformance.responses_complaint({"store": store, "input": list(items)})

    assert complaint(reasoning, call, output) is None
    assert "store" in complaint(call, output, store=True)
    assert "without output" in complaint(call)
    assert "unknown call" in complaint(output)
    assert "changed" in complaint({**reasoning, "encrypted_content": "x"}, call, output)
    assert "led to" in complaint(reasoning)


def test_complaints_of_anthropic():
    mark = {"type": "ephemeral"}
    use = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    thinking = {"type": "thinking", "thinking": "hm", "signature": conformance.seal("hm")}

    def complaint(*messages):
        return conformance.anthropic_complaint({"messages": [{"role": r, "content": c} for r, c in messages]})

    assert complaint(("user", "go"), ("assistant", [thinking, use]), ("user", [result])) is None
    assert "without results" in complaint(("assistant", [use]))
    assert "were answered by" in complaint(("assistant", [use]), ("user", [{"type": "text", "text": "x"}]))
    assert "signature" in complaint(("assistant", [{**thinking, "thinking": "other"}]))
    assert "non-whitespace" in complaint(("assistant", [{"type": "text", "text": " "}]))
    assert "maximum of 4" in complaint(("user", [{"type": "text", "text": "x", "cache_control": mark}] * 5))
