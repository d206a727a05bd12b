# As cli-claude.jq, of Gemini CLI: texts are pieces, thoughts are in the total alone.
def last_text: reduce .[] as $line ("";
  if $line.type == "tool_use" then ""
  elif $line.type == "message" and $line.role == "assistant" then . + $line.content
  else . end);
(map(select(.type == "result")) | last.stats) as $stats
| { calls: [.[] | select(.type == "tool_use") | [.tool_id, .tool_name, .parameters]],
    results: [.[] | select(.type == "tool_result")
      | [.tool_id, .error.message // .output // "", .status == "error"]],
    text: last_text,
    usage: ($stats | {input_tokens, output_tokens: (.total_tokens - .input_tokens),
      cache_read_tokens: .cached,
      reasoning_tokens: (.total_tokens - .input_tokens - .output_tokens)}),
    session: .[0].session_id }
