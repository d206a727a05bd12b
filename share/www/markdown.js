// Reads Markdown into a tree: CommonMark's headings, paragraphs, emphasis, code, lists, quotes, rules,
// links and line breaks, with tables, task lists, strikethrough and bare addresses as GitHub has them.
// HTML is text. There is no document here: prose.js makes elements of the tree.
//
// Whatever the text is, the time is in proportion to its length, and the tree is not deep: what lies
// deeper than DEPTH is text. Any string is Markdown: nothing here throws.
//
// A block: { t: "p" | "heading" | "rule" | "code" | "quote" | "list" | "table", from, until }, of the text
// from one place to another if it lies in no other block. Inline parts are strings, or
// { t: "em" | "strong" | "del" | "link" | "image" | "code" | "br" }; c: what is inside.
const DEPTH = 24;                     // of blocks in blocks, and of inline parts in each other
const COLUMNS = 100;                  // of a table: a wider one is text
const LABEL = 999, TITLE = 1000;      // characters
const PUNCTUATION = /[!-/:-@[-`{-~]/;

/* ---- lines ---- */

// A line that is read from its beginning, by columns: a tab reaches to the next fourth one.
class Line {
	#at = 0;
	#column = 0;
	#pad = 0;                           // columns of a tab that are left
	#found = null;

	constructor(text) { this.text = text; }

	// Where the first character is that is no space, and how many columns before it.
	get #next() {
		if (this.#found)
			return this.#found;
		let at = this.#at, column = this.#column;
		for (; at < this.text.length; at++)
			if (this.text[at] === " ")
				column++;
			else if (this.text[at] === "\t")
				column += 4 - column % 4;
			else
				break;
		this.#found = { at, indent: column - this.#column + this.#pad };
		return this.#found;
	}

	get indent() { return this.#next.indent; }
	get isBlank() { return this.#next.at >= this.text.length; }
	// What stands behind the spaces, and all that is left.
	get content() { return this.text.slice(this.#next.at); }
	get rest() { return " ".repeat(this.#pad) + this.text.slice(this.#at); }

	// Passes so many columns of spaces; false if there are fewer.
	skip(columns) {
		const passed = Math.min(columns, this.#pad);
		this.#found = null;
		this.#pad -= passed;
		for (columns -= passed; columns > 0 && this.#at < this.text.length; this.#at++) {
			const one = this.text[this.#at];
			if (one !== " " && one !== "\t")
				return false;
			const wide = one === " " ? 1 : 4 - this.#column % 4;
			this.#column += wide;
			this.#pad = Math.max(0, wide - columns);
			columns -= wide;
		}
		return columns <= 0;
	}

	// Passes the spaces and so many characters behind them.
	pass(characters) {
		const { at, indent } = this.#next;
		this.#column += indent - this.#pad + characters;
		this.#pad = 0;
		this.#at = at + characters;
		this.#found = null;
	}
}

// Without what stands at its end of these characters. A pattern would look for them in all of the text.
function trimmed(text, characters) {
	let end = text.length;
	while (end > 0 && characters.includes(text[end - 1]))
		end--;
	return text.slice(0, end);
}

function isRule(text) {
	const sign = text[0];
	let many = 0;
	if (sign !== "*" && sign !== "-" && sign !== "_")
		return false;
	for (const one of text)
		if (one === sign)
			many++;
		else if (one !== " " && one !== "\t")
			return false;
	return many >= 3;
}

// The marker of an item: { sign, start, wide }; null: there is none.
function marker(text) {
	const found = /^(?:([-+*])|(\d{1,9})([.)]))(?=[ \t]|$)/.exec(text);
	return found && { sign: found[1] ?? found[3], start: found[2] === undefined ? null : Number(found[2]), wide: found[0].length };
}

// The cells of a row of a table, as texts.
function cells(row) {
	const out = [];
	let text = row.trim(), from = 0;
	if (text.startsWith("|"))
		text = text.slice(1);
	if (text.endsWith("|") && !text.endsWith("\\|"))
		text = text.slice(0, -1);
	for (let at = 0; at <= text.length; at++)
		if (text[at] === "\\")
			at++;
		else if (at === text.length || text[at] === "|") {
			out.push(text.slice(from, at).trim().replaceAll("\\|", "|"));
			from = at + 1;
		}
	if (out.length === 0 || from < text.length)
		out.push(text.slice(from).trim().replaceAll("\\|", "|"));
	return out;
}

// The alignments of the columns of a table, from the row below its head; null: it is none.
function alignments(text) {
	if (!/^[-|: \t]+$/.test(text) || !text.includes("|") || !text.includes("-"))
		return null;
	const all = cells(text);
	if (all.length > COLUMNS || !all.every((cell) => /^:?-+:?$/.test(cell)))
		return null;
	return all.map((cell) => cell.endsWith(":") ? cell.startsWith(":") ? "center" : "right" : cell.startsWith(":") ? "left" : "");
}

/* ---- blocks ---- */

const labelOf = (text) => text.trim().replace(/\s+/g, " ").toLowerCase();
const LABEL_OF_DEFINITION = new RegExp(`\\[((?:[^\\[\\]\\\\]|\\\\[^]){1,${LABEL}})\\]:`, "y");
const CLOSES = { __proto__: null, '"': '"', "'": "'", "(": ")" };

// The place behind the spaces at a place, and behind those and one line feed.
function passSpaces(text, at) {
	while (text[at] === " " || text[at] === "\t")
		at++;
	return at;
}
function passSpace(text, at) {
	at = passSpaces(text, at);
	return text[at] === "\n" ? passSpaces(text, at + 1) : at;
}

// The place behind an address in angle brackets; -1: there is none.
function passAngles(text, at) {
	for (at++; at < text.length && text[at] !== ">"; at++)
		if (text[at] === "<" || text[at] === "\n")
			return -1;
		else if (text[at] === "\\")
			at++;
	return at < text.length ? at + 1 : -1;
}

// The place behind a title in quotation marks or brackets; -1: there is none.
function passTitle(text, at) {
	const open = text[at], close = CLOSES[open], from = at;
	if (close === undefined)
		return -1;
	for (at++; at < text.length && at - from <= TITLE && text[at] !== close; at++)
		if (text[at] === "(" && open === "(")
			return -1;
		else if (text[at] === "\\")
			at++;
	return text[at] === close ? at + 1 : -1;
}

// What a text says there of where a label leads: { label, href, title, end }; null: nothing.
function definition(text, at) {
	LABEL_OF_DEFINITION.lastIndex = at;
	const found = LABEL_OF_DEFINITION.exec(text);
	if (!found || found[1].trim() === "")
		return null;
	const from = passSpace(text, LABEL_OF_DEFINITION.lastIndex);
	let until = from;
	if (text[from] === "<")
		until = passAngles(text, from);
	else
		while (until < text.length && !/\s/.test(text[until]))
			until++;
	if (until <= from)
		return null;
	const href = unescape(text[from] === "<" ? text.slice(from + 1, until - 1) : text.slice(from, until));
	const isEnd = (place) => place >= text.length || text[place] === "\n";
	const quote = passSpace(text, until), behind = quote > until ? passTitle(text, quote) : -1;
	if (behind !== -1 && isEnd(passSpaces(text, behind)))
		return { label: found[1], href, title: unescape(text.slice(quote + 1, behind - 1)), end: passSpaces(text, behind) + 1 };
	until = passSpaces(text, until);
	return isEnd(until) ? { label: found[1], href, title: "", end: until + 1 } : null;
}

class Reader {
	constructor() {
		this.root = { t: "root", c: [] };
		this.open = [this.root];          // blocks that hold blocks, from the outermost one
		this.leaf = null;                 // the block of lines that goes on, in the innermost of them
		this.refs = new Map();            // label → { href, title }
		this.raw = [];                    // [object, member, text] whose inline parts are yet to be read
		this.blank = false;               // whether the line before was blank
	}

	get #inner() { return this.open[this.open.length - 1]; }

	line(text, from) {
		const line = new Line(text);
		let matched = 1;
		this.from = from;
		for (; matched < this.open.length; matched++)
			if (!this.#goesOn(this.open[matched], line, matched === this.open.length - 1))
				break;
		let all = matched === this.open.length;
		if (all && this.leaf?.t === "code" && this.#codeGoesOn(this.leaf, line))
			return;
		// What begins here.
		for (;;) {
			const begun = this.#begin(line, all, matched);
			if (begun === null)
				break;
			if (begun === true) {
				this.blank = false;
				return;
			}
			all = true;
			matched = this.open.length;
		}
		const isBlank = line.isBlank;
		if (!all && !isBlank && this.leaf?.t === "p") {
			this.#addLine(line);
			return;
		}
		if (!all)
			this.#close(matched);
		if (isBlank) {
			if (this.leaf?.t !== "code")
				this.#endLeaf();
			const inner = this.#inner;
			this.blank = inner.t !== "quote" && !(inner.t === "item" && inner.c.length === 0 && inner.from === from);
			return;
		}
		if (this.leaf?.t !== "p" && this.leaf?.t !== "table")
			this.#add({ t: "p", lines: [] });
		this.#addLine(line);
	}

	#addLine(line) {
		this.leaf.lines.push(line.content);
		this.leaf.last = this.from;
		this.blank = false;
	}

	// Whether a block that holds others has this line, whose marker is passed then.
	#goesOn(block, line, innermost) {
		if (block.t === "list")
			return true;
		if (block.t === "quote")
			return line.indent < 4 && line.content[0] === ">" && this.#passQuote(line);
		if (line.isBlank)
			return !(innermost && block.c.length === 0 && this.leaf === null);
		return line.indent >= block.width && line.skip(block.width);
	}

	#passQuote(line) {
		line.pass(1);
		if (line.indent > 0)
			line.skip(1);
		return true;
	}

	#codeGoesOn(code, line) {
		if (code.fence === null) {
			if (line.indent >= 4 || line.isBlank) {
				line.skip(4);
				code.lines.push(line.rest);
				return true;
			}
			this.#endLeaf();
			return false;
		}
		const { content } = line;
		if (line.indent < 4 && content.startsWith(code.fence) && content.slice(code.fence.length).replaceAll(code.fence[0], "").trim() === "") {
			this.#endLeaf();
		} else {
			line.skip(Math.min(code.indent, line.indent));
			code.lines.push(line.rest);
		}
		this.blank = false;
		return true;
	}

	// Begins a block if the line does: true: it has all of the line; false: more may begin in it; null: none does.
	#begin(line, all, matched) {
		const { indent, content } = line, paragraph = this.leaf?.t === "p" ? this.leaf : null;
		if (content === "")
			return null;
		if (indent >= 4) {
			if (paragraph)
				return null;
			this.#close(matched);
			line.skip(4);
			this.#add({ t: "code", fence: null, info: "", lines: [line.rest] });
			return true;
		}
		const deep = this.open.length > DEPTH;
		switch (content[0]) {
		case ">":
			if (deep)
				return null;
			this.#close(matched);
			this.#passQuote(line);
			this.#enter({ t: "quote", c: [] });
			return false;
		case "#": {
			const found = /^(#{1,6})(?:[ \t]+|$)/.exec(content);
			if (!found)
				return null;
			this.#close(matched);
			const heading = { t: "heading", level: found[1].length, c: [] };
			const text = content.slice(found[0].length).trimEnd(), end = trimmed(text, "#");
			this.raw.push([heading, "c", end === "" || " \t".includes(end.at(-1)) ? end.trimEnd() : text]);
			this.#add(heading);
			this.#endLeaf();
			return true;
		}
		case "`": case "~": {
			const found = /^(`{3,}|~{3,})/.exec(content);
			const info = found ? content.slice(found[0].length) : "";
			if (!found || (content[0] === "`" && info.includes("`")))
				return null;
			this.#close(matched);
			this.#add({ t: "code", fence: found[0], indent, info: unescape(info.trim()), lines: [] });
			return true;
		}
		}
		if (all && paragraph && /^(?:=+|-+)[ \t]*$/.test(content) && this.#takeDefinitions(paragraph)) {
			const heading = { t: "heading", level: content[0] === "=" ? 1 : 2, c: [], from: paragraph.from };
			this.raw.push([heading, "c", paragraph.lines.join("\n").trimEnd()]);
			this.#inner.c[this.#inner.c.length - 1] = heading;
			this.leaf = heading;
			this.#endLeaf();
			return true;
		}
		if (all && paragraph && (content[0] === "|" || content[0] === "-" || content[0] === ":") && this.#beginTable(paragraph, content))
			return true;
		if (isRule(content)) {
			this.#close(matched);
			this.#add({ t: "rule" });
			this.#endLeaf();
			return true;
		}
		return deep ? null : this.#beginItem(line, all, matched, paragraph);
	}

	#beginTable(paragraph, content) {
		const align = alignments(content);
		if (align === null || paragraph.lines.length === 0 || cells(paragraph.lines.at(-1)).length !== align.length)
			return false;
		const table = { t: "table", align, lines: [paragraph.lines.pop()], from: paragraph.last };
		if (paragraph.lines.length === 0) {
			this.#inner.c.pop();
			this.leaf = null;
		}
		this.#add(table);
		return true;
	}

	#beginItem(line, all, matched, paragraph) {
		const { indent, content } = line, found = marker(content);
		if (!found)
			return null;
		const empty = content.slice(found.wide).trim() === "";
		// Into a paragraph breaks no empty item, and no number but 1.
		if (all && paragraph && this.#inner.t !== "list" && (empty || (found.start !== null && found.start !== 1)))
			return null;
		this.#close(matched);
		line.pass(found.wide);
		const spaces = line.indent, after = empty || spaces > 4 ? 1 : spaces;
		line.skip(after);
		let list = this.#inner;
		const listBlank = this.blank;
		if (list.t === "list" && list.sign !== found.sign) {
			this.#leave();
			list = this.#inner;
		}
		if (list.t !== "list")
			list = this.#enter({ t: "list", sign: found.sign, start: found.start, tight: true, c: [] });
		else if (listBlank)
			list.tight = false;
		this.blank = false;
		this.#enter({ t: "item", width: indent + found.wide + after, task: null, c: [] });
		return false;
	}

	#add(block) {
		// A list holds items alone.
		if (this.#inner.t === "list" && block.t !== "item")
			this.#leave();
		const inner = this.#inner;
		this.#endLeaf();
		if (this.blank && inner.t === "item" && inner.c.length > 0)
			this.open[this.open.length - 2].tight = false;
		block.from ??= this.from;
		inner.c.push(block);
		this.leaf = block;
	}

	#enter(block) {
		this.#add(block);
		this.leaf = null;
		this.open.push(block);
		return block;
	}

	#leave() {
		this.#endLeaf();
		this.open.pop();
	}

	// Ends what does not go on: all but so many of the open blocks, and what is a leaf.
	#close(matched) {
		this.#endLeaf();
		this.open.length = matched;
	}

	#endLeaf() {
		const { leaf } = this;
		this.leaf = null;
		if (leaf?.t === "p" && this.#takeDefinitions(leaf)) {
			const item = this.#inner;
			let text = leaf.lines.join("\n").trimEnd();
			if (item.t === "item" && item.c[0] === leaf) {
				const task = /^\[([ xX])\][ \t\n]/.exec(text);
				if (task) {
					item.task = task[1] !== " ";
					text = text.slice(4);
				}
			}
			this.raw.push([leaf, "c", text]);
		} else if (leaf?.t === "p") {
			this.#inner.c.pop();
		} else if (leaf?.t === "code") {
			while (leaf.fence === null && leaf.lines.length > 0 && leaf.lines.at(-1).trim() === "")
				leaf.lines.pop();
			leaf.text = leaf.lines.map((line) => line + "\n").join("");
		} else if (leaf?.t === "table") {
			this.#endTable(leaf);
		}
		if (leaf) {
			delete leaf.lines;
			delete leaf.last;
		}
	}

	#endTable(table) {
		const rows = table.lines.map((row) => cells(row).slice(0, table.align.length).map((text) => {
			const cell = { c: [] };
			this.raw.push([cell, "c", text]);
			return cell;
		}));
		table.head = rows[0];
		table.rows = rows.slice(1);
	}

	// Takes what a paragraph begins with that says where links lead. False: there is nothing else in it.
	#takeDefinitions(paragraph) {
		if (!paragraph.lines[0]?.startsWith("["))
			return paragraph.lines.length > 0;
		const text = paragraph.lines.join("\n");
		let at = 0;
		while (text[at] === "[") {
			const found = definition(text, at);
			if (!found)
				break;
			const label = labelOf(found.label);
			if (!this.refs.has(label))
				this.refs.set(label, { href: found.href, title: found.title });
			at = found.end;
		}
		paragraph.lines = at < text.length ? text.slice(at).split("\n") : [];
		return at < text.length;
	}

	end(until) {
		this.#close(1);
		const { c } = this.root;
		c.forEach((block, i) => { block.until = c[i + 1]?.from ?? until; });
		for (const [object, member, text] of this.raw)
			object[member] = inline(text, this.refs);
		return c;
	}
}

// All blocks of a text.
export function parse(text) {
	const reader = new Reader(), LINE = /\r\n|\n|\r/g;
	let from = 0;
	for (const end of text.matchAll(LINE)) {
		reader.line(text.slice(from, end.index), from);
		from = end.index + end[0].length;
	}
	if (from < text.length)
		reader.line(text.slice(from), from);
	const blocks = reader.end(text.length);
	blocks.refs = reader.refs;
	return blocks;
}

/* ---- what stands in a line ---- */

const entities = {
	__proto__: null, amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", trade: "™",
	hellip: "…", mdash: "—", ndash: "–", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", laquo: "«", raquo: "»",
	bull: "•", middot: "·", deg: "°", plusmn: "±", times: "×", divide: "÷", frac12: "½", le: "≤", ge: "≥", ne: "≠",
	rarr: "→", larr: "←", uarr: "↑", darr: "↓", harr: "↔", rArr: "⇒", lArr: "⇐", check: "✓", euro: "€", pound: "£",
	yen: "¥", cent: "¢", sect: "§", para: "¶", micro: "µ", infin: "∞", asymp: "≈", sum: "∑", radic: "√", alpha: "α",
	beta: "β", gamma: "γ", delta: "δ", lambda: "λ", mu: "μ", pi: "π", sigma: "σ", omega: "ω", auml: "ä", ouml: "ö",
	uuml: "ü", Auml: "Ä", Ouml: "Ö", Uuml: "Ü", szlig: "ß", eacute: "é", egrave: "è", agrave: "à", ccedil: "ç", ntilde: "ñ",
};
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));/y;

// The character that an entity is; null: it is none.
function entity(found) {
	if (found[3] !== undefined)
		return entities[found[3]] ?? null;
	const code = found[1] !== undefined ? Number(found[1]) : parseInt(found[2], 16);
	return code === 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? "\ufffd" : String.fromCodePoint(code);
}

// A text without backslashes and entities.
function unescape(text) {
	if (!/[\\&]/.test(text))
		return text;
	return text.replace(/\\([!-/:-@[-`{-~])|&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));/g,
	    (all, escaped, decimal, hex, name) => escaped ?? entity([all, decimal, hex, name]) ?? all);
}

