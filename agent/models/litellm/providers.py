"""What is known of providers without asking them: key variables, hosts, and how they mark cache breakpoints.

Reads `providers.yaml`; looks at the environment and opens one TCP connection. Imports no litellm.
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

CONNECT_S = 3.0

CacheMarks = Literal["message", "part"]
"""Where a breakpoint is written: beside a message's content, or on its text part."""


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
        """The key, from the first variable that is set."""
        return next((os.environ[name] for name in self.keys if os.environ.get(name)), None)

    def api_base(self) -> str | None:
        """Another API base from the environment."""
        return next((os.environ[name] for name in self.base if os.environ.get(name)), None)

    def marks(self, model: str) -> CacheMarks | None:
        """How this model's cache breakpoints are written; None if it needs none."""
        return self.cache_marks if self.marks_for in model else None


@lru_cache(maxsize=1)
def providers() -> Mapping[str, Provider]:
    """All that `providers.yaml` describes, by name."""
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
    """The provider that litellm would call for this name; None if nothing tells."""
    prefix, slash, _ = model.partition("/")
    if slash and prefix in providers():
        return providers()[prefix]
    row = catalog.row_of(model)
    if row is not None:
        name = catalog.provider_of_row(row)
        return providers().get(name) or Provider(name)
    listed = slash and any(name.startswith(prefix + "/") for name in catalog.talking_names())
    return Provider(prefix) if listed else None


def key_is_set(model: str) -> bool | None:
    """Whether the provider's key is in the environment; None if it needs none that is known here."""
    provider = provider_of(model)
    return provider.key() is not None if provider and provider.keys else None


def check_name(model: str, provider: Provider | None, *, api_base: str | None, unlisted: bool) -> None:
    """Raises: ModelUnusable for a name that no provider is known to serve."""
    if unlisted or not catalog.table():
        return
    if provider is None and api_base:
        raise ModelUnusable(
            f"unknown provider in {model!r}: with --api-base write openai/{model}, or say --model-setting unlisted=true"
        )
    near = ", ".join(catalog.near_names(model))
    hint = f"; near names: {near}" if near else ""
    if provider is None:
        raise ModelUnusable(
            f"unknown model {model!r}: write an alias, PROVIDER/MODEL, or openai/MODEL with --api-base{hint}"
        )
    if provider.names == "listed" and not api_base and catalog.row_of(model) is None:
        raise ModelUnusable(
            f"unknown model {model!r}: not in the table of litellm {catalog.litellm_version()}{hint}; "
            "if the provider has it, say --model-setting unlisted=true"
        )


def check_key(model: str, provider: Provider | None, *, api_base: str | None) -> None:
    """Raises: ModelUnusable if the provider needs a key and none is set."""
    if provider is None or api_base or not provider.keys or provider.key():
        return
    raise ModelUnusable(f"no key for {model!r}: set {' or '.join(provider.keys)} in the environment")


def check_endpoint(model: str, provider: Provider | None, *, api_base: str | None) -> None:
    """Raises: ModelUnusable if nothing accepts a connection where the request would go."""
    base = api_base or (provider and provider.api_base()) or ""
    if base:
        url, said = base, f"the API base {without_secrets(base)!r}"
    elif provider and provider.host:
        url, said = f"https://{provider.host}", provider.host
    else:
        return
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise ModelUnusable(f"{said} for {model!r} is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelUnusable(f"{said} for {model!r} is no URL: write it as http://HOST:PORT/v1")
    proxy = getproxies().get(parts.scheme)
    host = parts.hostname
    if proxy and not proxy_bypass(host):
        said += f" (by the proxy {urlsplit(proxy).hostname or proxy})"
        host, port = urlsplit(proxy).hostname or host, urlsplit(proxy).port or port
    try:
        socket.create_connection((host, port), timeout=CONNECT_S).close()
    except OSError as error:
        why = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise ModelUnreachable(
            f"cannot reach {said} for {model!r}: {why} ({host}, port {port}); check the network or --api-base"
        ) from None
