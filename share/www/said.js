// A row of the conversation (talk.js) as an element: what was said, a tool that was called, a call that
// began or ended; beside it, in the margin, its time, tokens and cost.
import { bare } from "/www/ansi.js";
import { block, changedFiles, contentParts, data, errorOf, fold, folded, refs, some, stderr, toolInput } from "/www/blocks.js";
import { arrange, h, say } from "/www/dom.js";
import { messageNote, output, rest } from "/www/event.js";
import { bytes, count, dollars, duration, line, signs, when } from "/www/format.js";
import { parse } from "/www/json.js";
import { Prose } from "/www/prose.js";

const PROSE_MOST = 20_000;            // characters of an answer that are shown at once
const PROSE_HUGE = 400_000;           // and at all
const WRITTEN = 3000;                 // of what is printed, the last ones
const words = {
	__proto__: null, done: "done", reused: "the same as before", unfinished: "not finished", closed: "not needed any more",
};
const heldCodes = ["blocked", "denied", "refused"];
const isHeld = (code) => heldCodes.includes(code);
const wordOf = (state) => words[state] ?? state;

// How high a row will be, before it was there once.
export function guessHeight(record, { kind, seqs }) {
	const size = seqs.length > 0 ? record.entries[seqs[0] - 1].size : 0;
	switch (kind) {
	case "answer": return 40 + Math.min(600, Math.max(0, size - 500) / 4);
	case "prompt": return 60 + Math.min(320, Math.max(0, size - 800) / 6);
	case "tool": return 32;
	case "run": return 60;
	}
	return 38;
}

/* ---- what grows ---- */

// A thought: folded, with its last words while it is being written.
class Thought {
	constructor(key) {
		this.words = h("span", { class: "note" });
		this.body = h("div", { class: "text thinking" });
		this.element = fold(key, [h("span", { class: "what" }, "thinking"), " ", this.words], () => this.body);
	}

	update(value, grows) {
		say(this.words, grows ? "… " + line(value.slice(-90)) : line(value, 90));
		say(this.body, value);
	}
}

// What is printed, or the arguments of a tool that are being written: the last of it.
class Printed {
	element = h("div", { class: "text code printed" });

	update(value) {
		say(this.element, value.length > WRITTEN ? "…" + value.slice(-WRITTEN) : value);
	}
}

const shownWhole = new Set();

export const forgetShown = () => shownWhole.clear();

// An answer as Markdown, with its beginning alone if it is long; what is JSON as such. The element that it has had
// stays, whatever it says now.
function said(element, place, key, value, changed) {
	const made = (element.proses[place] ??= new Prose());
	const isLong = value.length > PROSE_MOST && !shownWhole.has(key);
	const most = isLong ? PROSE_MOST : PROSE_HUGE;
	made.update(value.length > most ? value.slice(0, Math.max(value.lastIndexOf("\n", most), most / 2)) : value);
	if (value.length <= most)
		return [made.element];
	return [made.element, isLong ? h("button", { type: "button", class: "more", onclick: () => {
		shownWhole.add(key);
		changed();
	} }, `Show all ${count(value.length)} characters`) : h("p", { class: "note" }, `… ${count(value.length - PROSE_HUGE)} characters more`)];
}

