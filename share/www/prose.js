// Markdown (markdown.js) as elements, and texts that grow: what stands there already stays as it is, with
// what is selected in it. A link leads by http, https or mailto alone, and says where; nothing of a text
// is loaded, pictures neither.
import { h } from "/www/dom.js";
import { parse, safeAddress } from "/www/markdown.js";
import { visible } from "/www/visible.js";

const ROWS = 500;                     // of a table
const ADDRESS_SHOWN = 200;            // characters

// Appends parts one by one: they may be more than a function takes arguments.
function fill(element, parts) {
	for (const part of parts)
		element.append(typeof part === "string" ? visible(part) : part);
	return element;
}

const cut = (text) => text.length > ADDRESS_SHOWN ? text.slice(0, ADDRESS_SHOWN) + "…" : text;

// Where an address leads, for who reads; "" if its text says so.
function leadsTo(href, text) {
	if (text.trim() === href || "mailto:" + text.trim() === href)
		return "";
	try {
		const url = new URL(href);
		return url.protocol === "mailto:" ? url.pathname : url.host;
	} catch {
		return href;
	}
}

const plainText = (parts) => parts.map((part) => typeof part === "string" ? part : part.c ? plainText(part.c) : part.text ?? " ").join("");

function linkElement(part) {
	const href = safeAddress(part.href), inside = part.c.map(inlineElement);
	if (href === null)
		return fill(h("span", { class: "no-link" }), [...inside, " ", h("code", { class: "address" }, `(${cut(part.href)})`)]);
	const link = h("a", { href, rel: "noopener noreferrer", target: "_blank", title: part.title ? `${href}\n${part.title}` : href });
	const to = leadsTo(href, plainText(part.c));
	fill(link, part.c.length > 0 ? inside : [cut(href)]);
	return to === "" || part.c.length === 0 ? link : fill(h("span"), [link, " ", h("span", { class: "address" }, `(${cut(to)})`)]);
}

function inlineElement(part) {
	if (typeof part === "string")
		return part;
	switch (part.t) {
	case "br":
		return h("br");
	case "code":
		return h("code", null, part.text);
	case "link":
		return linkElement(part);
	case "image":
		return h("span", { class: "picture", title: part.title || null }, "▧ ", plainText(part.c) || "picture", " ",
		    h("code", { class: "address" }, `(${cut(part.href)})`));
	}
	return fill(h(part.t), part.c.map(inlineElement));
}

// A change, line by line, as diffs have it.
const changed = (text) => text.replace(/\n$/, "").split("\n").map((line) =>
	h("span", { class: /^\+(?!\+\+)/.test(line) ? "new" : /^-(?!--)/.test(line) ? "gone" : "" }, line + "\n"));

function codeElement(block) {
	const word = block.info.split(/\s/, 1)[0];
	const code = h("code");
	if (word === "diff" || word === "patch")
		fill(code, changed(block.text));
	else
		fill(code, [block.text.replace(/\n$/, "")]);
	return h("div", { class: "code-block" }, word ? h("div", { class: "language" }, cut(word)) : null, fill(h("pre"), [code]));
}

function listElement(block) {
	const list = h(block.start === null ? "ul" : "ol", { class: block.tight ? "tight" : null,
		start: block.start !== null && block.start !== 1 ? block.start : null });
	for (const item of block.c) {
		const element = h("li", { class: item.task === null ? null : "task" });
		if (item.task !== null)
			element.append(h("span", { class: "sign", "aria-hidden": "true" }, item.task ? "☑" : "☐"),
			    h("span", { class: "unseen" }, item.task ? "done: " : "to do: "));
		for (const each of item.c)
			if (each.t === "p" && block.tight)
				fill(element, each.c.map(inlineElement));
			else
				element.append(blockElement(each, null));
		list.append(element);
	}
	return list;
}

