// Prints a run of N events for chain(1) of tests/support: agents that call tools, one after
// another, each of some hundred turns.
import { createHash } from "node:crypto";

const many = Number(process.argv[2]), runId = process.argv[3];
const TURNS = 330;
let made = 0, clock = Date.parse("2026-11-01T08:00:00Z");
const out = [];
const id = (n) => createHash("sha256").update(String(n)).digest("hex").replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, "$1-$2-4$3-8$4-$5");

function event(type, path, iteration, parent, payload) {
	clock += 40;
	const eventId = id(made++);
	out.push(JSON.stringify({ timestamp: new Date(clock).toISOString().replace("Z", "000Z"), event_id: eventId,
		run_id: runId, parent_event_id: parent, type, path, iteration, payload }));
	return eventId;
}

const start = event("run.started", "", 0, null, { name: "long", kind: "workflow", argv: ["long"], awf_version: "0", format: 1, attempt: 1 });
for (let call = 0; made < many - 1; call++) {
	const about = { name: "work", kind: "agent", call: `work:0:${call}` };
	const begin = event("step.started", "work", call, start, { ...about, attempt: 1, input: "item " + call });
	let last = event("message.user", "work", call, begin, { role: "user", blocks: [{ type: "text", text: "Do item " + call }], system_prompt: "You work. ".repeat(20), turn: 0 });
	for (let turn = 0; turn < TURNS && made < many - 5; turn++) {
		const answer = event("message.assistant", "work", call, last, { role: "assistant", blocks: [
			{ type: "text", text: `Turn ${turn}. ` + "It goes on with what was found. ".repeat(turn % 13) },
			{ type: "tool_use", tool_id: "t" + turn, tool_name: "edit", tool_input: { file_path: "a.c" } }],
			model: "mock", stop_reason: "tool_use", usage: { input_tokens: 100 + turn, output_tokens: 20 }, duration_ms: 35, turn });
		const tool = event("tool.call", "work", call, answer, { name: "edit", call_id: "t" + turn, effects: "workspace",
			input: { file_path: "a.c", old_string: "int\nmain(void)\n{\n\treturn 0;\n}", new_string: `int\nmain(void)\n{\n\treturn ${turn};\n}` }, fidelity: "router" });
		last = event("tool.result", "work", call, tool, { name: "edit", call_id: "t" + turn, duration_ms: 38, fidelity: "router",
			...(turn % 97 === 96 ? { error: { code: "blocked", message: "writes outside of the workspace" } } : { output: "line of output\n".repeat(turn % 7) }) });
	}
	while (made < many - 2 && made > many - 6)
		last = event("message.assistant", "work", call, last, { role: "assistant", blocks: [{ type: "text", text: "More." }], turn: TURNS, partial: true });
	event("step.completed", "work", call, last, { ...about, result: "done " + call, duration_ms: 40000 });
}
event("run.completed", "", 0, start, { status: "success", exit_code: 0, duration_ms: clock - Date.parse("2026-11-01T08:00:00Z"), usage: { calls: 1 } });
process.stdout.write(out.join("\n") + "\n");
