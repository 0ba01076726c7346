"""Actions, beyond what the conformance kit tests: how scripts arrive, variables of the image, forged answers."""

from __future__ import annotations

import pytest

from environments.protocol import SupervisorLost

from .conftest import DOCKER, SANDBOX, Place


def test_a_directory_that_is_gone(place: Place) -> None:
    action = place.run("pwd", cwd="/does/not/exist")
    assert action.output == b"retrace: cannot enter /does/not/exist, running in / instead\n/\n"


def test_a_script_is_neither_an_argument_nor_a_file_with_a_name(place: Place) -> None:
    """So arguments stay short, `pkill -f` does not find the script, and no other user can read it."""
    action = place.run(
        'line\\\n() { :; }\n: own-words; tr "\\0" "\\n" </proc/$$/cmdline; ls /proc/$$/fd; no-such-command'
    )
    lines = action.output.decode().splitlines()
    assert lines[0].endswith("bash")
    assert lines[1] == "-lc"
    assert "own-words" not in action.output.decode()
    assert lines[3:] == ["bash", "0", "1", "2", "bash: line 3: no-such-command: command not found"]
    assert action.exit_code == 127


def test_a_script_of_300_kilobytes_and_any_bytes(place: Place) -> None:
    line = "x='\\\\ % %% \\n \\0 é \udcff \t'\n"
    script = line * (300_000 // len(line)) + 'printf %s "$x" | od -An -tx1 | tr -d " \\n"'
    action = place.run(script)
    assert bytes.fromhex(action.output.decode()) == line[3:-2].encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("label", [DOCKER])
def test_the_image_s_environment(start: object, label: str) -> None:
    place: Place = start(label, env={"FROM_SPEC": "a b"})  # type: ignore[operator]
    script = 'tool; echo "$GREETING|$name|$R|$HOME|$USER|$FROM_SPEC|$(id -un)"; echo ${PATH%%:*}'
    expected = "from the tool\nhello  from the image|lower|upper|/home/agent|agent|a b|agent\n/opt/tool/bin\n"
    assert place.text(script) == expected
    assert place.text("echo $FROM_SPEC", env={"FROM_SPEC": "other"}) == "other\n"


def test_a_forged_answer_is_rejected(start: object) -> None:
    """`local` cannot keep actions from the channel, but what they write there ends the trial."""
    place: Place = start("local")  # type: ignore[operator]
    with pytest.raises(SupervisorLost, match="something else than the supervisor"):
        place.run("echo 'x 1 exited 0 0 1 0m0.0s 0m0.0s 0 - 0 0 0 0' >/proc/1/fd/1; sleep 1")
    with pytest.raises(SupervisorLost):
        place.run("true")


@pytest.mark.parametrize("label", ["local", SANDBOX, DOCKER])
def test_default_variables_give_way_to_those_of_the_task_and_of_the_place(start: object, label: str) -> None:
    own = {"env_defaults": {"PATH": "/none", "PAGER": "cat", "FROM_SPEC": "default"}, "env": {"FROM_SPEC": "own"}}
    if label == "docker":
        own["env_defaults"]["GREETING"] = "default"  # its image sets this
    place: Place = start(label, **own)  # type: ignore[operator]
    lines = place.text('echo "$PAGER|$FROM_SPEC|${GREETING-}"; type -P cat').splitlines()
    assert lines[0] == f"cat|own|{'hello  from the image' if label == 'docker' else ''}"
    assert lines[1].endswith("/cat")
