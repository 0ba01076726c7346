# The output of actions. A slot is a named pipe, a drainer (cat) and a file. Actions see a pipe, so they can open
# /dev/stderr again, and their background processes hold nothing of ours open. The drainer survives an action, so that
# no action needs a fork for it.
# If an action may kill the drainer (same user), the drainer is stopped while the pipe can hold the output: if it were
# killed between reading and writing, output would be lost.

hold() { [[ $protected ]] || kill -STOP "${drainer[$1]}"; } 2>/dev/null
release() { [[ $protected ]] || kill -CONT "${drainer[$1]}"; } 2>/dev/null
relieve() { ! read -r -t 0 -u "${write_fd[$1]}" || release "$1"; }

start_drainer() { # the kernel kills it before the supervisor, which can start another one
  { { echo 200 >/proc/self/oom_score_adj; } 2>/dev/null; exec "$cat" <"${fifo[$1]}" >>"$R/$1" 2>/dev/null 20>&- 21>&- 22<&- 23>&- 24<&- 25<&-; } &
  drainer[$1]=$!
  helper[$!]=1
  disown $!
}

open_slot() {
  fifo[$1]=$R/pipe$((++pipes))
  mkfifo -m 0622 "${fifo[$1]}"
  umask 077
  : >"$R/$1"
  umask 022
  eval "exec ${write_fd[$1]}<>\"\${fifo[$1]}\" ${read_fd[$1]}<\"\$R/$1\""
  base[$1]=0 second[$1]=
  start_drainer "$1"
}

retire_slot() { # whatever still writes to it is no longer kept and costs no space
  local pid=${drainer[$1]} old=${fifo[$1]}
  [[ $old ]] || return
  { exec "$cat" <"$old" >/dev/null 2>&1 20>&- 21>&- 22<&- 23>&- 24<&- 25<&-; } &
  helper[$!]=1
  disown $!
  while alive $! && ! [[ /proc/$!/fd/0 -ef $old ]]; do :; done # it must hold the pipe before we close it
  kill -KILL "$pid" 2>/dev/null
  unset "helper[$pid]"
  eval "exec ${write_fd[$1]}>&-"
  rm -f "$old"
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

settle() { # NAME MARK: waits until everything written is in the file, followed by the mark if others may still write
  local i
  revive "$1" || return 1
  release "$1"
  [[ $2 ]] && printf %s "$2" >&"${write_fd[$1]}"
  for ((i = 0; i < 3000; i++)); do
    if ! read -r -t 0 -u "${write_fd[$1]}"; then
      # A write wakes the drainer before it returns. If the drainer sleeps at an empty pipe, it has written all it read.
      alive "${drainer[$1]}" || return 1
      [[ $state == S ]] && return 0
    fi
    ((i > 20)) && nap 0.0003
  done
  return 1
}

load() { # NAME: sets total (bytes written) and size (bytes to send); reads small ones into parts_NAME
  local -n parts=parts_$1
  local marked= part
  parts=()
  ((left)) && marked=$mark
  retire[$1]=$left
  settle "$1" "$marked" || marked= retire[$1]=1
  position "$1"
  size[$1]=$((pos - base[$1]))
  total[$1]=$((size[$1] - ${#marked}))
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

