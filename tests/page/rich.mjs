// Prints a run for chain(1) with an event of every kind, and every field in some of them:
// rich.mjs RUN BLOBS [hostile | shapes]; BLOBS is the directory for its blobs.
// hostile: each text that the vocabulary leaves free is followed by what would be a program, if
// anything took it for markup or an address. shapes: behind the run's begin stands each event
// with each member of its payload of each type that JSON has.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { Recorder } from "./record.mjs";

const [runId, directory, mode] = process.argv.slice(2);
const record = new Recorder(runId);

const attacks = [
	`<img src=x onerror="window.bad=1">`, `"><script>window.bad=1</script>`, `</textarea><svg onload=window.bad=1>`,
	`javascript:window.bad=1`, `' autofocus onfocus='window.bad=1`, `<iframe srcdoc="<script>parent.bad=1</script>">`,
	`<a href="javascript:window.bad=1">x</a>`, `</style><script>window.bad=1</script>`, "${window.bad=1}{{bad=1}}",
	`data:text/html,<script>window.bad=1</script>`, `<base href=//example.invalid>`, `\u202e\u2066\u0000\u001b[31m`,
	`<style>*{display:none}</style>`, `<form action=//example.invalid><input name=token>`, `//example.invalid/x`,
	"__proto__", "constructor", "toString",
];
let attack = 0;
// What reads a record goes by these: they stand as they are.
const fixed = new Set(["call", "kind", "status", "code", "sha256", "media_type", "type", "role", "decision", "asks", "encoding", "form", "fidelity", "sandbox", "algorithm", "call_id", "tool_id"]);

function poisoned(value, key) {
	if (typeof value === "string")
		return fixed.has(key) || key.endsWith("sha256") ? value : value + attacks[attack++ % attacks.length];
	if (Array.isArray(value))
		return value.map((each) => poisoned(each, key));
	if (value === null || typeof value !== "object")
		return value;
	const out = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, poisoned(each, name)]));
	// Names are free, too, where data is.
	if (["input", "tool_input", "output", "result", "inputs", "params", "data"].includes(key))
		out[attacks[attack++ % attacks.length]] = attacks[attack++ % attacks.length];
	return out;
}

function event(after, type, path, iteration, parent, payload, more) {
	return record.event(after, type, path, iteration, parent, mode === "hostile" ? poisoned(payload, "") : payload, more);
}

/* ---- blobs ---- */

function blob(content) {
	const bytes = Buffer.from(content);
	const sha256 = createHash("sha256").update(bytes).digest("hex");
	mkdirSync(directory, { recursive: true });
	writeFileSync(join(directory, sha256), bytes);
	return { sha256, bytes: bytes.length };
}

function crc(bytes) {
	let all = -1;
	for (const byte of bytes) {
		all ^= byte;
		for (let bit = 0; bit < 8; bit++)
			all = all & 1 ? (all >>> 1) ^ 0xedb88320 : all >>> 1;
	}
	return ~all >>> 0;
}

// A picture: latencies of a service, and where they rise.
function png(width, height) {
	const rows = [];
	for (let y = 0; y < height; y++) {
		const row = Buffer.alloc(1 + width * 3, 250);
		row[0] = 0;
		for (let x = 0; x < width; x++) {
			const level = height * (x > width * 0.6 ? 0.75 : 0.25) + 8 * Math.sin(x / 9);
			if (height - y < level)
				row.set(x > width * 0.6 ? [200, 70, 60] : [90, 130, 190], 1 + x * 3);
		}
		rows.push(row);
	}
	const chunk = (name, data) => {
		const body = Buffer.concat([Buffer.from(name), data]), out = Buffer.alloc(8 + body.length);
		out.writeUInt32BE(data.length);
		body.copy(out, 4);
		out.writeUInt32BE(crc(body), 4 + body.length);
		return out;
	};
	const head = Buffer.alloc(13);
	head.writeUInt32BE(width);
	head.writeUInt32BE(height, 4);
	head.set([8, 2, 0, 0, 0], 8);
	return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head),
		chunk("IDAT", deflateSync(Buffer.concat(rows))), chunk("IEND", Buffer.alloc(0))]);
}

/* ---- the run: an alert is looked into, a fix is made, a person is asked ---- */

