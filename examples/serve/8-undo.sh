#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A bad change is found, looked at and taken back.
. "$(dirname "$0")/play.sh"

begin 5681 --ephemeral -f examples/shop
use 5681
say 'overrule apply -f examples/serve/change.yaml'
say 'curl -s "$OVERRULE_SERVER/v1/history?target=timeoutpolicy/shop/checkout-timeouts" | grep -o "\"version\":[0-9]*,\"at\":\"[^\"]*\",\"author\":\"[^\"]*\""'
: >.watched
overrule watch --since 1 >.watched 2>&1 &
PIDS="$PIDS $!"
await 'effective policies change' .watched
printf '$ overrule watch --since 1\n'
words <.watched
say 'curl -s "$OVERRULE_SERVER/v1/resources/timeoutpolicy/shop/checkout-timeouts?output=text&as-of=1" >old.yaml'
say 'overrule apply -f old.yaml --dry-run | tail -n 1'
say 'overrule apply -f old.yaml'
say 'overrule effective httproute/shop/cart#checkout -o wide'
