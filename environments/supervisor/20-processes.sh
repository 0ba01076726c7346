# Finding the processes that an action started, and ending them. They are the difference of the process lists before
# and after it: processes escape markers in variables, and process groups, too easily (env -i, setsid).

stat_of() { # PID: sets stat, and state; false if there is no such process
  stat=
  { IFS= read -r -d '' -N 4096 stat <"/proc/$1/stat"; } 2>/dev/null
  stat=${stat##*) } # the process name before it may contain anything
  state=${stat:0:1}
  [[ $state ]]
}

alive() { # PID; a zombie is not alive, because bash may miss the end of a child, see `reap`
  [[ $1 ]] && stat_of "$1" && { [[ $state != [ZX] ]] || has_threads "$1"; }
}

has_threads() { # PID: true if its main thread has ended, which looks like a zombie, and others run
  local -a threads=(/proc/"$1"/task/[0-9]*)
  ((${#threads[@]} > 1))
}

lineage() { # sets parent and born of the process that `stat_of` read
  # shellcheck disable=SC2206
  local fields=($stat)
  parent=${fields[1]} born=${fields[19]}
}

if [[ $$ == 1 ]]; then
  scan() { # sets pids to all processes of this namespace
    pids=(/proc/[1-9]*)
    pids=("${pids[@]#/proc/}")
  }
else
  scan() { # in a shared process list: sets pids to our descendants; we adopt orphans, since we are a subreaper
    local queue=("$$") p kids
    pids=()
    while ((${#queue[@]})); do
      p=${queue[-1]}
      unset 'queue[-1]'
      kids=()
      { read -r -a kids <"/proc/$p/task/$p/children"; } 2>/dev/null
      pids+=("${kids[@]}")
      queue+=("${kids[@]}")
    done
  }
fi

# While a killed process releases its memory, the kernel does not see that process for a moment. If the supervisor itself
# needs memory then, only it and its helpers are left to kill. The spare does nothing and is preferred to them.
spare=
start_spare() {
  { { echo 400 >/proc/self/oom_score_adj; } 2>/dev/null; exec "$cat" <&20 >/dev/null 2>&1 20>&- 21>&- 22<&- 23>&- 24<&- 25<&-; } &
  spare=$!
  helper[$!]=1
  disown $!
}

remember() { # sets before to the processes that run before an action, with their start times
  local p
  before=()
  for p in "${!helper[@]}"; do
    alive "$p" || unset "helper[$p]"
  done
  [[ ! $retrace_limited || ${helper[$spare]-} ]] || { start_spare && restless=1; } # no action is to blame for its end
  scan
  for p in "${pids[@]}"; do
    [[ $p == "$$" || ${helper[$p]-} ]] && continue
    stat_of "$p" && lineage && before[$p]=$born
  done
}

find_fresh() { # sets fresh to new processes that descend from no earlier one except the persistent shell
  local p ancestor
  fresh=()
  scan
  for p in "${pids[@]}"; do
    [[ $p == "$$" || ${helper[$p]-} ]] && continue
    alive "$p" || continue
    if ((${#before[@]})); then
      lineage
      [[ ${before[$p]-} == "$born" || $parent == "$keeper" ]] && continue
      ancestor=$parent
      while ((ancestor > 1)) && [[ $ancestor != "$$" ]]; do
        [[ ${before[$ancestor]-} && ! ${shells[$ancestor]-} ]] && continue 2
        stat_of "$ancestor" || break
        lineage
        ancestor=$parent
      done
    fi
    fresh+=("$p")
  done
}

kill_fresh() { # stops processes before killing them, so that they cannot multiply; works even if nothing can be forked
  local round seen=
  for ((round = 0; round < 200; round++)); do
    find_fresh
    ((${#fresh[@]})) || return 0
    if [[ ${fresh[*]} != "$seen" ]]; then
      seen=${fresh[*]}
      kill -STOP "${fresh[@]}"
    else
      seen=
      kill -KILL "${fresh[@]}"
      nap 0.001
      ((round > 20)) && nap 0.02
    fi
  done 2>/dev/null
  kill_everything
}

kill_everything() {
  if [[ $$ == 1 ]]; then # reaches only the processes of this namespace, never those of the host
    kill -KILL -1 2>/dev/null
    nap 0.01
  else
    before=()
    find_fresh
    ((${#fresh[@]})) && kill -KILL "${fresh[@]}" 2>/dev/null
  fi
}

pids_cgroup= pids_max=
crowded() { # true if a fork may fail; within a small limit, a fork bomb is done before a second look
  local now=
  [[ $pids_max == [1-9]* ]] && { read -r now <"$pids_cgroup.current"; } 2>/dev/null &&
    ((pids_max < 1024 || now * 4 > pids_max))
}

frozen=()
freeze() { # stops all processes but ours; sets dead to the number of zombies among our children
  local p parent born moving=1
  local -A stopped=()
  while ((moving)); do
    moving=0 dead=0
    scan
    for p in "${pids[@]}"; do
      [[ $p == "$$" || ${helper[$p]-} ]] && continue
      if alive "$p"; then
        # The parent of a vfork stops only after its child, which is stopped; a main thread that has ended never does.
        [[ $state == [Tt] || ($state == [DZ] && ${stopped[$p]-}) ]] && continue
        kill -STOP "$p" || continue
        moving=1
        [[ ${stopped[$p]-} ]] || { frozen+=("$p") stopped[$p]=1; }
      elif [[ $state ]]; then
        lineage
        ((parent != $$ || dead++))
      fi
    done
  done 2>/dev/null
}

go_on() {
  ((${#frozen[@]})) && kill -CONT "${frozen[@]}" 2>/dev/null
  frozen=()
}

# bash 5.2 takes its signal mask from uninitialized memory if the time of `read -t` is up before it reads, as happens on
# a busy machine. If SIGCHLD is blocked since then, bash no longer reaps by itself; but `wait` reaps all that died before
# the process it waits for, and so does a fork that fails.
deaf() {
  local stat state
  stat_of "$$"
  # shellcheck disable=SC2206
  local fields=($stat)
  ((fields[29] & 1 << 16)) # the blocked signals, of which SIGCHLD is the 17th
}

reap() { # bash exits if a fork fails for long, so there must be a free process id, or a zombie and nobody else who forks
  : &
  wait "$!"
}

reap_missed() {
  local dead
  deaf || return 0
  if crowded; then
    freeze
    ((dead)) && reap
    go_on
  else
    reap
  fi
}

resting= # number of processes after the last action, if background processes kept running
make_room() { # bash exits if it cannot fork, so processes that could use up all process ids are stopped while we fork
  local max=$pids_max now held dead
  crowded || return
  frozen=()
  freeze
  ! ((dead)) || ! deaf || reap
  read -r now <"$pids_cgroup.current"
  # Processes that doubled in number without an action keep doubling: they would take the ids of the next action.
  ((max - now > max / 8 && (!resting || now < 2 * resting || now * 4 < max))) && return
  before=() frozen=()
  kill_fresh
  # Dead processes count until they are reaped, and bash does not wait for that: it repeats a failed fork only as long
  # as no signal comes, and each dead child sends one.
  for ((held = 0; held < 500 && max - now <= max / 8; held++)); do
    nap 0.002
    ! deaf || reap
    read -r now <"$pids_cgroup.current"
  done
  note=made_room
}

relieve_ids() { # MAIN: while it runs, ends processes of earlier actions that multiplied until no process id is left for it
  local now= p dead own=0
  local -a others=()
  ((${#before[@]})) && [[ $pids_max == [1-9]* ]] && { read -r now <"$pids_cgroup.current"; } 2>/dev/null &&
    ((now > pids_max - pids_max / 8)) || return 0
  freeze
  for p in "${frozen[@]}"; do
    if belongs "$p" "$1"; then ((own++)); else others+=("$p"); fi
  done
  if ((own < ${#others[@]})); then
    kill -KILL "${others[@]}" 2>/dev/null
    note=made_room
  fi
  go_on
}

belongs() { # PID MAIN: true for MAIN, what descends from it, and orphans in its process group
  local p=$1 fields
  while ((p > 1)) && [[ $p != "$$" ]]; do
    [[ $p == "$2" ]] && return
    stat_of "$p" || return
    # shellcheck disable=SC2206
    fields=($stat)
    ((fields[2] == $2)) && return
    p=${fields[1]}
  done
  return 1
}
