"""JUnit XML becomes cases: the worst result counts, a case without one is missing, hostile XML is rejected."""

from __future__ import annotations

import pytest

from benchmarks.judging import junit

XML = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest">
<testcase classname="must_fix.test_a" name="test_one[a b]" time="0.25"/>
<testcase classname="must_fix.test_a.TestIt" name="test_two" time="0.5"><failure message="1 != 2"/></testcase>
<testcase classname="test_b" name="test_skip"><skipped message="later"/></testcase>
<testcase classname="test_b" name="test_error"/>
<testcase classname="test_b" name="test_error"><error message="teardown"/></testcase>
<testcase classname="test_b" name="test_both"><skipped/><failure/></testcase>
</testsuite></testsuites>"""
COLLECTED = [
    "must_fix/test_a.py::test_one[a b]",
    "must_fix/test_a.py::TestIt::test_two",
    "test_b.py::test_skip",
    "test_b.py::test_error",
    "test_b.py::test_both",
    "test_b.py::test_never",
]


def test_each_collected_case_has_a_status() -> None:
    cases = junit.cases(COLLECTED, junit.parse(XML.encode()))
    assert [case.id for case in cases] == COLLECTED
    assert [(case.group, case.status) for case in cases] == [
        ("must_fix", "passed"),
        ("must_fix", "failed"),
        ("tests", "skipped"),
        ("tests", "error"),
        ("tests", "failed"),
        ("tests", "missing"),
    ]
    assert (cases[0].seconds, cases[1].message, cases[3].message) == (0.25, "1 != 2", "teardown")


def test_missing_cases_carry_the_reason() -> None:
    assert {case.message for case in junit.cases(COLLECTED, {}, "the build failed")} == {"the build failed"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_and_entities_are_rejected(encoding: str) -> None:
    doctype = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    bomb = f'<?xml version="1.0" encoding="{encoding}"?><!-- <x> -->{doctype}<x>&b;</x>'
    with pytest.raises(junit.JUnitError, match="document type"):
        junit.parse(bomb.encode(encoding))


@pytest.mark.parametrize("data", [b"", b"<testsuite>", b"PASSED", b'<?xml version="1.0" encoding="x-none"?><a/>'])
def test_torn_files_are_rejected(data: bytes) -> None:
    with pytest.raises(junit.JUnitError):
        junit.parse(data)


def test_nested_suites_are_read_and_unusual_attributes_are_tolerated() -> None:
    xml = (
        "<testsuites><testsuite><testsuite><testcase classname='t' name='deep' time='1,5'>"
        "<failure>  the text  </failure><error message=''>e</error><error message='second'/></testcase></testsuite>"
        "<testcase name='bare' time='soon'/></testsuite></testsuites>"
    )
    results = junit.parse(xml.encode("utf-16"))
    assert results == {
        ("t", "deep"): junit.CaseResult("t", "deep", "error", None, "e"),
        ("", "bare"): junit.CaseResult("", "bare", "passed", None, ""),
    }


def test_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "XML_BYTES", 100)
    with pytest.raises(junit.JUnitError, match="more than 100"):
        junit.parse(XML.encode())


def test_long_messages_are_shortened() -> None:
    xml = f'<testsuite><testcase classname="t" name="a"><failure message="{"x" * 9000}"/></testcase></testsuite>'
    message = junit.parse(xml.encode())[("t", "a")].message
    assert len(message) < 2100
    assert "left out" in message
