"""Removal of secrets from the endpoints that are printed and recorded."""

from __future__ import annotations

import pytest

from agent.models.redaction import without_secrets
from agent.trial.options import Options


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:pass@host:1/v1", "http://host:1/v1"),
        ("https://host/v1?api-version=3&key=abc&api_key=def", "https://host/v1?api-version=3&key=***&api_key=***"),
        ("https://host/monkey=1?keyboard=2", "https://host/monkey=1?keyboard=2"),
    ],
)
def test_secrets_are_removed_from_urls(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
    assert Options(model="openai/x", api_base=url).recorded()["api_base"] == shown
