#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kuma's API, first as we have it, then as that release has it.
. "$(dirname "$0")/play.sh"

begin 5681 --ephemeral -f examples/kuma/shop/mesh.yaml
use 5681
say 'curl -s -X PUT --data-binary @examples/serve/timeout.yaml "$OVERRULE_SERVER/meshes/default/meshtimeouts/everyone"'
say 'curl -s "$OVERRULE_SERVER/meshes/default/meshtimeouts?size=1"'
say 'curl -s "$OVERRULE_SERVER/_kri/kri_mt_default_default__everyone_"'
say 'curl -s "$OVERRULE_SERVER/meshes/default/meshtimeouts/everyone/_resources/dataplanes?size=1"'
begin 5682 --ephemeral --kuma-compat --profile kuma=2.13 -f examples/kuma/shop/mesh.yaml -f examples/serve/timeout.yaml
use 5682
say 'curl -s "$OVERRULE_SERVER/meshes/default/meshtimeouts/everyone"'
say 'curl -s -X DELETE "$OVERRULE_SERVER/meshes/default"'
