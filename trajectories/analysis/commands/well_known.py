"""Tables of well-known commands: those that only read, those that change files, those that start another command.

A command that is in none of the tables is a program that is run.
"""

from __future__ import annotations


def names_in(text: str) -> frozenset[str]:
    """Split a text into names, so that tables are readable."""
    return frozenset(text.split())


READING = names_in(
    """cat tac nl head tail less more most bat view grep egrep fgrep zgrep rg ag ack find fd locate ls ll dir
    tree exa eza wc du df stat file diff cmp comm sdiff colordiff cut sort uniq tr column paste join fold fmt
    pr expand rev awk gawk mawk sed jq yq xmllint od xxd hexdump strings objdump nm readelf ldd size md5sum
    sha1sum sha256sum sha512sum cksum sum b2sum basename dirname realpath readlink which whereis type man info
    apropos whatis help zcat bzcat xzcat zstdcat zless uname hostname nproc free lscpu lsblk ps top pgrep id
    whoami groups pwd date uptime printenv env locale getconf ulimit umask history jobs dpkg-query cloc tokei
    scc ctags seq test ["""
)
"""Commands that read files, the machine's state or a pipe, and change nothing."""

NOTHING = names_in(
    """echo printf cd pushd popd dirs export unset set shopt local declare typeset readonly alias unalias let
    shift getopts true false : sleep wait kill pkill killall trap exit return break continue read mapfile
    readarray hash enable disown bg fg times yes tput clear reset stty sync"""
)
"""Commands that only change the shell, wait, or print their arguments."""

CHANGING = names_in(
    """cp mv rm rmdir unlink mkdir touch chmod chown chgrp ln install truncate mktemp dd patch apply_patch ed ex
    vi vim nvim nano emacs unzip tar zip gzip gunzip bzip2 bunzip2 xz unxz zstd rsync split csplit mkfifo
    mknod sponge shred rename fallocate dos2unix unix2dos setfacl cpio"""
)
"""Commands that create, change or delete files themselves."""

LAST_IS_TARGET = names_in("cp ln install rsync")
"""Commands that write only the last of several operands."""

EXAMINING = names_in(
    """strings objdump nm readelf ldd size file xxd od hexdump gdb lldb strace ltrace valgrind r2 radare2 rabin2
    ghidra qemu"""
)
"""Commands that show the inside of a program: applied to the reference program they are a probe."""

SHELLS = names_in("bash sh dash zsh ksh ash")
INTERPRETERS = names_in(
    """python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit Rscript tclsh guile"""
)
BUILDING = names_in(
    """make gmake ninja cmake meson cargo go gcc g++ cc c++ clang clang++ rustc ld mvn gradle zig ghc dotnet tsc"""
)

WRAPPERS: dict[str, frozenset[str]] = {
    "sudo": names_in("-u -g -h -p -C -D -R -T --user --group"),
    "doas": names_in("-u -C"),
    "env": names_in("-u -C -S --unset --chdir"),
    "timeout": names_in("-k -s --kill-after --signal"),
    "nice": names_in("-n --adjustment"),
    "ionice": names_in("-c -n -p"),
    "nohup": frozenset(),
    "time": names_in("-f -o --format --output"),
    "command": frozenset(),
    "builtin": frozenset(),
    "exec": names_in("-a"),
    "stdbuf": names_in("-i -o -e --input --output --error"),
    "setsid": frozenset(),
    "unbuffer": frozenset(),
    "chronic": frozenset(),
    "watch": names_in("-n --interval"),
    "xargs": names_in("""-a -d -E -I -L -n -P -s --max-args --max-procs --replace --delimiter --arg-file"""),
    "strace": names_in("-e -o -p -s -u -E"),
    "ltrace": names_in("-e -o -p -s -u"),
    "valgrind": frozenset(),
    "gdb": names_in("-x -ex -p -c"),
    "setpriv": names_in("--reuid --regid --inh-caps"),
    "busybox": frozenset(),
    "!": frozenset(),
}
"""Commands that run the command in their operands, with their options that take a value in the next word."""


def unwrapped(words: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the command that is finally run, and the names of the wrappers around it."""
    wrappers: set[str] = set()
    while words:
        name = words[0].rpartition("/")[2]
        if name not in WRAPPERS:
            if "=" in words[0] and words[0].partition("=")[0].isidentifier() and wrappers:
                words = words[1:]  # env NAME=VALUE command
                continue
            break
        if name == "command" and words[1:2] and words[1] in ("-v", "-V"):
            return ("which", *words[2:]), frozenset(wrappers)
        rest = _after_options(words[1:], WRAPPERS[name])
        if name == "timeout":
            rest = rest[1:]
        if not rest:
            break  # `env` or `time` alone
        wrappers.add(name)
        words = rest
    return words, frozenset(wrappers)


def _after_options(words: tuple[str, ...], with_value: frozenset[str]) -> tuple[str, ...]:
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return words[at + 1 :]
        at += 2 if words[at] in with_value else 1
    return words[at:]
