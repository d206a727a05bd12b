# What a recorded run of Claude Code amounts to: the calls of its tools and their results,
# the final text, the usage, the session.
map(select(.parent_tool_use_id == null)) as $top
| (map(select(.type == "result")) | last) as $whole
| { calls: [$top[] | select(.type == "assistant").message.content[]
      | select(.type == "tool_use") | [.id, .name, .input]],
    results: [$top[] | select(.type == "user").message.content | arrays[]
      | select(.type == "tool_result") | [.tool_use_id, .content, .is_error // false]],
    text: $whole.result,
    usage: ($whole.modelUsage | [.[]]
      | {input_tokens: (map(.inputTokens + .cacheReadInputTokens + .cacheCreationInputTokens) | add),
         output_tokens: (map(.outputTokens) | add),
         cache_read_tokens: (map(.cacheReadInputTokens) | add),
         cache_write_tokens: (map(.cacheCreationInputTokens) | add)}
      + ($whole.total_cost_usd | if . == null then {} else {cost_usd: (. * 1e9 | round / 1e9)} end)),
    session: $whole.session_id }
