# As cli-claude.jq, of Copilot CLI: what has an agentId is a sub-agent's; tokens are not in
# the stream.
map(select(.agentId == null)) as $top
| { calls: [$top[] | select(.type == "tool.execution_start").data
      | [.toolCallId, .toolName, .arguments]],
    results: [$top[] | select(.type == "tool.execution_complete").data
      | [.toolCallId, .result.content // .error.message, (.success | not)]],
    text: ([$top[] | select(.type == "assistant.message").data.content] | last),
    usage: {},
    session: (map(select(.type == "result")) | last.sessionId) }
