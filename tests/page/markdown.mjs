// Reads texts as the page does (share/www/markdown.js), without a document. markdown.mjs forms: what each of the
// known forms is. markdown.mjs hostile: that hostile texts take little time, and make no deep tree.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { forms, hostile } from "./markdown-cases.mjs";

const source = readFileSync(new URL("../../share/www/markdown.js", import.meta.url));
const { parse, safeAddress } = await import("data:text/javascript;base64," + source.toString("base64"));

const MOST_MS = 2000;                 // of the processor for one text; read badly, one takes minutes
const DEEPEST = 80;                   // of the whole tree: blocks, and inline parts in them

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const title = (part) => part.title ? ` title="${part.title}"` : "";

function inline(part) {
	if (typeof part === "string")
		return escaped(part);
	const inside = part.c?.map(inline).join("");
	switch (part.t) {
	case "br": return "<br>";
	case "code": return `<code>${escaped(part.text)}</code>`;
	case "link": return `<a href="${escaped(part.href)}"${title(part)}>${inside}</a>`;
	case "image": return `<img "${part.href}">${inside}</img>`;
	}
	return `<${part.t}>${inside}</${part.t}>`;
}

function block(each) {
	const inside = () => each.c.map(inline).join(""), blocks = () => each.c.map(block).join("");
	switch (each.t) {
	case "p": return `<p>${inside()}</p>`;
	case "heading": return `<h${each.level}>${inside()}</h${each.level}>`;
	case "rule": return "<hr>";
	case "code": return `<pre${each.info ? " " + each.info : ""}>${escaped(each.text)}</pre>`;
	case "quote": return `<blockquote>${blocks()}</blockquote>`;
	case "list": {
		const name = each.start === null ? "ul" : "ol";
		return `<${name}${each.start !== null && each.start !== 1 ? " start=" + each.start : ""}>${each.c.map((item) =>
			`<li>${item.task === null ? "" : item.task ? "[x]" : "[ ]"}${item.c.map((one) => one.t === "p" && each.tight ? one.c.map(inline).join("") : block(one)).join("")}</li>`).join("")}</${name}>`;
	}
	case "table": {
		const row = (cells, name) => cells.map((cell, i) => `<${name}${name === "th" && each.align[i] ? " " + each.align[i] : ""}>${cell.c.map(inline).join("")}`).join("");
		return `<table>${row(each.head, "th")}${each.rows.map((cells) => "<tr>" + row(cells, "td")).join("")}</table>`;
	}
	}
	throw new Error("a block of no kind: " + each.t);
}

function depth(part) {
	if (typeof part !== "object" || part === null)
		return 0;
	const inside = [part.c, part.head, ...(part.rows ?? [])].filter(Boolean).flat(1);
	return 1 + inside.reduce((deepest, each) => Math.max(deepest, depth(each)), 0);
}

function readForms() {
	let wrong = 0;
	for (const [text, expected] of forms) {
		const made = parse(text).map(block).join("");
		if (made !== expected) {
			console.error(`${JSON.stringify(text)}\n  is       ${JSON.stringify(made)}\n  expected ${JSON.stringify(expected)}`);
			wrong++;
		}
	}
	assert.equal(wrong, 0, "forms");

	// Blocks lie behind each other, and a text that comes bit by bit is read at each length.
	const all = forms.map(([text]) => text).join("\n\n");
	for (let length = 0; length < all.length; length += 7) {
		const blocks = parse(all.slice(0, length));
		blocks.forEach(({ from, until }, i) => assert.ok(from < until && until === (blocks[i + 1]?.from ?? length), `block ${i} of ${length} characters`));
	}
}

function readHostile() {
	assert.ok(hostile.length >= 200, `only ${hostile.length} hostile texts`);
	for (const [name, text] of hostile) {
		const before = process.cpuUsage(), blocks = parse(text), took = process.cpuUsage(before).user / 1000;
		assert.ok(took < MOST_MS, `${name}: ${took.toFixed(0)} ms`);
		assert.ok(blocks.reduce((deepest, each) => Math.max(deepest, depth(each)), 0) <= DEEPEST, `${name}: deep`);
	}
}

function readAddresses() {
	for (const address of ["javascript:x", "data:x", "vbscript:x", " https://a", "https://a\nb", "https:a", "//a", "", "https://", "http://a\u0000", "JAVASCRIPT://https://a"])
		assert.equal(safeAddress(address), null, address);
	for (const address of ["https://a", "HTTP://a", "mailto:a@b"])
		assert.equal(safeAddress(address), address);
}

if (process.argv[2] === "hostile") {
	readHostile();
} else {
	readForms();
	readAddresses();
}
