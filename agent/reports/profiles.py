"""Scoring profiles by name: those that are part of Retrace, and those that the user fitted and stored."""

from __future__ import annotations

import re
from pathlib import Path

from agent.config import profiles_dir
from agent.errors import UserError
from scoring.agentmeter.profiles import Profile, load, store
from scoring.families.defaults import BUILT_IN, built_in

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def find_profile(name: str) -> Profile:
    """Return the profile of this name or file (a path with a / or ending in .json).

    Raises: UserError if there is none; ScoringError if it cannot be read or was changed.
    """
    if name in BUILT_IN:
        return built_in(name)
    path = _file_of(name, "--profile")
    if not _is_file(name) and not path.exists():
        stored = sorted(file.stem for file in profiles_dir().glob("*.json"))
        raise UserError(
            f"--profile {name}: there is no profile of that name in {profiles_dir()}; "
            f"profiles are {', '.join([*BUILT_IN, *stored])} (for a file write ./{name})"
        )
    return load(path)


def new_profile_name(name: str) -> str:
    """Return the name of a profile that is to be stored under this name or in this file.

    Raises: UserError if the name is invalid or taken.
    """
    if name in BUILT_IN:
        raise UserError(f"--fit-profile {name}: this profile is part of Retrace; choose another name")
    path = _file_of(name, "--fit-profile")
    if path.exists():
        raise UserError(f"--fit-profile {name}: {path} exists already, and profiles never change: use --profile {name}")
    return path.stem


def store_profile(profile: Profile, name: str) -> Path:
    """Store a profile and return its file.

    Raises: UserError, ScoringError.
    """
    path = _file_of(name, "--fit-profile")
    if not _is_file(name):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{path.parent}: cannot be created: {error.strerror}") from None
    store(profile, path)
    return path


def _is_file(name: str) -> bool:
    return "/" in name or name.endswith(".json")


def _file_of(name: str, option: str) -> Path:
    if _is_file(name):
        return Path(name)
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{option} {name!r} is not a valid name of a profile: use letters, digits, '.', '_' and '-' (at most 64)"
        )
    return profiles_dir() / f"{name}.json"
