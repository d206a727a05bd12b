# Sourced by ./one: answers of a model in the streams of each API.
# answer_API TEXT [ID TOOL ARGUMENTS]: a text, which may be empty, and a call of a tool.
# shellcheck shell=bash

answer_anthropic() {
	local blocks=()
	[ -z "$1" ] || blocks+=("$(jq -nc --arg text "$1" '{type: "text", text: $text}')")
	[ $# -lt 2 ] || blocks+=("$(use "$2" "$3" "$4")")
	stream "$([ $# -lt 2 ] && echo end_turn || echo tool_use)" "${blocks[@]}"
}

answer_openai() {
	jq -nc --arg text "$1" --arg id "${2-}" --arg name "${3-}" --arg arguments "${4-}" '
		def chunk: {id: "c", object: "chat.completion.chunk", model: "model"} + .;
		({choices: [{index: 0, delta: ({role: "assistant", content: $text} +
			if $id == "" then {} else {tool_calls: [{index: 0, id: $id, type: "function",
				function: {$name, $arguments}}]} end)}]} | chunk),
		({choices: [{index: 0, delta: {}, finish_reason:
			(if $id == "" then "stop" else "tool_calls" end)}]} | chunk),
		({choices: [], usage: {prompt_tokens: 20, completion_tokens: 5, total_tokens: 25}} | chunk)'
}

answer_openai-responses() {
	jq -nc --arg text "$1" --arg id "${2-}" --arg name "${3-}" --arg arguments "${4-}" '
		[ if $text == "" then empty else {type: "message", id: "msg", role: "assistant",
			content: [{type: "output_text", annotations: [], text: $text}]} end,
		  if $id == "" then empty else {type: "function_call", id: "fc", call_id: $id, $name,
			$arguments} end ] as $items
		| {type: "response.created", response: {id: "r", status: "in_progress", model: "model", output: []}},
		  ($items | to_entries[]
			| {type: "response.output_item.added", output_index: .key,
			   item: (.value + {status: "in_progress"} + (if .value.type == "message" then
				{content: []} else {arguments: ""} end))},
			  (if .value.type == "message" then {type: "response.output_text.delta",
				item_id: "msg", output_index: .key, content_index: 0, delta: $text} else
				{type: "response.function_call_arguments.delta", item_id: "fc",
				 output_index: .key, delta: $arguments} end),
			  {type: "response.output_item.done", output_index: .key,
			   item: (.value + {status: "completed"})}),
		  {type: "response.completed", response: {id: "r", status: "completed", model: "model",
			output: [], usage: {input_tokens: 20, output_tokens: 5, total_tokens: 25}}}'
}

answer_google() {
	jq -nc --arg text "$1" --arg id "${2-}" --arg name "${3-}" --argjson args "${4-null}" '
		[ if $text == "" then empty else {$text} end,
		  if $id == "" then empty else {functionCall: {$id, $name, $args}} end ] as $parts
		| {candidates: [{content: {$parts, role: "model"}, finishReason: "STOP", index: 0}],
		   usageMetadata: {promptTokenCount: 20, candidatesTokenCount: 5, totalTokenCount: 25},
		   modelVersion: "model", responseId: "r"}'
}
