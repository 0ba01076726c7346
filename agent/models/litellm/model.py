"""A provider's model through litellm, by chat completions or the Responses API.

litellm translates between protocols; `library` imports it. Retries, deadlines, prices, and the interpretation of usage
and errors are ours.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.models import catalog
from agent.models.call_ids import with_own_ids
from agent.models.growing import Replies
from agent.models.litellm import exchange, library, providers
from agent.models.litellm.exchange import Exchange
from agent.models.litellm.failures import failure_of, is_filtered
from agent.models.litellm.replies import chat_completion, raw_usage, responses_completion
from agent.models.litellm.settings import Api, Settings, parse_settings
from agent.models.litellm.wire_history import WireHistory, chat_items, fresh, marker, responses_items
from agent.models.protocol import CallFailure, Completion, ModelInfo, Request
from agent.models.redaction import one_line, without_secrets
from agent.models.tools import chat_tools, responses_tools
from trajectories.record.events import Json, ModelRef, Reply

_NO_CLIENT_OF_OURS = ("azure", "azure_text", "sap", "sagemaker", "replicate", "predibase", "petals")
"""Providers whose code in litellm needs the client of an SDK instead of an HTTP handler."""
_NO_KEY = "no-key-needed"
_CONNECT_S = 30.0
"""Seconds to wait for the connection of a call."""

_SHORTCUTS: Json = {"_skip_mcp_handler": True}
"""Arguments that keep the first call from importing the mcp package, which takes 0.6 s."""

_WARM: Json = {"id": "warm", "object": "response", "created_at": 0, "model": "warm", "output": []}


class LiteLLMModel:
    """A model by litellm's name, with the settings of its alias and of `--model-setting`.

    With `may_ask` it has the tool `ask` as well.

    Raises: ModelUnusable for an invalid setting.
    """

    def __init__(
        self,
        typed: str,
        name: str,
        settings: Mapping[str, object],
        api_base: str | None = None,
        *,
        may_ask: bool = False,
    ) -> None:
        row = catalog.row_of(name) or {}
        default_api: Api = "responses" if row.get("mode") == "responses" else "chat"
        self._settings = parse_settings(settings, default_api=default_api)
        self._name = name
        self._api_base = api_base
        self._provider = providers.provider_of(name)
        self._chat = self._settings.api == "chat"
        marks = self._provider.marks(name) if self._provider and self._chat else None
        ttl = self._settings.cache
        self._mark = marker(marks, ttl) if marks and ttl != "off" else None
        self._history = WireHistory(chat_items if self._chat else responses_items)
        self._replies = Replies()
        self._parameters = _parameters(self._settings, row if marks else {}, may_ask=may_ask)
        self._handler: Any = None
        recorded = {**self._parameters, "api": self._settings.api, "cache": ttl if self._mark else "automatic"}
        if api_base:
            recorded["api_base"] = without_secrets(api_base)
        self.info = ModelInfo(
            ref=ModelRef(asked=typed, name=name, settings=dict(settings)),
            action_format=self._settings.action,
            parameters=recorded,
            versions={"litellm": catalog.litellm_version()},
        )

    @property
    def settings(self) -> Settings:
        """Return the settings in effect."""
        return self._settings

    def check(self) -> None:
        """Check the name, the key and the endpoint, without litellm.

        Raises: ModelUnusable.
        """
        self.check_name()
        providers.check_key(self._name, self._provider, api_base=self._api_base)
        providers.check_endpoint(self._name, self._provider, api_base=self._api_base)

    def check_name(self) -> None:
        """Check the name alone.

        Raises: ModelUnusable.
        """
        providers.check_name(self._name, self._provider, api_base=self._api_base, unlisted=self._settings.unlisted)

    def warm_up(self) -> None:
        """Import litellm and all that its first call imports, by a call that a local transport answers."""
        with contextlib.suppress(Exception):
            library.load()
            import httpx
            from litellm.llms.custom_httpx.http_handler import HTTPHandler

            self._client()
            local = httpx.MockTransport(lambda request: httpx.Response(200, json=_WARM))
            arguments = {**self._arguments(_CONNECT_S), "client": HTTPHandler(client=httpx.Client(transport=local))}
            if not (self._provider and self._provider.name == "anthropic"):
                arguments["model"] = "openai/warm-up"  # other providers may fetch tokens over the network
            call = self._call_chat if self._chat else self._call_responses
            call([{"role": "user", "content": "."}], {**arguments, "api_key": _NO_KEY})

    def ask(self, request: Request) -> Completion:
        """Make one try.

        Raises: CallFailure.
        """
        timeout_s = max(0.001, min(request.timeout_s, self._settings.timeout_s))
        items = self._history.items(request.history, self._mark)
        self._replies.take_in(request.history)
        library.load()  # before the deadline is set: its import must not count as the provider's time
        wire = Exchange(time.monotonic() + timeout_s)
        call = self._ask_chat if self._chat else self._ask_responses
        try:
            completion = exchange.run(lambda: call(items, timeout_s, wire), wire)
            return replace(completion, reply=with_own_ids(completion.reply, request, self._replies))
        except TimeoutError:
            self._history.renew()  # the abandoned call may still change what it was given
            raise CallFailure("timeout", f"no whole reply within {timeout_s:g} s") from None
        except Exception as error:
            if is_filtered(error, wire):
                failure = failure_of(error, wire)
                return Completion(Reply(refusal=failure.detail), None, finish_reason="content_filter")
            raise failure_of(error, wire) from error

    def close(self) -> None:
        """Close the connections."""
        if self._handler is not None:
            self._handler.client.close()
            self._handler = None

    def _ask_chat(self, messages: list[Json], timeout_s: float, wire: Exchange) -> Completion:
        response = self._call_chat(messages, self._arguments(timeout_s))
        choice = response.choices[0]
        body = wire.body
        message = _wire_message(body) if self._provider and self._provider.replies == "wire" else None
        return chat_completion(
            message or choice.message.model_dump(exclude_none=True),
            finish_reason=choice.finish_reason,
            usage_raw=raw_usage(body, _dumped(response.get("usage"))),
            served=_served(body, response.model),
            write_ttl="1h" if self._settings.cache == "1h" else "5m",
        )

    def _ask_responses(self, items: list[Json], timeout_s: float, wire: Exchange) -> Completion:
        response = self._call_responses(items, self._arguments(timeout_s))
        body = wire.body
        if response.status == "failed" or response.error:
            raise ValueError(one_line(str(response.error)))
        output = body.get("output")
        if not isinstance(output, list):
            output = [
                item if isinstance(item, dict) else item.model_dump(exclude_unset=True) for item in response.output
            ]
        return responses_completion(
            output,
            incomplete=response.incomplete_details.reason if response.incomplete_details else None,
            usage_raw=raw_usage(body, _dumped(response.usage)),
            served=_served(body, response.model),
        )

    def _call_chat(self, messages: list[Json], arguments: Json) -> Any:
        litellm = library.load()
        library.disable_callbacks()
        return litellm.completion(messages=messages, **arguments)

    def _call_responses(self, items: list[Json], arguments: Json) -> Any:
        litellm = library.load()
        library.disable_callbacks()
        return litellm.responses(input=items, **arguments)

    def _arguments(self, timeout_s: float) -> Json:
        import httpx

        arguments: Json = {
            "model": self._name,
            "timeout": httpx.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s)),
            "max_retries": 0,
            "num_retries": 0,
            **_SHORTCUTS,
            **fresh(self._parameters),
        }
        if self._api_base:
            arguments["api_base"] = self._api_base
            arguments["api_key"] = (self._provider and self._provider.key()) or _NO_KEY
        if self._provider is None or self._provider.name not in _NO_CLIENT_OF_OURS:
            arguments["client"] = self._client()
        return arguments

    def _client(self) -> Any:
        """Return litellm's own handler, with its TLS and proxy settings and our hook on every response."""
        if self._handler is None:
            from litellm.llms.custom_httpx.http_handler import HTTPHandler

            handler = HTTPHandler()
            handler.client.event_hooks = {"response": [exchange.observe]}
            self._handler = handler
        return self._handler


