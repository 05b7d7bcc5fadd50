# shellcheck shell=bash
# A PostgreSQL 15 server for a demonstration or a test: its files in one folder, on 127.0.0.1 and a
# free port, run as user postgres when the caller is root. To be sourced.
#
#   postgres_start DIR   creates DIR/data and starts it; sets PGHOST (the socket folder) and PGPORT
#   postgres_stop DIR    stops it; harmless when it never started
#
# The caller owns DIR, an empty folder, and deletes it. Nothing else is touched.

postgres_bin=/usr/lib/postgresql/15/bin

postgres_user() {
  # From / because user postgres need not be able to enter the caller's folder.
  if [ "$(id -u)" -eq 0 ]; then
    (cd / && runuser -u postgres -- "$@")
  else
    (cd / && "$@")
  fi
}

postgres_free_port() {
  python3 -c 'import socket
probe = socket.create_server(("127.0.0.1", 0))
print(probe.getsockname()[1])'
}

postgres_start() {
  local dir=$1 attempt
  if [ "$(id -u)" -eq 0 ]; then
    chown postgres: "$dir"
  fi
  chmod 0755 "$dir"
  postgres_user "$postgres_bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 \
    --locale=C.UTF-8 --no-sync >/dev/null
  postgres_user tee -a "$dir/data/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '$dir'
wal_level = logical
fsync = off
log_min_messages = warning
CONF
  for attempt in 1 2 3 4 5; do
    PGPORT=$(postgres_free_port)
    if postgres_user "$postgres_bin/pg_ctl" -D "$dir/data" -l "$dir/postgres.log" -w -t 60 \
      -o "-p $PGPORT" start >/dev/null 2>&1; then
      export PGPORT PGHOST="$dir" PGUSER=postgres
      return 0
    fi
  done
  echo "PostgreSQL did not start ($attempt attempts):" >&2
  cat "$dir/postgres.log" >&2
  return 1
}

postgres_stop() {
  local dir=$1
  if [ -f "$dir/data/postmaster.pid" ]; then
    postgres_user "$postgres_bin/pg_ctl" -D "$dir/data" -m immediate -w -t 30 stop \
      >/dev/null 2>&1 || true
  fi
}
