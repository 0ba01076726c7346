# Archives through tar, as the administrator. The harness checks names and owners of what goes in and out.

put() { # SEQ DIRECTORY_BYTES, then chunks: 16 digits of length, bytes; length 0 ends
  local seq=$1 directory status error= n
  IFS= read -r -N "$2" directory
  : >"$R/error"
  if [[ ! -d $directory ]]; then
    mkdir -p -- "$directory" 2>"$R/error" && { ((EUID)) || chown -- "$uid:$gid" "$directory"; }
  fi
  while IFS= read -r -N 16 n && ((n = 10#$n)); do "$head" -c "$n"; done | {
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

get() { # SEQ WHOLE PATH_BYTES: tar writes to fd 1 unframed, the mark ends it. WHOLE: what is in it, uid and gid 0
  local seq=$1 whole=$2 path status error= what
  IFS= read -r -N "$3" path
  if [[ ! -e $path && ! -L $path ]]; then
    answer "$seq" missing
    return
  fi
  answer "$seq" stream
  if ((whole)); then
    what=(--owner=0 --group=0 --sort=name -C "$path" .)
  else
    [[ $path == */* ]] || path=./$path
    what=(-C "${path%/*}/" -- "${path##*/}")
  fi
  "$tar" -c -S -f - --numeric-owner --quoting-style=escape "${what[@]}" </dev/null 2>"$R/error"
  status=$?
  IFS= read -r -d '' -N 1000000 error <"$R/error"
  printf '%s %s\n%s' "$retrace_nonce:$seq $status" "${#error}" "$error"
}

