# The output of actions. A slot is an anonymous pipe, a drainer (cat) and a file. Actions see a pipe that belongs to their
# user, so they can open /dev/stderr again, and their background processes hold nothing of ours open. No name leads to it;
# only the persistent shell, which is not our child, opens it by a name. The drainer survives an action, so that no action
# needs a fork for it.
# If an action may kill the drainer (same user), the drainer is stopped while the pipe can hold the output: if it were
# killed between reading and writing, output would be lost.

hold() { [[ $protected ]] || kill -STOP "${drainer[$1]}"; } 2>/dev/null
release() { [[ $protected ]] || kill -CONT "${drainer[$1]}"; } 2>/dev/null
relieve() { ! read -r -t 0 -u "${write_fd[$1]}" || release "$1"; }

# Helpers read the pipe through a file description of their own, which ends when nobody can write anymore.
start_drainer() { # the kernel kills it before the supervisor, which can start another one
  local pipe=/proc/self/fd/${write_fd[$1]}
  {
    { echo 200 >/proc/self/oom_score_adj; } 2>/dev/null
    exec "$cat" <"$pipe" >>"$R/$1" 2>/dev/null 20>&- 21>&- 22<&- 23>&- 24<&- 25<&-
  } &
  drainer[$1]=$!
  helper[$!]=1
  disown $!
}

open_slot() {
  local fd=${write_fd[$1]}
  umask 077
  : >"$R/$1"
  if [[ $told ]]; then
    fifo[$1]=$R/pipe$((++pipes))
    mkfifo -m 0600 "${fifo[$1]}"
    eval "exec $fd<>\"\${fifo[$1]}\""
  else
    eval "exec $fd> >(:)"
    eval "exec $fd<>/proc/self/fd/$fd" # keeps the pipe open in both directions
  fi
  umask 022
  eval "exec ${read_fd[$1]}<\"\$R/$1\""
  give_away "/proc/self/fd/$fd"
  base[$1]=0 second[$1]=
  start_drainer "$1"
}

give_away() { # FILE...: to the user of actions, if that is not ours
  [[ ! $protected ]] || chown -- "$uid:$gid" "$@" || lost+=("no chown: actions cannot open /dev/stdout and /dev/stderr")
}

retire_slot() { # whatever still writes to it is no longer kept and costs no space
  local fd=${write_fd[$1]} pid=${drainer[$1]}
  { exec "$cat" <"/proc/self/fd/$fd" >/dev/null 2>&1 20>&- 21>&- 22<&- 23>&- 24<&- 25<&-; } &
  helper[$!]=1
  disown $!
  kill -KILL "$pid" 2>/dev/null
  unset "helper[$pid]"
  [[ ! ${fifo[$1]-} ]] || rm -f "${fifo[$1]}"
  fifo[$1]=
  open_slot "$1"
}

position() { # sets pos to the number of bytes in a slot's file
  pos=
  [[ ${second[$1]} ]] || { read -r _ pos <"/proc/${drainer[$1]}/fdinfo/1"; } 2>/dev/null
  [[ $pos ]] || pos=$(wc -c <"$R/$1")
}

revive() { # starts the drainer again if an action killed it or if the file was full
  alive "${drainer[$1]}" && return
  start_drainer "$1"
  second[$1]=1 # it begins in the middle of the file, so its own position does not tell the size
  nap 0.01
  alive "${drainer[$1]}"
}

# Waits until everything that was written is in the file, and sets pos to its end. If others keep writing, the pipe is
# never empty; but what it held at first, and what the drainer was about to write, passes within two times its size.
# A mark in the pipe would tell exactly, but whoever can write to it can also read it, and move the mark.
settle() { # NAME
  local i first
  revive "$1" || return 1
  release "$1"
  for ((i = 0; i < 3000; i++)); do
    if ! read -r -t 0 -u "${write_fd[$1]}"; then
      # A write wakes the drainer before it returns. If the drainer sleeps at an empty pipe, it has written all it read.
      alive "${drainer[$1]}" || return 1
      [[ $state == S ]] && position "$1" && return 0
    fi
    if ((left)); then
      position "$1"
      ((pos - ${first:=$pos} < 131072)) || return 0
    fi
    ((i > 20)) && nap 0.0003
  done
  return 1
}

load() { # NAME: sets total (bytes written) and size (bytes to send); reads small ones into parts_NAME
  local -n parts=parts_$1
  local part
  parts=()
  retire[$1]=$left
  settle "$1" || { retire[$1]=1 && position "$1"; }
  total[$1]=$((pos - base[$1])) size[$1]=$((pos - base[$1]))
  if ((total[$1] > cap)); then
    size[$1]=$cap
    ended=output_cap
    retire[$1]=1
  elif ((size[$1] > 65536)); then
    retire[$1]=1
  elif ((size[$1] && !retire[$1])); then
    mapfile -d '' -t parts <&"${read_fd[$1]}"
    local length=$((${#parts[@]} - 1))
    for part in "${parts[@]}"; do length=$((length + ${#part})); done
    ((length < size[$1])) && parts+=('') && ((length++)) # it ends with a NUL
    size[$1]=$length
    base[$1]=$((base[$1] + length))
  fi
}

send() {
  local -n parts=parts_$1
  local last=$((${#parts[@]} - 1))
  if ((last >= 0)); then
    ((last)) && printf '%s\0' "${parts[@]:0:last}"
    printf %s "${parts[last]}"
  elif ((size[$1])); then
    "$head" -c "${size[$1]}" <&"${read_fd[$1]}"
  fi
  ((retire[$1])) && retire_slot "$1"
}

