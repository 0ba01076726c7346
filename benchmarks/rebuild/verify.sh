#!/bin/sh
# Last step of the build, as root in the final stage: the program runs here, and is here once.
# Every failure is one line that begins with "rebuild: error: "; `scripts/rebuild-image` looks for it.
package=$1
program=/workspace/executable

fail() {
    echo "rebuild: error: $*"
    exit 1
}

if dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed'; then
    fail "package '$package' is installed in the result (the base image has it, or a dependency brings it back):" \
        "choose a package that neither the base nor the tools need (gcc, git, make, procps, python3)"
fi

facts=$(stat -c '%u:%g %a' "$program")
[ "$facts" = "0:0 111" ] || fail "$program is '$facts' instead of '0:0 111'"

lost=$(ldd "$program" 2>/dev/null | awk '/not found/ {print $1}' | sort -u | tr '\n' ' ')
[ -z "$lost" ] || fail "$program needs shared libraries that are not in the result: ${lost}- name their paths in DATA (--data)"

sum=$(sha256sum <"$program" | cut -d' ' -f1)
size=$(stat -c %s "$program")
copies=$(find / -xdev -type f -size "${size}c" ! -path "$program" -exec sha256sum {} + |
    awk -v sum="$sum" '$1 == sum {print $2}' | tr '\n' ' ')
[ -z "$copies" ] || fail "other copies of the program are in the result: $copies"
