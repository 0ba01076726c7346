# The persistent shell: an interactive bash, and a keeper that holds its terminal and starts the next shell when one
# ends. The harness has the other side of the terminal and types `. turn`. The output of an action goes through the same
# pipe as that of a fresh shell, so the terminal carries only what programs write to /dev/tty. The shell reports over a
# named pipe (fd 25) how a turn ended. Its prompt, which also comes back after an interruption, reports that it is free.
# All of these files belong to the user of actions and to nobody else.

keeper= shell= told=
declare -A shells
modes='sane -echo -opost -ixon -brkint noflsh susp undef rows 50 cols 200'

# A report begins with blanks, because bash loses the byte that it reads at the moment when the time is up: on a busy
# machine also several in a row, one in each wait.
wait_for_word() { # SECONDS: sets word to a report; true if it is about this turn or the shell's end
  local piece=
  word=
  if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 502)); then
    if IFS= read -r -t "$1" -N 1 -u 25 piece; then
      IFS= read -r -t 1 -u 25 word # written at once
      word=$piece$word
      word=${word#"${word%%[! ]*}"}
    fi
  else # this bash may miss its alarm, so it waits where the harness sends its bytes
    read -r -t 0 -u 25 || nap "$1"
    read -r -t 0 -u 25 && read -r -u 25 word
  fi
  [[ $word == "$seq "* || $word == "prompt $seq" || $word == ended\ [0-9]* ]]
}

write_keeper() { # the programs of the terminal
  local name owner=
  [[ $retrace_drop != user ]] || owner=$uid:$gid
  {
    declare -p retrace_image drop ulimits
    printf 'R=%q workdir=%q memory_kb=%q pids=%q bash=%q owner=%q\n' \
      "$R" "$retrace_workdir" "$retrace_memory_kb" "$retrace_pids" "$bash" "$owner"
    printf 'modes() { %q %s 0<&3; }\n' "$stty" "$modes"
    printf '%s\n' "$keep"
  } >"$R/keeper"
  {
    # These are the files that `bash -l` reads. An interactive login shell could not run anything after them.
    # shellcheck disable=SC2016
    printf '%s\n' '[[ ! -r /etc/profile ]] || . /etc/profile' \
      'if [[ -r ~/.bash_profile ]]; then . ~/.bash_profile' 'elif [[ -r ~/.bash_login ]]; then . ~/.bash_login' \
      'elif [[ -r ~/.profile ]]; then . ~/.profile; fi' "$restore" 'set +o history +H' \
      'unset HISTFILE MAILCHECK TMOUT PROMPT_COMMAND PS0' 'PS1= PS2='
    for name in PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER; do echo "export $name=cat"; done
    # A less that is called by name exits at an interruption, and at once if everything fits on the screen.
    printf '%s\n' 'export TERM=dumb LESS=FRXK GIT_TERMINAL_PROMPT=0 DEBIAN_FRONTEND=noninteractive' BASH_ARGV0=bash
  } >"$R/rc"
  # shellcheck disable=SC2016
  echo '\builtin eval "${retrace_script-}"' >"$R/words" # a file, so that the script may `return`
}

