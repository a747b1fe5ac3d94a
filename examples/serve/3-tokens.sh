#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may do what.
. "$(dirname "$0")/play.sh"

begin 5681 --auth token -f examples/shop
use 5681
say 'ls -l overrule-data/admin-token | cut -c1-10'
say 'overrule effective httproute/shop/cart'
printf '$ admin="Authorization: Bearer $(cat overrule-data/admin-token)"\n'
admin="Authorization: Bearer $(cat overrule-data/admin-token)"
say 'curl -s -H "$admin" --json '\''{"name": "team shop", "grants": ["write:namespace/shop"], "expires": "2099-01-01T00:00:00Z"}'\'' "$OVERRULE_SERVER/v1/tokens" >made.json'
say 'cat made.json'
printf '$ export OVERRULE_TOKEN=$(sed '\''s/.*"token":"\\([^"]*\\)".*/\\1/'\'' made.json)\n'
OVERRULE_TOKEN=$(sed 's/.*"token":"\([^"]*\)".*/\1/' made.json)
export OVERRULE_TOKEN
id=$(sed 's/.*"id":"\([^"]*\)".*/\1/' made.json)
printf '%s\n' "s/$id/ID/g" >>.words
say 'overrule effective httproute/shop/cart#checkout'
say 'overrule explain timeoutpolicy/infra/gw-timeouts'
say 'overrule apply -f examples/shop/gateway.yaml'
say 'overrule apply -f examples/serve/change.yaml'
say 'curl -s -o /dev/null -w "%{http_code}\n" -H "$admin" -X DELETE "$OVERRULE_SERVER/v1/tokens/'"$id"'"' | sed "s/$id/ID/"
say 'overrule check'
say 'curl -s -H "$admin" "$OVERRULE_SERVER/v1/audit?size=2"'
