"""What one action is: a fresh login shell, its output, how it ended, and what it leaves for the next one."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from environments.protocol import SupervisorLost

from .conftest import DOCKER, Place


@pytest.mark.parametrize("code", [0, 1, 3, 126, 127, 130, 137, 255])
def test_exit_code(place: Place, code: int) -> None:
    done = place.run(f"exit {code}")
    assert (done.ended, done.exit_code, done.signal, done.output) == ("exited", code, None, b"")


@pytest.mark.parametrize(("name", "number"), [("KILL", 9), ("SEGV", 11), ("TERM", 15)])
def test_a_shell_that_a_signal_ends_is_told_from_an_exit_code(place: Place, name: str, number: int) -> None:
    done = place.run(f"echo before; kill -{name} $$; sleep 5")
    assert (done.ended, done.exit_code, done.signal, done.output) == ("exited", None, number, b"before\n")


def test_streams_are_merged_in_order(place: Place) -> None:
    script = "for i in $(seq 300); do echo out $i; echo err $i >&2; done"
    expected = "".join(f"out {i}\nerr {i}\n" for i in range(1, 301))
    done = place.run(script)
    assert done.output.decode() == expected
    assert done.stderr is None


def test_streams_apart(place: Place) -> None:
    done = place.run("echo out; echo err >&2; exit 4", separate=True)
    assert (done.output, done.stderr, done.exit_code) == (b"out\n", b"err\n", 4)
    assert (done.counted, done.stderr_counted) == (4, 4)
    assert place.run("echo err >&2", separate=True).stderr == b"err\n"


def test_the_streams_can_be_opened_again(place: Place) -> None:
    script = "echo 1; echo 2 >/dev/stderr; echo 3 >/dev/stdout; echo 4 | tee /dev/stderr >/dev/null; echo 5"
    assert place.run(script).output == b"1\n2\n3\n4\n5\n"


def test_standard_input_is_empty(place: Place) -> None:
    assert place.run("cat; read -r line || echo none").output == b"none\n"


def test_each_action_is_a_fresh_shell_in_the_working_directory(place: Place) -> None:
    place.text("cd /tmp; variable=1; export EXPORTED=1; umask 077; f() { :; }; alias ls=false")
    seen = place.text(
        'pwd; echo "[$variable][$EXPORTED]"; umask; type f 2>/dev/null; shopt -q login_shell && echo login'
    )
    assert seen == f"{place.started.workdir}\n[][]\n0022\nlogin\n"


def test_files_live_on(place: Place) -> None:
    place.text("echo kept > kept.txt")
    assert place.text("cat kept.txt; rm kept.txt") == "kept\n"


def test_a_directory_and_variables_for_one_action(place: Place) -> None:
    env = {"PLAIN": "x", "ODD": "a 'b' \"c\" $d\\\ne"}
    place.text("mkdir -p sub")
    done = place.run('pwd; printf "%s|" "$PLAIN" "$ODD"', cwd="/", env=env)
    assert done.output == b"/\nx|a 'b' \"c\" $d\\\ne|"
    assert place.text("pwd", cwd="sub") == f"{place.started.workdir}/sub\n"
    assert place.text('echo "[$PLAIN]"; rmdir sub') == "[]\n"


def test_a_directory_that_is_gone(place: Place) -> None:
    done = place.run("pwd", cwd="/does/not/exist")
    assert done.output == b"retrace: cannot enter /does/not/exist, running in / instead\n/\n"


def test_a_script_is_a_file(place: Place) -> None:
    """So argv stays short, `$0` is readable, and line numbers are the script's own."""
    done = place.run('line\\\n() { :; }\nhead -c 4 "$0"; echo; tr "\\0" "\\n" </proc/$$/cmdline; no-such-command')
    lines = done.output.decode().splitlines()
    assert lines[0] == "line"
    assert lines[1].endswith("bash")
    assert lines[2] == "-l"
    assert "line 3: no-such-command" in lines[-1]
    assert done.exit_code == 127


def test_a_script_that_kills_by_its_own_text(place: Place) -> None:
    script = """: only-this-text
    for process in /proc/[0-9]*; do
      if grep -q 'only-[t]his-text' $process/cmdline; then kill -9 ${process#/proc/}; fi
    done 2>/dev/null; echo alive"""
    assert place.run(script).output == b"alive\n"


