// One event as a row of the conversation: a line that is there at once, and what the event holds,
// once it is fetched.
import { block, changedFiles, contentParts, data, errorOf, fold, folded, refs, some, stderr, toolInput, usage } from "/www/blocks.js";
import { h } from "/www/dom.js";
import { bytes, duration, line } from "/www/format.js";

const kinds = {
	__proto__: null,
	"run.started": ["run", "▶", "attempt"], "run.completed": ["run", "■", "end of attempt"],
	"step.started": ["step", "▸", "step begins"], "step.completed": ["step", "▪", "step ends"],
	"step.call_workflow.started": ["step", "▸", "child run begins"],
	"step.call_workflow.completed": ["step", "▪", "child run ends"],
	"message.user": ["user", "◆", "to the model"], "message.assistant": ["model", "◇", "model"],
	"tool.call": ["tool", "⚙", "tool call"], "tool.result": ["tool", "↩", "tool result"],
};

export const kindOf = (type) => kinds[type] ?? ["other", "·", type];

// Whether the entry of an event is one with an error; that a call waits is none.
export const isError = ({ code }) => Boolean(code) && code !== "waiting";

// How high a row will be, before it was there once.
export function guess({ type, size }) {
	const own = Math.max(0, size - 800);
	if (type.startsWith("step."))
		return 40 + Math.min(120, own / 20);
	return type.startsWith("run.") ? 70 : 60 + Math.min(320, own / 6);
}

// entry: what the record says; event: the event, or undefined while it is not here; where: the
// name of its call, if other calls are shown, too.
export function eventRow(seq, entry, event, where, about) {
	const [kind, sign, word] = kindOf(entry.type);
	const code = entry.code, held = ["blocked", "denied", "refused"].includes(code);
	const state = !code ? "" : held ? " is-held" : code === "waiting" ? " is-waiting" : " is-error";
	const row = h("article", {
		class: `event ${kind}${state}`, tabIndex: -1,
		"aria-labelledby": "e" + seq, data: { seq },
	});
	const head = h("header", { id: "e" + seq },
	    h("a", { class: "seq", href: "#" + seq, "aria-label": `Event ${seq}` }, "#" + seq),
	    h("span", { class: "sign", "aria-hidden": "true" }, sign),
	    h("span", { class: "word" }, word),
	    where ? h("span", { class: "where" }, where) : null,
	    h("span", { class: "time" }, about(entry)));
	row.append(head);
	if (event === undefined) {
		row.append(h("div", { class: "label" }, entry.label));
		row.classList.add("empty");
		return row;
	}
	const key = `${event.run_id}/${seq}/`;
	row.append(...parts(key, event).flat(3).filter((part) => part instanceof Node));
	return row;
}

// What other programs have written may have any shape: what is not as it should be is shown as the
// data that it is.
function parts(key, event) {
	try {
		return [...content(key, event, event.payload ?? {}), ...refs(key, event)];
	} catch {
		return [data(key, event.payload)];
	}
}

// In place of one that is large.
export function largeRow(row, entry, load) {
	row.append(h("button", { type: "button", class: "more", onclick: load }, `Load ${bytes(entry.size)}`));
	return row;
}

function content(key, event, payload) {
	switch (event.type) {
	case "run.started":
		return [
			h("div", { class: "text code command" }, (payload.argv ?? [payload.name ?? ""]).join(" ")),
			folded(key + "i", "inputs", Object.keys(payload.inputs ?? {}).length > 0 ? payload.inputs : null),
			rest(key, payload, ["name", "argv", "inputs"]),
		];
	case "run.completed":
		return [
			h("div", { class: payload.status === "success" ? "outcome good" : "outcome" },
			    payload.status ?? "", payload.duration_ms !== undefined ? " after " + duration(payload.duration_ms) : ""),
			errorOf(key + "e", payload.error), rest(key, payload, ["status", "error", "duration_ms"]),
		];
	case "step.started": case "step.call_workflow.started":
		return stepStarted(key, event, payload);
	case "step.completed": case "step.call_workflow.completed":
		return stepCompleted(key, event, payload);
	case "message.user": case "message.assistant":
		return message(key, event, payload);
	case "tool.call":
		return [
			h("div", { class: "tool-name" }, payload.name ?? "", " ",
			    payload.effects && payload.effects !== "none" ? h("span", { class: "tag" }, payload.effects) : null,
			    payload.sandbox ? h("span", { class: "tag" }, "sandbox " + payload.sandbox) : null,
			    payload.fidelity === "agent_emitted" ? h("span", { class: "tag" }, "reported by the agent") : null),
			toolInput(key + "i", payload.name, payload.input),
			payload.warning ? h("div", { class: "note" }, "⚠ " + payload.warning) : null,
		];
	case "tool.result":
		return [
			h("div", { class: "tool-name" }, payload.name ?? "", " ",
			    payload.exit_code ? h("span", { class: "tag bad" }, "exit " + payload.exit_code) : null),
			errorOf(key + "e", payload.error), contentParts(key + "p", event, payload.output) ?? output(key + "o", payload.output),
			stderr(key + "s", payload), changedFiles(payload),
		];
	}
	return [event.payload ? data(key, payload) : null];
}

