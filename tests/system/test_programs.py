"""The lines about replaced programs name the files that tests may use, and only those."""

from __future__ import annotations

from benchmarks.judging.system.programs import described

CHANGED, ADDED, REMOVED = 0, 1, 2


def test_directories_above_a_change_and_other_files_are_left_out() -> None:
    kinds = {"/usr": CHANGED, "/usr/bin": CHANGED, "/usr/bin/python3": CHANGED, "/srv": CHANGED, "/srv/data": ADDED}
    assert described(kinds) == ("programs of the system were changed: /usr/bin/python3",)
    assert described({"/run/retrace": ADDED, "/workspace/main.py": ADDED, "/var/lib/dpkg/status": CHANGED}) == ()


def test_each_kind_has_a_line_and_the_first_names() -> None:
    kinds = {f"/opt/venv/lib/python3.12/site-packages/a{number}.pyc": ADDED for number in range(7)}
    kinds |= {"/opt/venv/lib/python3.12/site-packages/sitecustomize.py": ADDED, "/etc/ld.so.preload": ADDED}
    kinds |= {"/opt/venv/bin/python": CHANGED, "/etc/bash.bashrc": REMOVED, "/root/.local/bin/uv": ADDED}
    packages = "/opt/venv/lib/python3.12/site-packages"
    pyc = ", ".join(f"{packages}/a{number}.pyc" for number in range(4))
    assert described(kinds, ("/opt/venv/bin/",)) == (
        "programs of the system were changed: /opt/venv/bin/python",
        "programs of the system were added: /root/.local/bin/uv",
        "start-up files of shells of the system were removed: /etc/bash.bashrc",
        f"modules of Python of the system were added: {packages}/sitecustomize.py, {pyc} and 3 more",
        "libraries or settings of the loader of the system were added: /etc/ld.so.preload",
    )


def test_modules_in_the_directory_of_the_tests_are_named_if_they_shadow_others() -> None:
    kinds = {"/app/pluggy.py": ADDED, "/app/json/__init__.py": ADDED, "/app/main.py": ADDED, "/app/src/json.py": ADDED}
    kinds |= {"/app/conftest.py": ADDED, "/app/bin/run": ADDED}
    assert described(kinds, (), "/app") == (
        "modules of Python of the system were added: /app/json/__init__.py, /app/pluggy.py",
        "settings of pytest of the system were added: /app/conftest.py",
    )
