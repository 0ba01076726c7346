# Archives through tar, as the administrator. The harness checks the names and owners in them.

make_directories() { # PATH AS_ROOT: makes its missing directories for the task's user, or for root
  local path=$1 missing=()
  while [[ $path && ! -e $path && ! -L $path ]]; do
    missing+=("$path")
    path=${path%/*}
  done
  ((${#missing[@]})) || return 0
  mkdir -p -- "$1" && { ((EUID || ${2:-0})) || chown -- "$uid:$gid" "${missing[@]}"; }
}

put() { # SEQ DIRECTORY_BYTES AS_ROOT, then a letter, a length in 15 digits and so many bytes: d (a directory), f (a piece), e (end)
  local seq=$1 as_root=$3 directory status error= kind n path
  IFS= read -r -N "$2" directory
  make_directories "$directory" "$as_root" 2>"$R/error"
  while IFS= read -r -N 1 kind && IFS= read -r -N 15 n && [[ $kind == [df] ]]; do
    if [[ $kind == d ]]; then
      IFS= read -r -N "$((10#$n))" path
      make_directories "$directory/$path" "$as_root" 2>>"$R/error"
    else
      "$head" -c "$((10#$n))"
    fi
  done | {
    "$tar" -x -p -f - --numeric-owner -C "$directory" 2>>"$R/error"
    status=$?
    "$cat" >/dev/null
    exit "$status"
  }
  status=$?
  IFS= read -r -d '' -N 4000 error <"$R/error"
  answer "$seq" "$status" "${#error}"
  printf %s "$error"
}

get() { # SEQ WHOLE ENDING PATH_BYTES: tar writes to fd 1 unframed, and the mark ends it
  # WHOLE: the content, with uid and gid 0. ENDING: first ends what actions left running (otherwise nothing runs)
  local seq=$1 whole=$2 ending=$3 path status error= what deep
  IFS= read -r -N "$4" path
  if [[ ! -e $path && ! -L $path ]]; then
    answer "$seq" missing
    return
  fi
  if ((whole && ending)); then # nothing may change it meanwhile
    before=()
    kill_fresh
  fi
  answer "$seq" stream
  if ((whole)); then
    # tar recurses and fails at some 10,000 levels. Paths that are too long are left out anyway.
    printf -v deep '%4100s'
    what=(--owner=0 --group=0 --sort=name --anchored --wildcards --wildcards-match-slash)
    what+=("--exclude=${deep// /?}*" -C "$path" .)
  else
    [[ $path == */* ]] || path=./$path
    what=(-C "${path%/*}/" -- "${path##*/}")
  fi
  "$tar" -c -S -f - --numeric-owner --quoting-style=escape "${what[@]}" </dev/null 2>"$R/error"
  status=$?
  IFS= read -r -d '' -N 1000000 error <"$R/error"
  printf '%s %s\n%s' "$retrace_nonce:$seq $status" "${#error}" "$error"
}

