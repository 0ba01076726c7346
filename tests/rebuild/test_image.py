"""What an agent finds in a rebuild image, and what it does not find."""

from __future__ import annotations

import subprocess

import pytest

from tests.rebuild.containers import BENCHMARKS, run

pytestmark = pytest.mark.docker
VERIFY = (BENCHMARKS / "rebuild" / "verify.sh").read_text()


def test_the_program_is_roots_and_execute_only(image: str) -> None:
    assert run(image, "stat -c '%U:%G %a' /workspace/executable").stdout == "root:root 111\n"


def test_the_agent_can_run_it_and_not_read_it(image: str) -> None:
    done = run(image, "./executable -I1; cat executable; cp executable /tmp/x; dd if=executable of=/tmp/y; ls /tmp")
    assert done.stdout == "20205\n"
    assert done.stderr.count("Permission denied") == 3


@pytest.mark.parametrize("how", ["cat /proc/$pid/exe", "head -c 4 /proc/$pid/mem", "cat /proc/$pid/maps"])
def test_the_agent_cannot_read_it_through_its_process(image: str, how: str) -> None:
    """The kernel makes the process of an unreadable program root's in /proc."""
    done = run(image, f"sleep 5 | ./executable & sleep 0.3; pid=$(pgrep -x executable); {how}")
    assert "Permission denied" in done.stderr
    assert done.stdout == ""


def test_the_default_user_and_directory_are_the_agents(image: str) -> None:
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
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["1000", "agent", "/workspace", "agent", "agent", "agent"]


def test_nothing_else_of_the_package_is_there(image: str) -> None:
    assert run(image, "dpkg -s figlet").returncode == 1
    found = run(
        image, "find / -xdev \\( -iname '*figlet*' -o -name '*chkfont*' \\) -not -path '/proc/*'", user="0"
    ).stdout
    documents = (
        "/workspace/docs/figlet",
        "/workspace/docs/man/figlet-figlet.6.txt",
        "/workspace/docs/man/chkfont.6.txt",
    )
    assert sorted(found.split()) == sorted((*documents, "/usr/share/figlet"))


def test_the_program_is_there_once(image: str) -> None:
    sums = (
        "find / -xdev -type f -size -200k -exec sha256sum {} + | grep $(sha256sum </workspace/executable | cut -c1-64)"
    )
    assert run(image, sums, user="0").stdout.split()[1:] == ["/workspace/executable"]


def test_the_check_at_the_end_of_the_build_passes_and_can_fail(image: str) -> None:
    """The build's last step, run again on an image that was tampered with."""
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
    for how, said in tampered.items():
        done = run(image, check.format(how), user="0", stdin=VERIFY)
        assert done.returncode == 1, how
        assert said in done.stdout


def test_the_check_refuses_a_package_that_is_installed(image: str) -> None:
    done = run(image, "cat >/tmp/verify.sh; sh /tmp/verify.sh make", user="0", stdin=VERIFY)
    assert "package 'make' is installed in the result" in done.stdout


def test_the_documents_are_there_as_text(image: str) -> None:
    listed = run(image, "grep '^- ' docs/README.md | cut -c3-").stdout.split()
    there = run(image, "cd docs; find . -type f ! -name README.md -printf '%P\\n'").stdout.split()
    assert sorted(listed) == sorted(there)
    assert {"man/figlet-figlet.6.txt", "figlet/figfont.txt", "figlet/copyright"} <= set(there)
    manual = run(image, "cat docs/man/figlet-figlet.6.txt").stdout
    assert "Print" not in manual[:200]
    assert "       -f fontfile\n" in manual
    assert "\x1b" not in manual
    assert "\b" not in manual


def test_the_documents_are_committed_and_the_program_is_not(image: str) -> None:
    done = run(image, "git status --porcelain; git fsck; git ls-files | grep -c ^docs/; git ls-files | grep -v ^docs/")
    assert done.stdout == "10\n"
    assert done.stderr == ""
    log = run(image, "git log --format='%an %ae %aI %cI %s'").stdout
    assert log == (
        "agent agent@example.invalid 2024-01-01T00:00:00+00:00 2024-01-01T00:00:00+00:00 Documentation of the program\n"
    )


def test_git_add_all_does_not_stop_at_the_program(image: str) -> None:
    done = run(image, "touch new.c && git add -A && git commit -qm work && git show --stat --format=%s")
    assert done.returncode == 0, done.stderr
    assert "new.c" in done.stdout
    assert "executable" not in done.stdout


def test_the_programs_data_is_there(image: str) -> None:
    assert run(image, "ls /usr/share/figlet/*.flf | wc -l; ls /usr/share/figlet/*.flc | wc -l").stdout.split() == [
        "18",
        "39",
    ]


def test_a_rebuild_in_c_and_in_python_is_possible(image: str) -> None:
    done = run(
        image,
        "echo 'int main(void) { return 7; }' >a.c;"
        "printf 'a: a.c\\n\\tcc -o a a.c\\n' >Makefile && make -s && ./a; echo $?;"
        "python3 -c 'import zipfile, zlib; print(1)' && python3 -m pytest --version",
    )
    assert done.stdout.split()[:2] == ["7", "1"]
    assert "pytest" in done.stdout


def test_no_directory_of_the_system_lost_its_mode(image: str) -> None:
    modes = run(image, "stat -c '%a %n' / /tmp /var/tmp /usr /usr/share /var").stdout.splitlines()
    assert modes == ["755 /", "1777 /tmp", "1777 /var/tmp", "755 /usr", "755 /usr/share", "755 /var"]