const SPECIAL = /[\\`*_~[\]!<&\n]|https?:\/\//g;
const AUTOLINK = /<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x20]*)>/y;
const EMAIL = /<([A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?)>/y;
const BREAK = /<br[ \t]*\/?>/iy;
const ADDRESS = /https?:\/\/[^\s<>\]\x00-\x20]+/y;
const isSpace = (one) => one === undefined || /\s/.test(one);
const isPunctuation = (one) => one !== undefined && /[\p{P}\p{S}]/u.test(one);

// The character before, and at, a place: a pair of surrogates is one.
const before = (text, at) => at === 0 ? undefined : at > 1 && /[\udc00-\udfff]/.test(text[at - 1]) ? text.slice(at - 2, at) : text[at - 1];
const behind = (text, at) => at >= text.length ? undefined : String.fromCodePoint(text.codePointAt(at));

const matchAt = (pattern, text, at) => {
	pattern.lastIndex = at;
	return pattern.exec(text);
};

// Where each run of backquotes begins, by its length.
function backquotes(text) {
	const runs = new Map();
	for (const { 0: run, index } of text.matchAll(/`+/g)) {
		const list = runs.get(run.length) ?? { at: 0, places: [] };
		list.places.push(index);
		runs.set(run.length, list);
	}
	return runs;
}