def _parameters(settings: Settings, marked_row: Mapping[str, Any], *, may_ask: bool) -> Json:
    """Return the parameters of every request besides the history: the tools, and the user's own."""
    own = dict(settings.parameters)
    if settings.api == "chat":
        parameters: Json = {"tools": chat_tools(may_ask=may_ask)} if settings.action == "tool" else {}
        if not {"max_tokens", "max_completion_tokens"} & set(own) and marked_row.get("max_output_tokens"):
            # Anthropic requires a maximum; litellm would add the same one, unrecorded
            own["max_tokens"] = marked_row["max_output_tokens"]
        return {**parameters, **own}
    parameters = {"tools": responses_tools(may_ask=may_ask)} if settings.action == "tool" else {}
    parameters |= {"store": False, "include": ["reasoning.encrypted_content"]}
    effort = own.pop("reasoning_effort", None)
    if effort is not None:
        own["reasoning"] = {**own.get("reasoning", {}), "effort": effort}
    if "max_tokens" in own:
        own["max_output_tokens"] = own.pop("max_tokens")
    # in the body, because litellm silently drops parameters that it does not know
    return {**parameters, **({"extra_body": own} if own else {})}


def _wire_message(body: Json) -> Json | None:
    """Return the assistant's message as an OpenAI-compatible provider wrote it."""
    try:
        message = body["choices"][0]["message"]
    except (KeyError, IndexError, TypeError):
        return None
    return message if isinstance(message, dict) and message.get("role") == "assistant" else None


def _served(body: Json, default: object) -> str | None:
    model = body.get("model") or default
    return str(model) if model else None


def _dumped(usage: Any) -> Json | None:
    if usage is None:
        return None
    content = usage.model_dump(exclude_none=True)
    return content if isinstance(content, dict) else None
