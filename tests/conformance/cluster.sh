# What the conformance suites and the clients are run against: processes that end with the script that sources this.
#
# That script sets `home` (the folder below target that is its own), `profile` (debug or release) and `gateways` (how
# many there are behind the balancer; 0 is one process), and runs in the repository's root. What the processes write is
# in $out/NAME.log.

node_version=22.23.5
out=$home/out
scratch=$(mktemp -d)
children=()
cleanup() {
  local child
  # The last one first: Redis outlives the nodes.
  for ((i = ${#children[@]} - 1; i >= 0; i--)); do
    child=${children[i]}
    kill "$child" 2>/dev/null
    for _ in {1..100}; do
      kill -0 "$child" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$child" 2>/dev/null && echo "a process had to be killed: it did not end within 10 s" >&2
  done
  wait
  rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

die() { echo "$*" >&2 && exit 1; }

# start NAME COMMAND...: in the background, to be ended with this script; it writes into out/NAME.log.
start() {
  "${@:2}" </dev/null >"$out/$1.log" 2>&1 &
  children+=($!)
}

# until_true WHAT COMMAND...: waits for it, but no longer than a minute.
until_true() {
  local deadline=$((SECONDS + 60))
  until "${@:2}" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || die "$1 did not happen within a minute; see $out/*.log"
    sleep 0.05
  done
}

# word_after PREFIX NAME: the rest of the word that begins with PREFIX in a child's log.
word_after() { grep -om1 "$1[^ ]*" "$out/$2.log" | cut -c $((${#1} + 1))-; }

# npm_install PACKAGE@VERSION...: into $home/npm, where they are not there yet. Sets `node`: the Node of that folder, for
# many systems have one that is too old.
npm_install() {
  local machine=x64
  [[ $(uname -m) == aarch64 ]] && machine=arm64
  node=$home/npm/node_modules/node-linux-$machine/bin/node
  [[ $(cat "$home/npm/installed" 2>/dev/null) == "$*" ]] && return
  command -v npm >/dev/null || die "npm is missing: install it, such as by \`apt-get install npm\`"
  echo "installing $* into ${home#"$PWD/"}/npm"
  rm -rf "$home/npm"
  npm install --prefix "$home/npm" --no-audit --no-fund --loglevel error "node-linux-$machine@$node_version" "$@" ||
    die "they could not be installed"
  echo "$*" >"$home/npm/installed"
}

# Builds the program and the fixtures' node, and sets `program`.
build() {
  local flags=()
  [[ $profile == release ]] && flags+=(--release)
  [[ -n ${SWITCHYARD_BIN-} ]] || flags+=(--package switchyard)
  cargo build --quiet "${flags[@]}" --package switchyard-fixtures || die "the program could not be built"
  program=${SWITCHYARD_BIN:-$PWD/target/$profile/switchyard}
  unset "${!SWITCHYARD_@}" "${!OTEL_@}" # nothing of the caller's configuration reaches it
}

has_fixtures() {
  local meta='"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}'
  curl -sf "$1" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
    -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' \
    -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{$meta}}}" | grep -q test_simple_text
}

# serve NAME ARGUMENTS...: a `switchyard` process with ports that the system chooses, once it is ready.
serve() {
  start "$1" "$program" serve --port 0 --admin-listen 127.0.0.1:0 "${@:2}"
  until_true "the start of $1" grep -q '^ready' "$out/$1.log"
}

# start_cluster CONFIG ROLES: everything with the fixtures. One process, or gateways behind a balancer and a node that
# has ROLES. Sets `url`, where clients connect, and `entrances`, the names of the processes that they connect to.
start_cluster() {
  local member=(--redis "redis+unix://$scratch/redis.sock" --bus-listen 127.0.0.1:0 --config "$1") urls=() name i
  command -v redis-server >/dev/null || die "redis-server is missing: install Redis 7.0 or newer"
  mkdir "$scratch/prompts"
  export SWITCHYARD_PROMPTS_PATH=$scratch/prompts
  start redis redis-server --port 0 --unixsocket "$scratch/redis.sock" --save '' --appendonly no --dir "$scratch"
  until_true "the start of Redis" redis-cli -s "$scratch/redis.sock" ping
  entrances=()
  if ((gateways == 0)); then
    serve node "${member[@]}"
    entrances=(node)
  else
    serve services "${member[@]}" --role "$2"
    for ((i = 1; i <= gateways; i++)); do
      serve "gateway-$i" "${member[@]}" --role gateway
      entrances+=("gateway-$i")
    done
  fi
  start fixtures "target/$profile/switchyard-fixtures" --redis "redis+unix://$scratch/redis.sock"
  until_true "the fixtures' announcement" grep -q '^ready' "$out/fixtures.log"
  for name in "${entrances[@]}"; do
    url=$(word_after clients= "$name")
    until_true "the fixtures' arrival at $url" has_fixtures "$url"
    urls+=("$url")
  done
  unset SWITCHYARD_PROMPTS_PATH
  ((gateways > 0)) || return 0
  start balancer "$node" tests/conformance/balancer.mjs "${urls[@]}"
  until_true "the start of the balancer" grep -q listening "$out/balancer.log"
  url=$(word_after 'listening ' balancer)
}
