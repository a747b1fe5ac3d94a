#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What survives, backups, and taking a text out of the history.
. "$(dirname "$0")/play.sh"

begin 5681 --data overrule-data -f examples/shop
use 5681
say 'overrule apply -f examples/serve/change.yaml'
printf '$ kill -9 %%1\n'
kill -9 "$PID"
wait "$PID" 2>/dev/null || true
begin 5681 --data overrule-data
use 5681
say 'overrule effective httproute/shop/cart#checkout -o wide'
say 'curl -s "$OVERRULE_SERVER/v1/backup" >backup.jsonl'
begin 5682 --data another --restore backup.jsonl
use 5682
say 'overrule effective httproute/shop/cart#checkout -o wide'
say 'curl -s -o /dev/null -w "%{http_code}\n" -X POST "$OVERRULE_SERVER/v1/redact?target=timeoutpolicy/shop/checkout-timeouts"'
say 'curl -s "$OVERRULE_SERVER/v1/history?target=timeoutpolicy/shop/checkout-timeouts" | tr "{" "\n" | grep -o -e "\"version\":[0-9]*" -e "\"redacted\":[a-z]*"'
kill "$PID"
wait "$PID" 2>/dev/null || true
say 'overrule serve --data another --restore backup.jsonl'
