"""Records with snapshots, written by the real recorder."""

from __future__ import annotations

from pathlib import Path

from tests.record.test_recorder import started
from trajectories.record.conversation import Conversation
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFinished,
    CallStarted,
    Exited,
    Message,
    Reply,
    ToolCall,
)
from trajectories.record.exits import Exit
from trajectories.workspace.snapshot_writer import SnapshotWriter
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder

Tree = dict[bytes, bytes | tuple[bytes] | None]
"""Files with their content, directories (None), links with their target in a tuple."""
MTIME_NS = 1_700_000_000_123_456_789


class Writing:
    """A trial that is being recorded. `step(tree)` adds a step after which the workspace is `tree`."""

    def __init__(self, directory: Path, tree: Tree, *, snapshots: bool = True, masker: Masker | None = None) -> None:
        directory.mkdir(parents=True)
        self.directory = directory
        self.recorder = Recorder(directory, masker=masker, pool=directory.parent / ".pool")
        self.recorder.append(started())
        self._conversation = Conversation()
        self._turns = 0
        self._steps = 0
        self._tree: Tree = {}
        self._snapshots = snapshots
        self._say(Message(id="m1", role="user", content="go", why="task"))
        self.snapshot(0, tree)

    def step(self, tree: Tree) -> Writing:
        self._steps += 1
        step, action = self._steps, f"{self._steps}.1"
        new = self._conversation.take_new_ids()
        sha = self._conversation.sha256
        append = self.recorder.append
        append(CallStarted(step=step, message_ids=new, messages=self._turns, messages_sha256=sha))
        reply = Reply(text="x", tool_calls=(ToolCall(id=f"c{step}", name="bash", arguments="{}"),))
        self._say(CallFinished(step=step, id=f"r{step}", reply=reply, model_requested="m", latency_s=0.1))
        append(ActionStarted(action=action, step=step, script="true", tool_call_id=f"c{step}", deadline_s=1))
        output = self.recorder.output(b"done\xff", 5)
        append(
            ActionFinished(
                action=action,
                step=step,
                tool_call_id=f"c{step}",
                ended="exited",
                exit_code=0,
                duration_s=0.1,
                output=output,
            )
        )
        why = "observation"
        message = Message(id=f"o{step}", role="tool", content="done", why=why, tool_call_id=f"c{step}", action=action)
        self._say(message)
        self.snapshot(step, tree)
        return self

    def snapshot(self, step: int, tree: Tree) -> None:
        if not self._snapshots:
            return
        with SnapshotWriter(self.recorder, step) as writer:
            for path, content in tree.items():
                if path in self._tree and self._tree[path] == content:
                    continue
                change = "modified" if path in self._tree else "created"
                if content is None:
                    writer.changed(path, change, "directory", mode=0o755, mtime_ns=MTIME_NS)
                elif isinstance(content, tuple):
                    writer.changed(path, change, "symlink", mode=0o777, mtime_ns=MTIME_NS, link=content[0])
                else:
                    writer.changed(path, change, "file", mode=0o640, mtime_ns=MTIME_NS, content=[content])
            for path in self._tree.keys() - tree.keys():
                writer.deleted(path)
            writer.finish()
        self._tree = dict(tree)

    def done(self) -> Path:
        self.recorder.append(Exited(exit=Exit.of("submitted"), steps=self._steps))
        self.recorder.close()
        return self.directory

    def _say(self, turn: Message | CallFinished) -> None:
        self._conversation.add(self.recorder.append(turn))
        self._turns += 1


def tree_on_disk(directory: Path) -> Tree:
    """Return the content of a directory as a tree."""
    import os

    tree: Tree = {}
    top = os.fsencode(directory)
    for place, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(place, name)
            key = os.path.relpath(path, top)
            if os.path.islink(path):
                tree[key] = (os.readlink(path),)
            elif os.path.isdir(path):
                tree[key] = None
            else:
                with open(path, "rb") as file:
                    tree[key] = file.read()
    return tree