const MODEL = "anthropic/claude-sonnet-4-5";
const start = event(0, "run.started", "", 0, null, {
	name: "incident.awf", kind: "workflow", argv: ["/bin/sh", "./incident.awf", "--region", "eu-1"], cwd: "/srv/ops",
	inputs: { service: "checkout", since: "20m" }, env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" }, awf_version: "0", format: 1, attempt: 1,
	workflow_sha256: "0".repeat(64), directory: "/srv/ops", files: [{ path: "/srv/ops/incident.awf", ...blob("awf-step fetch | awf-step analyse\n") }],
});

// A call with what is in it, which is made by within(begin) and gives the event before the end.
function call(parent, path, id, begin, within, end, more) {
	const name = path.split(".").at(-1), iteration = Number(id.split(":").at(-1));
	const about = { name, kind: begin.kind, call: id };
	const first = event(4, "step.started", path, iteration, parent, { ...about, attempt: 1, input_sha256: "2".repeat(64), ...begin }, more);
	const last = within ? within(first) : first;
	return event(end.after ?? 5, "step.completed", path, iteration, last, { ...about, duration_ms: 100, ...end.payload }, end.more);
}

const command = (text) => [{ type: "command", fidelity: "router", command: text }];

let last = call(start, "fetch", "fetch:0:0", { kind: "command", effects: "read", blocks: command("curl -fsS https://metrics.local/checkout"), input: { service: "checkout" } }, null, {
	after: 640, payload: { result: { p99_ms: [212, 231, 1894], errors: 0.031, order: 12345678901234567890n.toString() }, stderr: "curl: (28) timed out, retrying\n", stderr_bytes: 31,
		retries: [{ code: "timeout", message: "curl: exit status 28" }] } });

last = call(last, "look", "look:0:0", { kind: "parallel", blocks: command("three views") , strategy: "all" }, (group) => {
	let previous = group;
	for (const [i, what] of ["logs", "deploys", "traces"].entries())
		previous = call(i === 0 ? group : previous, "look." + what, `look:0:0/${what}:0:${i}`,
			{ kind: "command", blocks: command(`./collect ${what}`) }, null,
			{ after: 180 + 300 * i, payload: i === 2 ?
				{ error: { code: "exit_status", message: "./collect: exit status 2" }, exit_code: 2, mode: "try",
					stderr: "traces: connecting to tempo.local:3200\ntraces: certificate has expired\ntraces: giving up after 3 tries\n", stderr_bytes: 104 } :
				{ result: what + ": nothing unusual\n", no_newline: false } });
	return previous;
}, { payload: { result: [{ data: "logs" }, { data: "deploys" }], count: 2 } });

const picture = blob(png(480, 120)), pdf = blob("%PDF-1.4\n% what the vendor says\n");
const long = blob(JSON.stringify("line of a long log\n".repeat(20_000)));

