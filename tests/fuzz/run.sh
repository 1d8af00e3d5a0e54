#!/bin/sh
# run.sh TARGET CORPUS FOUND: every kept input once, then new ones for $CONVCAST_FUZZ_SECONDS seconds (60). What they
# found goes to the folder FOUND, not to the corpus. Fails with the first input that does, and where no kept input is accepted.
set -eu
target=$1 corpus=$2 found=$3
mkdir -p "$found"
UBSAN_OPTIONS=print_stacktrace=1
export UBSAN_OPTIONS
set -- -timeout=120 -rss_limit_mb=3000 -max_len=65536 -print_final_stats=1 "-artifact_prefix=$found/"
find "$corpus" -type f -exec "$target" "$@" {} + >"$found/kept.log" 2>&1 || { tail -n 60 "$found/kept.log"; exit 1; }
"$target" "$@" "-max_total_time=${CONVCAST_FUZZ_SECONDS:-60}" "$found" "$corpus" >"$found/new.log" 2>&1 ||
    { tail -n 80 "$found/new.log"; exit 1; }
if grep -q 'no interesting inputs' "$found/new.log"; then
    echo "the target rejects every input of $corpus: a change of the document's schema?"
    exit 1
fi
tail -n 8 "$found/new.log"
