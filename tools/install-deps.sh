#!/usr/bin/env bash
# Installs the Debian 12 packages that building and testing need, and only those that are missing.
#
#   tools/install-deps.sh build   what `make build` needs
#   tools/install-deps.sh demo    that, and a PostgreSQL server
#   tools/install-deps.sh test    all of it, and what the tests need (default)
#   tools/install-deps.sh check   installs nothing; lists what is missing and exits 1 if anything is
#
# Without a missing package it changes nothing and needs no rights. It never starts a database:
# where postgresql-common is not installed yet, it is told not to create its default cluster.
set -euo pipefail

build_packages=(
  binutils ca-certificates ccache clang-19 cmake g++ git libboost1.81-dev libclang-rt-19-dev
  libcli11-dev libfmt-dev libgmock-dev libgtest-dev libpq-dev libsqlite3-dev libssl-dev
  libxxhash-dev libyaml-cpp-dev
  lld-19 make ninja-build postgresql-server-dev-15 python3
)
demo_packages=(postgresql-15 postgresql-client-15 util-linux)
test_packages=(
  clang-format-19 clang-tidy-19 llvm-19 procps python3-prometheus-client python3-psycopg2
  python3-pytest python3-yaml
)

wanted=("${build_packages[@]}")
mode=${1:-test}
case $mode in
  build) ;;
  demo) wanted+=("${demo_packages[@]}") ;;
  test | check) wanted+=("${demo_packages[@]}" "${test_packages[@]}") ;;
  *)
    echo "usage: tools/install-deps.sh [build|demo|test|check]" >&2
    exit 2
    ;;
esac

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

if ! command -v dpkg-query >/dev/null; then
  echo "install-deps: this is not a Debian system; see CONTRIBUTING.md for what is needed" >&2
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
# Node comes from many places; any that works will do.
if [[ $mode == test || $mode == check ]] &&
  ! { command -v node && command -v npm; } >/dev/null 2>&1; then
  missing+=(nodejs npm)
fi

if [ "${#missing[@]}" -eq 0 ]; then
  exit 0
fi
if [ "$mode" = check ]; then
  echo "missing packages: ${missing[*]}"
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install-deps: these packages are missing, and there is neither root nor sudo:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "install-deps: installing ${missing[*]}"
if ! is_installed postgresql-common; then
  "${as_root[@]}" mkdir -p /etc/postgresql-common
  if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    echo 'create_main_cluster = false' |
      "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
  fi
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q
  -o Dpkg::Options::=--force-confold -o Acquire::Retries=3)
"${apt[@]}" update </dev/null
"${apt[@]}" install --yes --no-install-recommends "${missing[@]}" </dev/null