// The JSON that a text is; undefined: it is another text.
function jsonOf(value) {
	if (!/^\s*[{[]/.test(value))
		return undefined;
	try {
		return parse(value);
	} catch {
		return undefined;
	}
}

/* ---- rows ---- */

// context: { record, payloads, chosen: the call of the view, or null, base: its level, changed(row): it is to be
// filled again, load(seq) }.
export function makeRow() {
	const element = h("article", { tabIndex: -1 }, h("div", { class: "main" }), h("div", { class: "margin" }));
	element.proses = [];
	element.thoughts = [];
	element.prints = [];
	return element;
}

// What a row shows depends on this. It changes with what is here of it, and with what becomes of it; what was here
// once has been seen, though it may have gone.
function stampOf(element, row, { record, payloads, chosen }) {
	const needs = row.needs.join(), here = row.needs.map((seq) => payloads.have(seq) ? 1 : 0).join("");
	if (!here.includes("0"))
		element.seen = needs;
	const call = row.n === null ? null : record.calls[row.n];
	return [row.kind, row.seq, row.seqs.length, row.uses, row.live ? `${row.live.turn}.${row.live.version}` : "",
		call ? record.told(call) : "", ["call", "work", "end"].includes(row.kind) ? [call.until, call.tokensOut, call.cost, row.n === chosen].join() : "",
		element.seen === needs ? "all" : here].join(" ");
}

// Whether a row was filled with something else than before.
export function fillRow(element, row, context) {
	const stamp = stampOf(element, row, context);
	if (element.stamp === stamp)
		return false;
	const { record, payloads, base } = context;
	element.stamp = stamp;
	const missing = row.needs.filter((seq) => !payloads.have(seq)), call = row.n === null ? null : record.calls[row.n];
	element.className = `row talk ${row.kind}` + (row.live ? " live" : "") + (missing.length > 0 ? " empty" : "");
	element.style.setProperty("--level", Math.min(8, row.level - base));
	if (row.seq === null)
		delete element.dataset.seq;
	else
		element.dataset.seq = row.seq;
	element.setAttribute("aria-busy", String(Boolean(row.live)));
	const [main, margin] = element.children, hadFocus = main.contains(document.activeElement);
	const shown = { label: "", parts: [], margin: [] };
	if (missing.length > 0 && !row.live)
		fillEmpty(shown, row, missing, context);
	else
		try {
			fillers[row.kind](shown, row, context, element, call);
		} catch {
			// What other programs have written may have any shape.
			shown.parts = row.needs.map((seq) => data(`${record.runId}/${seq}/any`, payloads.have(seq)?.payload ?? null));
		}
	element.setAttribute("aria-label", shown.label || row.kind);
	arrange(main, shown.parts.flat(4).filter((part) => part instanceof Node));
	margin.replaceChildren(...row.seq === null ? [] : [h("a", { class: "seq", href: "#" + row.seq, "aria-label": `Event ${row.seq}`,
		title: record.zero ? when(record.zero + record.entries[row.seq - 1].at) : null }, "#" + row.seq)],
	...shown.margin.filter(Boolean).map((part) => h("span", null, part)), ...shown.copy ? copyButton(shown.copy) : []);
	if (hadFocus && !main.contains(document.activeElement))
		(main.querySelector("summary") ?? element).focus({ preventScroll: true });
	return true;
}

// Copies a text as it was written, where the browser lets a page do that.
function copyButton(text) {
	return navigator.clipboard ? [h("button", { type: "button", class: "copy", onclick: async ({ currentTarget: button }) => {
		await navigator.clipboard.writeText(text).then(() => say(button, "Copied"), () => say(button, "Not copied"));
	} }, "Copy")] : [];
}

// What is known of a row whose events are not here.
function fillEmpty(shown, row, missing, { record, payloads, load }) {
	const entry = record.entries[row.seq - 1], call = row.n === null ? null : record.calls[row.n];
	const large = missing.filter((seq) => payloads.large(seq));
	shown.label = row.kind;
	shown.parts = [h("div", { class: "label" }, ["call", "work", "end"].includes(row.kind) ? nameOf(record, call) : entry.label || entry.type),
		large.map((seq) => h("button", { type: "button", class: "more", onclick: () => load(seq) }, `Load ${bytes(record.entries[seq - 1].size)}`))];
}

// Of a step that is made several times: which time, and which item.
function nameOf(record, call) {
	const [item, occurrence] = (call.id ?? "").split(":").reverse();
	return call.name + (occurrence > 0 ? ":" + occurrence : "") + (item > 0 ? `[${item}]` : "");
}

const tokensOf = (call) => call.tokensIn + call.tokensOut > 0 ? `${count(call.tokensIn)} in, ${count(call.tokensOut)} out` : "";
const tookOf = (call) => call.until === null ? "" : duration(call.until - call.at);
const callMargin = (call) => [tookOf(call), tokensOf(call), dollars(call.cost)];

// The name of a call with its state, as a line.
function callLine(record, call, more = []) {
	const state = record.told(call);
	return h("div", { class: `call-line is-${state}` }, h("span", { class: "sign", "aria-hidden": "true" }, signs[state] ?? "·"), " ",
	    h("strong", null, nameOf(record, call)), " ", h("span", { class: "note" }, [call.kind && call.kind !== "command" ? call.kind : "",
	        call.agent && call.agent !== call.name ? call.agent : "", call.model ? call.model.split("/").at(-1) : "",
	        state === "done" ? "" : call.code && call.code !== state ? `${wordOf(state)}: ${call.code}` : wordOf(state)].filter(Boolean).join(" · ")), more);
}

const ENDS_TRIED = 200, ENDS_AT_ONCE = 20;

// The end of the step whose result a call was given, which is recorded there alone: it is the cause of its begin.
async function endBefore({ record, payloads }, event) {
	for (let seq = event.seq - 1, tried = 0; seq > 0 && tried < ENDS_TRIED;) {
		const some = [];
		for (; seq > 0 && some.length < ENDS_AT_ONCE; seq--)
			if (record.entries[seq - 1].type === "step.completed")
				some.push(seq);
		await payloads.want(some);
		const found = some.map((each) => payloads.have(each)).find((each) => each?.event_id === event.parent_event_id);
		if (found)
			return found;
		tried += some.length;
	}
	return null;
}

// The input of a call that was given the result of another.
function inputBefore(key, event, context) {
	const element = h("div", null, h("span", { class: "note" }, "…"));
	endBefore(context, event).then((end) => element.replaceChildren(...end === null ? [h("p", { class: "note" }, "It is the result of an event far before.")] : [
		h("p", { class: "note" }, "the result of ", h("a", { class: "seq", href: "#" + end.seq }, end.payload?.call ?? "#" + end.seq)),
		output(key + "d", end.payload?.result) ?? h("p", { class: "note" }, "empty"), ...refs(key, end).filter((part) => part instanceof Node),
	]), (error) => element.replaceChildren(h("p", { class: "problem" }, error.message)));
	return element;
}

// What a call was given: its command, its input.
function begun(key, event, isChosen, context) {
	const { calls, entries } = context.record, call = calls[entries[event.seq - 1].call], around = calls[call?.around]?.event_id;
	const payload = event.payload ?? {}, isAgent = payload.kind === "agent";
	return [
		some(payload.blocks?.filter((each) => each.type === "command") ?? [], (each, i) => each.command?.length > 200 ?
			fold(key + "c" + i, [h("span", { class: "what" }, "command"), " ", h("span", { class: "note" }, line(each.command, 90))],
			    () => block(key + "cc" + i, event.run_id, each)) : block(key + "c" + i, event.run_id, each)),
		event.child_run_id ? h("a", { href: "/runs/" + encodeURIComponent(event.child_run_id) }, "Child run " + event.child_run_id.slice(0, 8)) : null,
		isAgent ? null : folded(key + "i", "input", payload.input, isChosen ? 200 : 0),
		payload.input === undefined && payload.input_sha256 && event.parent_event_id !== around && !event.refs?.some(({ at }) => at === "/payload/input") && !isAgent ?
			fold(key + "before", [h("span", { class: "what" }, "input"), " ", h("span", { class: "note" }, "from the step before")],
			    () => inputBefore(key + "before", event, context), isChosen) : null,
		refs(key, event),
	];
}

const approvalOf = ({ approval }) => approval?.decision ? h("div", { class: approval.decision === "denied" ? "held" : "decision" },
	`${approval.decision} by ${approval.by ?? "?"}${approval.reason ? ": " + approval.reason : ""}`) : null;

// What came of a call. result: null, if it stands elsewhere.
function ended(key, event, result) {
	const payload = event.payload ?? {};
	return [
		payload.skipped ? h("div", { class: "note" }, "skipped: " + payload.skipped) : null, approvalOf(payload),
		payload.error?.code === "waiting" ? h("div", { class: "waits" }, "‖ waits for " + (payload.approval?.asks ?? "somebody")) :
			errorOf(key + "e", payload.error),
		result, payload.exit_code ? h("span", { class: "tag bad" }, "exit " + payload.exit_code) : null,
		stderr(key + "s", payload), changedFiles(payload),
		payload.retries?.length > 0 ? h("div", { class: "note" }, `${payload.retries.length} ${payload.retries.length === 1 ? "try" : "tries"} failed before`) : null,
		result === null ? refs(key, { ...event, refs: event.refs?.filter(({ at }) => at !== "/payload/result") }) : refs(key, event),
	];
}

const keyOf = (record, seq) => `${record.runId}/${seq}/t`;

/* ---- what is the same ---- */

const textOf = (payload) => (payload?.blocks ?? []).filter((each) => each?.type === "text").map((each) => each.text ?? "").join("");

// Whether the result of a call is what its model said at last: it stands there.
function isSaid(event, answer) {
	const result = event.payload?.result, words = textOf(answer?.payload).trim();
	if (result === undefined || result === null) {
		const blob = event.refs?.find(({ at }) => at === "/payload/result");
		return blob !== undefined && Boolean(answer?.refs?.some(({ sha256 }) => sha256 === blob.sha256));
	}
	if (words === "")
		return false;
	if (typeof result === "string")
		return result.trim() === words;
	const json = jsonOf(words);
	return json !== undefined && JSON.stringify(json) === JSON.stringify(result);
}

/* ---- by kind ---- */

const fillers = {
	__proto__: null,

	run(shown, row, { record, payloads }) {
		const event = payloads.have(row.seq), payload = event.payload ?? {}, key = keyOf(record, row.seq);
		const begins = event.type === "run.started";
		shown.label = begins ? "The run begins" : "The run ends";
		shown.margin = ["+" + duration(record.entries[row.seq - 1].at)];
		shown.parts = begins ? [
			h("div", { class: "text code command" }, (payload.argv ?? [payload.name ?? ""]).join(" ")),
			payload.attempt > 1 ? h("div", { class: "note" }, "attempt " + payload.attempt) : null,
			folded(key + "i", "inputs", Object.keys(payload.inputs ?? {}).length > 0 ? payload.inputs : null),
		] : [
			h("div", { class: payload.status === "success" ? "outcome good" : "outcome" },
			    `${signs[payload.status] ?? "■"} ${payload.status ?? ""}`, payload.duration_ms !== undefined ? " after " + duration(payload.duration_ms) : ""),
			payload.error?.code === "waiting" ? null : errorOf(key + "e", payload.error),
		];
	},

	call(shown, row, context, element, call) {
		const { record, payloads, chosen } = context, event = payloads.have(row.seq);
		shown.label = `Step ${nameOf(record, call)}`;
		shown.margin = callMargin(call);
		shown.parts = [callLine(record, call), event ? begun(keyOf(record, row.seq), event, row.n === chosen, context) : null,
			printed(element, row)];
	},

	// A command: a line, opened if it is the one that was chosen, or something is to be seen of it.
	work(shown, row, context, element, call) {
		const { record, payloads, chosen } = context, key = keyOf(record, row.seq);
		const first = payloads.have(row.seq), last = row.needs.length > 1 ? payloads.have(row.needs[1]) :
			first?.type.endsWith("completed") ? first : undefined;
		const state = record.told(call), result = last?.payload?.result;
		const parts = () => h("div", { class: "work-parts" }, [
			first && first !== last ? begun(key, first, row.n === chosen, context) : null,
			printed(element, row),
			last ? ended(key + "d", last, result === "" ? h("div", { class: "note" }, "no output") : output(key + "o", result)) : null,
		].flat(4).filter((part) => part instanceof Node));
		shown.label = `Step ${nameOf(record, call)}`;
		shown.margin = callMargin(call);
		if (row.n === chosen) {
			shown.parts = [callLine(record, call), parts()];
			return;
		}
		const words = last?.payload?.error?.message ?? (result === undefined || result === null || result === "" ?
			first?.payload?.blocks?.find((each) => each?.type === "command")?.command : result);
		shown.parts = [fold(key + "w", callLine(record, call, [" ", h("span", { class: "excerpt" }, line(typeof words === "string" ? bare(words) : words, 100))]), parts,
		    ["failed", "waiting", "running"].includes(state) && !(state === "waiting" && !call.code))];
	},

	prompt(shown, row, { record, payloads }) {
		const event = payloads.have(row.seq), payload = event.payload ?? {}, key = keyOf(record, row.seq);
		const blocks = payload.blocks ?? [];
		shown.copy = textOf(payload);
		const who = payload.told ? `told by ${payload.told.by ?? "somebody"}` : payload.compact ? "summary of what was said before" :
			payload.handoff ? `handed over from ${payload.handoff.from} to ${payload.handoff.to}` :
			payload.before_turn ? "program before the turn: " + payload.before_turn.name : blocks.length === 0 ? "changed for the turns that follow" : "prompt";
		shown.label = who;
		shown.margin = ["+" + duration(record.entries[row.seq - 1].at)];
		shown.parts = [
			h("div", { class: "who" }, h("span", { class: "sign", "aria-hidden": "true" }, "◆"), " ", who),
			folded(key + "sys", "system prompt", payload.system_prompt, 0),
			payload.tools?.length > 0 ? fold(key + "tools", [h("span", { class: "what" }, "tools"), " ",
				h("span", { class: "note" }, line(payload.tools.map((tool) => tool.name).join(", "), 90))], () => data(key + "toolsd", payload.tools)) : null,
			some(blocks, (each, i) => block(key + "b" + i, event.run_id, each)),
			payload.before_turn ? folded(key + "before", "output", payload.before_turn) : null,
			refs(key, event),
		];
	},

	answer(shown, row, context, element) {
		if (row.live)
			return writing(shown, row, element);
		const { record, payloads, changed } = context, event = payloads.have(row.seq), payload = event.payload ?? {}, key = keyOf(record, row.seq);
		const entry = record.entries[row.seq - 1], call = record.calls[row.n], note = messageNote(payload);
		shown.label = note ? "about the answer" : "Answer";
		shown.margin = [entry.took >= 1 ? duration(entry.took) : "+" + duration(entry.at), payload.usage && "output_tokens" in payload.usage ?
			`${count(payload.usage.input_tokens)} in, ${count(payload.usage.output_tokens)} out` : null, dollars(payload.usage?.cost_usd),
		payload.model && payload.model !== call?.model ? payload.model.split("/").at(-1) : null];
		if (note) {
			shown.parts = note;
			return;
		}
		shown.copy = textOf(payload);
		const used = { text: 0, thinking: 0 };
		// A tool that was called has a row of its own; what the model asked for and nobody called stands here.
		let called = row.uses;
		shown.parts = [
			payload.agent ? h("div", { class: "who" }, payload.agent) : null,
			payload.partial ? h("div", { class: "note" }, "cut off: no answer") : null,
			(payload.blocks ?? []).map((each, i) => {
				if (each?.type === "tool_use" && called-- > 0)
					return null;
				if (each?.type === "text") {
					const json = jsonOf(each.text ?? "");
					return json !== undefined ? data(key + "b" + i, json) :
						said(element, used.text++, key + "b" + i, each.text ?? "", () => changed(row));
				}
				if (each?.type === "thinking") {
					const thought = element.thoughts[used.thinking++] ??= new Thought(key + "b" + i);
					thought.update(each.thinking ?? "", false);
					return thought.element;
				}
				return block(key + "b" + i, event.run_id, each);
			}),
			refs(key, event),
			["max_tokens", "refusal", "other"].includes(payload.stop_reason) ? h("div", { class: "waits" }, "stopped: " + payload.stop_reason) : null,
		];
	},

	tool(shown, row, { record, payloads }, element, call) {
		const asked = payloads.have(row.seq), isAsked = asked?.type === "tool.call", input = isAsked ? asked.payload ?? {} : {};
		const answered = row.result ? payloads.have(row.result) : undefined, result = answered?.payload ?? {}, key = keyOf(record, row.seq);
		const entry = row.result ? record.entries[row.result - 1] : null, code = entry?.code ?? null;
		const name = input.name ?? result.name ?? record.entries[row.seq - 1].label.split(" ")[0];
		const failed = code !== null || result.exit_code > 0;
		const state = entry ? isHeld(code) ? `⊘ ${code}` : code !== null ? `✗ ${code}` : result.exit_code ? `✗ exit ${result.exit_code}` : "✓" :
			call && record.running(call) ? "▶ running" : "no result";
		shown.label = `Tool ${name}, ${state.replace("✓", "done").replace(/^[^\w]+ /, "")}`;
		shown.margin = [entry && entry.took >= 1 ? duration(entry.took) : "+" + duration(record.entries[row.seq - 1].at)];
		const lines = changedLines(result);
		shown.parts = [fold(key, [h("span", { class: "sign", "aria-hidden": "true" }, "⚙"), " ", h("code", { class: "tool-name" }, name), " ",
		    h("span", { class: "excerpt" }, shortInput(input.input)), " ", lines,
		    h("span", { class: isHeld(code) ? "tool-state held-state" : failed ? "tool-state bad" : "tool-state" }, state)],
		() => h("div", { class: "tool-parts" }, [
			[input.effects && input.effects !== "none" ? h("span", { class: "tag" }, input.effects) : null,
				input.sandbox ? h("span", { class: "tag" }, "sandbox " + input.sandbox) : null,
				input.fidelity === "agent_emitted" ? h("span", { class: "tag" }, "reported by the agent") : null],
			isAsked ? toolInput(key + "i", name, input.input) : null, isAsked ? refs(key + "r", asked) : null,
			input.warning ? h("div", { class: "note" }, "⚠ " + input.warning) : null,
			answered ? [contentParts(key + "p", answered, result.output) ?? output(key + "o", result.output), stderr(key + "s", result), changedFiles(result), refs(key + "a", answered)] : null,
		].flat(4).filter((part) => part instanceof Node))),
		// Why there is no result is seen without opening it.
		result.error && result.error.code !== "waiting" ? errorOf(key + "e", result.error) : null,
		printed(element, row)];
	},

	note(shown, row, { record, payloads }) {
		const event = payloads.have(row.seq), key = keyOf(record, row.seq), payload = event.payload;
		shown.label = event.type;
		shown.margin = ["+" + duration(record.entries[row.seq - 1].at)];
		shown.parts = [payload === undefined || payload === null ? h("div", { class: "note" }, event.type) :
			fold(key, [h("span", { class: "what" }, event.type), " ", h("span", { class: "note" }, line(payload.data ?? payload, 90))],
			    () => data(key + "d", payload)), refs(key, event)];
	},

	// An agent's result is what it said at last, which stands there.
	end(shown, row, { record, payloads, chosen }, element, call) {
		const event = payloads.have(row.seq), payload = event.payload ?? {}, key = keyOf(record, row.seq), state = record.told(call);
		const same = row.answer !== null && isSaid(event, payloads.have(row.answer));
		shown.label = `${nameOf(record, call)}: ${wordOf(state)}`;
		shown.parts = [h("div", { class: `call-line is-${state}` }, h("span", { class: "sign", "aria-hidden": "true" }, signs[state] ?? "·"), " ",
		    nameOf(record, call), " ", h("span", { class: "note" }, wordOf(state))),
		ended(key, event, same ? null : folded(key + "r", "result", payload.result, row.n === chosen && row.answer === null ? 1200 : 0)),
		rest(key, payload, ["name", "kind", "call", "skipped", "approval", "error", "result", "stderr", "stderr_bytes", "changed", "duration_ms",
			"retries", "no_newline", "agent", "exit_code", "usage", "mode"])];
	},
};

// What is being written of an answer.
function writing(shown, row, element) {
	const used = { text: 0, thinking: 0, other: 0 }, { parts, cut } = row.live, key = row.key + "/" + row.live.turn;
	shown.label = "Answer in progress";
	shown.margin = ["writing"];
	shown.parts = [parts.map(({ kind, text: value }) => {
		if (kind === "text") {
			const made = (element.proses[used.text++] ??= new Prose());
			made.update(value.length > PROSE_HUGE ? value.slice(-PROSE_HUGE) : value);
			return made.element;
		}
		if (kind === "thinking") {
			const thought = element.thoughts[used.thinking++] ??= new Thought(key + "t" + used.thinking);
			thought.update(value, true);
			return thought.element;
		}
		const printing = element.prints[used.other++] ??= new Printed();
		printing.update(value);
		return [h("div", { class: "note" }, "calls a tool"), printing.element];
	}), cut ? h("div", { class: "note" }, "continues, not shown") : null];
}

// What a tool or command prints.
function printed(element, { live }) {
	if (!live)
		return null;
	const printing = element.prints[0] ??= new Printed();
	printing.update(live.parts.at(-1).text);
	return printing.element;
}

// The arguments of a tool on one line: what says most.
function shortInput(input) {
	if (input === null || typeof input !== "object" || Array.isArray(input))
		return line(input, 100);
	const most = input.command ?? input.file_path ?? input.path ?? input.url ?? input.query ?? input.pattern;
	return typeof most === "string" ? line(most, 100) : Object.keys(input).length === 0 ? "" : line(input, 100);
}

// How many lines a tool has changed.
function changedLines({ changed }) {
	const sum = (name) => (Array.isArray(changed) ? changed : []).reduce((all, file) => all + (Number.isInteger(file?.[name]) ? file[name] : 0), 0);
	const added = sum("added"), removed = sum("removed");
	return added + removed === 0 ? [] : [h("span", { class: "lines" }, h("span", { class: "new" }, "+" + added), " ", h("span", { class: "gone" }, "−" + removed)), " "];
}
