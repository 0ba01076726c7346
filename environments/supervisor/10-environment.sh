# The supervisor of an environment: runs one action at a time and answers each request with one frame.
# The harness sends these files over standard input as one text, in order, after their settings (retrace_*).
# They need bash and coreutils (and tar for archives). Nothing else may write to fd 1.
# The hot path (`run`, `await`, `settle`, `load`) forks only once: for the action.
#
# Request: 96 bytes `OP SEQ N1 N2 ...`, padded with spaces, then N1 + N2 + ... bytes.
# Answer:  a line `NONCE SEQ FIELD ...`, then the bytes that its counts announce.

# First, the variables that actions will see are saved. The supervisor exports no variable of its own.
compgen -e >"$retrace_run/names"
mapfile -t retrace_names <"$retrace_run/names"
declare -A retrace_image
for retrace_name in "${retrace_names[@]}"; do
  case $retrace_name in
    PWD | OLDPWD | SHLVL | _ | retrace_*) ;;
    *) retrace_image[$retrace_name]=${!retrace_name} ;;
  esac
  export -n "$retrace_name"
done

LC_ALL=C
IFS=$' \t\n'
system_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
PATH=$system_path # never an action's idea of where programs are
umask 022
shopt -s nullglob
# bash handles these signals, so they would end even the first process of a namespace. Actions get them unhandled.
trap : HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM SYS
set -m # gives an action its own process group, and the normal SIGINT

R=$retrace_run
declare -A before helper drainer second fifo base total size retire
declare -A write_fd=([out]=21 [err]=23) read_fd=([out]=22 [err]=24)
lost=()

answer() { printf '%s\n' "$retrace_nonce $*"; }

# Before bash 5.2, `read -t` may miss its own alarm and wait forever. There the harness sends a byte now and then while
# it waits for an answer, and every wait of ours reads where that byte arrives: `t` means nothing, `c` means cancel.
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 502)); then
  nap() { read -r -t "$1" -N 1 -u 20; }
else
  nap() {
    local byte=
    read -r -t "$1" -N 1 -u 0 byte
    [[ $byte == c ]] && cancelled=1
  }
fi
cancelled=
