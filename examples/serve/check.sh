#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plays the sessions and compares each with the text beside it, which the guide shows.
#
#   OVERRULE=target/debug/overrule sh examples/serve/check.sh [--bless] [SESSION...]
#
# With --bless the texts are written instead. Needs curl, openssl and, for one of them, PostgreSQL.
set -u
here=$(cd "$(dirname "$0")" && pwd)
case ${OVERRULE:-overrule} in
  */*) OVERRULE=$(cd "$(dirname "$OVERRULE")" && pwd)/$(basename "$OVERRULE") && export OVERRULE ;;
esac
bless=
if [ "${1:-}" = --bless ]; then
  bless=1
  shift
fi
[ $# -gt 0 ] || set -- 1-first 2-past 3-tokens 4-tls 5-kill 6-kuma 7-postgres 8-undo 9-lost
said=$(mktemp)
trap 'rm -f "$said"' EXIT
failed=0
for session in "$@"; do
  if ! sh "$here/$session.sh" >"$said" 2>&1; then
    echo "$session does not end well:"
    cat "$said"
    failed=1
  elif [ -n "$bless" ]; then
    cp "$said" "$here/$session.txt"
  elif ! diff -u "$here/$session.txt" "$said"; then
    echo "$session answers something else"
    failed=1
  fi
done
exit "$failed"
