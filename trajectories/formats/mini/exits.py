"""Conversion between mini-swe-agent's exit words and our exits.

Its words are class names: `Submitted`, its limits, or any exception that ended the run. The word itself is kept in the
exit's detail and in `imported.exit_status`.
"""

from __future__ import annotations

from trajectories.record.events import FailureClass
from trajectories.record.exits import Cause, Exit

_CAUSES: dict[str, Cause] = {
    "Submitted": "submitted",
    "TimeExceeded": "time",
    "RepeatedFormatError": "format_errors",
    "ContextWindowExceededError": "context",
    "KeyboardInterrupt": "interrupted",
    "UserInterruption": "interrupted",
    "CalledProcessError": "environment_lost",
    "TimeoutExpired": "environment_lost",
    # words of `write` for causes that mini-swe-agent does not have
    "Refusal": "refusal",
    "GaveUp": "gave_up",
    "TokensExceeded": "tokens",
    "ModelUnavailable": "model_unavailable",
    "EnvironmentLost": "environment_lost",
    "DiskFull": "disk_full",
    "HarnessDefect": "harness_defect",
    "AgentExited": "agent_exited",
    "AgentHung": "agent_hung",
    "AgentUnusable": "agent_unusable",
    "ImageUnusable": "image_unusable",
    "BudgetExceeded": "budget",
}
WORDS: dict[str, str] = {
    **{cause: word for word, cause in reversed(_CAUSES.items())},
    "interrupted": "KeyboardInterrupt",
    "environment_lost": "EnvironmentLost",
    "steps": "LimitsExceeded",
    "cost": "LimitsExceeded",
}
"""Words for the exits of exported trials, by cause. A cause that is not here stands for itself."""

_MODEL_ERRORS: dict[str, FailureClass] = {
    "Timeout": "timeout",
    "APITimeoutError": "timeout",
    "InternalServerError": "server_error",
    "ServiceUnavailableError": "server_error",
    "BadGatewayError": "server_error",
    "RateLimitError": "rate_limit",
    "APIConnectionError": "connection",
    "AuthenticationError": "authentication",
    "PermissionDeniedError": "authentication",
    "BadRequestError": "bad_request",
    "UnprocessableEntityError": "bad_request",
    "UnsupportedParamsError": "bad_request",
    "NotFoundError": "not_found",
    "ContextWindowExceededError": "context_overflow",
    "APIError": "other",
    "APIResponseValidationError": "malformed",
    "ModelUnavailable": "other",
}


def model_error(status: str | None) -> FailureClass | None:
    """Return the failure of a model call that a word stands for; None if it stands for another exit."""
    return _MODEL_ERRORS.get(status or "")


def exit_of(
    status: str | None, exception: str, *, calls: int | None, step_limit: int | None, at_cost_limit: bool
) -> Exit | None:
    """Convert an exit word to an exit; None if the file has no word.

    `LimitsExceeded` is the step limit or the cost limit, depending on which one the file's own figures have reached.
    """
    if not status:
        return None
    detail = f"{status}: {exception}" if exception and exception != status else status
    if status == "LimitsExceeded":
        at_step_limit = step_limit is not None and calls is not None and calls >= step_limit
        return Exit.of("cost" if at_cost_limit and not at_step_limit else "steps", detail)
    if status in _CAUSES:
        return Exit.of(_CAUSES[status], detail)
    if status in _MODEL_ERRORS:
        return Exit.of("model_unavailable", detail)
    return Exit.of("harness_defect", detail)
