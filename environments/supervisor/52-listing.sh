# Listing the workspace, and reading the content of some files of it, as the administrator: `l`, `f` and `h`.
# Each answers with a line of facts, then unframed bytes. `NONCE:SEQ STATUS USER_S SYSTEM_S SIZE` ends them, followed by
# SIZE bytes of standard error. The processor time is reported so that it is not charged to an action.
#
# A record of a listing ends with NUL: `fMODE SIZE INODE STATUS_TIME PATH`, with l for links, d for directories, otherwise
# find's letter, and `!` for a directory that is not gone into. Directories have size and time 0, because their content
# changes these. So have pipes and devices, because using them is not a change.

finder= stamped= mounted= mounted_below=
deepest=$(printf '%3840s')
deepest=${deepest// /?} # see left_out.py; below that, tar and the shell reach the limit of a path

find_finder() {
  local said
  finder=list_by_names find=$(type -P find) stat_program=$(type -P stat)
  [[ $find ]] && said=$("$find" --version 2>/dev/null) && [[ $said == *GNU* ]] && finder=list_by_find
  mounted_below=$(cd -P -- "$retrace_workdir" && printf %s "$PWD")
  mounted_below=${mounted_below//\\/\\134}
  mounted_below=${mounted_below// /\\040}
  mounted_below=${mounted_below//$'\t'/\\011}
  mounted_below=${mounted_below//$'\n'/\\012}
  said=$("$stat_program" -f -c %T -- "$retrace_workdir") # on a network file system, the server's clock counts
  [[ $said == @(ext2/ext3|xfs|btrfs|tmpfs|overlayfs|zfs|f2fs) ]] && stamped=1
} 2>/dev/null

list_by_find() { # lists all in one process; the first record is the moment, the second the workspace itself
  LC_ALL=C exec "$find" "$R/moment" . -type d \
    \( -path "$deepest*" -prune -printf '!0 0 0 0 %P\0' -o -printf 'd%m 0 %i 0 %P\0' \) \
    -o \( -type f -o -type l \) -printf '%y%m %s %i %C@ %P\0' -o -printf '%y%m 0 %i 0 %P\0'
}

# Lists only paths with a status time after SECONDS, then an empty record and the content of the directories among them.
# Most of the time goes into looking at every file, so two processes share the workspace.
list_since() { # SECONDS
  local name names=() bytes=0 here first=() second=() i status
  shopt -s dotglob
  here=(./*)
  shopt -u dotglob
  if ((${#here[@]} < 2 || ${#here[@]} > 1000)); then
    newer_than "$1" "$R/changed" %P "$R/moment" . || return
  else
    for ((i = 0; i < ${#here[@]}; i++)); do
      if ((i % 2)); then first+=("${here[i]}"); else second+=("${here[i]}"); fi
    done
    # This is not a job, so bash does not report its end. It ends when find has ended, not when find closes its output.
    exec 26< <(newer_than "$1" "$R/changed3" %p "${second[@]}" && :)
    newer_than "$1" "$R/changed" %P "$R/moment" . -maxdepth 0 && newer_than "$1" "$R/changed2" %p "${first[@]}"
    status=$?
    mapfile -d '' -t names <&26
    exec 26<&-
    ((!status)) || return 1
    ((!${#names[@]})) || printf '%s\0' "${names[@]}"
    names=()
    [[ ! -s $R/changed2 && ! -s $R/changed3 ]] || "$cat" "$R/changed2" "$R/changed3" >>"$R/changed"
  fi
  [[ -s $R/changed ]] || return 0
  printf '\0'
  while IFS= read -r -d '' name; do
    names+=("$name")
    (((bytes += ${#name} + 16) > 100000)) && { list_inside "${names[@]}" || return; } && names=() bytes=0
  done <"$R/changed"
  ((!${#names[@]})) || list_inside "${names[@]}"
}

newer_than() { # SECONDS FILE FORMAT WHERE...: lists records with paths in that format; directory names go to FILE
  local since=$1 file=$2 as=$3
  shift 3
  LC_ALL=C "$find" "$@" -newerct "@$since" \( \
    -type d \( -path "$deepest*" -prune -printf "!0 0 0 0 $as\0" \
    -o -printf "d%m 0 %i 0 $as\0" -fprintf "$file" '%p\0' \) \
    -o \( -type f -o -type l \) -printf "%y%m %s %i %C@ $as\0" -o -printf "%y%m 0 %i 0 $as\0" \)
}

list_inside() {
  LC_ALL=C "$find" "$@" -mindepth 1 -maxdepth 1 \( -type d -printf 'd%m 0 %i 0 %p\0' \
    -o \( -type f -o -type l \) -printf '%y%m %s %i %C@ %p\0' -o -printf '%y%m 0 %i 0 %p\0' \)
}

tells_by_time() { # true if every change in the workspace gets a time of this machine's clock, and mounts stay the same
  local mounts= before=$mounted
  IFS= read -r -d '' -N 4000000 mounts </proc/self/mountinfo
  [[ $mounts == *" $mounted_below/"* ]] && mounted=1 || mounted=
  [[ $finder == list_by_find && $stamped && ! $before && ! $mounted ]]
} 2>/dev/null

list_by_names() { # lists the same records in another order, if there is no GNU find
  local queue=('') directory name f=() l=() d=() p=() s=() o=() bytes=0
  shopt -s dotglob
  "$stat_program" --printf 'f%a %s %i %.10Z \0' "$R/moment"
  printf 'd0 0 0 0 \0'
  while ((${#queue[@]})); do
    directory=${queue[-1]}
    unset 'queue[-1]'
    if [[ ! -r ./$directory || ! -x ./$directory ]]; then
      [[ ! -d ./$directory ]] || printf "find: './%s': Permission denied\n" "${directory%/}" >&2
    fi
    for name in ./"$directory"*; do
      name=${name#./}
      if [[ -L ./$name ]]; then
        l+=("$name")
      elif [[ -d ./$name ]]; then
        if ((${#name} >= ${#deepest} - 2)); then
          printf '!0 0 0 0 %s\0' "$name"
          continue
        fi
        d+=("$name") queue+=("$name/")
      elif [[ -f ./$name ]]; then
        f+=("$name")
      elif [[ -p ./$name ]]; then
        p+=("$name")
      elif [[ -S ./$name ]]; then
        s+=("$name")
      elif [[ -e ./$name ]]; then
        o+=("$name")
      fi
      if (((bytes += ${#name} + 16) > 100000)); then tell_names; fi
    done
  done
  tell_names
}

tell_names() { # prints the records that list_by_names has collected
  ((${#f[@]})) && "$stat_program" --printf 'f%a %s %i %.10Z %n\0' -- "${f[@]}"
  ((${#l[@]})) && "$stat_program" --printf 'l%a %s %i %.10Z %n\0' -- "${l[@]}"
  ((${#d[@]})) && "$stat_program" --printf 'd%a 0 %i 0 %n\0' -- "${d[@]}"
  ((${#p[@]})) && "$stat_program" --printf 'p%a 0 %i 0 %n\0' -- "${p[@]}"
  ((${#s[@]})) && "$stat_program" --printf 's%a 0 %i 0 %n\0' -- "${s[@]}"
  ((${#o[@]})) && "$stat_program" --printf 'c%a 0 %i 0 %n\0' -- "${o[@]}"
  f=() l=() d=() p=() s=() o=() bytes=0
}

tell_rest() { # SEQ STATUS: answers the part after the bytes
  local error= user_s=- system_s=-
  go_on
  IFS= read -r -d '' -N 1000000 error <"$R/error"
  times >"$R/times"
  { read -r _ && read -r user_s system_s; } <"$R/times"
  printf '%s %s\n%s' "$retrace_nonce:$1 $2" "${user_s:--} ${system_s:--} ${#error}" "$error"
}

list() { # SEQ 0 SECONDS, 0 for everything: answers whether anything runs that could write, then `whole` or `since`
  local note p busy=0 how=whole status
  make_room
  scan
  for p in "${pids[@]}"; do
    [[ $p == "$$" || ${helper[$p]-} || ${shells[$p]-} ]] || ! alive "$p" || { busy=1 && break; }
  done
  [[ $finder ]] || find_finder
  tells_by_time && [[ $3 != 0 ]] && how=since
  echo >"$R/moment"
  answer "$1" "$busy" "$how"
  if [[ $how == since ]]; then
    { cd -- "$retrace_workdir" && list_since "$3"; } </dev/null 2>"$R/error"
  else
    (cd -- "$retrace_workdir" && "$finder") </dev/null 2>"$R/error"
  fi
  status=$?
  cd /
  tell_rest "$1" "$status"
}

take_paths() { # BYTES, then paths, each ended by NUL: writes them to a file
  local name left=$1
  if (($1 > 1000)); then
    "$head" -c "$1" >"$R/list"
  else # needs no process
    while ((left > 0)) && IFS= read -r -d '' name; do
      printf '%s\0' "$name"
      ((left -= ${#name} + 1))
    done >"$R/list"
  fi
}

files() { # SEQ BYTES, then paths, each ended by NUL: a tar stream where each name has its content; times in nanoseconds
  local note
  make_room
  take_paths "$2"
  answer "$1"
  LC_ALL=C "$tar" -c -S -f - --format=posix --pax-option=delete=atime,delete=ctime --numeric-owner --owner=0 --group=0 --hard-dereference --quoting-style=escape \
    -C "$retrace_workdir" --no-recursion --no-unquote --null -T "$R/list" </dev/null 2>"$R/error"
  tell_rest "$1" $?
}

digests() { # SEQ BYTES SECONDS, then paths, each ended by NUL: lines of sha256sum, as far as the time suffices
  local note timeout
  make_room
  timeout=$(type -P timeout)
  take_paths "$2"
  answer "$1"
  (
    cd -- "$retrace_workdir" || exit
    SECONDS=0 batch=() bytes=0
    sum_batch() {
      ((${#batch[@]})) && { (($1 > SECONDS)) || exit; }
      ((${#batch[@]})) && LC_ALL=C ${timeout:+"$timeout" "$(($1 - SECONDS))"} sha256sum -- "${batch[@]}"
      batch=() bytes=0
    }
    while IFS= read -r -d '' name; do
      [[ -f $name && ! -L $name ]] && batch+=("$name") # reading a pipe would block
      (((bytes += ${#name} + 16) > 100000)) && sum_batch "$3"
    done <"$R/list"
    sum_batch "$3"
  ) </dev/null 2>"$R/error"
  tell_rest "$1" $?
}
