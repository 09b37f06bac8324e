#!/bin/sh
# One run of every peer on work W under one hold of the lock, so that ratios within
# the run mean something. Usage: all.sh [100|1]    Appends JSON lines to results/all.jsonl
# and a line that separates the runs. A peer whose programs are missing fails by itself.
set -eu
here=$(cd "$(dirname "$0")" && pwd); cd "$here"; mkdir -p results
lock=${BENCH_LOCK:-$here/.bench-lock}
if [ -z "${PEERS_LOCKED:-}" ]; then PEERS_LOCKED=1 exec flock "$lock" "$0" "$@"; fi
export BENCH_LOCK=$here/.inner-lock
c=${1:-100}; out=results/all.jsonl
echo "{\"run\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",\"concurrency\":$c,\"cores\":$(nproc)}" >>$out
one() { echo "== $*" >&2; timeout 300 "$@" >>$out 2>>results/all.err || echo "{\"failed\":\"$*\"}" >>$out; }
case $c in
100) t=250 l=150 ls=250 r=1000 v=1500 p=200000 w=5000;;
*)   t=60  l=60  ls=100 r=150  v=200  p=50000 w=1000;;
esac
one temporal/run.sh sqlite-wal "$c" $t
one temporal/run.sh sqlite-wal-tuned "$c" $t
one temporal/run.sh postgres "$c" $t
one restate/run.sh default "$c" $r
one river/run.sh tuned "$c" $v
one langgraph-js/run.sh postgres "$c" $l
[ -f langgraph-js/node_modules/better-sqlite3/build/Release/better_sqlite3.node ] && one langgraph-js/run.sh sqlite "$c" $ls
one protoactor/run.sh "$c" $p
one loom/run.sh "$c" $w
tail -12 $out
