# SPDX-License-Identifier: Apache-2.0
# Read by the sessions beside it. A session prints what it types and what is answered, so that its output can be compared
# with the page that shows it. Ports, times, tokens and ids differ from run to run: words stand for them.

set -eu

REPO=$(cd "$(dirname "$0")/../.." && pwd)
OVERRULE=${OVERRULE:-overrule}
WORK=$(mktemp -d)
PIDS=
unset OVERRULE_TOKEN OVERRULE_SERVER OVERRULE_DATA OVERRULE_CONFIG OVERRULE_POSTGRES OVERRULE_POSTGRES_FILE
export COLUMNS=120 NO_COLOR=1
: >"$WORK/.words"

end() {
  for pid in $PIDS; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  cd /
  rm -rf "$WORK"
}
trap end EXIT
trap 'exit 1' INT TERM

ln -s "$REPO/examples" "$WORK/examples"
cd "$WORK"

overrule() {
  "$OVERRULE" "$@"
}

words() {
  sed -E -f .words \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]+Z/TIME/g' \
    -e 's/ovr_[A-Za-z0-9_-]+/TOKEN/g' \
    -e 's/"id":"[^"]*"/"id":"ID"/g' \
    -e 's/"[0-9a-f]{16}"/"ID"/g' \
    -e 's/"request":"[^"]*"/"request":"REQUEST"/g'
}

# Types a command and shows its answer.
say() {
  printf '$ %s\n' "$1"
  code=0
  eval "$1" >.said 2>&1 || code=$?
  words <.said | sed -e '$a\'
  [ "$code" = 0 ] || printf '[exit %s]\n' "$code"
}

# Starts a server, shown with its usual port. `begin PORT ARGUMENTS` sets PID.
begin() {
  shown=$1
  shift
  printf '$ overrule serve'
  [ "$shown" = 5681 ] || printf ' --listen 127.0.0.1:%s' "$shown"
  printf ' %s' "$@"
  printf ' &\n'
  : >".out-$shown"
  "$OVERRULE" serve --listen 127.0.0.1:0 "$@" >".out-$shown" 2>".err-$shown" &
  PID=$!
  PIDS="$PIDS $PID"
  tries=0
  until grep -q '^listening on ' ".out-$shown"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 300 ] || ! kill -0 "$PID" 2>/dev/null; then
      cat ".err-$shown"
      exit 1
    fi
    sleep 0.1
  done
  port=$(sed -n 's/^listening on .*://p' ".out-$shown")
  printf '%s\n' "s/(127\\.0\\.0\\.1|localhost):$port/\\1:$shown/g" >>.words
  words <".out-$shown"
}

# Waits until a file has a text.
await() {
  tries=0
  until grep -q "$1" "$2"; do
    tries=$((tries + 1))
    [ "$tries" -le 300 ] || { echo "no '$1' came" && exit 1; }
    sleep 0.1
  done
}

# The address of a server that was started.
url() {
  sed -n 's/^listening on //p' ".out-$1"
}

# Names the server for the commands that follow.
use() {
  OVERRULE_SERVER=$(url "$1")
  export OVERRULE_SERVER
  printf '$ export OVERRULE_SERVER=%s\n' "$OVERRULE_SERVER" | words
}
