"""A file of answers: the mistakes that are named before a trial starts, all at once and in one line."""

from __future__ import annotations

import pytest

from agent.errors import UserError
from agent.guidance.answers_file import parse_answers
from agent.guidance.no_code import check


def problem(text: str, *, rule: bool = True) -> str:
    with pytest.raises(UserError) as caught:
        parse_answers(
            text.encode(), "answers.yaml", (lambda answer: check(answer, language="python")) if rule else None
        )
    message = str(caught.value)
    assert message.startswith("--guidance file:answers.yaml: ")
    assert "\n" not in message
    return message


def test_answers_are_a_list_of_texts_in_yaml_or_json() -> None:
    assert parse_answers(b"- First look.\n- |\n  Then\n  read.\n", "a.yaml") == ("First look.", "Then\nread.\n")
    assert parse_answers(b'["First look.", "Then read."]', "a.json") == ("First look.", "Then read.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("answers: [a]", "must be a list of answers, not a mapping"),
        ("just text", "must be a list of answers, not"),
        ("", "must be a list of answers, not"),
        ("[]", "holds no answer"),
        ("- [", "line"),
    ],
)
def test_a_file_that_is_not_a_list_of_answers_is_refused(text: str, expected: str) -> None:
    assert expected in problem(text)


def test_all_mistakes_of_a_file_are_named_with_their_lines() -> None:
    message = problem("- 3\n- Look at it.\n- ''\n- |\n  Set it:\n  total = total + 1\n")
    for part in ("line 1: answer 1: must be a text", "line 3: answer 3: is empty", "line 4: answer 4: breaks the rule"):
        assert part in message
    assert "'total = total + 1'" in message
    assert "answer 2" not in message


def test_without_the_rule_an_answer_may_hold_code() -> None:
    assert parse_answers(b"- total = total + 1\n", "a.yaml") == ("total = total + 1",)


def test_a_file_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(UserError, match="is not UTF-8"):
        parse_answers(b"- \xff\n", "a.yaml")
