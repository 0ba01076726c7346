# One action: a fresh login shell as the task's user, watched until it ends or has to be ended.

# What an action's bash runs: it reads two parts from fd 19, to be evaluated one after the other, the script last. So no
# name leads to the script, no process list shows it, it can be longer than an argument, and bash names itself `bash` and
# counts lines as in `bash -c SCRIPT`.
# shellcheck disable=SC2016
stub='mapfile -d "" -u 19;exec 19<&-;eval "${MAPFILE[0]-}";eval "${MAPFILE[1]-}"'

if [[ ${EPOCHREALTIME-} ]]; then
  now_us() { now=${EPOCHREALTIME/./}; }
else
  now_us() { # bash before 5.0: hundredths of a second
    read -r now _ </proc/uptime
    now=${now/./}0000
  }
fi

fastest=1000 # microseconds that the quickest action took; looking much earlier is useless
await() { # PID: waits until it ended or was ended; leaves at the end of standard input
  local i interval=$((fastest * 3 / 4)) seconds byte code up last=0
  for ((i = 0; ; i++)); do
    printf -v seconds '0.%06d' $interval
    byte=
    read -r -t "$seconds" -N 1 -u 0 byte
    code=$?
    if ! alive "$1"; then
      now_us
      return
    elif [[ $byte == c || $cancelled ]]; then # a byte may come with any code, since the time may be up at that moment
      ended=cancelled
    elif [[ ! $byte ]] && ((code <= 128)); then
      leave
    elif ((i < 40)); then
      interval=300
      ((i < 24)) || relieve out
      ((i < 24 || !separate)) || relieve err
    else
      ((i & 15)) || { reap_missed && relieve_ids "$1"; }
      read -r up _ </proc/uptime # because the wall clock may jump
      up=${up/./}
      now_us
      ((last)) || last=$((up + deadline - (now - start) / 10000 + 1)) # rounded up, never early
      relieve out
      position out
      if ((pos - base[out] > cap)); then ended=output_cap; fi
      if ((separate)); then
        relieve err
        position err
        if ((pos - base[err] > cap)); then ended=output_cap; fi
      fi
      if [[ $ended == exited ]] && ((up >= last)); then ended=deadline; fi
      interval=$((interval < 20000 ? interval + interval / 16 : 20000))
      if ((interval / 10000 > last - up)); then interval=$(((last - up) * 10000 + 1000)); fi
    fi
    if [[ $ended != exited ]]; then
      kill_fresh
      now_us
      return
    fi
  done
}

oom_kills=0
out_of_memory() { # true if the kernel killed a process of this cgroup for lack of memory since the last call
  local key value kills=0
  [[ $oom_file ]] || return 1
  while read -r key value; do
    if [[ $key == oom_kill ]]; then kills=$value; fi
  done <"$oom_file"
  ((kills > oom_kills)) || return 1
  oom_kills=$kills
}

highest=0 restless=0
high_water() { # sets peak to the cgroup's high-water mark if it rose since the last call, otherwise to 0
  local mark=0
  peak=0
  [[ $peak_file ]] || return
  read -r mark <"$peak_file"
  ((mark > highest)) && peak=$mark highest=$mark
}

run() { # SEQ DEADLINE_CS CAP AS_ROOT SEPARATE CWD_BYTES ENV_BYTES SCRIPT_BYTES
  local seq=$1 deadline=$2 cap=$3 as_root=$4 separate=$5 cwd extra script
  local main job= status signal=0 start stop user_s= system_s= note=- left named ended=exited errors=out peak
  IFS= read -r -N "$6" cwd
  IFS= read -r -N "$7" extra
  IFS= read -r -N "$8" script
  {
    if ((!as_root)) || [[ $extra ]]; then printf '%s\n%s' "$extra" "$restore"; fi
    printf '\0%b' "$script"
  } >"$R/action"
  size=([err]=0) total=([err]=0) cancelled=
  if ((separate)); then
    errors=err
    if [[ ${drainer[err]-} ]]; then revive err; else open_slot err; fi
    hold err
  fi
  revive out
  hold out
  remember
  ((${#before[@]})) && reap_missed && make_room
  resting=
  if ((${#before[@]} || restless)); then # effects of background processes since the last action do not count for this one
    out_of_memory
    high_water
  fi
  now_us
  start=$now
  { # bash may report a job's end on standard error before it is asked, and forget it
    {
      echo 500 >/proc/self/oom_score_adj # so that the kernel kills actions before the supervisor; raising is always allowed
      cd -- "$cwd" 2>/dev/null || { cd / && echo "retrace: cannot enter $cwd, running in / instead"; }
      ((retrace_memory_kb)) && ulimit -v "$retrace_memory_kb"
      ((retrace_pids)) && ulimit -u "$retrace_pids"
      ((${#ulimits[@]} && !as_root)) && ulimit "${ulimits[@]}"
      unset 'retrace_image[BASH_ENV]'
      set -- "${drop[@]}" "$bash" -lc "$stub" bash
      if ((as_root)); then
        set -- "$bash" -c "$stub" bash
        if [[ $retrace_drop == user ]]; then
          retrace_image[PATH]=$system_path retrace_image[HOME]=/root retrace_image[USER]=root retrace_image[LOGNAME]=root
        fi
      fi
      for retrace_name in "${!retrace_image[@]}"; do export "$retrace_name=${retrace_image[$retrace_name]}"; done
      exec "$@"
    } </dev/null >"/proc/self/fd/${write_fd[out]}" 2>"/proc/self/fd/${write_fd[$errors]}" 19<"$R/action" \
      20>&- 21>&- 22<&- 23>&- 24<&- 25<&- &
    main=$!
    go_on
    await "$main"
    stop=$now
    if ((fastest == 1000 || stop - start < fastest)); then
      fastest=$((stop - start < 1100 ? 1100 : stop - start > 4000 ? 4000 : stop - start))
    fi
    jobs -l >&2
  } 2>"$R/jobs"
  IFS= read -r -d '' -N 4000 job <"$R/jobs" # `[1]+ PID Exit 137 ...` or `[1]+ Killed ...`
  wait "$main" 2>/dev/null
  status=$?
  if [[ $job == *" Running "* && $state == Z ]]; then # bash missed its end; the kernel knows the status
    signal=$((${stat##* } & 127))
  elif ((status > 128)) && ! [[ $job =~ ^\[[0-9]+\][+-]?\ +([0-9]+\ +)?(Exit|Done) ]]; then
    signal=$((status - 128))
  fi
  ((${#before[@]})) && make_room
  find_fresh
  left=${#fresh[@]}
  if ((left && !${#before[@]})); then
    make_room
    find_fresh
    left=${#fresh[@]}
  fi
  printf -v named '%s,' "${fresh[@]:0:5}"
  times >"$R/times"
  { read -r _ && read -r user_s system_s; } <"$R/times"
  load out
  ((separate)) && load err
  if out_of_memory && [[ $ended == exited ]]; then ended=oom; fi
  high_water
  answer "$seq" "$ended" "$status" "$signal" "$((${#EPOCHREALTIME} ? start : 0))" "$((stop - start))" \
    "${user_s:--}" "${system_s:--}" "$peak" "$left" "$note" "$named" \
    "${size[out]}" "${total[out]}" "${size[err]}" "${total[err]}"
  send out
  ((separate)) && send err
  restless=$((left + ${#before[@]})) resting=
  ((restless)) && [[ $pids_cgroup ]] && read -r resting <"$pids_cgroup.current"
  go_on
}

