"""Judge an exported task in Harbor's verifier, as root: `python3 -I judge.py settings.json`.

The order is that of Retrace: list the tests without the submission, empty the workspace, unpack the submission, remove
withheld files, build as the task's user, run the suite. The reward is the share of cases that passed. Without a reward
the suite or this container is broken; what a submission can cause is reward 0.
"""

import hashlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

REWARD = Path("/logs/verifier/reward.json")


class Lost(Exception):
    """The submission cannot be built or judged, by its own fault."""


def run(command, deadline_s, **options):
    """Run a command in a session of its own; end all of it after the deadline. Return the exit status."""
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        return process.wait(deadline_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise Lost(f"{command[0]}: had not finished after {deadline_s:g} s") from None


def as_user(account):
    ids = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--init-groups", "--no-new-privs"]
    return ["setpriv", *ids, "--"]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def remove_copies(workspace, digests):
    for path in workspace.rglob("*"):
        plain = path.is_file() and not path.is_symlink()
        if plain and path.stat().st_size in digests and digest(path) in digests[path.stat().st_size]:
            path.unlink()


def prepare(settings, workspace, account):
    """Put the submission into the workspace and build it."""
    digests = {}
    for name in settings["withheld"]:
        path = workspace / name
        digests.setdefault(path.stat().st_size, set()).add(digest(path))
    for path in workspace.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    os.chown(workspace, account.pw_uid, account.pw_gid)
    archive = Path(settings["submission"])
    if not archive.is_file():
        raise Lost("the workspace was not collected")
    with archive.open("rb") as stream:
        unpack = [*as_user(account), "tar", "--extract", "--no-same-owner", "--file=-"]
        if run(unpack, 600, stdin=stream, cwd=workspace) != 0:
            raise Lost("the submission cannot be unpacked")
    remove_copies(workspace, digests)
    environment = {**os.environ, "HOME": account.pw_dir, "USER": account.pw_name, "LOGNAME": account.pw_name}
    if settings["remove"]:
        run([*as_user(account), "rm", "-rf", "--", *settings["remove"]], 600, cwd=workspace)
    if settings["build"]:
        build = [*as_user(account), "bash", "-lc", settings["build"]]
        options = {"cwd": workspace, "env": environment, "stdin": subprocess.DEVNULL}
        if run(build, settings["build_timeout"], **options) != 0:
            raise Lost("the build failed")


def drive(judge, configuration, deadline_s):
    return run([sys.executable, "-I", str(judge / "drive.py"), str(judge / configuration)], deadline_s, cwd=judge)


def collected(judge):
    return json.loads((judge / "out" / "collected.json").read_text())["cases"]


def passed(judge):
    """Return the number of cases that passed; of cases with one name, the worst counts."""
    cases = {}
    for case in ElementTree.parse(judge / "out" / "results.xml").iter("testcase"):
        name = (case.get("classname"), case.get("name"))
        good = not any(child.tag in ("failure", "error", "skipped") for child in case)
        cases[name] = cases.get(name, True) and good
    return sum(cases.values())


def main(path):
    settings = json.loads(Path(path).read_text())
    judge, workspace = Path(settings["judge"]), Path(settings["workspace"])
    tests = Path(path).resolve().parent
    shutil.copytree(tests / "judge", judge)
    for directory in (judge, tests):
        directory.chmod(0o700)
    if drive(judge, "collect.json", 120) != 0:
        return "the suite cannot be collected"
    cases = collected(judge)
    if not cases or settings["cases"] not in (None, len(cases)):
        return f"the suite has {len(cases)} cases, the task says {settings['cases']}"
    shutil.rmtree(judge / "out")
    count = 0
    try:
        prepare(settings, workspace, pwd.getpwnam(settings["user"]))
        status = drive(judge, "config.json", settings["timeout"] + 60)
        if status not in (0, 1):
            raise Lost(f"the suite ended with {status}")
        count = passed(judge)
    except (Lost, OSError, ElementTree.ParseError) as error:
        print(f"judge: {error}", flush=True)
    print(f"judge: {count} of {len(cases)} cases passed", flush=True)
    REWARD.parent.mkdir(parents=True, exist_ok=True)
    REWARD.write_text(json.dumps({"reward": count / len(cases)}))
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
