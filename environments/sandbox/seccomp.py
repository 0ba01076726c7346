"""A system call filter for sandboxes that disables kernel keyrings, because no namespace separates those.

Without it, an action could read and extend the session keyring of the user who started the harness, and in a user's own
sandbox also the keys that the same user has elsewhere. The calls fail as not implemented, as on a kernel without them.
"""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

_ARCHITECTURES = {
    0xC000003E: (248, 249, 250),  # x86-64, and x32 by its bit, which is masked
    0x40000003: (286, 287, 288),  # i386
    0xC00000B7: (217, 218, 219),  # aarch64
    0x40000028: (309, 310, 311),  # arm
    0xC00000F3: (217, 218, 219),  # riscv64
    0xC0000015: (269, 270, 271),  # ppc64le
    0x80000016: (278, 279, 280),  # s390x
}
"""AUDIT_ARCH_* of linux/audit.h, each with the numbers of add_key, request_key and keyctl."""
_LOAD, _AND, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_X32_BIT = 0x40000000
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def program() -> bytes:
    """Return the filter as bwrap's `--seccomp` reads it, a sequence of struct sock_filter."""
    steps = [(_LOAD, 0, 0, _ARCHITECTURE_AT)]
    for architecture, calls in _ARCHITECTURES.items():
        block = [(_LOAD, 0, 0, _NUMBER_AT), (_AND, 0, 0, 0xFFFFFFFF ^ _X32_BIT)]
        block += [(_JUMP_IF_EQUAL, len(calls) - index, 0, call) for index, call in enumerate(calls)]
        block += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
        steps += [(_JUMP_IF_EQUAL, 0, len(block), architecture), *block]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def opened() -> int:
    """Return the filter as an open file descriptor, for one bwrap."""
    descriptor = os.memfd_create("retrace-seccomp")
    os.write(descriptor, program())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def behind(path: Path) -> list[str]:
    """Return the command in front of a bwrap with `--seccomp 9`, for callers that cannot pass it an open file."""
    path.write_bytes(program())
    path.chmod(0o644)
    return ["sh", "-c", 'exec "$@" 9<"$0"', str(path)]
