# Every client, and what is expected of it. Sourced by ./run.

r1=2024-11-05 r2=2025-03-26 r3=2025-06-18 r4=2025-11-25 r5=2026-07-28
sessions="$r1 $r2 $r3 $r4"

# steps TRANSPORT REVISION: what a client does that can do whatever there is.
steps() {
  local can="connect list call error read prompt"
  if [[ $1 == stdio ]]; then
    # What the program offers by itself asks nothing and takes no time.
    [[ $2 == "$r5" ]] || can+=" ping"
    echo "$can subscribe close"
    return
  fi
  can+=" content complete progress log sample roots subscribe changed cancel"
  [[ $2 == "$r5" ]] || can+=" ping"
  [[ $2 < $r3 ]] || can+=" elicit rounds"
  [[ $2 < $r4 ]] || can+=" choose"
  # Clients go on with a stream that broke off where it began with an id.
  [[ "$1 $2" != "http $r4" ]] || can+=" resume"
  echo "$can close"
}

# Python 1.x asks for the newest revision that has sessions, and for others where a constant is changed.
expect python-1.30.0 "http sse websocket bridge stdio" "$sessions"
# Python 2.x, and FastMCP on it: the same, and the era without sessions.
for client in python-2.3.0 fastmcp-4.2.3; do
  expect $client "http sse bridge stdio" "$sessions"
  expect $client "http bridge stdio" $r5
done
# TypeScript 1.x is made to ask for what it accepts; 2.x has an option for it, and the era without sessions.
expect typescript-1.32.2 "http sse websocket bridge stdio" "$sessions"
expect typescript-2.4.0 "http sse bridge stdio" "$sessions"
expect typescript-2.4.0 "http bridge stdio" $r5
# Rust, in the version that the workspace has.
rmcp=rmcp-$(sed -n '/^name = "rmcp"$/ { n; s/^version = "\(.*\)"$/\1/p }' Cargo.lock)
expect "$rmcp" "http bridge stdio" "$sessions"
expect "$rmcp" "bridge stdio" $r5
expect "$rmcp" http $r5 "$(steps http $r5) task"
# What was new when a revision was, and asks for no other.
expect python-1.6.0 "sse websocket bridge stdio" $r1
expect python-1.9.4 "http sse websocket bridge stdio" $r2
expect python-1.12.4 "http sse websocket bridge stdio" $r3
expect typescript-1.7.0 "sse websocket bridge stdio" $r1
expect typescript-1.12.3 "http sse websocket bridge stdio" $r2
expect typescript-1.17.5 "http sse websocket bridge stdio" $r3
# The Inspector's command line asks for the newest of an era.
expect inspector-2.12.0 "http sse bridge" $r4 "connect list call error read prompt content log refuse strict"
expect inspector-2.12.0 "http bridge" $r5 "connect list call error read prompt content refuse strict"
expect inspector-2.12.0 stdio "$r4 $r5" "connect list call error read prompt strict"

# Installs the clients that are chosen.
install() {
  local old=(pydantic==2.11.10 'starlette<0.50') # what the old ones were written for
  local sdk=@npm:@modelcontextprotocol/sdk
  npm_install "typescript-1.32.2$sdk@1.32.2" "typescript-1.7.0$sdk@1.7.0" "typescript-1.12.3$sdk@1.12.3" \
    "typescript-1.17.5$sdk@1.17.5" typescript-2.4.0@npm:@modelcontextprotocol/client@2.4.0 \
    inspector-2.12.0@npm:@modelcontextprotocol/inspector@2.12.0
  ! chosen "$rmcp" || cargo build --quiet --package switchyard-rmcp-client || die "the Rust client could not be built"
  ! chosen python-1.30.0 || python python-1.30.0 'mcp[ws]==1.30.0'
  ! chosen python-1.6.0 || python python-1.6.0 'mcp[ws]==1.6.0' "${old[@]}"
  ! chosen python-1.9.4 || python python-1.9.4 'mcp[ws]==1.9.4' "${old[@]}"
  ! chosen python-1.12.4 || python python-1.12.4 'mcp[ws]==1.12.4' "${old[@]}"
  ! chosen python-2.3.0 || python python-2.3.0 mcp==2.3.0
  ! chosen fastmcp-4.2.3 || python fastmcp-4.2.3 fastmcp==4.2.3
}
