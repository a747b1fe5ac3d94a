#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two servers on one PostgreSQL. Makes a database of its own with the programs of Debian's package.
. "$(dirname "$0")/play.sh"

bin=$(for dir in /usr/lib/postgresql/*/bin; do echo "$dir"; done | sort -V | tail -n 1)
[ -x "$bin/initdb" ] || { echo 'PostgreSQL is not installed: apt-get install postgresql' >&2; exit 1; }
as_owner() {
  if [ "$(id -u)" = 0 ]; then setpriv --reuid postgres --regid postgres --clear-groups "$@"; else "$@"; fi
}
mkdir database
[ "$(id -u)" != 0 ] || { chown postgres database && chmod 755 . ; }
printf 'only-for-this-page\n' >password
chmod 644 password
as_owner "$bin/initdb" -D database/data -U postgres -A scram-sha-256 --pwfile password >.initdb 2>&1
as_owner "$bin/pg_ctl" -D database/data -w -l database/log \
  -o "-c listen_addresses= -c unix_socket_directories=$WORK/database" start >.started 2>&1
stop_database() {
  as_owner "$bin/pg_ctl" -D "$WORK/database/data" -m immediate stop >/dev/null 2>&1 || true
}
trap 'stop_database; end' EXIT
socket=$(printf '%s' "$WORK/database" | sed 's|/|%2F|g')
printf 'postgres://postgres:only-for-this-page@%s/postgres\n' "$socket" >connection
chmod 600 connection

begin 5681 --postgres-file connection -f examples/shop
begin 5682 --postgres-file connection
use 5681
say 'overrule apply -f examples/serve/change.yaml'
use 5682
say 'curl -s "$OVERRULE_SERVER/v1/effective?target=httproute/shop/cart%23checkout&output=wide&at-least=2"'
stop_database
printf '# PostgreSQL is killed.\n'
say 'overrule effective httproute/shop/cart#checkout -o wide'
say 'curl -s "$OVERRULE_SERVER/readyz"'
say 'overrule apply -f examples/shop/policies.yaml'
as_owner "$bin/pg_ctl" -D database/data -w -l database/log \
  -o "-c listen_addresses= -c unix_socket_directories=$WORK/database" start >.started 2>&1
printf '# PostgreSQL is back.\n'
# The server looks once a second.
tries=0
until curl -sf "$OVERRULE_SERVER/readyz" >/dev/null || [ "$tries" -ge 100 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
say 'curl -s "$OVERRULE_SERVER/readyz"'
say 'overrule apply -f examples/shop/policies.yaml'
