"""The content of a rebuild image: the agent gets program, documents and tools, and nothing else of the package."""

from __future__ import annotations

import subprocess

import pytest

from tests.rebuild.containers import BENCHMARKS, run

pytestmark = pytest.mark.docker
VERIFY = (BENCHMARKS / "rebuild" / "verify.sh").read_text()


def test_the_program_belongs_to_root_and_is_execute_only(image: str) -> None:
    assert run(image, "stat -c '%U:%G %a' /workspace/executable").stdout == "root:root 111\n"


def test_the_agent_can_run_the_program_but_not_read_it(image: str) -> None:
    process = run(image, "./executable -I1; cat executable; cp executable /tmp/x; dd if=executable of=/tmp/y; ls /tmp")
    assert process.stdout == "20205\n"
    assert process.stderr.count("Permission denied") == 3


@pytest.mark.parametrize("command", ["cat /proc/$pid/exe", "head -c 4 /proc/$pid/mem", "cat /proc/$pid/maps"])
def test_the_agent_cannot_read_the_program_through_its_process(image: str, command: str) -> None:
    """In /proc, the kernel gives the process of an unreadable program to root."""
    process = run(image, f"sleep 5 | ./executable & sleep 0.3; pid=$(pgrep -x executable); {command}")
    assert "Permission denied" in process.stderr
    assert process.stdout == ""


def test_the_default_user_is_the_agent_and_the_directory_the_workspace(image: str) -> None:
    command = [
        "docker",
        "run",
        "--rm",
        "--network",
        "none",
        image,
        "sh",
        "-c",
        "id -u; id -un; pwd; stat -c %U . .git docs",
    ]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.stdout.split() == ["1000", "agent", "/workspace", "agent", "agent", "agent"]


def test_the_image_has_no_other_file_of_the_package(image: str) -> None:
    assert run(image, "dpkg -s figlet").returncode == 1
    paths = run(
        image, "find / -xdev \\( -iname '*figlet*' -o -name '*chkfont*' \\) -not -path '/proc/*'", user="0"
    ).stdout
    documents = (
        "/workspace/docs/figlet",
        "/workspace/docs/man/figlet-figlet.6.txt",
        "/workspace/docs/man/chkfont.6.txt",
    )
    assert sorted(paths.split()) == sorted((*documents, "/usr/share/figlet"))


def test_the_image_has_no_copy_of_the_program(image: str) -> None:
    sums = (
        "find / -xdev -type f -size -200k -exec sha256sum {} + | grep $(sha256sum </workspace/executable | cut -c1-64)"
    )
    assert run(image, sums, user="0").stdout.split()[1:] == ["/workspace/executable"]


def test_the_check_at_the_end_of_the_build_passes_and_can_fail(image: str) -> None:
    """Run the last step of the build again, in containers that were tampered with."""
    check = "cat >/tmp/verify.sh; {}; sh /tmp/verify.sh figlet"
    fine = run(image, check.format("true"), user="0", stdin=VERIFY)
    assert (fine.returncode, fine.stdout) == (0, "")
    tampered = {
        "cp /workspace/executable /opt/other": "other copies of the program are in the result: /opt/other",
        "chmod 755 /workspace/executable": "rebuild: error: /workspace/executable is '0:0 755'",
        "chown agent /workspace/executable": "rebuild: error: /workspace/executable is '1000:0 111'",
        "cp --remove-destination /usr/bin/git /workspace/executable; chmod 111 /workspace/executable;"
        " find / -xdev -name 'libz.so*' -delete": "needs shared libraries that are not in the result: libz.so.1",
    }
    for command, message in tampered.items():
        process = run(image, check.format(command), user="0", stdin=VERIFY)
        assert process.returncode == 1, command
        assert message in process.stdout


def test_the_check_fails_if_the_package_is_installed(image: str) -> None:
    process = run(image, "cat >/tmp/verify.sh; sh /tmp/verify.sh make", user="0", stdin=VERIFY)
    assert "package 'make' is installed in the result" in process.stdout


def test_the_documents_are_text_files(image: str) -> None:
    listed = run(image, "grep '^- ' docs/README.md | cut -c3-").stdout.split()
    existing = run(image, "cd docs; find . -type f ! -name README.md -printf '%P\\n'").stdout.split()
    assert sorted(listed) == sorted(existing)
    assert {"man/figlet-figlet.6.txt", "figlet/figfont.txt", "figlet/copyright"} <= set(existing)
    manual = run(image, "cat docs/man/figlet-figlet.6.txt").stdout
    assert "Print" not in manual[:200]
    assert "       -f fontfile\n" in manual
    assert "\x1b" not in manual
    assert "\b" not in manual


def test_the_documents_are_committed_but_the_program_is_not(image: str) -> None:
    process = run(
        image, "git status --porcelain; git fsck; git ls-files | grep -c ^docs/; git ls-files | grep -v ^docs/"
    )
    assert process.stdout == "10\n"
    assert process.stderr == ""
    log = run(image, "git log --format='%an %ae %aI %cI %s'").stdout
    assert log == (
        "agent agent@example.invalid 2024-01-01T00:00:00+00:00 2024-01-01T00:00:00+00:00 Documentation of the program\n"
    )


def test_git_add_all_ignores_the_program(image: str) -> None:
    process = run(image, "touch new.c && git add -A && git commit -qm work && git show --stat --format=%s")
    assert process.returncode == 0, process.stderr
    assert "new.c" in process.stdout
    assert "executable" not in process.stdout


def test_the_image_has_the_data_of_the_program(image: str) -> None:
    assert run(image, "ls /usr/share/figlet/*.flf | wc -l; ls /usr/share/figlet/*.flc | wc -l").stdout.split() == [
        "18",
        "39",
    ]


def test_a_rebuild_in_c_and_in_python_is_possible(image: str) -> None:
    process = run(
        image,
        "echo 'int main(void) { return 7; }' >a.c;"
        "printf 'a: a.c\\n\\tcc -o a a.c\\n' >Makefile && make -s && ./a; echo $?;"
        "python3 -c 'import zipfile, zlib; print(1)' && python3 -m pytest --version",
    )
    assert process.stdout.split()[:2] == ["7", "1"]
    assert "pytest" in process.stdout


def test_system_directories_keep_their_modes(image: str) -> None:
    modes = run(image, "stat -c '%a %n' / /tmp /var/tmp /usr /usr/share /var").stdout.splitlines()
    assert modes == ["755 /", "1777 /tmp", "1777 /var/tmp", "755 /usr", "755 /usr/share", "755 /var"]