last = call(last, "analyse", "analyse:0:0", {
	kind: "agent", agent: "analyst", provider: "anthropic", model: MODEL, timeout_ms: 60000,
	attachments: [{ media_type: "image/png", name: "p99.png", ...picture }], input: "Why has the latency of checkout risen?",
}, (begin) => {
	let at = event(3, "message.user", "analyse", 0, begin, {
		role: "user", turn: 0, system_prompt: "You look into incidents. Say what you know and what you only suspect.\n".repeat(6), params: { max_tokens: 4096 },
		tools: [{ name: "bash", description: "Runs a command.", input_schema: { type: "object" } }, { name: "read", description: "Shows a file." }, { name: "edit", description: "Changes a file." }],
		mcp: [{ name: "mcp__pager__who", server: "pager", tool: "who", effects: "read" }],
		blocks: [{ type: "text", text: "Why has the latency of checkout risen? The picture has the last hour." },
			{ type: "image", media_type: "image/png", name: "p99.png", ...picture, data: null },
			{ type: "document", media_type: "application/pdf", name: "vendor notes.pdf", ...pdf, data: null },
			{ type: "image", media_type: "image/svg+xml", name: "graph.svg", ...blob("<svg xmlns='http://www.w3.org/2000/svg' onload='window.bad=1'/>"), data: null }],
	}, { refs: [{ at: "/payload/blocks/1/data", ...picture, encoding: "raw" }, { at: "/payload/blocks/2/data", ...pdf, encoding: "raw" }] });
	at = event(200, "message.assistant", "analyse", 0, begin, { role: "assistant", blocks: [], turn: 0, partial: true, delay_ms: 1500,
		retry: { code: "rate_limited", message: "429: too many requests", try: 1, of: 4 } });
	const turn = (number, after, text, uses, more = {}) => event(after, "message.assistant", "analyse", 0, at, {
		role: "assistant", turn: number, model: MODEL, stop_reason: uses.length > 0 ? "tool_use" : "end_turn", duration_ms: after, request_id: "req_" + number,
		usage: more.usage ?? { input_tokens: 2100 + 900 * number, output_tokens: 140 + 30 * number, cache_read_tokens: 1800 },
		blocks: [...(more.thinking ? [{ type: "thinking", thinking: more.thinking, signature: "c2ln" }] : []), { type: "text", text, fidelity: "agent_emitted" },
			...uses.map(({ name, input }, i) => ({ type: "tool_use", tool_id: `t${number}.${i}`, tool_name: name, tool_input: input, fidelity: "agent_emitted" }))],
	});
	const tool = (answer, id, name, after, input, result, more = {}) => {
		const begun = event(4, "tool.call", "analyse", 0, answer, { name, call_id: id, input, effects: "read", fidelity: "router", ...more });
		return event(after, "tool.result", "analyse", 0, begun, { name, call_id: id, duration_ms: after, fidelity: "router", ...result });
	};
	let answer = turn(0, 1900, "The rise begins at 14:02. I look at what was changed then.", [{ name: "bash", input: { command: "git log --since=14:00 --oneline" } }],
		{ thinking: "The picture shows a step, no slope: so a deploy or a flag, not load. First the log of changes." });
	at = tool(answer, "t0.0", "bash", 420, { command: "git log --since=14:00 --oneline", description: "What was deployed" },
		{ output: "8c1f2ab pool: at most 8 connections\n77d01ee docs: spelling\n" }, { sandbox: "workspace", effects: "workspace" });
	answer = turn(1, 2300, "8c1f2ab is the suspect: the pool was cut from 64 to 8.", [{ name: "read", input: { file_path: "pool.c" } }, { name: "bash", input: { command: "rm -rf /var/lib/checkout" } }]);
	tool(answer, "t1.0", "read", 60, { file_path: "/srv/ops/pool.c" }, { output: Array.from({ length: 60 }, (_, i) => `${i + 1}\tint line_${i + 1};`).join("\n") });
	at = tool(answer, "t1.1", "bash", 2, { command: "rm -rf /var/lib/checkout" }, { error: { code: "blocked", message: "bash: writes outside of the workspace (/var/lib/checkout)" } }, { warning: "effects are not declared" });
	answer = turn(2, 2100, "I put the old size back, and have the tests run.", [{ name: "edit", input: {} }, { name: "bash", input: {} }]);
	tool(answer, "t2.0", "edit", 30, { file_path: "/srv/ops/pool.c",
		old_string: "static struct pool pool = {\n\t.name = \"checkout\",\n\t.most = 8,\n\t.idle = 2,\n};\n\nvoid\npool_open(void)\n{\n\tpool_fill(&pool);\n}",
		new_string: "static struct pool pool = {\n\t.name = \"checkout\",\n\t.most = 64,\t/* 8 made requests wait */\n\t.idle = 2,\n};\n\nvoid\npool_open(void)\n{\n\tpool_fill(&pool);\n}" },
		{ output: "1 change", changed: [{ path: "pool.c", added: 1, removed: 1, sha256: "3".repeat(64) }, { path: "pool.o", change: "created" }] }, { effects: "workspace" });
	at = tool(answer, "t2.1", "bash", 3100, { command: "make check" }, { output: "42 passed, 1 failed\n", exit_code: 2, stderr: "check_pool: \u001b[1;31mFAILED\u001b[0m: expected 8, have 64\u001b[K\u001b]0;title\u0007\nmake: *** [Makefile:12: check] Error 1\n" }, { effects: "workspace", sandbox: "workspace", network: false });
	answer = turn(3, 900, "The test expects the small pool. I write the new expectation down.", [{ name: "write", input: {} }],
		{ usage: { cost_usd: 0.01299 } });
	at = tool(answer, "t3.0", "write", 15, { file_path: "tests/expected", content: "most 64\nidle 2\n" }, { output: "written" }, { effects: "workspace", fidelity: "agent_emitted" });
	at = event(10, "message.user", "analyse", 0, at, { role: "user", blocks: [], turn: 4, handoff: { from: "analyst", to: "writer" }, agent: "writer", provider: "anthropic", model: MODEL });
	at = event(20, "message.user", "analyse", 0, at, { role: "user", blocks: [], turn: 4, before_turn: { name: "budget", answer: "go on" } });
	return event(1300, "message.assistant", "analyse", 0, at, { role: "assistant", agent: "writer", turn: 4, model: MODEL, stop_reason: "max_tokens", duration_ms: 1300, usage: { input_tokens: 6100, output_tokens: 4096 },
		fallback: 1, provider: "anthropic", blocks: [{ type: "text", text: "Since 14:02 each instance of checkout has 8 connections instead of 64 (8c1f2ab).\n\n1. Requests wait for a connection: p99 1.9 s.\n2. Errors are timeouts of callers.\n\nThe fix is made in this workspace; it is not deployed." },
			{ type: "stream", text: "and this was cut off", fidelity: "agent_emitted" }, { type: "tool_result", tool_id: "x", tool_content: "of an agent that runs its tools itself", is_error: true }, { type: "command", command: "true" }, { type: "unheard_of", text: "?" }] });
}, { after: 8, payload: { result: null, agent: "writer" }, more: { refs: [{ at: "/payload/result", ...long, encoding: "json" }] } });

