# The message that a recorded stream of the Responses API amounts to, in terms of
# awf-provider(7): blocks, stop reason, usage, model. Taken from the response as its last
# event repeats it, which the provider does not look at if the items came one by one.
def text_of(f): map(f) | join("\n\n");
(last | .response) as $r
| [ ($r.output[]
     | if .type == "message" then
         (.content[] | {type: "text", text: (.text // .refusal)})
       elif .type == "reasoning" then
         {type: "thinking", thinking: (.content // .summary | text_of(.text)), signature: .encrypted_content}
       elif .type == "function_call" then
         {type: "tool_use", tool_id: .call_id, tool_name: .name, tool_input: (.arguments | fromjson)}
       elif .type == "custom_tool_call" then
         {type: "tool_use", tool_id: .call_id, tool_name: .name, tool_input: .input}
       elif (.type | endswith("_call")) then
         {type: "tool_use", tool_id: (.call_id // .id), tool_name: (.name // (.type | rtrimstr("_call"))),
          tool_input: (.action // {})}
       else error("unknown item \(.type)") end
     | with_entries(select(.value != null))),
    (if $r.incomplete_details.reason == "max_output_tokens" then "max_tokens"
     elif any($r.output[].content[]?; .type == "refusal") then "refusal"
     elif any($r.output[]; .type == "function_call" or .type == "custom_tool_call") then "tool_use"
     else "end_turn" end),
    ($r.usage | {input_tokens, output_tokens, cache_read_tokens: .input_tokens_details.cached_tokens,
      reasoning_tokens: .output_tokens_details.reasoning_tokens}),
    $r.model ]
