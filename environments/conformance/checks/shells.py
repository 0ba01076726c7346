"""The shell of an action: fresh for each, with its directory and script, and without effect on the next one."""

from __future__ import annotations

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.FRESH_SHELL, "Stateful")
def check_directory(place: Place) -> None:
    """Every action begins in the working directory, wherever an earlier one went."""
    place.text("cd /; pwd")
    same(place.text("pwd -P"), place.text(f"cd '{place.started.workdir}'; pwd -P"))


@check(Promise.FRESH_SHELL, "Stateful")
def check_nothing_stays(place: Place) -> None:
    """Variables, exports, functions, aliases and the umask of an action are gone after it."""
    before = place.text("umask")
    place.text("variable=1; export EXPORTED=1; umask 077; f() { :; }; alias ls=false; set -f")
    seen = place.text('echo "[$variable][$EXPORTED]"; umask; type f 2>/dev/null; echo $-')
    holds(seen.startswith(f"[][]\n{before}"), "nothing is left of them", seen)
    holds("f" not in seen.splitlines()[-1], "options are back", seen)


@check(Promise.FRESH_SHELL, "Naive")
def check_login_shell(place: Place) -> None:
    """The shell is a login shell, so that it reads the image's profile."""
    same(place.text("shopt -q login_shell && echo login || echo not"), "login\n")


@check(Promise.FRESH_SHELL, "NoProfile")
def check_profile(place: Place) -> None:
    """A directory added to PATH in ~/.profile is there in the next action."""
    place.text("mkdir -p ~/added; echo 'PATH=$PATH:$HOME/added' >~/.profile")
    try:
        holds(place.text("echo $PATH").strip().endswith("/added"), "the addition is last in PATH")
    finally:
        place.text("rm -r ~/.profile ~/added")


@check(Promise.FRESH_SHELL, "OpenInput")
def check_standard_input(place: Place) -> None:
    """Standard input is empty, so that commands that read it end at once."""
    action = place.run("cat; read -r line || echo none", 1)
    same((action.ended, action.output), ("exited", b"none\n"))


@check(Promise.FRESH_SHELL, "Forgetful")
def check_files_stay(place: Place) -> None:
    """Files that an action writes into the workspace are there in the next one."""
    place.text("echo kept >kept.txt")
    same(place.text("cat kept.txt; rm kept.txt"), "kept\n")


@check(Promise.FRESH_SHELL, "Naive")
def check_script_is_out_of_sight(place: Place) -> None:
    """A script that kills whatever has its own words in its command line does not kill itself."""
    script = """: only-this-very-text
    for process in /proc/[0-9]*; do
      if grep -q 'only-[t]his-very-text' $process/cmdline; then kill -9 ${process#/proc/}; fi
    done 2>/dev/null; echo alive"""
    same(place.run(script).output, b"alive\n")


@check(Promise.FRESH_SHELL, "Naive")
def check_long_script(place: Place) -> None:
    """A script of 300 kB arrives; an argument could hold 128 KiB."""
    line = ": 'ten bytes and more of them'\n"
    same(place.run(line * (300_000 // len(line)) + "echo end").output, b"end\n")


@check(Promise.FRESH_SHELL, "Naive")
def check_odd_script(place: Place) -> None:
    """Backslashes, percent signs, invalid UTF-8 and lone surrogates in a script arrive unchanged."""
    odd = "\\\\ % %% \\n \\0 \u00e9 \udcff \t"
    same(place.run(f"printf %s '{odd}'").output, odd.encode("utf-8", "surrogateescape"))
    same(place.run("printf '\ud800'").output, "\ud800".encode("utf-8", "surrogatepass"))


@check(Promise.FRESH_SHELL, "ExtraLine")
def check_line_numbers(place: Place) -> None:
    """An error names the line of the script as it was written."""
    action = place.run("true\ntrue\nno-such-command-anywhere")
    holds(b"line 3:" in action.output, "it names line 3", action.output)


@check(Promise.FRESH_SHELL, "IgnoresOptions")
def check_directory_of_one_action(place: Place) -> None:
    """An action can have its own directory; a relative one is below the working directory."""
    place.text("mkdir -p sub")
    same(place.text("pwd", cwd="/"), "/\n")
    same(place.text("pwd -P", cwd="sub"), place.text("cd sub; pwd -P; rmdir ../sub"))


@check(Promise.FRESH_SHELL, "SilentlyElsewhere")
def check_directory_that_is_gone(place: Place) -> None:
    """An action whose directory does not exist reports that in its output."""
    action = place.run("true", cwd="/does/not/exist")
    holds(b"/does/not/exist" in action.output, "the output names the directory", action.output)


@check(Promise.FRESH_SHELL, "LeaksDescriptor")
def check_descriptors(place: Place) -> None:
    """An action inherits its three streams and no other file descriptor."""
    seen = place.text(
        "for fd in /proc/self/fd/*; do echo ${fd##*/}; done | sort -n | head -n 3; ls /proc/self/fd | wc -l"
    )
    same(seen, "0\n1\n2\n4\n")  # the fourth is the directory itself


@check(Promise.FRESH_SHELL, "IgnoresInterrupts")
def check_interrupts_are_not_ignored(place: Place) -> None:
    """SIGINT ends a program of an action, as it does on a terminal."""
    action = place.run("sh -c 'kill -INT $$; echo survived'; echo $?")
    same(action.output.splitlines()[-1:], [b"130"])
    holds(b"survived" not in action.output, "the signal ended it", action.output)


@check(Promise.FRESH_SHELL, "MixesUp")
def check_many_at_once(place: Place) -> None:
    """Environments that work at the same time in one process do not mix up their results."""
    from concurrent.futures import ThreadPoolExecutor

    places = [place.another() for _ in range(3)]

    def work(number: int) -> list[str]:
        return [places[number].text(f"echo {number} {i}") for i in range(10)]

    with ThreadPoolExecutor(3) as pool:
        for number, lines in enumerate(pool.map(work, range(3))):
            same(lines, [f"{number} {i}\n" for i in range(10)])


@check(Promise.FRESH_SHELL, "BoundToItsThread")
def check_it_outlives_its_thread(place: Place) -> None:
    """An environment keeps working after the thread that started it has ended."""
    import threading
    import time

    made: list[Place] = []
    thread = threading.Thread(target=lambda: made.append(place.another()))
    thread.start()
    thread.join()
    time.sleep(0.2)
    same(made[0].text("echo on"), "on\n")
