// Prints a run for chain(1): long.mjs EVENTS RUN, agents that call tools, one after another, each
// of some hundred turns; or long.mjs CALLS RUN calls, as many calls of one step.
import { Recorder } from "./record.mjs";

const many = Number(process.argv[2]), record = new Recorder(process.argv[3]);
const TURNS = 330;
const event = (...about) => record.event(40, ...about);

const start = event("run.started", "", 0, null, { name: "long", kind: "workflow", argv: ["long"], awf_version: "0", format: 1, attempt: 1 });

function agent(call) {
	const about = { name: "work", kind: "agent", call: `work:0:${call}` };
	const begin = event("step.started", "work", call, start, { ...about, attempt: 1, input: "item " + call });
	let last = event("message.user", "work", call, begin, { role: "user", blocks: [{ type: "text", text: "Do item " + call }], system_prompt: "You work. ".repeat(20), turn: 0 });
	for (let turn = 0; turn < TURNS && record.made < many - 5; turn++) {
		const answer = event("message.assistant", "work", call, last, { role: "assistant", blocks: [
			{ type: "text", text: `Turn ${turn}. ` + "It goes on with what was found. ".repeat(turn % 13) },
			{ type: "tool_use", tool_id: "t" + turn, tool_name: "edit", tool_input: { file_path: "a.c" } }],
			model: "mock", stop_reason: "tool_use", usage: { input_tokens: 100 + turn, output_tokens: 20 }, duration_ms: 35, turn });
		const tool = event("tool.call", "work", call, answer, { name: "edit", call_id: "t" + turn, effects: "workspace",
			input: { file_path: "a.c", old_string: "int\nmain(void)\n{\n\treturn 0;\n}", new_string: `int\nmain(void)\n{\n\treturn ${turn};\n}` }, fidelity: "router" });
		last = event("tool.result", "work", call, tool, { name: "edit", call_id: "t" + turn, duration_ms: 38, fidelity: "router",
			...(turn % 97 === 96 ? { error: { code: "blocked", message: "writes outside of the workspace" } } : { output: "line of output\n".repeat(turn % 7) }) });
	}
	while (record.made < many - 2 && record.made > many - 6)
		last = event("message.assistant", "work", call, last, { role: "assistant", blocks: [{ type: "text", text: "More." }], turn: TURNS, partial: true });
	event("step.completed", "work", call, last, { ...about, result: "done " + call, duration_ms: 40000 });
}

function shortCall(call) {
	const about = { name: "work", kind: "command", call: `work:0:${call}` };
	const begin = record.event(1, "step.started", "work", call, start, { ...about, attempt: 1, input: "item " + call });
	record.event(1, "step.completed", "work", call, begin, { ...about, duration_ms: 1,
		...(call % 50_000 === 49_999 ? { error: { code: "exit_status", message: "sh: exit status 2" } } : { result: "done " + call }) });
}

if (process.argv[4] === "calls")
	for (let call = 0; call < many; call++)
		shortCall(call);
else
	for (let call = 0; record.made < many - 1; call++)
		agent(call);
event("run.completed", "", 0, start, { status: "success", exit_code: 0, duration_ms: record.clock - Date.parse("2026-11-01T08:00:00Z"), usage: { calls: 1 } });
record.flush();
