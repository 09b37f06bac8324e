#!/bin/sh
# Loom on work W: a host with fsync on each acknowledged write, and its load, in one process.
# Usage: run.sh [concurrency] [n]   or   run.sh kill|control [in-flight]
# Needs: Go, flock. Everything binds to 127.0.0.1.
set -eu
here=$(cd "$(dirname "$0")" && pwd); cd "$here"
lock=${BENCH_LOCK:-$here/../.bench-lock}
c=${1:-100}; n=${2:-3000}
[ -x ../bin/bench ] || (cd ../common && go build -o ../bin/bench ./cmd/bench)
(cd ../../.. && go build -o bench/peers/loom/bin/work ./bench/work)
rm -rf data; mkdir -p data/host
extra=
case $c in
kill|control) extra="-$c -ledger $here/data/ledger.txt"; n=${2:-1000}; c=1;;
esac
flock "$lock" ../bin/bench -peer loom -version "$(git -C "$here" describe --always --dirty)" \
  -durability "embedded NATS JetStream, fsync on each acknowledged write: kill -9 and power loss lose nothing acknowledged" \
  -worker "bin/work -data $here/data/host" -c "$c" -n "$n" -warm ${WARM:-200} -disk "$here/data/host/loom" -cal "$here/data" -log "$here/data/bench.log" $extra
