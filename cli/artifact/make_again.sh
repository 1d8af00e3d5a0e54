#!/bin/sh
# Makes this artifact again and compares the new one with this one.
#
#   sh make_again.sh [FOLDER [OPTION...]]
#
# FOLDER, by default this folder's name with _again behind it, must not exist yet. Without an OPTION everything is answered
# from the recordings in here: seconds, and no GPU. Options take the place of these recordings; --measure runs everything on
# the GPU at hand, with --data NETWORK=FOLDER for the images of a training. CONVCAST names the program.
#
# Ends with 0 where every file has the same bytes, or every verdict is the same and every number within its tolerance.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
convcast=${CONVCAST:-convcast}
again=${1:-${here}_again}
[ $# -eq 0 ] || shift
command -v "$convcast" >/dev/null || {
    echo "there is no program '$convcast'; name it, for example: CONVCAST=/path/to/convcast sh make_again.sh" >&2
    exit 2
}
(cd "$here" && sha256sum -c --quiet SHA256SUMS) || {
    echo "this artifact is not complete, or something in it was changed" >&2
    exit 2
}
[ $# -gt 0 ] || set --@RECORDINGS@
"$convcast" reproduce@WORDS@ "$@" --artifact "$again" >/dev/null
if cmp -s "$here/SHA256SUMS" "$again/SHA256SUMS"; then
    echo "the same: every file of $again has the bytes of this artifact's"
    exit 0
fi
# Another version of the program, or measured again: verdicts must be the same, numbers within their tolerance.
awk -F '\t' '
    function numbers(text, into,    n) {
        n = 0
        while (match(text, /[0-9][0-9,]*(\.[0-9]+)?/)) {
            into[++n] = substr(text, RSTART, RLENGTH)
            gsub(/,/, "", into[n])
            text = substr(text, RSTART + RLENGTH)
        }
        return n
    }
    FNR == 1 { split("", seen); for (i = 1; i <= NF; i++) column[$i] = i; next }
    { key = $column["paper"] ", " $column["where"] ": " $column["claim"]
      key = key (seen[key]++ ? " (" seen[key] ")" : "") }
    NR == FNR { verdict[key] = $column["verdict"]; found[key] = $column["found"]; percent[key] = $column["within_percent"]; next }
    { there[key] = 1; compared++ }
    !(key in verdict) { print "new:         " key; wrong++; next }
    $column["verdict"] != verdict[key] {
        print "verdict:     " key ": was " verdict[key] " (" found[key] "), is " $column["verdict"] " (" $column["found"] ")"; wrong++; next }
    {
        n = numbers(found[key], a); m = numbers($column["found"], b); off = n != m
        for (i = 1; i <= n && !off; i++)
            off = (a[i] > b[i] ? a[i] - b[i] : b[i] - a[i]) > percent[key] / 100 * a[i] + 1e-12
        if (off) { print "number:      " key ": was " found[key] ", is " $column["found"] ", expected within " percent[key] " %"; wrong++ }
    }
    END {
        for (key in verdict) if (!(key in there)) { print "missing:     " key; wrong++ }
        print compared + 0 " claims and printed numbers compared, " wrong + 0 " not as expected"
        exit wrong > 0
    }' "$here/expected_values.tsv" "$again/expected_values.tsv"
