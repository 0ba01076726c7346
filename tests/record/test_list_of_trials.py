"""`agent trials --json` writes its one object item by item, equal to the object as a whole."""

from __future__ import annotations

import json

import pytest

from agent.cli.output import emit_json, emit_json_list


@pytest.mark.parametrize("items", [[], [{}], [{"a": [1, {"b": "line\nline"}], "c": None}, {"d": []}]])
def test_a_list_is_written_like_a_whole_object(
    items: list[dict[str, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    emit_json_list("trials", iter(items))
    written = capsys.readouterr().out
    emit_json({"trials": items})
    assert written == capsys.readouterr().out
    assert json.loads(written) == {"trials": items}