// The address and title in brackets behind a link's text: { href, title, end }; null: there are none.
function target(text, at) {
	const from = passSpace(text, at + 1);
	let until = from, title = "";
	if (text[from] === "<") {
		until = passAngles(text, from);
		if (until === -1)
			return null;
	} else {
		let depth = 0;
		for (; until < text.length; until++) {
			const one = text[until];
			if (one === "\\" && PUNCTUATION.test(text[until + 1] ?? ""))
				until++;
			else if (one === "(" && ++depth > 32)
				return null;
			else if ((one === ")" && --depth < 0) || one <= " " || one === "\x7f")
				break;
		}
		if (depth > 0)
			return null;
	}
	const href = unescape(text[from] === "<" ? text.slice(from + 1, until - 1) : text.slice(from, until));
	let end = passSpace(text, until);
	if (end > until && text[end] in CLOSES) {
		const behind = passTitle(text, end);
		if (behind === -1)
			return null;
		title = unescape(text.slice(end + 1, behind - 1));
		end = passSpace(text, behind);
	}
	return text[end] === ")" ? { href, title, end: end + 1 } : null;
}

// A bare address ends before what belongs to the sentence.
function bareAddress(address) {
	let end = address.length, open = 0, closed = 0;
	for (const one of address) {
		open += one === "(" ? 1 : 0;
		closed += one === ")" ? 1 : 0;
	}
	for (; end > 0; end--) {
		const last = address[end - 1];
		if (last === ")" && closed > open)
			closed--;
		else if (!/[?!.,:;*_~'"\]]/.test(last))
			break;
	}
	return address.slice(0, end);
}

class Inline {
	constructor(text, refs) {
		this.text = text;
		this.refs = refs;
		this.tokens = [];                 // strings, parts, runs of signs, { open }, { close }
		this.last = null;                 // the last run of signs that may begin or end something
		this.brackets = [];
		this.dead = 0;                    // so many of them begin no link any more: there is one in them
		this.runs = text.includes("`") ? backquotes(text) : null;
	}

	read() {
		const { text } = this;
		let at = 0;
		while (at < text.length) {
			SPECIAL.lastIndex = at;
			const found = SPECIAL.exec(text);
			if (!found) {
				this.tokens.push(text.slice(at));
				break;
			}
			if (found.index > at)
				this.tokens.push(text.slice(at, found.index));
			at = this.#special(found[0], found.index);
		}
		this.#emphasize(null);
		return build(this.tokens);
	}

	// Reads what begins at a place; where it ends.
	#special(sign, at) {
		const { text, tokens } = this;
		switch (sign) {
		case "\\":
			if (text[at + 1] === "\n") {
				tokens.push({ t: "br" });
				return this.#nextLine(at + 2);
			}
			if (PUNCTUATION.test(text[at + 1] ?? "")) {
				tokens.push(text[at + 1]);
				return at + 2;
			}
			break;
		case "`":
			return this.#code(at);
		case "*": case "_": case "~":
			return this.#run(sign, at);
		case "!":
			if (text[at + 1] === "[") {
				this.#bracket(true, at + 2);
				return at + 2;
			}
			break;
		case "[":
			this.#bracket(false, at + 1);
			return at + 1;
		case "]":
			return this.#endBracket(at);
		case "<":
			return this.#angle(at);
		case "&": {
			const found = matchAt(ENTITY, text, at), is = found && entity(found);
			tokens.push(is ?? "&");
			return is ? at + found[0].length : at + 1;
		}
		case "\n": {
			const last = tokens.at(-1);
			if (typeof last === "string") {
				const line = trimmed(last, " ");
				tokens[tokens.length - 1] = line;
				tokens.push(last.length - line.length >= 2 ? { t: "br" } : "\n");
			} else {
				tokens.push("\n");
			}
			return this.#nextLine(at + 1);
		}
		case "http://": case "https://": {
			const one = before(text, at);
			const found = isSpace(one) || /[*_~(["'|]/.test(one) ? matchAt(ADDRESS, text, at) : null;
			const address = found ? bareAddress(found[0]) : "";
			if (address.length > sign.length) {
				tokens.push({ t: "link", href: address, title: "", c: [address] });
				return at + address.length;
			}
		}
		}
		tokens.push(sign);
		return at + sign.length;
	}

	#nextLine(at) {
		while (this.text[at] === " " || this.text[at] === "\t")
			at++;
		return at;
	}

	#code(at) {
		const { text, tokens } = this;
		let end = at;
		while (text[end] === "`")
			end++;
		const list = this.runs.get(end - at);
		while (list.places[list.at] < end)
			list.at++;
		const close = list.places[list.at];
		if (close === undefined) {
			tokens.push(text.slice(at, end));
			return end;
		}
		const inside = text.slice(end, close).replaceAll("\n", " ");
		const padded = inside[0] === " " && inside.at(-1) === " " && inside.trim() !== "";
		tokens.push({ t: "code", text: padded ? inside.slice(1, -1) : inside });
		return close + end - at;
	}

	#run(sign, at) {
		const { text } = this;
		let end = at;
		while (text[end] === sign)
			end++;
		const one = before(text, at), other = behind(text, end);
		const left = !isSpace(other) && (!isPunctuation(other) || isSpace(one) || isPunctuation(one));
		const right = !isSpace(one) && (!isPunctuation(one) || isSpace(other) || isPunctuation(other));
		const run = {
			sign, at, length: end - at, left: end - at, opens: [], closes: [], previous: this.last, next: null,
			canOpen: left && (sign !== "_" || !right || isPunctuation(one)),
			canClose: right && (sign !== "_" || !left || isPunctuation(other)),
		};
		this.tokens.push(run);
		if (sign === "~" && end - at > 2)
			run.canOpen = run.canClose = false;
		if (run.canOpen || run.canClose) {
			if (this.last)
				this.last.next = run;
			this.last = run;
		}
		return end;
	}

	#bracket(image, from) {
		if (this.brackets.length > 0)
			this.brackets.at(-1).inner = true;
		this.brackets.push({ image, from, token: this.tokens.length, last: this.last, inner: false });
		this.tokens.push(image ? "![" : "[");
	}

	#endBracket(at) {
		const { text, tokens, brackets } = this, opener = brackets.pop();
		const alive = opener && (opener.image || brackets.length >= this.dead);
		this.dead = Math.min(this.dead, brackets.length);
		const found = alive ? this.#targetOf(opener, at) : null;
		if (!found) {
			tokens.push("]");
			return at + 1;
		}
		this.#emphasize(opener.last);
		tokens[opener.token] = { open: { t: opener.image ? "image" : "link", href: found.href, title: found.title, c: [] } };
		tokens.push({ close: true });
		if (!opener.image)
			this.dead = brackets.length;
		return found.end;
	}

	// Where a link whose text ends here leads.
	#targetOf(opener, at) {
		const { text, refs } = this;
		const found = text[at + 1] === "(" ? target(text, at + 1) : null;
		if (found || refs.size === 0)
			return found;
		let label = null, end = at + 1;
		if (text[at + 1] === "[") {
			const close = text.indexOf("]", at + 2);
			if (close === -1 || close - at > LABEL)
				return null;
			label = text.slice(at + 2, close);
			end = close + 1;
		}
		if (!label) {
			if (opener.inner || at - opener.from > LABEL)
				return null;
			label = text.slice(opener.from, at);
		}
		const ref = refs.get(labelOf(label));
		return ref ? { ...ref, end } : null;
	}

	#angle(at) {
		const { text, tokens } = this;
		const link = matchAt(AUTOLINK, text, at), mail = link ? null : matchAt(EMAIL, text, at);
		if (link || mail) {
			const address = (link ?? mail)[1];
			tokens.push({ t: "link", href: (mail ? "mailto:" : "") + address, title: "", c: [address] });
			return at + (link ?? mail)[0].length;
		}
		const end = matchAt(BREAK, text, at);
		tokens.push(end ? { t: "br" } : "<");
		return at + (end ? end[0].length : 1);
	}

	#unlink(run) {
		if (run.previous)
			run.previous.next = run.next;
		if (run.next)
			run.next.previous = run.previous;
		else
			this.last = run.previous;
	}

	// Pairs the runs of signs behind one, from the innermost pair on; then none of them is left.
	#emphasize(bottom) {
		const lowest = new Map();         // of a kind of closers: no run before that place opens it
		if (this.last === bottom)
			return;
		let closer = this.last;
		while (closer && closer.previous !== bottom)
			closer = closer.previous;
		while (closer) {
			if (!closer.canClose) {
				closer = closer.next;
				continue;
			}
			const kind = closer.sign + (closer.sign === "~" ? closer.length : closer.length % 3 + (closer.canOpen ? "o" : ""));
			const limit = lowest.get(kind) ?? -1;
			let opener = closer.previous;
			while (opener !== null && opener !== bottom && opener.at >= limit && !pairs(opener, closer))
				opener = opener.previous;
			if (opener === null || opener === bottom || opener.at < limit) {
				const old = closer;
				lowest.set(kind, old.at);
				closer = closer.next;
				if (!old.canOpen)
					this.#unlink(old);
				continue;
			}
			const used = closer.sign === "~" ? closer.left : opener.left >= 2 && closer.left >= 2 ? 2 : 1;
			opener.opens.push(used);
			closer.closes.push(used);
			opener.left -= used;
			closer.left -= used;
			opener.next = closer;
			closer.previous = opener;
			if (opener.left === 0)
				this.#unlink(opener);
			if (closer.left === 0) {
				const old = closer;
				closer = closer.next;
				this.#unlink(old);
			}
		}
		this.last = bottom;
		if (bottom)
			bottom.next = null;
	}
}

