#!/usr/bin/env bash
# The product at work: starts a PostgreSQL server of its own with a small shop and live traffic, and
# streams every change to the terminal until Ctrl-C. Leaves nothing behind.
#
#   DEMO_SECONDS=20 tools/demo.sh   stops by itself
#   KAPTANTO_BIN=...                another binary than build/release/kaptanto
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/lib/throwaway_postgres.sh
. tools/lib/throwaway_postgres.sh

binary=${KAPTANTO_BIN:-$PWD/build/release/kaptanto}
longest=3600  # seconds; a forgotten demonstration ends by itself
seconds=${DEMO_SECONDS:-$longest}
if [ ! -x "$binary" ]; then
  echo "demo: no $binary; run 'make build' first" >&2
  exit 1
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/kaptanto-demo.XXXXXX")
kaptanto_pid='' traffic_pid='' timer_pid=''

stop_process() {
  local pid=$1 tenth
  [ -n "$pid" ] && kill -TERM "$pid" 2>/dev/null || return 0
  for tenth in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || break
    [ "$tenth" -eq 100 ] && kill -KILL "$pid" 2>/dev/null
    sleep 0.1
  done
  wait "$pid" 2>/dev/null || true
}

clean_up() {
  trap '' INT TERM
  trap - EXIT
  stop_process "$kaptanto_pid"
  stop_process "$timer_pid"
  stop_process "$traffic_pid"
  postgres_stop "$dir"
  rm -rf "$dir"
}
trap clean_up EXIT
trap 'clean_up; echo "demo: stopped; nothing is left behind" >&2; exit 0' INT TERM

echo "demo: starting PostgreSQL in $dir" >&2
postgres_start "$dir"
psql=(psql --no-psqlrc -q -v ON_ERROR_STOP=1)
"${psql[@]}" -d postgres -c 'CREATE DATABASE shop'
"${psql[@]}" -d shop -f examples/shop.sql

source="postgres://postgres@127.0.0.1:$PGPORT/shop"
arguments=(--source "$source" --tables public.orders,public.payments,public.customers
  --output stdout --data-dir "$dir/kaptanto")
echo "demo: kaptanto ${arguments[*]}" >&2
"$binary" "${arguments[@]}" 2>"$dir/kaptanto.log" </dev/null &
kaptanto_pid=$!
"${psql[@]}" -d shop -c "CALL shop_traffic($longest)" >/dev/null 2>&1 </dev/null &
traffic_pid=$!
sleep "$seconds" &
timer_pid=$!
echo "demo: one line per change; Ctrl-C stops" >&2

# Ends with the first of the two: the timer, or a product that stopped by itself, which is a fault.
status=0
wait -n "$kaptanto_pid" "$timer_pid" || status=$?
if ! kill -0 "$kaptanto_pid" 2>/dev/null; then
  kaptanto_pid=''
  echo "demo: kaptanto ended with status $status; its log:" >&2
  tail -n 20 "$dir/kaptanto.log" >&2
  exit 1
fi
clean_up
echo "demo: stopped; nothing is left behind" >&2