def test_a_script_of_300_kilobytes_and_any_bytes(place: Place) -> None:
    began = time.monotonic()
    line = "x='\\\\ % %% \\n \\0 é \udcff \t'\n"
    script = line * (300_000 // len(line)) + 'printf %s "$x" | od -An -tx1 | tr -d " \\n"'
    done = place.run(script)
    assert bytes.fromhex(done.output.decode()) == line[3:-2].encode("utf-8", "surrogateescape")
    assert time.monotonic() - began < 5


def test_a_lone_surrogate_reaches_the_script(place: Place) -> None:
    assert place.run("printf '\ud800'").output == "\ud800".encode("utf-8", "surrogatepass")


def test_interrupt_is_not_ignored(place: Place) -> None:
    done = place.run("sh -c 'kill -INT $$; echo survived'; echo $?")
    assert done.output.endswith(b"130\n")
    assert b"survived" not in done.output


def test_no_descriptor_of_the_supervisor_is_inherited(place: Place) -> None:
    assert place.text("for fd in /proc/self/fd/*; do echo ${fd##*/}; done | sort -n | head -n 3") == "0\n1\n2\n"
    assert place.text("ls /proc/self/fd | wc -l") == "4\n"  # and the directory itself


def test_processor_time_is_the_action_s_own(place: Place) -> None:
    busy = place.run("i=0; while ((i < 300000)); do ((i += 1)); done")
    idle = place.run("sleep 0.3")
    assert busy.cpu_s is not None
    assert idle.cpu_s is not None
    assert busy.cpu_s > 0.1 > idle.cpu_s
    assert 0.3 <= idle.duration_s < 2


def test_what_a_user_adds_to_his_profile_stays(place: Place) -> None:
    place.text("mkdir -p ~/added; echo 'PATH=$PATH:$HOME/added' > ~/.profile")
    try:
        assert place.text("echo $PATH").strip().endswith("/added")
    finally:
        place.text("rm -r ~/.profile ~/added")


def test_an_interrupt_in_the_harness_ends_the_action_and_leaves_the_channel_usable(place: Place) -> None:
    timer = threading.Timer(0.5, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        place.run("echo going; sleep 30")
    assert place.text("echo on") == "on\n"
    assert "sleep 30" not in place.text("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")


@pytest.mark.parametrize("label", [DOCKER])
def test_the_image_s_environment(start: object, label: str) -> None:
    place: Place = start(label, env={"FROM_SPEC": "a b"})  # type: ignore[operator]
    script = 'tool; echo "$GREETING|$name|$R|$HOME|$USER|$FROM_SPEC|$(id -un)"; echo ${PATH%%:*}'
    expected = "from the tool\nhello  from the image|lower|upper|/home/agent|agent|a b|agent\n/opt/tool/bin\n"
    assert place.text(script) == expected
    assert place.text("echo $FROM_SPEC", env={"FROM_SPEC": "other"}) == "other\n"


def test_the_harness_s_environment_is_not_forwarded(monkeypatch: pytest.MonkeyPatch, start: object) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    place: Place = start("local")  # type: ignore[operator]
    assert "sk-secret" not in place.text("env")


def test_many_environments_at_once(start: object) -> None:
    from concurrent.futures import ThreadPoolExecutor

    places = [start("local") for _ in range(8)]  # type: ignore[operator]

    def work(number: int) -> list[str]:
        return [places[number].text(f"echo {number} {i}") for i in range(10)]

    with ThreadPoolExecutor(8) as pool:
        for number, said in enumerate(pool.map(work, range(8))):
            assert said == [f"{number} {i}\n" for i in range(10)]


def test_a_forged_answer_is_refused(start: object) -> None:
    """`local` cannot keep actions from the channel; what they write there ends the trial instead of being believed."""
    place: Place = start("local")  # type: ignore[operator]
    with pytest.raises(SupervisorLost, match="something else than the supervisor"):
        place.run("echo 'x 1 exited 0 0 1 0m0.0s 0m0.0s 0 - 0 0 0 0' >/proc/1/fd/1; sleep 1")
    with pytest.raises(SupervisorLost):
        place.run("true")
