# The message that a recorded stream of Chat Completions amounts to, in terms of
# awf-provider(7): blocks, stop reason, usage, model.
def joined(f): map(f // empty) | join("");
[.[] | .choices[0].delta // empty] as $d
| ([.[] | .usage // empty] | last) as $u
| ($d | joined(.reasoning_content)) as $thinking
| ($d | joined(.content)) as $text
| [ (if $thinking == "" then empty else {type: "thinking", thinking: $thinking} end),
    (if $text == "" then empty else {type: "text", text: $text} end),
    ([$d[] | .tool_calls[]?] | group_by(.index)[]
     | {type: "tool_use", tool_id: (map(.id // empty) | first),
        tool_name: (map(.function.name // empty) | first),
        tool_input: (joined(.function.arguments) | fromjson)}),
    ([.[] | .choices[0].finish_reason // empty] | last
     | {stop: "end_turn", tool_calls: "tool_use"}[.]),
    ({input_tokens: $u.prompt_tokens, output_tokens: ($u.total_tokens - $u.prompt_tokens),
      cache_read_tokens: $u.prompt_tokens_details.cached_tokens,
      reasoning_tokens: $u.completion_tokens_details.reasoning_tokens}
     | with_entries(select(.value != null))),
    ([.[] | .model | select(. != "")] | first) ]
