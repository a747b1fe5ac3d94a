#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nobody has an admin token any more.
. "$(dirname "$0")/play.sh"

begin 5681 --data overrule-data --auth token -f examples/shop >/dev/null
kill "$PID"
wait "$PID" || true
begin 5681 --data overrule-data --auth none
use 5681
say 'curl -s --json '\''{"name": "admin", "grants": ["admin"]}'\'' "$OVERRULE_SERVER/v1/tokens" >made.json'
printf '$ kill %%1\n'
kill "$PID"
wait "$PID" || true
begin 5681 --data overrule-data --auth token
use 5681
printf '$ export OVERRULE_TOKEN=$(sed '\''s/.*"token":"\\([^"]*\\)".*/\\1/'\'' made.json)\n'
OVERRULE_TOKEN=$(sed 's/.*"token":"\([^"]*\)".*/\1/' made.json)
export OVERRULE_TOKEN
say 'overrule check'
say 'curl -s -H "Authorization: Bearer $OVERRULE_TOKEN" "$OVERRULE_SERVER/v1/audit?size=1"'
