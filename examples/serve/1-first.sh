#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From nothing to a server that answers.
. "$(dirname "$0")/play.sh"

begin 5681 --ephemeral -f examples/shop
use 5681
say 'overrule effective httproute/shop/cart#checkout -o wide'
say 'overrule apply -f examples/serve/change.yaml --dry-run'
: >.watched
overrule watch >.watched 2>&1 &
PIDS="$PIDS $!"
await watching .watched
say 'overrule apply -f examples/serve/change.yaml'
await 'effective policies change' .watched
printf '$ overrule watch\n'
words <.watched
say 'overrule explain httproute/shop/cart#checkout --field timeouts.request'
say 'overrule delete timeoutpolicy/shop/checkout-timeouts'
say 'overrule check'
