"""Mechanisms by which programs of a system execute, load or import a path: those that every system has."""

from __future__ import annotations

import re
import sys

_OF_PYTEST = frozenset(
    (
        "sitecustomize", "usercustomize", "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "xdist",
        "execnet", "tomli", "exceptiongroup", "py", "attr", "pytest_timeout", "pytest_rerunfailures",
        "pytest_xdist", "programbench_pytest_timeout",
    )
)  # fmt: skip
_UNUSED_BY_PYTEST = frozenset(
    (
        "test", "this", "idlelib", "lib2to3", "turtledemo", "ensurepip", "antigravity", "tkinter", "turtle",
    )
)  # fmt: skip
"""Names of the standard library that the tests' own process does not import."""
_HOME = r"/(root|home/[^/]+)"
_LIBRARIES = r"(/usr)?(/local)?/lib(32|64|x32)?"

_MECHANISMS: tuple[tuple[str, str], ...] = (
    (
        "shell_startup",
        r"/etc/(profile|profile\.d(/.*)?|bash\.bashrc|bashrc|environment|environment\.d(/.*)?|zsh(/.*)?)",
    ),
    ("shell_startup", _HOME + r"/\.(bash_profile|bash_login|profile|bashrc|bash_logout|bash_aliases|shinit|zsh\w*)"),
    ("account", r"/etc/passwd"),
    ("python_modules", r"(/usr)?(/local)?/lib(64)?/(python|pypy)[\d.]*(/.*)?"),
    ("python_modules", _HOME + r"/\.local/lib/(python|pypy)[\d.]*(/.*)?"),
    ("python_startup", r"/etc/python[\d.]*(/.*)?"),
    ("pytest_configuration", r"/(conftest\.py|\.?pytest\.ini|pyproject\.toml|tox\.ini|setup\.cfg)"),
    ("loader", r"/etc/(ld\.so\.preload|ld\.so\.conf(\.d(/.*)?)?|ld\.so\.cache|nsswitch\.conf)"),
    ("loader", _LIBRARIES + r"/(.*/)?([^/]*\.so(\.[\w.]+)?|ld-[^/]*|gconv-modules[^/]*)"),
    ("path", r"(/usr)?(/local)?/s?bin(/.*)?"),
    ("path", _HOME + r"/(\.local/)?bin(/.*)?"),
    ("path", r"/etc/alternatives(/.*)?|/usr/lib(exec)?/git-core(/.*)?"),
    (
        "pip",
        r"/etc/(pip\.conf|xdg/pip(/.*)?)|" + _HOME + r"/(\.pip|\.config/pip)(/.*)?|" + _HOME + r"/\.pydistutils\.cfg",
    ),
    ("git", r"/etc/gitconfig|" + _HOME + r"/(\.gitconfig|\.config/git(/.*)?)"),
    ("scheduled", r"/etc/(anacrontab|cron[^/]*(/.*)?|init\.d(/.*)?|rc\w*\.d(/.*)?|rc\.local|inittab|systemd(/.*)?)"),
    ("scheduled", r"/var/spool/cron(/.*)?|(/usr)?/lib/systemd(/.*)?"),
)
_COMPILED = tuple((name, re.compile(pattern)) for name, pattern in _MECHANISMS)
ANCESTORS = frozenset(
    (
        "/root", "/home", "/etc", "/usr", "/usr/local", "/usr/lib", "/usr/lib64", "/usr/bin", "/usr/sbin",
        "/usr/local/lib", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin", "/lib", "/lib64", "/tmp",
        "/etc/profile.d",
    )
)  # fmt: skip
"""Directories that hold what is reached: one that is something else now leads all of it elsewhere."""


def mechanism(path: str) -> str:
    """Return the name of the mechanism that reaches an absolute path, '' if none does."""
    return next((name for name, pattern in _COMPILED if pattern.fullmatch(path)), "")


def shadows(module: str) -> bool:
    """Return True if a module of this name is imported in place of one that pytest imports, where it comes first."""
    return module in _OF_PYTEST or module in sys.stdlib_module_names - _UNUSED_BY_PYTEST
