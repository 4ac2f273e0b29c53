#!/usr/bin/env bash
# The Inspector's command line: each request is a process and a connection of its own.
#
# inspector.sh NODE FOLDER TRANSPORT REVISION STEP...   prints `PASSED STEP` or `FAILED STEP: why` for each. FOLDER is where
# the Inspector is installed; the rest is as steps.py says.
set -uo pipefail

inspector=("$1" "$2/clients/launcher/build/index.js" --cli)
transport=$3 revision=$4
HOME=$(mktemp -d) # it keeps things there
trap 'rm -rf "$HOME"' EXIT
export HOME MCP_INSPECTOR_SECRET_STORE=memory
# How long a request may take, in seconds.
patience=30

[[ $revision == 2026-07-28 ]] && era=modern || era=legacy

# ask OPTION...: sends one request. Sets `said`, all that it wrote, and `code`.
ask() {
  local target=() server=()
  case $transport in
    http | sse) target=("$TARGET" --transport "$transport") ;;
    *) IFS=$'\t' read -ra server < <("${inspector[0]}" -p 'JSON.parse(process.env.TARGET).join("\t")') ;;
  esac
  said=$(timeout "$patience" "${inspector[@]}" "${target[@]}" --protocol-era "$era" --format json "$@" \
    ${server[0]+-- "${server[@]}"} 2>&1 </dev/null)
  code=$?
}

# expect CODE TEXT...: that the last answer has this code and each of these texts.
expect() {
  local text
  [[ $code == "$1" ]] || { why="it exited with $code and said ${said:0:400}" && return 1; }
  for text in "${@:2}"; do
    [[ $said == *"$text"* ]] || { why="$text is not in ${said:0:400}" && return 1; }
  done
}

watched=file://$WATCHED
connect() { ask --method initialize && expect 0 '"name":"switchyard"' "\"protocolVersion\":\"$revision\""; }
list() {
  local offered=(test_simple_text test_elicitation) resources=("$watched" test://static-text) prompts=test_simple_prompt
  [[ $transport == stdio ]] && offered=(echo search) resources=("$watched") prompts=code_review
  ask --method tools/list && expect 0 "${offered[@]/#/\"name\":\"}" &&
    ask --method resources/list && expect 0 "${resources[@]/#/\"uri\":\"}" &&
    ask --method prompts/list && expect 0 "\"name\":\"$prompts\"" || return
  [[ $transport == stdio ]] || { ask --method resources/templates/list && expect 0 'test://template/{id}/data'; }
}
call() {
  if [[ $transport == stdio ]]; then
    ask --method tools/call --tool-name echo --tool-arg "message=Is anybody there?" && expect 0 '"text":"Is anybody there?"'
  else
    ask --method tools/call --tool-name test_simple_text && expect 0 "This is a simple text response for testing."
  fi
}
content() {
  ask --method tools/call --tool-name test_multiple_content_types &&
    expect 0 '"type":"text"' '"type":"image"' '"type":"resource"' &&
    ask --method tools/call --tool-name test_audio_content && expect 0 '"mimeType":"audio/wav"'
}
error() {
  if [[ $transport != stdio ]]; then
    ask --method tools/call --tool-name test_error_handling && expect 5 "This tool intentionally returns an error" || return
  fi
  ask --method tools/call --tool-name no_such_tool && expect 5 tool_not_found &&
    ask --method resources/read --uri file:///no/such/file && expect 1 "there is no resource \`file:///no/such/file\`"
}
read_() {
  ask --method resources/read --uri "$watched" && expect 0 "$(head -n 1 "$WATCHED")" || return
  [[ $transport == stdio ]] || {
    ask --method resources/read --uri test://static-text && expect 0 "This is the content of the static text resource."
  }
}
prompt() {
  if [[ $transport == stdio ]]; then
    ask --method prompts/get --prompt-name code_review --prompt-args "code=let x = 1;" && expect 0 "let x = 1;"
  else
    ask --method prompts/get --prompt-name test_prompt_with_arguments --prompt-args arg1=one arg2=two &&
      expect 0 "Prompt with arguments: arg1='one', arg2='two'"
  fi
}
log() { ask --method logging/setLevel --log-level debug && expect 0; }
# It does not offer to answer forms, so nobody waits for it.
refuse() {
  ask --method tools/call --tool-name test_elicitation --tool-arg "message=Who are you?"
  if [[ $era == modern ]]; then
    expect 1 "this needs an ability that the client did not declare"
  else
    expect 5 "the client did not declare that it can be asked this"
  fi
}
strict() { ask --method tools/list --strict && expect 0; }

for step in "${@:5}"; do
  take=$step why="there is no such step"
  [[ $step != read ]] || take=read_
  if declare -F "$take" >/dev/null && "$take"; then echo "PASSED $step"; else echo "FAILED $step: ${why//$'\n'/ }"; fi
done
