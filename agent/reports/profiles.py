"""Scoring profiles by name: the paper's, and those that the user fitted and stored."""

from __future__ import annotations

import re
from pathlib import Path

from agent.config import profiles_dir
from agent.errors import UserError
from scoring.agentmeter.profiles import AGENTMETER, Profile, load, store

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def find_profile(said: str) -> Profile:
    """The profile of this name or file (a path with a / or ending in .json).

    Raises: UserError if there is none; ScoringError if it cannot be read or was changed.
    """
    if said == AGENTMETER.name:
        return AGENTMETER
    if _is_file(said):
        return load(Path(said))
    path = _path(said, "--profile")
    if not path.exists():
        known = sorted(each.stem for each in profiles_dir().glob("*.json"))
        raise UserError(
            f"--profile {said}: there is no profile of that name in {profiles_dir()}; "
            f"there {'are' if known else 'is'} {', '.join([AGENTMETER.name, *known])} (a file: write ./{said})"
        )
    return load(path)


def name_of_new(said: str) -> str:
    """What a profile to be stored under this name or in this file is called.

    Raises: UserError if it cannot be, or is there already.
    """
    if said == AGENTMETER.name:
        raise UserError(f"--fit-profile {said}: that is the paper's; choose another name")
    path = Path(said) if _is_file(said) else _path(said, "--fit-profile")
    if path.exists():
        raise UserError(
            f"--fit-profile {said}: {path} is there already, and profiles never change: use --profile {said}"
        )
    return path.stem


def keep(profile: Profile, said: str) -> Path:
    """Store a profile and return its file.

    Raises: UserError, ScoringError.
    """
    path = Path(said) if _is_file(said) else _path(said, "--fit-profile")
    if not _is_file(said):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{path.parent}: cannot be made: {error.strerror}") from None
    store(profile, path)
    return path


def _is_file(said: str) -> bool:
    return "/" in said or said.endswith(".json")


def _path(name: str, option: str) -> Path:
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{option} {name!r} is no name of a profile: use letters, digits, '.', '_' and '-' (at most 64)"
        )
    return profiles_dir() / f"{name}.json"