# bash leaves a loop if a child dies of an interrupt, so the keeper runs itself again for each shell. It gives up if
# shells end before they take a turn.
# shellcheck disable=SC2016
keep='trap : INT QUIT TERM
quick=${1:-0} was=${2-} now=
{
  if [[ ! ${1-} ]]; then
    exec 3<&0
    printf "        keeper %s\n" "$$" >"$R/told"
    [[ ! $owner ]] || chown "$owner" "$(readlink /proc/self/fd/3)"
  fi
  export -n $(compgen -e)
  modes
  cd -- "$workdir" || cd /
  (
    trap - INT QUIT TERM
    ((memory_kb)) && ulimit -v "$memory_kb"
    ((pids)) && ulimit -u "$pids"
    ((${#ulimits[@]})) && ulimit "${ulimits[@]}"
    echo 500 >/proc/self/oom_score_adj
    unset "retrace_image[BASH_ENV]"
    set -- "${drop[@]}" "$bash" --noediting --rcfile "$R/rc" -i # the image may have variables of these names
    for retrace_name in "${!retrace_image[@]}"; do export "$retrace_name=${retrace_image[$retrace_name]}"; done
    exec "$@" 2>&1 3<&-
  )
  status=$?
  kill -KILL %% && wait # it only stopped
  read -r now <"$R/turn" # still the last one
  printf "        ended %s\n" "$status" >"$R/told"
} 2>/dev/null
[[ $now == "$was" ]] || quick=0
((quick++ < 9)) && exec "$bash" -p -m "$R/keeper" "$quick" "$now"'

open_terminal() { # SEQ MARK_BYTES: prepares everything for a keeper, and starts it if there is a device for it
  local seq=$1
  IFS= read -r -N "$2" terminal_mark
  stty=$(type -P stty)
  setsid=$(type -P setsid)
  if [[ ! $stty ]] || [[ $retrace_tty && ! $setsid ]]; then
    answer "$seq" missing
    return
  fi
  if [[ ! $told ]]; then
    told=$R/told
    mkfifo -m 0600 "$told"
    exec 25<>"$told"
    umask 077
    : >"$R/keeper" >"$R/rc" >"$R/words" >"$R/turn" >"$R/script"
    umask 022
    give_away "$told" "$R"/{rc,words,turn,script}
    chmod 0711 "$R"
    retire_slot out # the shell opens it by a name
  fi
  write_keeper
  while wait_for_word 0.001 || [[ $word ]]; do :; done
  [[ $keeper ]] && kill -KILL "$keeper" 2>/dev/null # remains of an earlier one would read along
  [[ $shell ]] && kill -KILL "$shell" 2>/dev/null
  keeper= shell=
  if [[ $retrace_tty ]]; then # setsid has its own process group, so it forks, and its child leads the session
    { exec "$setsid" -c -w "$bash" -p -m "$R/keeper" <>"$retrace_tty" >&0 2>&1 20>&- 21>&- 22<&- 23>&- 24<&- 25<&-; } &
    helper[$!]=1
    disown $!
  fi
  answer "$seq" opened
}

join_terminal() { # SEQ: waits for the keeper
  local seq=$1 i
  for ((i = 0; i < 500 && !keeper; i++)); do
    wait_for_word 0.01
    [[ $word == keeper\ [0-9]* ]] && keeper=${word#* } shells=(["${word#* }"]=1)
  done
  answer "$seq" "${keeper:-none}"
}

write_turn() { # leaves PROMPT_COMMAND and retrace_turn in the shell, but no trace of `set -x`; runs once even if typed twice
  local say='\builtin printf' sign=$terminal_mark:$seq again
  again="{ $stty $modes </dev/tty; $say \"\\036$sign)\" >/dev/tty; $say \"        prompt $seq\\n\" >$told; }"
  printf '%s\n' "[[ \${retrace_turn-} == $seq ]] || {" "retrace_turn=$seq" "$say '\\036$sign(' >/dev/tty" "PROMPT_COMMAND='$again 2>/dev/null || \\builtin :'" \
    '\builtin jobs >/dev/null' "\\builtin mapfile -d '' retrace_script <$R/script" \
    "\\builtin . $R/words </dev/null >${fifo[out]} 2>&1" \
    "$say '        %s %s\\n' $seq \"\$?\" >$told" '\builtin unset retrace_script' "$say '\\036$sign)' >/dev/tty" \
    '} 2>/dev/null' >"$R/turn"
}

interrupt() { # does what ^C would do, even if a program has changed the meaning of that key
  stat_of "$shell" || return
  # shellcheck disable=SC2206
  local fields=($stat)
  kill -INT "$shell"
  ((fields[5] > 1 && fields[5] != shell && fields[5] != keeper)) && kill -INT -- "-${fields[5]}"
} 2>/dev/null

settled() { # MILLISECONDS: waits until the shell can take the next turn; false if the time is up
  local until i
  now_us
  until=$((now + $1 * 1000))
  for ((i = 0; i < 1000 && now < until; i++)); do
    if wait_for_word 0.01; then
      [[ $word == ended* ]] && note=ended
      return 0
    fi
    now_us
  done
  return 1
}

end_turn() { # interrupts the turn; if that fails, ends what it started; if that fails, ends the shell, too
  local i
  interrupt
  if ! settled 300; then
    for ((i = 0; i < 3; i++)); do
      interrupt
      kill_fresh
      settled 60 && break
    done
    if ((i == 3)); then
      note=killed
      [[ $shell ]] && kill -KILL "$shell" 2>/dev/null
    fi
  fi
  kill_fresh
  [[ $note == killed ]] && settled 100 && note=killed
}

await_turn() {
  local up last byte
  read -r last _ </proc/uptime
  last=$((${last/./} + deadline + 1))
  while :; do
    if wait_for_word 0.02; then
      [[ $word == prompt* ]] && continue
      now_us
      status=${word#* }
      [[ $word == ended* ]] && note=ended
      return
    fi
    byte=
    if read -r -t 0 -u 0; then
      read -r -t 1 -N 1 -u 0 byte || [[ $byte ]] || leave
      [[ $byte == c ]] && cancelled=1
    fi
    read -r up _ </proc/uptime # because the wall clock may jump
    up=${up/./}
    relieve out
    position out
    if ((pos - base[out] > cap)); then ended=output_cap; fi
    if ((up >= last)); then ended=deadline; fi
    if [[ $cancelled ]]; then ended=cancelled; fi
    if [[ $keeper ]] && ! alive "$keeper"; then note=ended status=129; fi
    if [[ $ended != exited || $note == ended ]]; then
      [[ $ended == exited ]] || end_turn
      now_us
      return
    fi
  done
}

turn() { # SEQ DEADLINE_CS CAP AS_ROOT SEPARATE CWD_BYTES ENV_BYTES SCRIPT_BYTES: like `run`, in the persistent shell
  local seq=$1 deadline=$2 cap=$3 script p word
  local status=0 start left named note=- ended=exited peak
  IFS= read -r -N "$(($6 + $7))" script
  IFS= read -r -N "$8" script
  printf %b "$script" >"$R/script"
  size=([err]=0) total=([err]=0) cancelled=
  if ! alive "$keeper"; then
    answer "$seq" gone
    return
  fi
  revive out
  hold out
  while wait_for_word 0.0001 || [[ $word ]]; do [[ $word == ended* ]] && note=anew; done
  remember
  shell= shells=(["$keeper"]=1)
  for p in "${!before[@]}"; do
    stat_of "$p" && lineage && [[ $parent == "$keeper" ]] && shell=$p shells[$p]=1
  done
  write_turn
  out_of_memory
  high_water
  answer "$seq" go
  now_us
  start=$now
  await_turn
  [[ $ended != exited || $note == ended ]] || settled 200 || : # processes that its prompt starts do not belong to the action
  find_fresh
  left=${#fresh[@]}
  printf -v named '%s,' "${fresh[@]:0:5}"
  load out
  if out_of_memory && [[ $ended == exited ]]; then ended=oom; fi
  high_water
  answer "$seq" "$ended" "$status" 0 "$((${#EPOCHREALTIME} ? start : 0))" "$((now - start))" - - "$peak" "$left" "$note" "$named" \
    "${size[out]}" "${total[out]}" 0 0
  send out
}