const pairs = (opener, closer) => opener.sign === closer.sign && opener.canOpen && (opener.sign === "~" ?
	opener.left === closer.left :
	!((closer.canOpen || opener.canClose) && closer.length % 3 !== 0 && (opener.length + closer.length) % 3 === 0));

const nameOf = (run, used) => run.sign === "~" ? "del" : used === 2 ? "strong" : "em";

// The tree of these tokens. What would be too deep, or a link in a link, is its text.
function build(tokens) {
	const root = { c: [] }, stack = [root];
	let links = 0;
	// Those that began and are no part: what stands at their ends.
	const skipped = [];
	const put = (part) => {
		const { c } = stack[stack.length - 1];
		if (typeof part === "string" && typeof c[c.length - 1] === "string")
			c[c.length - 1] += part;
		else if (part !== "")
			c.push(part);
	};
	const open = (part, begin, end) => {
		const isLink = part.t === "link";
		if (stack.length > DEPTH || (isLink && links > 0)) {
			put(begin);
			skipped.push(end);
			return;
		}
		put(part);
		stack.push(part);
		skipped.push(null);
		links += isLink ? 1 : 0;
	};
	const close = () => {
		const end = skipped.pop();
		if (end === null)
			links -= stack.pop().t === "link" ? 1 : 0;
		else
			put(end);
	};
	for (const token of tokens)
		if (typeof token === "string") {
			put(token);
		} else if (token.open) {
			open(token.open, "", ` (${token.open.href})`);
		} else if (token.close) {
			close();
		} else if (token.sign) {
			token.closes.forEach(close);
			put(token.sign.repeat(token.left));
			for (const used of token.opens.reverse())
				open({ t: nameOf(token, used), c: [] }, token.sign.repeat(used), token.sign.repeat(used));
		} else if (token.t === "link" && links > 0) {
			put(token.c[0]);
		} else {
			put(token);
		}
	return root.c;
}

// The inline parts of a text.
export function inline(text, refs = new Map()) {
	return /[\\`*_~[\]!<&\n]|https?:\/\//.test(text) ? new Inline(text, refs).read() : text === "" ? [] : [text];
}

// Where a link may lead: by http, https and mailto alone; null: nowhere.
export function safeAddress(href) {
	if (!/^(?:https?:\/\/|mailto:)[^\s\x00-\x20\x7f]+$/i.test(href))
		return null;
	try {
		return ["http:", "https:", "mailto:"].includes(new URL(href).protocol) ? href : null;
	} catch {
		return null;
	}
}
