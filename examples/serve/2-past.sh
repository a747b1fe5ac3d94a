#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Versions, the past, and two people who change the same thing.
. "$(dirname "$0")/play.sh"

begin 5681 --ephemeral -f examples/shop
use 5681
say 'overrule apply -f examples/serve/change.yaml'
say 'curl -s "$OVERRULE_SERVER/v1/effective?target=httproute/shop/cart%23checkout&output=wide&as-of=1"'
say 'curl -s "$OVERRULE_SERVER/v1/effective?target=httproute/shop/cart%23checkout&output=wide&at-least=2"'
say 'curl -s "$OVERRULE_SERVER/v1/history?size=1"'
say 'curl -si "$OVERRULE_SERVER/v1/resources/timeoutpolicy/shop/checkout-timeouts?output=text" | grep -i -e etag -e overrule-version'
say 'curl -s -X PUT -H '\''If-Match: "1"'\'' --data-binary @examples/serve/change.yaml "$OVERRULE_SERVER/v1/resources/timeoutpolicy/shop/checkout-timeouts"'
say 'curl -s -X PUT -H '\''If-Match: "2"'\'' --data-binary @examples/serve/change.yaml "$OVERRULE_SERVER/v1/resources/timeoutpolicy/shop/checkout-timeouts?output=table"'
