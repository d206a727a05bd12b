# As cli-claude.jq, of OpenCode: what was cached and what was thought is counted apart.
(map(select(.type == "tool_use").part)) as $tools
| { calls: [$tools[] | [.callID, .tool, .state.input]],
    results: [$tools[] | [.callID, .state.output // .state.error, .state.status == "error"]],
    text: ([.[] | select(.type == "text").part.text] | last),
    usage: ([.[] | select(.type == "step_finish").part.tokens]
      | {input_tokens: (map(.input + .cache.read + .cache.write) | add),
         output_tokens: (map(.output + .reasoning) | add),
         cache_read_tokens: (map(.cache.read) | add),
         cache_write_tokens: (map(.cache.write) | add),
         reasoning_tokens: (map(.reasoning) | add)}),
    session: .[0].sessionID }
