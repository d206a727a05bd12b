// What an event holds, as elements: texts, data, tool calls, images. What is long is cut until it
// is asked for; what was asked for stays so while the page does, though its row may go and come.
import { plain } from "/www/ansi.js";
import { request, runPath } from "/www/api.js";
import { showDiff } from "/www/diff.js";
import { h } from "/www/dom.js";
import { bytes, count, duration, line } from "/www/format.js";
import { parse } from "/www/json.js";
import { visible } from "/www/visible.js";

const LONG = 3000;                    // characters that are shown at once
const HUGE = 400_000;                 // and at all
const PARTS = 100;                    // of a list, at once
const IMAGES_KEPT = 30;
const images = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const opened = new Set();               // keys of those that are not as they begin
let all = null;                         // whether all are open, or folded; null: each as it is

export const forgetOpened = () => opened.clear();

// Opens all, or folds all, from here on; null: each as it is.
export function openAll(on) {
	all = on;
	opened.clear();
}

// Something to open.
export function fold(key, summary, content, usual = false) {
	const isOpen = all ?? usual;
	const details = h("details", { open: isOpen !== opened.has(key) }, h("summary", null, summary));
	const fill = () => {
		if (details.open && details.children.length === 1)
			details.append(content());
	};
	details.addEventListener("toggle", () => {
		if (details.open === isOpen)
			opened.delete(key);
		else
			opened.add(key);
		fill();
	});
	fill();
	return details;
}

// The parts of a list: the first ones, and behind them a button for more. An array of elements.
export function some(list, make) {
	const made = (from, until) => list.slice(from, until).map((each, i) => make(each, from + i)).flat()
		.filter((part) => part instanceof Node);
	const more = (from) => from >= list.length ? [] : [h("button", {
		type: "button", class: "more",
		onclick: ({ currentTarget }) => currentTarget.replaceWith(...made(from, from + PARTS), ...more(from + PARTS)),
	}, `Show more of ${count(list.length)}`)];
	return [...made(0, PARTS), ...more(PARTS)];
}

// A text, with its beginning alone if it is long.
export function text(key, value, name = "") {
	const element = h("div", { class: "text " + name }), all = key + " all";
	const show = (whole) => {
		element.replaceChildren(...plain(value.slice(0, whole ? HUGE : LONG)), value.length > LONG && !whole ? "…" : "");
		if (value.length > HUGE && whole)
			element.append(h("p", { class: "note" }, `… ${count(value.length - HUGE)} characters more`));
		if (value.length > LONG && !whole)
			element.append(h("button", {
				type: "button", class: "more",
				onclick: () => {
					opened.add(all);
					show(true);
				},
			}, `Show all ${count(value.length)} characters`));
	};
	show(opened.has(all));
	return element;
}

// Any value: a text as it is, else JSON.
export function data(key, value, name = "") {
	if (typeof value === "string")
		return text(key, value, "code " + name);
	return text(key, JSON.stringify(value, null, 2), "code " + name);
}

// Data that is short stands there, else it is to be opened.
export function folded(key, what, value, most = 400) {
	if (value === undefined || value === null)
		return null;
	if (value === "")
		return h("div", { class: "part" }, h("span", { class: "what" }, what), h("span", { class: "note" }, "empty"));
	const size = typeof value === "string" ? value.length : JSON.stringify(value).length;
	if (size <= most)
		return h("div", { class: "part" }, h("span", { class: "what" }, what), data(key, value));
	return fold(key, [h("span", { class: "what" }, what), " ", h("span", { class: "note" }, line(value, 90))],
	    () => data(key, value));
}

export function errorOf(key, error) {
	if (!error)
		return null;
	const held = ["blocked", "denied", "refused"].includes(error.code);
	return h("div", { class: held ? "held" : "error" }, h("strong", null, `${held ? "⊘" : "✗"} ${error.code}`), " ",
	    text(key, String(error.message ?? "")));
}

// What was on standard error, open if the call, or its program, failed.
export const stderr = (key, payload) => payload.stderr ?
	fold(key, [h("span", { class: "what" }, "stderr"), " ", h("span", { class: "note" }, line(payload.stderr, 90))],
	    () => data(key, payload.stderr), Boolean(payload.error || payload.exit_code)) : null;

/* ---- blobs ---- */

const urls = new Map();               // digest and type → object URL, the latest used last

async function urlOf(runId, sha256, type) {
	const key = sha256 + type;
	let url = urls.get(key);
	if (!url) {
		const answer = await request(`${runPath(runId)}/blobs/${sha256}`);
		url = URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type }));
	}
	urls.delete(key);
	urls.set(key, url);
	if (urls.size > IMAGES_KEPT) {
		const [oldest, its] = urls.entries().next().value;
		urls.delete(oldest);
		URL.revokeObjectURL(its);
	}
	return url;
}

function download(runId, sha256, name) {
	return h("button", {
		type: "button", class: "more",
		onclick: async (event) => {
			const button = event.currentTarget;
			try {
				const url = await urlOf(runId, sha256, "application/octet-stream");
				h("a", { href: url, download: name }).click();
			} catch (error) {
				button.after(h("span", { class: "note" }, " " + error.message));
			}
		},
	}, "Download " + name);
}

