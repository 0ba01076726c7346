"""Isolation of actions from the channel, the network, the host's files and other users' programs."""

from __future__ import annotations

import ctypes
import errno
import io
import os
import shutil
import socket
import struct
import tarfile
import tempfile
import threading
from pathlib import Path

import pytest

from environments.protocol import EnvironmentUnavailable, Promise
from environments.sandbox import bubblewrap, seccomp

from .conftest import DOCKER, SANDBOX, Place, environment

CONFINED = pytest.mark.parametrize("label", [SANDBOX, DOCKER])


@CONFINED
def test_the_network_is_off_and_loopback_works(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    assert Promise.NETWORK_OFF in place.started.promises
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        action = place.run(
            f"cat /proc/net/dev | tail -n +3 | cut -d: -f1; (echo >/dev/tcp/127.0.0.1/{port}) 2>&1", deadline_s=10
        )
    lines = action.output.decode().split("\n")
    assert lines[0].strip() == "lo"
    assert "refused" in lines[1]
    script = "use IO::Socket::INET; $s=IO::Socket::INET->new(Listen=>1,LocalAddr=>'127.0.0.1') or die; "
    script += "$c=IO::Socket::INET->new(PeerAddr=>'127.0.0.1',PeerPort=>$s->sockport) or die; print 'connected'"
    assert place.text(f'perl -e "{script.replace("$", chr(92) + "$")}"') == "connected"


@CONFINED
def test_the_network_is_on_if_requested(start: object, label: str) -> None:
    place: Place = start(label, network=True)  # type: ignore[operator]
    assert Promise.NETWORK_OFF not in place.started.promises
    assert place.text("tail -n +3 /proc/net/dev | grep -vc ' lo:'") != "0\n"


@CONFINED
def test_actions_do_not_see_host_files(start: object, label: str, tmp_path: Path) -> None:
    place: Place = start(label)  # type: ignore[operator]
    assert Promise.OWN_FILES in place.started.promises
    (tmp_path / "secret").write_text("secret")
    assert place.run(f"cat {tmp_path}/secret").exit_code == 1
    assert place.run("cat /etc/shadow || cat /root/.bashrc").exit_code == 1
    assert place.run("ls /var/run/docker.sock").exit_code == 2
    assert place.run("touch /usr/x /etc/x /x 2>/dev/null; ls /usr/x /etc/x /x 2>/dev/null").output == b""
    hostname = os.uname().nodename
    assert place.text("hostname 2>/dev/null || cat /proc/sys/kernel/hostname") == "retrace\n" != hostname


@pytest.mark.sandbox
def test_the_sandbox_has_its_own_tmp_and_home(start: object) -> None:
    place: Place = start("sandbox")  # type: ignore[operator]
    marker = f"/tmp/retrace-test-{os.getpid()}"
    place.text(f"touch {marker} ~/at-home; ls -d ~ /tmp")
    assert not os.path.exists(marker)
    other: Place = start("sandbox")  # type: ignore[operator]
    assert other.text(f"ls {marker} ~/at-home 2>/dev/null; ls /tmp ~") == "/home/agent:\n\n/tmp:\n"


@pytest.mark.sandbox
def test_a_sandbox_over_a_host_directory(start: object) -> None:
    reachable = Path(tempfile.mkdtemp())
    reachable.chmod(0o755)
    workspace = reachable / "work space"
    workspace.mkdir()
    if os.geteuid() == 0:
        with pytest.raises(EnvironmentUnavailable, match="a sandbox never runs as root"):
            environment("sandbox", workspace=workspace).check()
        os.chown(workspace, 65534, 65534)
    place: Place = start("sandbox", workspace=workspace)  # type: ignore[operator]
    place.text("echo made > file; pwd")
    place.environment.stop()
    assert (workspace / "file").read_text() == "made\n"
    shutil.rmtree(reachable)


def test_a_local_environment_over_a_host_directory(start: object, tmp_path: Path) -> None:
    place: Place = start("local", workspace=tmp_path)  # type: ignore[operator]
    assert place.started.workdir == str(tmp_path.resolve())
    assert any("unconfined" in line for line in place.started.lost)
    place.text("echo made > file")
    place.environment.stop()
    assert (tmp_path / "file").read_text() == "made\n"


@CONFINED
def test_actions_cannot_reach_the_channel(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    assert (Promise.UNFORGEABLE in place.started.promises) == (label != "local")
    forge = "for fd in 0 1 2 20 21 22; do (echo forged >/proc/1/fd/$fd) 2>/dev/null && echo wrote $fd; "
    forge += "(head -c1 /proc/1/fd/$fd) >/dev/null 2>&1 && echo read $fd; done; "
    forge += (
        "(cat /proc/1/environ >/dev/null) 2>/dev/null && echo environ; (: </proc/1/mem) 2>/dev/null && echo mem; true"
    )
    action = place.run(forge, deadline_s=5)
    assert (action.exit_code, action.output) == (0, b"")
    assert place.text("echo honest") == "honest\n"


ATTACH = """
use POSIX ":sys_wait_h";
for my $pid (map { m{/proc/(\\d+)} } glob("/proc/[0-9]*")) {
  next if $pid == $$ || $pid == getppid;
  open(my $f, "<", "/proc/$pid/status") or next; my $status = join "", <$f>;
  for my $request (16, 0x4206) {   # PTRACE_ATTACH, PTRACE_SEIZE
    next if syscall(101, $request, $pid, 0, 0) != 0;
    my ($name) = $status =~ /Name:\\s+(\\S+)/; print "traced $name\\n";
    waitpid($pid, 0); syscall(101, 17, $pid, 0, 0); last;
  }
  for my $file ("mem", "environ", "fd/0", "fd/1", "fd/20", "fd/21", "root/etc/passwd", "maps") {
    open(my $g, "+<", "/proc/$pid/$file") or open($g, "<", "/proc/$pid/$file") or next;
    print "opened $file of $pid\\n" if sysread($g, my $x, 1);
  }
}
"""


@CONFINED
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="system calls by number, of x86-64")
def test_no_process_of_the_supervisor_can_be_traced(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    assert Promise.NO_TRACING in place.started.promises
    place.environment.put(_file("attach.pl", ATTACH), ".")
    action = place.run("perl attach.pl", deadline_s=10)
    assert (action.exit_code, action.output) == (0, b""), action
    place.text("sleep 100 >/dev/null 2>&1 &")
    assert b"traced sleep\n" in place.run("perl attach.pl", deadline_s=10).output  # what is the action's own can be
    assert place.text("echo honest") == "honest\n"


def _file(name: str, text: str) -> io.BytesIO:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
    return io.BytesIO(data.getvalue())


@CONFINED
def test_signals_do_not_reach_the_supervisor(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    action = place.run("for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done; echo after", deadline_s=10)
    assert (action.ended, action.output) == ("exited", b"after\n")
    helpers = (
        "for p in /proc/[0-9]*; do p=${p#/proc/}; [[ $p == $$ || $p == $PPID ]] || kill -STOP $p -9 2>/dev/null; done"
    )
    place.run(helpers, deadline_s=10)
    assert [place.run(f"echo {n}; exit {n}").exit_code for n in range(3)] == [0, 1, 2]
    assert place.text("echo honest") == "honest\n"


@CONFINED
def test_no_privilege_can_be_gained(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    assert Promise.NO_NEW_PRIVILEGES in place.started.promises
    status = place.text("cat /proc/self/status")
    assert "NoNewPrivs:\t1" in status
    for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        assert f"{name}:\t{0:016x}" in status, name
    if label == "docker":
        place.text(
            "cp /bin/bash /workspace/rootsh; chmod 4755 /workspace/rootsh; chown root /workspace/rootsh", as_root=True
        )
        assert place.text("./rootsh -p -c 'id -u'") == place.text("id -u")


@pytest.mark.docker
def test_actions_do_not_have_the_supervisor_s_capabilities(start: object) -> None:
    place: Place = start("docker")  # type: ignore[operator]
    assert place.run("ls /run/retrace").exit_code == 2
    assert place.run("cat /run/retrace/out").exit_code == 1
    assert place.run("echo x >/run/retrace/action").exit_code == 1
    assert place.run("echo x >/run/retrace/planted").exit_code == 1
    assert (
        place.text("grep -E 'Cap(Eff|Prm|Inh|Amb)' /proc/self/status | tr -d '0[:space:]' ")
        == "CapInh:CapPrm:CapEff:CapAmb:"
    )
    assert "NoNewPrivs:\t1" in place.text("cat /proc/self/status")


@pytest.mark.docker
def test_an_image_with_root_as_its_user_is_reported_as_unprotected(start: object) -> None:
    place: Place = start("docker", user="root")  # type: ignore[operator]
    assert any(line.startswith("unprotected") for line in place.started.lost)
    assert Promise.UNFORGEABLE not in place.started.promises
    assert Promise.EXECUTE_ONLY not in place.started.promises
    assert place.text("id -u; echo $HOME") == "0\n/root\n"


@pytest.mark.docker
@pytest.mark.parametrize(
    ("user", "seen"),
    [
        ("nobody", "65534 65534 /nonexistent"),
        ("1234", "1234 0 /"),
        ("1234:5", "1234 5 /"),
        ("agent:tty", "1000 5 /home/agent"),
    ],
)
def test_users_as_docker_reads_them(start: object, user: str, seen: str) -> None:
    place: Place = start("docker", user=user)  # type: ignore[operator]
    assert place.text("echo $(id -u) $(id -g) $HOME") == seen + "\n"
    assert place.started.user == user.partition(":")[0]


@pytest.mark.docker
def test_an_unknown_user() -> None:
    made = environment("docker", user="nosuchuser")
    with pytest.raises(EnvironmentUnavailable, match="nosuchuser"):
        made.start()
    made.stop()


@pytest.mark.docker
def test_an_execute_only_program(start: object) -> None:
    place: Place = start("docker")  # type: ignore[operator]
    assert Promise.EXECUTE_ONLY in place.started.promises
    assert place.text("secret-echo ran") == "ran\n"
    assert place.run("cat /opt/tool/bin/secret-echo").exit_code == 1
    assert place.run("cp /opt/tool/bin/secret-echo x").exit_code == 1


@CONFINED
def test_the_administrator(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    place.text("echo hidden >hidden; chmod 0 hidden")
    assert place.run("cat hidden").exit_code == 1
    assert place.text("cat hidden", as_root=True) == "hidden\n"
    if label == "docker":
        assert place.text("mkdir -p bin; echo 'echo planted' >bin/id; chmod +x bin/id; id -u", as_root=True) == "0\n"
        assert place.text("echo $PATH $A", as_root=True, env={"A": "b"}).split()[1] == "b"


@pytest.mark.docker
def test_limits_are_the_container_s(start: object) -> None:
    place: Place = start("docker", cpus=1.0, memory_bytes=64 << 20, pids=50, cap_drop=("ALL",))  # type: ignore[operator]
    assert {Promise.CPU_LIMIT, Promise.MEMORY_LIMIT, Promise.PIDS_LIMIT} <= set(place.started.promises)
    assert [lowered.limit for lowered in place.started.lowered] == ["output_bytes"]
    flood = place.run("yes", deadline_s=30)
    assert (flood.ended, len(flood.output)) == ("output_cap", int(place.started.lowered[0].given))
    action = place.run("perl -e '$x = q(a) x 200_000_000'", deadline_s=30)
    assert action.ended == "oom"
    assert place.text("echo alive") == "alive\n"
    many = place.run("for i in $(seq 100); do sleep 5 & done", deadline_s=2)
    assert b"Resource temporarily unavailable" in many.output
    assert place.text("echo alive") == "alive\n"


@pytest.mark.docker
def test_limits_beyond_the_host_are_lowered(start: object) -> None:
    place: Place = start("docker", output_bytes=1000, cpus=100_000.0, memory_bytes=1 << 60)  # type: ignore[operator]
    assert [(lowered.limit, lowered.asked) for lowered in place.started.lowered] == [
        ("cpus", "100000.0"),
        ("memory_bytes", str(1 << 60)),
    ]


@pytest.mark.sandbox
def test_a_sandbox_s_limits_hold_for_each_process(start: object) -> None:
    place: Place = start("sandbox", memory_bytes=256 << 20, cpus=1.0)  # type: ignore[operator]
    assert Promise.MEMORY_LIMIT_PER_PROCESS in place.started.promises
    assert any(line.startswith("memory:") for line in place.started.lost)
    assert any(line.startswith("cpus:") for line in place.started.lost)
    assert place.run("perl -e '$x = q(a) x 1_000_000_000'", deadline_s=10).exit_code != 0
    assert place.text("echo alive") == "alive\n"


@CONFINED
def test_actions_cannot_write_kernel_settings(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    files = "/proc/sys/vm/* /proc/sys/kernel/{core_pattern,modprobe,panic} /proc/sysrq-trigger /dev/null"
    assert place.text(f"for f in {files}; do [[ -w $f ]] && echo $f; done; true") == "/dev/null\n"
    assert place.run("chmod 600 /dev/null").exit_code == 1


def test_one_environment_for_each_of_many_threads(start: object) -> None:
    """A sandbox keeps running after the thread that started it has ended."""
    made: list[Place] = []
    thread = threading.Thread(target=lambda: made.append(start("local")))  # type: ignore[operator]
    thread.start()
    thread.join()
    assert made[0].text("echo on") == "on\n"


@pytest.mark.sandbox
def test_a_sandbox_outlives_the_thread_that_started_it(start: object) -> None:
    made: list[Place] = []
    thread = threading.Thread(target=lambda: made.append(start("sandbox")))  # type: ignore[operator]
    thread.start()
    thread.join()
    assert made[0].text("sleep 0.2; echo on") == "on\n"


@CONFINED
def test_every_namespace_is_its_own(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    names = ["ipc", "mnt", "net", "pid", "uts", *(["user"] if label == "sandbox" else [])]
    for name in names:
        assert place.text(f"readlink /proc/self/ns/{name}").strip() != os.readlink(f"/proc/self/ns/{name}")
    assert place.run(f"kill -0 {os.getpid() + (1 << 22)}").exit_code == 1
    assert place.text("ls -d /proc/[0-9]* | wc -l").strip() in map(str, range(12))


@CONFINED
def test_an_action_cannot_make_a_namespace_in_which_it_is_root(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    if any(line.startswith("user namespaces:") for line in place.started.lost):
        pytest.skip("this bubblewrap cannot, and says so")
    assert place.run("unshare --user --map-root-user true").exit_code == 1
    assert place.run("unshare --mount true").exit_code == 1


@CONFINED
def test_no_variable_of_the_harness_is_passed_on(start: object, label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRACE_TEST_SECRET", "secret")
    with socket.socket():
        place: Place = start(label)  # type: ignore[operator]
        assert "RETRACE_TEST_SECRET" not in place.text("env; cat /proc/self/environ")
        assert place.text("ls /proc/self/fd").split() == ["0", "1", "2", "3"]
        assert place.run("exec 2>&1; : </dev/tty").exit_code == 1  # no terminal to push keys into


@CONFINED
def test_actions_cannot_reach_the_kernel_keys_of_the_user(start: object, label: str) -> None:
    add_key, keyctl = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    key = libc.syscall(add_key, b"user", b"retrace-test", b"top secret", 10, -3)
    if key < 0:
        pytest.skip("this kernel has no keyrings, or keeps them from us")
    try:
        place: Place = start(label)  # type: ignore[operator]
        assert (
            place.text(f"perl -e '$b = q(-) x 20; print syscall({keyctl}, 11, {key}, $b, 20), $b'") == "-1" + "-" * 20
        )
        place.run(f"perl -e '$t=q(user); $n=q(planted); syscall({add_key}, $t, $n, $n, 7, -3)'")
        assert libc.syscall(keyctl, 10, -3, b"user", b"planted", 0) == -1
        assert b"retrace-test" not in place.run("cat /proc/keys").output
    finally:
        libc.syscall(keyctl, 9, key, -3)


@pytest.mark.sandbox
def test_a_sandbox_sees_exactly_these_paths(start: object) -> None:
    place: Place = start("sandbox")  # type: ignore[operator]
    top = {"bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "tmp", "usr", "var"}
    assert set(place.text("ls -A /").split()) <= top | {"feedback", "workspace"}
    assert place.text("ls -A /run /home") == "/home:\nagent\n\n/run:\nretrace\n"
    listed = {name.split("/")[0] for name in bubblewrap._ETC} | {"passwd", "group", "hosts"}
    assert set(place.text("ls -A /etc").split()) <= listed
    assert place.text("cat /etc/passwd | cut -d: -f1").split() == ["root", "agent", "nobody"]
    writable = set()
    for line in place.text("cat /proc/self/mountinfo").splitlines():
        _, _, _, _, point, options, *_ = line.split()
        assert "nosuid" in options.split(","), line
        assert point.startswith("/dev/") or "nodev" in options.split(","), line
        if "rw" in options.split(","):
            writable.add(point)
    devices = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "pts", "shm")}
    assert writable - devices == {"/proc", "/tmp", "/home/agent", "/run/retrace/own", "/workspace"}


@pytest.mark.sandbox
def test_a_sandbox_s_memory_directories_are_limited(start: object) -> None:
    place: Place = start("sandbox", shm_bytes=8 << 20)  # type: ignore[operator]
    assert place.run("touch /dev/x").exit_code == 1
    action = place.run("head -c 16M /dev/zero >/dev/shm/x; stat -c %s /dev/shm/x")
    assert action.output.split(b"\n")[-2] == b"8388608"
    assert b"No space left" in action.output


@pytest.mark.sandbox
def test_a_sandbox_with_the_machine_s_network_reports_the_consequences(start: object) -> None:
    place: Place = start("sandbox", network=True)  # type: ignore[operator]
    assert any(line.startswith("network:") for line in place.started.lost)


@pytest.mark.sandbox
def test_the_filter_covers_every_system_call_for_keyrings() -> None:
    """Interpreted here, the filter fails the three calls of each architecture, and of x32, and passes others."""
    steps = list(struct.iter_unpack("=HBBI", seccomp.program()))

    def answer(architecture: int, call: int) -> int:
        at, loaded = 0, 0
        while True:
            code, if_true, if_false, value = steps[at]
            at += 1
            if code == seccomp._LOAD:
                loaded = (call, architecture)[value // 4]
            elif code == seccomp._AND:
                loaded &= value
            elif code == seccomp._JUMP_IF_EQUAL:
                at += if_true if loaded == value else if_false
            else:
                return int(value)

    for architecture, calls in seccomp._ARCHITECTURES.items():
        assert {answer(architecture, call) for call in calls} == {0x00050000 | errno.ENOSYS}
        assert answer(architecture, min(calls) - 1) == answer(architecture, max(calls) + 1) == seccomp._ALLOW
    assert answer(0xC000003E, 250 | 0x40000000) == 0x00050000 | errno.ENOSYS
    assert answer(1, 250) == seccomp._ALLOW


@pytest.mark.sandbox
def test_a_sandbox_does_not_see_our_own_tasks_where_we_are_installed(
    start: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hidden tests and solutions are in the wheel, and a wheel may be installed below /usr."""
    monkeypatch.setattr(bubblewrap, "OWN", Path("/usr/share/perl5"))
    place: Place = start("sandbox")  # type: ignore[operator]
    assert place.text("ls -A /usr/share/perl5; test -e /usr/share && echo there") == "there\n"
    assert place.run("touch /usr/share/perl5/x").exit_code == 1