function tableElement({ align, head, rows }) {
	const row = (cells, name) => fill(h("tr"), align.map((where, i) =>
		fill(h(name, { class: where || null, scope: name === "th" ? "col" : null }), (cells[i]?.c ?? []).map(inlineElement))));
	const body = fill(h("tbody"), rows.slice(0, ROWS).map((cells) => row(cells, "td")));
	return h("div", { class: "table", tabIndex: 0, role: "group", "aria-label": "Table" },
	    h("table", null, h("thead", null, row(head, "th")), body),
	    rows.length > ROWS ? h("p", { class: "note" }, `… ${rows.length - ROWS} rows more`) : null);
}

// level: those of the headings before.
function blockElement(block, level) {
	switch (block.t) {
	case "heading":
		// One in a list or a quote is none of the text's.
		if (level === null)
			return fill(h("p", { class: "heading level" + block.level }), block.c.map(inlineElement));
		return fill(h("h" + level.of(block.level), { class: "level" + block.level }), block.c.map(inlineElement));
	case "rule":
		return h("hr");
	case "code":
		return codeElement(block);
	case "quote":
		return fill(h("blockquote"), block.c.map((each) => blockElement(each, null)));
	case "list":
		return listElement(block);
	case "table":
		return tableElement(block);
	}
	return fill(h("p"), block.c.map(inlineElement));
}

// Headings below those of the page, none of which is left out, however a text begins: 3, 4, 5, 6.
class Levels {
	#stack = [];

	of(level) {
		while (this.#stack.length > 0 && this.#stack.at(-1) >= level)
			this.#stack.pop();
		this.#stack.push(level);
		return Math.min(6, 2 + this.#stack.length);
	}
}

/* ---- a text that grows ---- */

const attributes = (element) => [...element.attributes].map(({ name, value }) => `${name}=${value}`).join("\n");

// Makes an element what another is. Texts that grow are added to.
function become(old, now) {
	if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName || (old.nodeType === 1 && attributes(old) !== attributes(now))) {
		old.replaceWith(now);
		return;
	}
	if (old.nodeType !== 1) {
		if (now.data !== old.data && now.data.startsWith(old.data))
			old.appendData(now.data.slice(old.data.length));
		else if (now.data !== old.data)
			old.data = now.data;
		return;
	}
	const parts = [...now.childNodes];
	while (old.childNodes.length > parts.length)
		old.lastChild.remove();
	parts.forEach((part, i) => {
		if (i < old.childNodes.length)
			become(old.childNodes[i], part);
		else
			old.append(part);
	});
}

const definitions = (blocks) => JSON.stringify([...blocks.refs]);

export class Prose {
	#text = null;
	#sources = [];                      // of each block
	#refs = "";

	constructor() {
		this.element = h("div", { class: "prose" });
	}

	// Shows this text. Blocks that have not changed are not touched.
	update(text) {
		if (text === this.#text)
			return;
		const { element } = this, levels = new Levels();
		let blocks;
		try {
			blocks = parse(text);
		} catch {
			// Nothing is known that leads here; what is written is shown all the same.
			blocks = Object.assign([{ t: "p", c: [text], from: 0, until: text.length }], { refs: new Map() });
		}
		const refs = definitions(blocks);
		if (refs !== this.#refs)
			this.#sources = [];
		const sources = blocks.map(({ from, until, t }) => t + text.slice(from, until).trimEnd());
		let same = 0;
		while (same < sources.length && sources[same] === this.#sources[same]) {
			if (blocks[same].t === "heading")
				levels.of(blocks[same].level);
			same++;
		}
		// All of the old ones behind that may be in another place now.
		for (let i = same; i < blocks.length; i++) {
			const now = blockElement(blocks[i], levels), old = element.childNodes[i];
			if (old)
				become(old, now);
			else
				element.append(now);
		}
		while (element.childNodes.length > blocks.length)
			element.lastChild.remove();
		this.#text = text;
		this.#sources = sources;
		this.#refs = refs;
	}
}

export function prose(text) {
	const made = new Prose();
	made.update(text);
	return made.element;
}
