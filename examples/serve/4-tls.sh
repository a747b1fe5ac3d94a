#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Encrypted, with client certificates.
. "$(dirname "$0")/play.sh"

say 'overrule serve --listen 0.0.0.0:5681 --ephemeral'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=Example CA' \
  -keyout ca.key -out ca.pem 2>/dev/null
issue() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  printf 'subjectAltName=%s\n' "$2" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -days 2 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
}
issue server 'DNS:localhost,IP:127.0.0.1'
issue prometheus 'URI:spiffe://example.com/prometheus'
chmod 600 ./*.key
say 'cat examples/serve/config.yaml'
cp examples/serve/config.yaml config.yaml
begin 5681 --config config.yaml -f examples/shop
use 5681
say 'overrule check --ca-file ca.pem --token-file overrule-data/admin-token'
say 'curl -s --cacert ca.pem --cert prometheus.pem --key prometheus.key "$OVERRULE_SERVER/metrics" | grep ^overrule_version'
say 'curl -s --cacert ca.pem --cert prometheus.pem --key prometheus.key -X DELETE "$OVERRULE_SERVER/v1/resources/httproute/shop/cart"'
say 'curl -s --cacert ca.pem "$OVERRULE_SERVER/metrics"'
