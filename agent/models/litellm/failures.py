"""Classification of failed calls, by the HTTP response or otherwise by the exception.

If there was a response, its status and body decide, because clients translate them differently for each provider.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from agent.models.litellm.exchange import Exchange
from agent.models.litellm.replies import raw_usage
from agent.models.protocol import CallFailure
from agent.models.redaction import one_line, redacted
from trajectories.formats.provider_usage import billed_usd, to_usage
from trajectories.record.events import FailureClass, Json
from trajectories.record.texts import bounds
from trajectories.record.texts.text import storable_json

_OVERFLOW = re.compile(
    r"context[_ ]length|context[_ ]window|context size|maximum context|prompt is too long|input is too long"
    r"|too many tokens|input token count|max_prompt_tokens|prompt_too_long|reduce the length|request_too_large"
    r"|exceeds? the (maximum|max) (number of )?tokens",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content[_ ]filter|content[_ ]policy|content management policy|invalid_prompt", re.IGNORECASE)
_NO_MONEY = re.compile(r"insufficient_quota|insufficient balance|credit balance is too low|exceeded your current quota")

_BY_STATUS: dict[int, FailureClass] = {
    401: "authentication",
    402: "authentication",
    403: "authentication",
    404: "not_found",
    408: "timeout",
    409: "server_error",
    413: "context_overflow",
    425: "server_error",
    429: "rate_limit",
}


def failure_of(error: BaseException, exchange: Exchange) -> CallFailure:
    """Return the failure with its class, a one-line reason, the requested wait, and the usage and cost if reported."""
    body = exchange.body
    status = _status(error, exchange, body)
    message = _message(body) or str(error)
    kind = _kind(error, exchange, body, status, message)
    usage = raw_usage(body, None) if exchange.status == 200 else None
    reported = body.get("usage") if exchange.status == 200 else None
    if kind == "connection":
        status = exchange.status  # clients invent a 500
    match kind:
        case "timeout" if status in (None, 200, 408):
            message = "no whole reply within the time-out"
        case "connection":
            message = f"the connection broke: {next((str(c) for c in _chain(error) if _is_transport(c)), message)}"
        case "malformed" if violation := _out_of_bounds(error):
            message = f"the reply is not usable: {violation}"
        case "malformed":
            message = f"the reply is not usable ({type(error).__name__}): {_beginning(exchange.text)!r}"
    return CallFailure(
        kind,
        one_line(message if status in (None, 200) or exchange.response is None else f"{status} {message}"),
        status=status,
        retry_after_s=_retry_after_s(exchange, body),
        usage_raw=_recordable(usage),
        usage=to_usage(usage),
        billed_usd=billed_usd(reported) if isinstance(reported, dict) else None,
    )


def is_filtered(error: BaseException, exchange: Exchange) -> bool:
    """Return True if the error is a refusal by the provider's content filter."""
    if type(error).__name__ == "ContentPolicyViolationError":
        return True
    detail = exchange.body.get("error")
    code = f"{detail.get('code')} {detail.get('type')}" if isinstance(detail, dict) else ""
    return exchange.status in (400, 403, 422) and bool(_FILTERED.search(code))


def _kind(error: BaseException, exchange: Exchange, body: Json, status: int | None, message: str) -> FailureClass:
    names = {kind.__name__ for cause in _chain(error) for kind in type(cause).__mro__}
    if "TimeoutException" in names or "Timeout" in names or isinstance(error, TimeoutError):
        return "connection" if "ConnectTimeout" in names else "timeout"
    if any(_is_transport(cause) for cause in _chain(error)):
        return "connection"
    code = str((body.get("error") or {}).get("code")) if isinstance(body.get("error"), dict) else ""
    if status is not None and 400 <= status < 600:
        if "ContextWindowExceededError" in names or (status != 429 and _OVERFLOW.search(f"{code} {message}")):
            return "context_overflow"
        if _NO_MONEY.search(f"{code} {message}"):
            return "authentication"
        return _BY_STATUS.get(status) or ("server_error" if status >= 500 else "bad_request")
    return "malformed" if exchange.status == 200 or _out_of_bounds(error) else "other"


def _status(error: BaseException, exchange: Exchange, body: Json) -> int | None:
    """Return the HTTP status, the status in the body of a 200 that is an error, or the exception's."""
    if exchange.response is not None:
        detail = body.get("error")
        code = detail.get("code") if isinstance(detail, dict) else None
        if exchange.status == 200 and isinstance(code, int) and 400 <= code < 600:
            return code
        if exchange.status == 200 and isinstance(detail, dict) and isinstance(code, str):
            return 429 if "rate_limit" in code else 500 if "server_error" in code else 400
        return exchange.status
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _message(body: Json) -> str:
    """Return the provider's own message."""
    detail: Any = body.get("error", body)
    if isinstance(detail, dict):
        message = detail.get("message") or detail.get("detail")
        return message if isinstance(message, str) else ""
    return detail if isinstance(detail, str) else ""


def _beginning(body: str | None) -> str:
    """Return the first 100 characters of a body, without secrets."""
    return redacted(body or "")[:100]


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop()
        if cause is not None and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            waiting += [cause.__cause__, cause.__context__]


def _out_of_bounds(error: BaseException) -> bounds.OutOfBounds | None:
    return next((cause for cause in _chain(error) if isinstance(cause, bounds.OutOfBounds)), None)


def _recordable(usage: Json | None) -> Json | None:
    try:
        bounds.check(usage, finite=False)
    except bounds.OutOfBounds:
        return None
    cleaned: Json | None = storable_json(usage)
    return cleaned


def _is_transport(error: BaseException) -> bool:
    return any(
        kind.__module__.startswith("httpx") and kind.__name__ == "TransportError" for kind in type(error).__mro__
    )


def _retry_after_s(exchange: Exchange, body: Json) -> float | None:
    """Return the wait that the provider requests: milliseconds, seconds, a date or Google's RetryInfo."""
    headers = exchange.headers
    milliseconds, after = _number(headers.get("retry-after-ms")), headers.get("retry-after")
    waits = [None if milliseconds is None else milliseconds / 1000, _number(after), _until(after), _retry_info(body)]
    return next((max(0.0, seconds) for seconds in waits if seconds is not None), None)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _until(date: str | None) -> float | None:
    """Return the seconds until an HTTP date."""
    try:
        at = parsedate_to_datetime(date or "")
        now = datetime.fromtimestamp(time.time(), UTC)
        return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None


def _retry_info(body: Json) -> float | None:
    details = (body.get("error") or {}).get("details") if isinstance(body.get("error"), dict) else None
    for detail in details if isinstance(details, list) else []:
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and re.fullmatch(r"\d+(\.\d+)?s", delay):
            return _number(delay[:-1])
    return None
