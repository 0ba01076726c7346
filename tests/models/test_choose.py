"""The choice of a model by the value of `--model`, and the one-line errors of a wrong one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agent.models import catalog
from agent.models.aliases import load_aliases
from agent.models.choose import make_model
from agent.models.litellm.providers import key_is_set, provider_of, providers
from agent.models.protocol import ModelUnusable
from tests.wire.server import WireServer


def make_and_check(typed: str, settings: dict[str, object], api_base: str | None, check: bool) -> None:
    model = make_model(typed, settings=settings, api_base=api_base)
    if check:
        model.check()


def unusable(typed: str, *, check: bool = False, api_base: str | None = None, **settings: object) -> str:
    """Return the one-line reason why this model cannot be used."""
    with pytest.raises(ModelUnusable) as caught:
        make_and_check(typed, settings, api_base, check)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.fixture
def own_config(tmp_path, monkeypatch):
    monkeypatch.setenv("RETRACE_CONFIG_DIR", str(tmp_path))
    return tmp_path


def test_every_alias_names_a_model_of_the_table_with_a_known_key():
    for alias in load_aliases().values():
        row = catalog.row_of(alias.name)
        assert row is not None, alias
        assert row["mode"] in ("chat", "responses"), alias
        assert row["supports_function_calling"], alias
        assert provider_of(alias.name).keys, alias
        assert make_model(alias.alias, settings={}, api_base=None).info.ref.name == alias.name


def test_the_short_names_that_the_documentation_promises():
    promised = {"opus", "sonnet", "haiku", "gpt", "gpt-mini", "gemini", "gemini-flash"}
    assert promised | {"deepseek", "qwen", "kimi", "glm"} <= set(load_aliases())


def test_the_user_s_settings_override_those_of_an_alias():
    assert make_model("gpt", settings={}, api_base=None).info.parameters["api"] == "responses"
    assert make_model("gpt", settings={"api": "chat"}, api_base=None).info.parameters["api"] == "chat"


def test_a_user_s_aliases_override_the_built_in_ones(own_config):
    (own_config / "models.yaml").write_text(
        "opus: {name: anthropic/claude-opus-4-7, settings: {cache: 1h}}\nmine: openai/my-model\n"
    )
    opus = make_model("opus", settings={}, api_base=None)
    assert opus.info.ref.name == "anthropic/claude-opus-4-7"
    assert opus.info.parameters["cache"] == "1h"
    assert make_model("mine", settings={}, api_base=None).info.ref.name == "openai/my-model"
    assert load_aliases()["mine"].source.endswith("models.yaml")
    assert "sonnet" in load_aliases()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[1, 2]", "must be a mapping of aliases to models, not a list"),
        ("opus: {nam: x}", "line 1: opus.nam: unknown key; did you mean name?; line 1: opus.name: must be the name of"),
        (
            "opus: a/b\n4: x/y\nsonnet: 3\n",
            "line 2: 4: the name of an alias must be a text (put it in quotes); line 3:",
        ),
        ("opus: [", "line 1: a value is missing, or a bracket is not closed"),
        ("opus: {name: x/y, settings: 3}", "line 1: opus.settings: must be a mapping"),
        ("opus: {name: x/y, settings: {day: 2026-01-01}}", "opus.settings: must be a mapping of texts and numbers"),
        ("opus: {name: x/y, date: [1]}", "opus.date: must be a date, not [1]"),
        (b"\xff\xfe\x00", "is not UTF-8 (byte 0 is 0xff)"),
    ],
)
def test_an_error_in_the_file_of_aliases_names_the_file(own_config, content, expected):
    path = own_config / "models.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    message = unusable("opus")
    assert str(path) in message
    assert expected in message


@pytest.mark.parametrize(
    ("typed", "similar"),
    [
        ("opuss", "opus"),
        ("orcale", "oracle"),
        ("sonet", "sonnet"),
        ("claude-opus-5-6", "claude-opus-5-5"),
        ("gpt-4oo", "gpt-4o"),
    ],
)
def test_an_unknown_alias_suggests_similar_names(typed, similar):
    message = unusable(typed)
    assert repr(typed) in message
    assert similar in message.partition("similar names")[2]


def test_an_unknown_name_of_a_known_provider_suggests_names_of_that_provider(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    message = unusable("anthropic/claude-opsu-5-5", check=True)
    assert "anthropic/claude-opus-5-5" in message
    assert "unlisted=true" in message


def test_an_unknown_provider_is_reported():
    assert "unknown model 'opnai/gpt-4o'" in unusable("opnai/gpt-4o", check=True)


@pytest.mark.parametrize("typed", ["my-model", "Qwen/Qwen3-Coder"])
def test_a_name_without_provider_and_with_an_endpoint_gets_the_correct_form(typed):
    assert f"openai/{typed}" in unusable(typed, check=True, api_base="http://127.0.0.1:9/v1")


def test_a_name_that_the_table_does_not_list_is_accepted_with_the_setting_unlisted(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    monkeypatch.setenv("ANTHROPIC_API_BASE", "http://127.0.0.1:9")
    assert "cannot reach" in unusable("anthropic/claude-opus-7", check=True, unlisted="true")


def test_a_missing_key_is_reported_with_its_variable():
    assert unusable("sonnet", check=True) == (
        "no key for 'anthropic/claude-sonnet-5-5': set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN in the environment"
    )
    assert key_is_set("sonnet") is None
    assert key_is_set("anthropic/claude-sonnet-5-5") is False


def test_an_endpoint_that_does_not_answer_is_reported():
    with WireServer([]) as server:
        base = server.v1
        make_model("openai/local", settings={}, api_base=base).check()
    message = unusable("openai/local", check=True, api_base=base)
    assert base in message
    assert "refused" in message


@pytest.mark.parametrize("base", ["localhost:8000", "ftp://x/v1", "http://", "http://host:99999999/v1", "nonsense"])
def test_an_api_base_that_is_not_a_url_is_reported(base):
    assert base in unusable("openai/local", check=True, api_base=base)


def test_an_api_base_from_the_environment_is_checked(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert "http://127.0.0.1:9/v1" in unusable("openai/gpt-4o", check=True)


def test_the_proxy_is_checked_instead_of_the_endpoint(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert "proxy 127.0.0.1" in unusable("openai/gpt-4o", check=True)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"action": "json"}, "action=json: must be one of tool, fenced"),
        ({"api": "messages"}, "chat, responses"),
        ({"cache": "1d"}, "off, 5m, 1h"),
        ({"timeout_s": "soon"}, "seconds"),
        ({"timeout_s": "0"}, "above 0"),
        ({"unlisted": "perhaps"}, "true or false"),
        ({"api_key": "sk-1"}, "environment"),
        ({"aws_session_token": "x"}, "environment"),
        ({"extra_headers": {"Authorization": "Bearer x"}}, "environment"),
        ({"drop_params": "true"}, "silently"),
        ({"num_retries": "3"}, "Retrace does the retries itself"),
        ({"messages": "[]"}, "Retrace sets it"),
    ],
)
def test_an_invalid_setting_is_reported(settings, expected):
    message = unusable("opus", **settings)
    assert expected in message
    assert "sk-1" not in message


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("script:", "script:"),
        ("replay:", "replay:"),
        ("script:/no/such/file.yaml", "/no/such/file.yaml"),
        ("replay:/no/such/trial", "replay:/no/such/trial"),
    ],
)
def test_a_free_model_needs_its_file(typed, named):
    assert named in unusable(typed)


@pytest.mark.parametrize("typed", ["human", "script:x.yaml", "replay:x", "oracle", "nop"])
def test_free_models_accept_no_settings(typed):
    assert "--model-setting temperature" in unusable(typed, temperature="1")
    assert "--api-base" in unusable(typed, api_base="http://x")


def test_an_oracle_needs_a_task():
    assert "needs a task" in unusable("oracle")


def test_nothing_slow_is_imported_to_choose_and_check_a_model():
    code = (
        "import sys; from agent.models import make_model, ModelUnusable\n"
        "for name in ('opus', 'human'):\n"
        "    try: make_model(name, settings={}, api_base=None).check()\n"
        "    except ModelUnusable: pass\n"
        "print([m for m in ('litellm', 'prompt_toolkit', 'openai', 'httpx', 'jinja2') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "[]"


def test_litellm_knows_the_providers_and_their_variables():
    import os

    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    assert {str(getattr(name, "value", name)) for name in litellm.provider_list} >= set(providers())
