# The message that a recorded stream of the Gemini API amounts to, in terms of
# awf-provider(7): blocks, stop reason, usage, model.
def kind: if .functionCall then "tool_use" elif .thought then "thinking" else "text" end;
def signature: if .thoughtSignature then {signature: .thoughtSignature} else {} end;
def block:
  kind as $kind
  | if $kind == "tool_use" then
      {type: $kind, tool_id: .functionCall.id, tool_name: .functionCall.name,
       tool_input: (.functionCall.args // {})} + signature
    else {type: $kind, ($kind): .text} + signature end;
def joins($last): .type == $last.type and .type != "tool_use" and ((has("signature") and ($last | has("signature"))) | not);
[.[].candidates[0].content.parts[]? | select(.text != "" or .thoughtSignature) | block] as $parts
| (reduce $parts[] as $b ([];
    if length > 0 and (.[-1] as $last | $b | joins($last)) then
      .[-1] = (.[-1] + $b + {($b.type): (.[-1][$b.type] + $b[$b.type])})
    else . + [$b] end)) as $blocks
| ([.[].usageMetadata // empty] | last) as $u
| [ (reduce $blocks[] as $b ({blocks: [], calls: 0};
      if $b.type == "tool_use" and $b.tool_id == null
      then .calls += 1 | .blocks += [$b + {tool_id: "call_\(.calls)"}]
      else .blocks += [$b] end) | .blocks[]),
    ([.[].candidates[0].finishReason // empty] | last
     | if . == "STOP" and ($blocks | any(.type == "tool_use")) then "tool_use"
       else {STOP: "end_turn", MAX_TOKENS: "max_tokens"}[.] end),
    ({input_tokens: $u.promptTokenCount,
      output_tokens: ($u.totalTokenCount - $u.promptTokenCount),
      cache_read_tokens: $u.cachedContentTokenCount, reasoning_tokens: $u.thoughtsTokenCount}
     | with_entries(select(.value != null))),
    (map(.modelVersion // empty) | first) ]