last = call(last, "notify", "notify:0:0", { kind: "call_workflow", detached: true }, null, { payload: { result: "sent" } }, { child_run_id: "0f1e2d3c-0000-4000-8000-0000000000ff" });
last = event(5, "x.vendor.note", "analyse", 0, start, { source: { type: "note", event_id: "n1" }, data: { text: "what another program says", many: [1, 2, 3] }, fidelity: "agent_emitted" });
last = event(5, "foreign.run.started", "", 0, start, { source: { type: "run.started" }, data: { note: "no attempt begins here" } });

for (let item = 0; item < 14; item++)
	last = call(start, "page", `page:0:${item}`, { kind: "command", blocks: command(`./page team-${item}`) }, null, { after: 30 + 7 * item, payload: item === 9 ?
		{ error: { code: "exit_status", message: "./page: exit status 1" }, exit_code: 1, stderr: "team-9 has no address\n" } : { result: "paged team-" + item } });

call(start, "publish", "publish:0:0", { kind: "approval", input: "Dear customers,\r\n\r\nthis afternoon some payments took longer.\r\n" }, null,
	{ payload: { error: { code: "waiting", message: "waits for a decision" }, approval: { asks: "approval" } } });
call(start, "ticket", "ticket:0:0", { kind: "command", input: { title: "pool size", order: 1 }, blocks: command("./ticket") }, null,
	{ payload: { error: { code: "waiting", message: "waits for its result" }, approval: { asks: "completion", form: "json" } } });
call(start, "archive", "archive:0:0", { kind: "command", blocks: command("./archive") }, null, { payload: { skipped: "the step before it has failed", error: { code: "skipped", message: "skipped" } } });

// Members of payloads in every type.
function shapes() {
	const values = [null, true, 7, -1.5, "", "text", [], {}, [null], [[]], [{}], { a: { b: 1 } }, ["text", 1, null]];
	const members = {
		"message.user": ["blocks", "system_prompt", "tools", "mcp", "handoff", "before_turn", "turn", "params", "agent"],
		"message.assistant": ["blocks", "model", "usage", "stop_reason", "duration_ms", "retry", "delay_ms", "partial", "error"],
		"tool.call": ["name", "input", "effects", "warning", "sandbox", "fidelity"],
		"tool.result": ["name", "output", "error", "changed", "stderr", "exit_code", "duration_ms"],
	};
	for (const [type, names] of Object.entries(members))
		for (const member of names)
			for (const value of values) {
				event(1, type, "other", 0, start, { source: { type }, data: { member }, [member]: value });
				event(1, type, "other", 0, start, { source: { type }, blocks: [{ type: "text", [member]: value }, value] });
			}
	for (const type of ["constructor", "__proto__", "toString", "message.", "tool", "step"])
		for (const value of values)
			event(1, "x." + type, "other", 0, start, value);
}

if (mode === "shapes")
	shapes();
event(40, "run.completed", "", 0, start, { status: "waiting", exit_code: 75, duration_ms: record.clock - Date.parse("2026-11-01T08:00:00Z"),
	error: { code: "waiting", message: "publish:0:0 waits for a decision" }, usage: { calls: 24, input_tokens: 24600, output_tokens: 4976 } });
record.flush();
