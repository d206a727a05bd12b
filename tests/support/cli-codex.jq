# As cli-claude.jq, of Codex: an item that starts is a call, completed it is the result.
(map(select(.item.type | IN("command_execution", "file_change")))) as $tools
| { calls: [$tools | unique_by(.item.id)[].item
      | [.id, .type, if .type == "file_change" then {changes} else {command} end]],
    results: [$tools[] | select(.type == "item.completed").item
      | [.id, (if .type == "file_change" then .status else .aggregated_output end),
         .status == "failed"]],
    text: ([.[] | select(.item.type == "agent_message").item.text] | last),
    usage: ([.[] | select(.type == "turn.completed").usage] | last
      | {input_tokens, output_tokens, cache_read_tokens: .cached_input_tokens,
         cache_write_tokens: .cache_write_input_tokens,
         reasoning_tokens: .reasoning_output_tokens}),
    session: .[0].thread_id }
