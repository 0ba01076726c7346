"""Facts about providers (variables of keys, hosts, the marks of cache breakpoints), and checks that need no call.

The facts are in `providers.yaml`. The checks read environment variables and open one TCP connection; litellm is not
imported.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import yaml

from agent.models import catalog
from agent.models.protocol import ModelUnreachable, ModelUnusable
from agent.models.redaction import without_secrets

_CONNECT_S = 3.0
"""Seconds to wait for a connection in the check before a trial."""

CacheMarks = Literal["message", "part"]
"""The place of a cache breakpoint: beside a message's content, or on its text part."""


@dataclass(frozen=True)
class Provider:
    """One entry of `providers.yaml`."""

    name: str
    keys: tuple[str, ...] = ()
    host: str | None = None
    base: tuple[str, ...] = ()
    names: Literal["listed", "any"] = "listed"
    cache_marks: CacheMarks | None = None
    marks_for: str = ""
    replies: Literal["litellm", "wire"] = "litellm"

    def key(self) -> str | None:
        """Return the key, from the first variable that is set."""
        return next((os.environ[name] for name in self.keys if os.environ.get(name)), None)

    def api_base(self) -> str | None:
        """Return the API base that the environment sets, if any."""
        return next((os.environ[name] for name in self.base if os.environ.get(name)), None)

    def marks(self, model: str) -> CacheMarks | None:
        """Return the place of this model's cache breakpoints; None if it needs none."""
        return self.cache_marks if self.marks_for in model else None


@lru_cache(maxsize=1)
def providers() -> Mapping[str, Provider]:
    """Return the providers of `providers.yaml` by name."""
    text = (files("agent.models.litellm") / "providers.yaml").read_text("utf-8")
    return {
        name: Provider(
            name=name,
            keys=tuple(fields.get("keys", ())),
            host=fields.get("host"),
            base=tuple(fields.get("base", ())),
            names=fields.get("names", "listed"),
            cache_marks=fields.get("cache_marks"),
            marks_for=fields.get("marks_for", ""),
            replies=fields.get("replies", "litellm"),
        )
        for name, fields in yaml.safe_load(text).items()
    }


def provider_of(model: str) -> Provider | None:
    """Return the provider that litellm would call for this name; None if it is unknown."""
    prefix, slash, _ = model.partition("/")
    if slash and prefix in providers():
        return providers()[prefix]
    row = catalog.row_of(model)
    if row is not None:
        name = catalog.provider_of_row(row)
        return providers().get(name) or Provider(name)
    listed = slash and any(name.startswith(prefix + "/") for name in catalog.chat_names())
    return Provider(prefix) if listed else None


def key_is_set(model: str) -> bool | None:
    """Return True if the provider's key is in the environment; None if no key is known to be needed."""
    provider = provider_of(model)
    return provider.key() is not None if provider and provider.keys else None


def check_name(model: str, provider: Provider | None, *, api_base: str | None, unlisted: bool) -> None:
    """Check that a provider is known to serve the model.

    Raises: ModelUnusable.
    """
    if unlisted or not catalog.table():
        return
    if provider is None and api_base:
        raise ModelUnusable(
            f"unknown provider in {model!r}: with --api-base write openai/{model}, "
            "or give --model-setting unlisted=true"
        )
    if provider is None:
        raise ModelUnusable(
            f"unknown model {model!r}: write an alias, PROVIDER/MODEL, or openai/MODEL with --api-base{_similar(model)}"
        )
    if provider.names == "listed" and not api_base and catalog.row_of(model) is None:
        raise ModelUnusable(
            f"unknown model {model!r}: not in the table of litellm {catalog.litellm_version()}{_similar(model)}; "
            "if the provider serves it, give --model-setting unlisted=true"
        )


def _similar(model: str) -> str:
    similar = ", ".join(catalog.near_names(model))
    return f"; similar names: {similar}" if similar else ""


def check_key(model: str, provider: Provider | None, *, api_base: str | None) -> None:
    """Check that the key which the provider needs is set.

    Raises: ModelUnusable.
    """
    if provider is None or api_base or not provider.keys or provider.key():
        return
    raise ModelUnusable(f"no key for {model!r}: set {' or '.join(provider.keys)} in the environment")


def check_endpoint(model: str, provider: Provider | None, *, api_base: str | None) -> None:
    """Check that the endpoint of the requests accepts a connection.

    Raises: ModelUnusable, ModelUnreachable.
    """
    base = api_base or (provider and provider.api_base()) or ""
    if base:
        url, endpoint = base, f"the API base {without_secrets(base)!r}"
    elif provider and provider.host:
        url, endpoint = f"https://{provider.host}", provider.host
    else:
        return
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise ModelUnusable(f"{endpoint} for {model!r} is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelUnusable(f"{endpoint} for {model!r} is not a URL: write it as http://HOST:PORT/v1")
    proxy = getproxies().get(parts.scheme)
    host = parts.hostname
    if proxy and not proxy_bypass(host):
        endpoint += f" (by the proxy {urlsplit(proxy).hostname or proxy})"
        host, port = urlsplit(proxy).hostname or host, urlsplit(proxy).port or port
    try:
        socket.create_connection((host, port), timeout=_CONNECT_S).close()
    except OSError as error:
        reason = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise ModelUnreachable(
            f"cannot reach {endpoint} for {model!r}: {reason} ({host}, port {port}); check the network or --api-base"
        ) from None
