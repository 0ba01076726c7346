# Which processes an action started, and how to end them: the difference of the process lists before and
# after it. Markers in the environment or process groups are escaped too easily (env -i, setsid).

stat_of() { # PID: sets stat, and state; false if there is no such process
  stat=
  { IFS= read -r -d '' -N 4096 stat <"/proc/$1/stat"; } 2>/dev/null
  stat=${stat##*) } # its name may hold anything
  state=${stat:0:1}
  [[ $state ]]
}

alive() { # PID; bash sometimes misses the end of a child, so a zombie does not count
  [[ $1 ]] && stat_of "$1" && [[ $state != [ZX] ]]
}

lineage() { # of the process that `stat_of` looked at: sets parent and born
  # shellcheck disable=SC2206
  local fields=($stat)
  parent=${fields[1]} born=${fields[19]}
}

if [[ $$ == 1 ]]; then
  scan() { # all processes of this namespace, in pids
    pids=(/proc/[1-9]*)
    pids=("${pids[@]#/proc/}")
  }
else
  scan() { # a shared process list: our descendants; orphans come back to us, we are a subreaper
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

remember() { # what runs before an action, with its time of birth
  local p
  before=()
  for p in "${!helper[@]}"; do
    alive "$p" || unset "helper[$p]"
  done
  scan
  for p in "${pids[@]}"; do
    [[ $p == "$$" || ${helper[$p]-} ]] && continue
    stat_of "$p" && lineage && before[$p]=$born
  done
}

find_fresh() { # in fresh: what was not there before and does not descend from what was (but from the persistent shell)
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

kill_fresh() { # stopped first, so that nothing multiplies meanwhile; works when nothing can be forked
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
  if [[ $$ == 1 ]]; then # reaches the process list of this namespace, never the host's
    kill -KILL -1 2>/dev/null
    nap 0.01
  else
    before=()
    find_fresh
    ((${#fresh[@]})) && kill -KILL "${fresh[@]}" 2>/dev/null
  fi
}

pids_cgroup=
frozen=()
resting= # how many processes there were when the last action was over, while others lived on
make_room() { # bash leaves for good when it cannot fork, so what could eat all process ids is held while we fork
  local max= now= p held=-1
  frozen=()
  { read -r max <"$pids_cgroup.max" && read -r now <"$pids_cgroup.current"; } 2>/dev/null
  # Within a small limit a bomb is through before a second look.
  [[ $max == [1-9]* && $now ]] && ((max < 1024 || now * 4 > max)) || return
  while ((held != ${#frozen[@]})); do
    held=${#frozen[@]}
    scan
    for p in "${pids[@]}"; do
      [[ $p == "$$" || ${helper[$p]-} ]] || ! alive "$p" || [[ $state == T ]] || {
        kill -STOP "$p"
        frozen+=("$p")
      }
    done
  done 2>/dev/null
  read -r now <"$pids_cgroup.current"
  # What has doubled while nothing was asked of it goes on doubling: it would take the next action's ids.
  ((max - now > max / 8 && (!resting || now < 2 * resting || now * 4 < max))) && return
  before=() frozen=()
  kill_fresh
  # The dead count until they are reaped, and bash does not wait for that: a fork that fails is tried again only as
  # long as no signal comes, and each of them sends one.
  for ((held = 0; held < 500 && max - now <= max / 8; held++)); do
    nap 0.002
    read -r now <"$pids_cgroup.current"
  done
  note=made_room
}

go_on() {
  ((${#frozen[@]})) && kill -CONT "${frozen[@]}" 2>/dev/null
  frozen=()
}