// A short result stands there, a long one is to be opened.
export function output(key, value, most = 1200) {
	if (value === undefined || value === null)
		return null;
	const size = typeof value === "string" ? value.length : JSON.stringify(value).length;
	return size <= most ? data(key, value, "output") :
		fold(key, [h("span", { class: "what" }, "output"), " ", h("span", { class: "note" },
		    `${bytes(size)}: ${line(value, 90)}`)], () => data(key + "d", value, "output"));
}

// What else an event says, for who wants to know.
export function rest(key, payload, without) {
	const more = Object.entries(payload).filter(([name]) => !without.includes(name));
	return more.length === 0 ? null : fold(key + "rest", h("span", { class: "note rest" }, "more: ",
		line(more.map(([name]) => name).join(", "), 80)),
		() => data(key + "restd", Object.fromEntries(more)));
}

function stepStarted(key, event, payload) {
	const command = payload.blocks?.filter((each) => each.type === "command") ?? [];
	return [
		some(command, (each, i) => each.command?.length > 200 ?
			fold(key + "c" + i, [h("span", { class: "what" }, "command"), " ",
				h("span", { class: "note" }, line(each.command, 90))], () => block(key + "cc" + i, event.run_id, each)) :
			block(key + "c" + i, event.run_id, each)),
		payload.agent ? h("div", { class: "note" },
		    [payload.agent, payload.provider, payload.model].filter(Boolean).join(" · ")) : null,
		event.child_run_id ? h("a", { href: "/runs/" + encodeURIComponent(event.child_run_id) }, "Child run " + event.child_run_id.slice(0, 8)) : null,
		folded(key + "i", "input", payload.input, 200),
		rest(key, payload, ["name", "kind", "call", "attempt", "blocks", "input", "agent", "provider", "model"]),
	];
}

function stepCompleted(key, event, payload) {
	const approval = payload.approval;
	return [
		payload.skipped ? h("div", { class: "note" }, "skipped: " + payload.skipped) : null,
		approval?.decision ? h("div", { class: approval.decision === "denied" ? "held" : "decision" },
		    `${approval.decision} by ${approval.by ?? "?"}${approval.reason ? ": " + approval.reason : ""}`) : null,
		payload.error?.code === "waiting" ? h("div", { class: "waits" }, "‖ waits for " + (approval?.asks ?? "somebody")) :
			errorOf(key + "e", payload.error),
		folded(key + "r", "result", payload.result), stderr(key + "s", payload), changedFiles(payload),
		payload.retries?.length > 0 ? h("div", { class: "note" }, `${payload.retries.length} ${payload.retries.length === 1 ? "try" : "tries"} failed before`) : null,
		rest(key, payload, ["name", "kind", "call", "skipped", "approval", "error", "result", "stderr",
			"stderr_bytes", "changed", "duration_ms", "retries", "no_newline",
			payload.exit_code ? "" : "exit_code"]),
	];
}

// What an event of a message says that is none: of a try that failed, of waiting; null: it is a message.
export function messageNote(payload) {
	if (payload.retry)
		return [h("div", { class: "error" }, `↻ ${payload.retry.code ?? ""}: ${payload.retry.message ?? ""}`,
		    h("span", { class: "note" }, ` try ${payload.retry.try ?? "?"} of ${payload.retry.of ?? "?"} in ${duration(payload.delay_ms ?? 0)}`))];
	if (payload.wait?.reason)
		return [h("div", { class: "waits" }, `… waiting for ${payload.wait.provider ?? "?"}: ${payload.wait.reason}`,
		    h("span", { class: "note" }, payload.delay_ms > 0 ? ` next try in ${duration(payload.delay_ms)}` : ""))];
	if (payload.wait)
		return [h("div", { class: "note" }, `asks ${payload.wait.provider ?? "?"} after ${duration(payload.duration_ms ?? 0)}`)];
	return null;
}

function message(key, event, payload) {
	const note = messageNote(payload);
	if (note)
		return note;
	const blocks = payload.blocks ?? [];
	return [
		folded(key + "sys", "system prompt", payload.system_prompt, 0),
		payload.tools?.length > 0 ? fold(key + "tools", [h("span", { class: "what" }, "tools"), " ",
			h("span", { class: "note" }, line(payload.tools.map((tool) => tool.name).join(", "), 90))],
			() => data(key + "toolsd", payload.tools)) : null,
		payload.partial ? h("div", { class: "note" }, "cut off: no answer") : null,
		payload.handoff ? h("div", { class: "note" }, `handed over from ${payload.handoff.from} to ${payload.handoff.to}`) : null,
		some(blocks, (each, i) => block(key + "b" + i, event.run_id, each)),
		event.type === "message.assistant" ? h("footer", { class: "note" }, usage(payload),
		    ["max_tokens", "refusal", "other"].includes(payload.stop_reason) ? " · " + payload.stop_reason : "") : null,
	];
}
