#!/usr/bin/env bash
# Proves that the release binary is what the README promises: one file that needs nothing of the
# system it runs on. It is started in an empty root folder, and from there reaches a real server by
# host name over TLS.
#
#   release_test.sh shape|chroot|connect
#
# Needs root (or user namespaces) for the empty root, and Debian's PostgreSQL 15 for `connect`.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
binary=${KAPTANTO_BIN:-$root/build/release/kaptanto}
# shellcheck source=../../tools/lib/throwaway_postgres.sh
. "$root/tools/lib/throwaway_postgres.sh"

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

[ -x "$binary" ] || fail "no $binary; run 'make build' first"
dir=$(mktemp -d "${TMPDIR:-/tmp}/kaptanto-release.XXXXXX")
chmod 0755 "$dir"
clean_up() {
  postgres_stop "$dir/pg"
  rm -rf "$dir"
}
trap clean_up EXIT

# Runs a command in DIR/root, which holds the binary and nothing else.
in_empty_root() {
  if [ "$(id -u)" -eq 0 ]; then
    env -i /usr/sbin/chroot "$dir/root" "$@"
  else
    env -i unshare --map-root-user /usr/sbin/chroot "$dir/root" "$@"
  fi
}

make_empty_root() {
  mkdir -p "$dir/root"
  cp "$binary" "$dir/root/kaptanto"
}

test_shape() {
  local linked dynamic
  linked=$(ldd "$binary" 2>&1 || true)
  [[ $linked == *"statically linked"* ]] || fail "ldd says: $linked"
  dynamic=$(readelf --wide --dynamic --program-headers --sections "$binary")
  [[ $dynamic != *"(NEEDED)"* ]] || fail "it needs shared libraries"
  [[ $dynamic != *INTERP* ]] || fail "it needs a loader"
  [[ $dynamic == *PIE* ]] || fail "it is not position-independent"
  [[ $dynamic == *GNU_RELRO* && $dynamic == *NOW* ]] || fail "its relocations stay writable"
  [[ $dynamic != *.debug_* ]] || fail "it holds debug information"
  if grep -qF -e "$root/" "$binary"; then
    fail "it holds paths of the machine that built it"
  fi
  echo "size: $(stat -c %s "$binary") bytes"
}

test_chroot() {
  local version
  make_empty_root
  version=$(in_empty_root /kaptanto version)
  echo "in an empty root: $version"
  [[ $version =~ [0-9]+\.[0-9]+\.[0-9]+ ]] || fail "version says: $version"
  in_empty_root /kaptanto --help >/dev/null
}

# The server speaks TLS with a certificate of its own making; the name comes from /etc/hosts. Asks
# `doctor`, whose first check is the connection.
test_connect() {
  local report status=0
  mkdir "$dir/pg"
  postgres_start "$dir/pg"
  postgres_user openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=database.internal \
    -addext subjectAltName=DNS:database.internal \
    -keyout "$dir/pg/data/server.key" -out "$dir/pg/data/server.crt" 2>/dev/null
  psql --no-psqlrc -q -d postgres -c "ALTER SYSTEM SET ssl = on" -c "SELECT pg_reload_conf()" \
    -c "SET password_encryption = 'scram-sha-256'" \
    -c "CREATE ROLE streamer LOGIN REPLICATION PASSWORD 'sesame'" \
    -c "CREATE TABLE public.orders (id int PRIMARY KEY)" -c "ALTER TABLE orders OWNER TO streamer" \
    -c "GRANT CREATE ON DATABASE postgres TO streamer" >/dev/null
  sed -i '1i hostssl all streamer 127.0.0.1/32 scram-sha-256' "$dir/pg/data/pg_hba.conf"
  psql --no-psqlrc -q -d postgres -c "SELECT pg_reload_conf()" >/dev/null

  make_empty_root
  mkdir -p "$dir/root/etc" "$dir/root/tmp"
  echo '127.0.0.1 database.internal' >"$dir/root/etc/hosts"
  cp "$dir/pg/data/server.crt" "$dir/root/etc/ca.crt"
  local source="postgres://streamer:sesame@database.internal:$PGPORT/postgres"
  source+="?sslmode=verify-full&sslrootcert=/etc/ca.crt&channel_binding=require"
  report=$(in_empty_root /kaptanto doctor --source "$source" --tables public.orders 2>&1) ||
    status=$?
  echo "$report"
  [ "$status" -eq 0 ] || fail "doctor ended with status $status"
  [[ $report != *sesame* ]] || fail "the password is in the report"
}

case ${1:-} in
  shape) test_shape ;;
  chroot) test_chroot ;;
  connect) test_connect ;;
  *)
    echo "usage: release_test.sh shape|chroot|connect" >&2
    exit 2
    ;;
esac
