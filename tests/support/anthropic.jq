# The message that a recorded stream of the Messages API amounts to, in terms of
# awf-provider(7): blocks, stop reason, usage, model.
def joined(f): map(f // empty) | join("");
. as $events
| [ (.[] | select(.type == "content_block_start") | .index as $i | .content_block as $b
     | [$events[] | select(.type == "content_block_delta" and .index == $i) | .delta] as $d
     | if $b.type == "text" then {type: "text", text: ($b.text + ($d | joined(.text)))}
       elif $b.type == "thinking" then
         {type: "thinking", thinking: ($b.thinking + ($d | joined(.thinking))),
          signature: ($b.signature + ($d | joined(.signature)))}
       elif ($b.type | endswith("tool_use")) then
         {type: "tool_use", tool_id: $b.id, tool_name: $b.name,
          tool_input: (($d | joined(.partial_json)) | if . == "" then {} else fromjson end)}
       elif ($b.type | endswith("tool_result")) then
         {type: "tool_result", tool_id: $b.tool_use_id, tool_content: $b.content}
       else error("unknown block \($b.type)") end),
    ([.[] | .delta.stop_reason? // empty] | last),
    (([.[] | (.message.usage? // .usage?) // empty] | add)
     | {input_tokens: (.input_tokens + .cache_read_input_tokens + .cache_creation_input_tokens),
        output_tokens, cache_read_tokens: .cache_read_input_tokens,
        cache_write_tokens: .cache_creation_input_tokens}),
    ([.[] | .message.model? // empty] | first) ]
