"""What well-known commands do, as tables: which only look, which change files, which start another command.

A name that stands nowhere here is a program that is run.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READING = _words(
    """cat tac nl head tail less more most bat view grep egrep fgrep zgrep rg ag ack find fd locate ls ll dir
    tree exa eza wc du df stat file diff cmp comm sdiff colordiff cut sort uniq tr column paste join fold fmt
    pr expand rev awk gawk mawk sed jq yq xmllint od xxd hexdump strings objdump nm readelf ldd size md5sum
    sha1sum sha256sum sha512sum cksum sum b2sum basename dirname realpath readlink which whereis type man info
    apropos whatis help zcat bzcat xzcat zstdcat zless uname hostname nproc free lscpu lsblk ps top pgrep id
    whoami groups pwd date uptime printenv env locale getconf ulimit umask history jobs dpkg-query cloc tokei
    scc ctags seq test ["""
)
"""Look at files, at the machine or at what is piped into them, and change nothing."""

NOTHING = _words(
    """echo printf cd pushd popd dirs export unset set shopt local declare typeset readonly alias unalias let
    shift getopts true false : sleep wait kill pkill killall trap exit return break continue read mapfile
    readarray hash enable disown bg fg times yes tput clear reset stty sync"""
)
"""Change only the shell, wait, or print what they are told."""

CHANGING = _words(
    """cp mv rm rmdir unlink mkdir touch chmod chown chgrp ln install truncate mktemp dd patch apply_patch ed ex
    vi vim nvim nano emacs unzip tar zip gzip gunzip bzip2 bunzip2 xz unxz zstd rsync split csplit mkfifo
    mknod sponge shred rename fallocate dos2unix unix2dos setfacl cpio"""
)
"""Create, change or delete files by themselves."""

LAST_IS_TARGET = _words("cp ln install rsync")
"""Of several operands only the last is written."""

EXAMINING = _words(
    """strings objdump nm readelf ldd size file xxd od hexdump gdb lldb strace ltrace valgrind r2 radare2 rabin2
    ghidra qemu"""
)
"""Show what a program is made of: on the reference program that is a probe."""

SHELLS = _words("bash sh dash zsh ksh ash")
INTERPRETERS = _words(
    """python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit Rscript tclsh guile"""
)
BUILDING = _words(
    """make gmake ninja cmake meson cargo go gcc g++ cc c++ clang clang++ rustc ld mvn gradle zig ghc dotnet tsc"""
)

WRAPPERS: dict[str, frozenset[str]] = {
    "sudo": _words("-u -g -h -p -C -D -R -T --user --group"),
    "doas": _words("-u -C"),
    "env": _words("-u -C -S --unset --chdir"),
    "timeout": _words("-k -s --kill-after --signal"),
    "nice": _words("-n --adjustment"),
    "ionice": _words("-c -n -p"),
    "nohup": frozenset(),
    "time": _words("-f -o --format --output"),
    "command": frozenset(),
    "builtin": frozenset(),
    "exec": _words("-a"),
    "stdbuf": _words("-i -o -e --input --output --error"),
    "setsid": frozenset(),
    "unbuffer": frozenset(),
    "chronic": frozenset(),
    "watch": _words("-n --interval"),
    "xargs": _words("""-a -d -E -I -L -n -P -s --max-args --max-procs --replace --delimiter --arg-file"""),
    "strace": _words("-e -o -p -s -u -E"),
    "ltrace": _words("-e -o -p -s -u"),
    "valgrind": frozenset(),
    "gdb": _words("-x -ex -p -c"),
    "setpriv": _words("--reuid --regid --inh-caps"),
    "busybox": frozenset(),
    "!": frozenset(),
}
"""Commands that run the command in their operands, with those of their options that take a value in the next word."""


def unwrapped(words: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The command that is run in the end, and the names of the wrappers around it."""
    seen: set[str] = set()
    while words:
        name = words[0].rpartition("/")[2]
        if name not in WRAPPERS:
            if "=" in words[0] and words[0].partition("=")[0].isidentifier() and seen:
                words = words[1:]  # env NAME=VALUE command
                continue
            break
        if name == "command" and words[1:2] and words[1] in ("-v", "-V"):
            return ("which", *words[2:]), frozenset(seen)
        rest = _after_options(words[1:], WRAPPERS[name])
        if name == "timeout":
            rest = rest[1:]
        if not rest:
            break  # `env` or `time` alone
        seen.add(name)
        words = rest
    return words, frozenset(seen)


def _after_options(words: tuple[str, ...], with_value: frozenset[str]) -> tuple[str, ...]:
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return words[at + 1 :]
        at += 2 if words[at] in with_value else 1
    return words[at:]