function attachment(runId, block) {
	const name = block.name ?? block.media_type ?? "attachment";
	const about = h("p", { class: "note" }, `${name}, ${block.media_type ?? ""} ${bytes(block.bytes ?? 0)} `);
	const figure = h("figure", null, about);
	if (!block.sha256)
		return figure;
	if (!images.includes(block.media_type)) {
		about.append(download(runId, block.sha256, name));
		return figure;
	}
	const image = h("img", { alt: name });
	urlOf(runId, block.sha256, block.media_type).then((url) => {
		image.src = url;
		figure.prepend(image);
	}, (error) => about.append(visible(error.message)));
	return figure;
}

// What of an event lies in blobs: its texts are fetched when they are asked for.
export function refs(key, event) {
	return (event.refs ?? []).filter(({ at }) => !at.endsWith("/data")).map((ref) =>
		fold(key + ref.at, [h("span", { class: "what" }, ref.at.replace(/^\/payload\//, "")), " ",
			h("span", { class: "note" }, bytes(ref.bytes))], () => {
			const element = h("div", { class: "note" }, "…");
			request(`${runPath(event.run_id)}/blobs/${ref.sha256}`).then((answer) => answer.text())
				.then((body) => element.replaceChildren(
				    text(key + ref.at + "!", ref.encoding === "json" ? parse(body) : body, "code")))
				.catch((error) => element.replaceChildren(visible(error.message)));
			return element;
		}));
}

/* ---- tools ---- */

// A change of a file is shown as one; other arguments as data.
export function toolInput(key, name, input) {
	const path = input?.file_path ?? input?.path;
	const old = input?.old_string ?? input?.old_str ?? input?.old_text;
	const now = input?.new_string ?? input?.new_str ?? input?.new_text;
	if (typeof old === "string" && typeof now === "string")
		return [h("div", { class: "path" }, path ?? ""), showDiff(old, now)];
	if (Array.isArray(input?.edits) && input.edits.every((e) => typeof e?.old_string === "string"))
		return [h("div", { class: "path" }, path ?? ""),
			...some(input.edits, (e) => showDiff(e.old_string, String(e.new_string ?? "")))];
	if (typeof path === "string" && typeof input.content === "string")
		return [h("div", { class: "path" }, path), showDiff("", input.content, 40),
			fold(key + "content", "content", () => data(key + "all", input.content))];
	if (typeof input?.command === "string")
		return [h("div", { class: "text code command" }, input.command),
			...some(Object.entries(input).filter(([k]) => k !== "command"),
				([k, value]) => folded(key + k, k, value))];
	if (input && typeof input === "object" && !Array.isArray(input))
		return some(Object.entries(input), ([k, value]) => folded(key + k, k, value));
	return [input === undefined || input === null ? null : data(key, input)];
}

// The parts of a tool's result that is texts and files (awf-tool(5)): pictures are shown; null: it is something else.
export function contentParts(key, event, value) {
	if (!Array.isArray(value) || value.length === 0 || !value.every((each) => ["text", "image", "audio"].includes(each?.type)))
		return null;
	return some(value, (each, i) => {
		if (each.type === "text")
			return text(key + i, String(each.text ?? ""), "code output");
		const ref = event.refs?.find(({ at }) => at === `/payload/output/${i}/data`);
		return attachment(event.run_id, { media_type: each.mimeType ?? each.media_type, name: each.name ?? each.type, sha256: ref?.sha256, bytes: ref?.bytes });
	});
}

export function changedFiles(payload) {
	if (!payload.changed?.length)
		return null;
	return h("ul", { class: "changed" }, payload.changed.slice(0, 50).map((file) => h("li", null,
	    h("span", { class: "path" }, file.path), " ",
	    file.change ? file.change + " " : "",
	    file.added ? h("span", { class: "new" }, "+" + file.added) : null, " ",
	    file.removed ? h("span", { class: "gone" }, "−" + file.removed) : null)),
	    payload.changed.length > 50 ? h("li", null, `${payload.changed.length - 50} more`) : null);
}

/* ---- messages ---- */

export function block(key, runId, each) {
	switch (each?.type) {
	case "text":
		return text(key, each.text ?? "", "said");
	case "stream":
		return text(key, each.text ?? "", "code");
	case "thinking":
		return fold(key, [h("span", { class: "what" }, "thinking"), " ",
			h("span", { class: "note" }, line(each.thinking, 90))], () => text(key + "t", each.thinking ?? "", "thinking"));
	case "tool_use":
		return h("div", { class: "use note" }, "→ ", h("code", null, each.tool_name ?? ""), " ", line(each.tool_input, 100));
	case "tool_result":
		return folded(key, each.is_error ? "result (error)" : "result", each.tool_content);
	case "command":
		return h("div", { class: "text code command" }, each.command ?? "");
	case "image": case "document":
		return attachment(runId, each);
	}
	return data(key, each ?? null);
}

export const usage = (payload) => [
	payload.model ? payload.model.split("/").at(-1) : null,
	payload.usage && "output_tokens" in payload.usage ? `${count(payload.usage.input_tokens)} in, ${count(payload.usage.output_tokens)} out` : null,
	payload.duration_ms ? duration(payload.duration_ms) : null,
].filter(Boolean).join(" · ");
