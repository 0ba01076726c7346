# Start: find out what this place has, report it, and serve requests.

leave() {
  [[ $$ == 1 ]] || kill_everything
  [[ $retrace_drop ]] || rm -rf -- "$R" # in other kinds it vanishes with its mount
  exit 0
}

find_user() { # sets uid, gid, groups, home, login from NAME|UID[:GROUP|GID]
  local name=${1%%:*} group= n u g h members
  [[ $1 == *:* ]] && group=${1#*:}
  uid= gid=0 groups= home=/ login=
  while IFS=: read -r n _ u g _ h _; do
    if [[ $n == "$name" || $u == "$name" ]]; then
      login=$n uid=$u gid=$g home=$h
      break
    fi
  done </etc/passwd
  [[ $uid || $name != *[!0-9]* ]] || return 1
  uid=${uid:-$name}
  while IFS=: read -r n _ g members; do
    if [[ $group && ($n == "$group" || $g == "$group") ]]; then gid=$g group=; fi
    if [[ $login && ,$members, == *,"$login",* ]]; then groups+=,$g; fi
  done </etc/group
  if [[ $group ]]; then
    [[ $group != *[!0-9]* ]] || return 1
    gid=$group
  fi
  groups=${groups#,}
} 2>/dev/null

refuse() {
  answer 0 refused ${#1}
  printf %s "$1"
  leave
}

for name in cat head tar setpriv chroot; do
  printf -v "$name" %s "$(type -P $name)"
done
bash=$(type -P bash)
[[ $cat && $head ]] || refuse "no coreutils (cat, head) in $PATH"
# A directory of the image at this path passes its mode on to the mount over it.
chmod 0700 "$R" || refuse "cannot protect $R from actions (chmod)"
umask 077
for name in action jobs times error list moment changed changed2 changed3; do : >"$R/$name"; done # later ones keep the mode
umask 022
mkfifo -m 0600 "$R/nap" && exec 20<>"$R/nap"

drop=()
if [[ $retrace_drop == user ]]; then
  find_user "${retrace_user:-0}" || refuse "no user '$retrace_user' in /etc/passwd and /etc/group"
  if ((uid == 0)); then
    lost+=("unprotected: actions run as root, so they could forge results and change /feedback")
  elif [[ $setpriv ]]; then
    drop=("$setpriv" "--reuid=$uid" "--regid=$gid" --no-new-privs --inh-caps=-all)
    if [[ $groups ]]; then drop+=("--groups=$groups"); else drop+=(--clear-groups); fi
  elif [[ $chroot ]]; then
    drop=("$chroot" --skip-chdir "--userspec=$uid:$gid" "--groups=$groups" /)
  fi
  if ((uid)) && ! "${drop[@]:-false}" "$bash" -p -c '[[ $EUID == "$1" ]]' - "$uid"; then
    lost+=("unprotected: neither setpriv nor chroot can change the user, so actions run as root and could change /feedback")
    drop=()
    uid=0 gid=0 home=/root login=root
  fi
  retrace_image[HOME]=${retrace_home:-$home}
  [[ $login ]] && retrace_image[USER]=$login retrace_image[LOGNAME]=$login
else
  uid=$EUID login=${retrace_image[USER]-}
  gid=${GROUPS[0]}
  [[ $retrace_drop == caps ]] && drop=("$setpriv" --inh-caps=-all --ambient-caps=-all)
fi
[[ $tar ]] || lost+=("no tar in the image: its workspace cannot be exported")
make_directories "$retrace_workdir" && [[ -d $retrace_workdir ]] || refuse "cannot make the directory $retrace_workdir"

# A login shell's /etc/profile replaces PATH and perhaps more. What it replaced is restored after it, while additions of
# the user's own ~/.profile stay. The image's BASH_ENV comes last.
declare -p retrace_image >"$R/action"
# shellcheck disable=SC2016
printf '\0%s\n' 'for retrace_name in "${!retrace_image[@]}"; do
  retrace_now=${!retrace_name-} retrace_was=${retrace_image[$retrace_name]}
  [[ $retrace_name == HOME || $retrace_now == *"$retrace_was"* ]] && continue
  if [[ $retrace_name == PATH ]]; then
    printf "retrace_was=%q retrace_now=%q\n" "$retrace_was" "$retrace_now"
    printf "%s\n" "PATH=\${PATH/\"\$retrace_now\"/\"\$retrace_was\"}; unset retrace_was retrace_now"
  else
    printf "[[ \${%s-} != %q ]] || export %s=%q\n" "$retrace_name" "$retrace_now" "$retrace_name" "$retrace_was"
  fi
done >&3' >>"$R/action"
(
  set -- "${drop[@]}" "$bash" -lc "$stub" bash
  unset 'retrace_image[BASH_ENV]'
  for retrace_name in "${!retrace_image[@]}"; do export "$retrace_name=${retrace_image[$retrace_name]}"; done
  HOME=/nonexistent exec "$@"
) </dev/null >/dev/null 2>&1 3>"$R/profile" 19<"$R/action"
restore=$(<"$R/profile")
if [[ ${retrace_image[BASH_ENV]-} ]]; then
  printf -v name '%q' "${retrace_image[BASH_ENV]}"
  # shellcheck disable=SC2016
  restore+=$'\n'"export BASH_ENV=$name"'; retrace_parts=("${MAPFILE[@]}")
[[ -r $BASH_ENV ]] && . "$BASH_ENV"
MAPFILE=("${retrace_parts[@]}"); unset retrace_parts'
fi
rm -f "$R/profile" "$R/names"

oom_file= peak_file=
if [[ $$ == 1 && $retrace_drop == user ]]; then
  for name in "$retrace_cgroup"/pids/pids "$retrace_cgroup"/pids; do
    [[ -r $name.max ]] && pids_cgroup=$name && read -r pids_max <"$name.max"
  done
  for name in "$retrace_cgroup"/memory/memory.oom_control "$retrace_cgroup"/memory.events; do
    [[ -r $name && $(<"$name") == *oom_kill\ * ]] && oom_file=$name
  done
  for name in "$retrace_cgroup"/memory/memory.max_usage_in_bytes "$retrace_cgroup"/memory.peak; do
    [[ -r $name ]] && peak_file=$name
  done
  out_of_memory
  high_water
fi
ulimits=()
# shellcheck disable=SC2086
set -- $retrace_ulimits
while (($#)); do # NAME OPTION VALUE
  if (ulimit "$2" "$3") 2>/dev/null; then
    ulimits+=("$2" "$3")
  else
    lost+=("ulimit $1: $3 cannot be set here, $(ulimit -H "$2" 2>&1) holds")
  fi
  shift 3
done
protected=
[[ $retrace_drop == user && ${#drop[@]} -gt 0 ]] && protected=1 # actions cannot kill our helpers
open_slot out
[[ ! $retrace_limited ]] || start_spare
said=
((${#lost[@]})) && printf -v said '%s\n' "${lost[@]}"
answer 0 ready "$BASH_VERSION" "${login:-$uid}" "$uid" "$gid" "$((uid && ${#drop[@]}))" \
  "$((${#oom_file} > 0))" "$((${#peak_file} > 0))" "${#said}"
printf %s "$said"

while IFS= read -r -N 1 request; do
  [[ $request == [ct] ]] && continue # a byte that came too late
  IFS= read -r -N 95 header || break
  # shellcheck disable=SC2086
  set -- $header
  case $request in
    r) run "$@" ;;
    p) put "$@" ;;
    g) get "$@" ;;
    l) list "$@" ;;
    f) files "$@" ;;
    h) digests "$@" ;;
    o) open_terminal "$@" ;;
    j) join_terminal "$@" ;;
    x) turn "$@" ;;
    s) answer "$1" synchronized ;;
    *) break ;;
  esac
done
leave
