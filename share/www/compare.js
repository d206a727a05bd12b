// What differs between two runs: their trees as one. What made a difference is open; what only follows of it,
// and what is the same, is counted and folded. The server says it (GET /api/compare), as awf-diff --json does.
import { get, request, runPath } from "/www/api.js";
import { h, say } from "/www/dom.js";
import { count, dollars, duration, signs } from "/www/format.js";
import { parse } from "/www/json.js";
import { setKeys } from "/www/keys.js";

const kinds = {
	__proto__: null,
	changed: ["!", "changed"], gone: ["−", "gone"], new: ["+", "new"], renamed: ["=", "renamed"],
	follows: ["~", "follows"], moved: ["~", "moved"], same: ["·", "the same"],
};
const causes = new Set(["changed", "gone", "new", "renamed"]);
const LISTED_MOST = 500;              // calls in a folded list

export const comparePath = (a, b) => `/compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`;

/* ---- what is read ---- */

// The pairs as a tree: each has those inside it, and whether anything there differs.
function treeOf(lines) {
	const root = { inside: [] }, open = [root];
	lines.forEach((pair, line) => {
		const node = { pair, line, inside: [], differs: pair.kind !== "same" };
		open.length = Math.min(open.length, pair.depth + 1);
		open.at(-1).inside.push(node);
		if (node.differs)
			open.forEach((around) => { around.differs = true; });
		open.push(node);
	});
	return root;
}

/* ---- one pair ---- */

const partWords = { "-": "removed: ", "+": "added: " };

function lines(parts, left) {
	return h("div", { class: "diff" }, parts.map(([sign, text]) => sign === "." ? h("div", { class: "left" }, "…") :
		h("div", { class: { "-": "gone", "+": "new" }[sign] ?? "" },
		    h("span", { class: "unseen" }, partWords[sign] ?? ""),
		    h("span", { class: "sign", "aria-hidden": "true" }, sign === "=" ? " " : sign), text || " ")),
	left ? h("div", { class: "left" }, `… ${count(left)} more lines differ`) : null);
}

function words(parts) {
	return h("p", { class: "diff words" }, parts.map(([sign, text]) => sign === "." ? "… " :
		sign === "=" ? text : h(sign === "-" ? "del" : "ins", null, text)));
}

// A detail: its name, and what was and is.
function detail({ name, a, b, lines: rows, words: row, left }) {
	const values = ["file", "wrote", "workflow"].includes(name) && (a === b || a === undefined || b === undefined) ?
		[h("span", { class: "path" }, b ?? a), a === undefined ? " (new)" : b === undefined ? " (gone)" : ""] :
		a === b ? a === undefined ? null : [a, ", with other arguments or in another order"] :
			[h("del", null, a ?? "none"), " → ", h("ins", null, b ?? "none")];
	return [h("dt", null, name), h("dd", null, values, row ? words(row) : rows ? lines(rows, left) : null)];
}

class View {
	constructor({ a, b }) {
		this.a = a;
		this.b = b;
		this.causes = [];
	}

	// Where a call is in the page of its run.
	#link(side, pair) {
		const run = pair.runs?.[side] ?? this[side].run_id;
		return pair[side] === undefined ? null : h("a", {
			href: `/runs/${encodeURIComponent(run)}#call=${encodeURIComponent(pair[side])}`,
			"aria-label": `${pair.label} in the ${side === "a" ? "first" : "second"} run`,
		}, side === "a" ? "first run" : "second run");
	}

	#links(pair) {
		return h("span", { class: "links" }, this.#link("a", pair), " ", this.#link("b", pair),
		    pair.taken_over ? h("span", { class: "note" }, " result taken over") : null);
	}

	#title(pair, more) {
		const [sign, word] = kinds[pair.kind], note = [pair.why, more].filter(Boolean).join(" ");
		return [h("span", { class: "sign", "aria-hidden": "true" }, sign), h("span", { class: "unseen" }, word + " "),
			h("strong", null, pair.label), pair.now ? [" is now ", h("strong", null, pair.now)] : "",
			pair.input ? h("span", { class: "note" }, ` (${pair.input})`) : "",
			note ? h("span", { class: "note" }, " ", note) : null];
	}

	#details(pair) {
		return pair.details?.length > 0 ? h("dl", { class: "details" }, pair.details.map(detail)) :
			pair.result ? h("dl", { class: "details" }, detail({ name: "result", ...pair.result })) : null;
	}

	// A fold, whose content is made when it is opened.
	#fold(properties, summary, make) {
		const fold = h("details", properties, h("summary", null, summary));
		const fill = () => {
			if (fold.open && fold.children.length === 1)
				fold.append(h("div", { class: "body" }, make()));
		};
		fill();
		fold.addEventListener("toggle", fill);
		return fold;
	}

	#cause(nodes) {
		const [{ pair, inside, line }] = nodes;
		const first = pair.like === undefined;
		const fold = this.#fold({ class: "pair " + pair.kind, open: first, id: "pair-" + line },
			this.#title(pair, nodes.length > 1 ? `(${count(nodes.length)} calls)` : ""), () => [
				this.#links(pair),
				first ? this.#details(pair) : h("p", null, h("a", { href: "#pair-" + pair.like }, "The same change as another")),
				nodes.length > 1 ? this.#list(nodes.slice(1), `${count(nodes.length - 1)} more of them`) : null,
				inside.length > 0 ? this.#inside(inside) : null,
			]);
		if (first)
			this.causes.push(fold);
		return fold;
	}

	// Calls that need no words of their own.
	#list(nodes, summary, kind = "same") {
		return this.#fold({ class: "pair " + kind }, summary, () => h("ul", { class: "calls" },
			nodes.slice(0, LISTED_MOST).map(({ pair, inside }) => h("li", null, h("span", null, pair.label), " ", this.#links(pair),
			    kind === "follows" ? this.#details(pair) : null,
			    inside.length > 0 ? this.#list(inside, `${count(inside.length)} inside`, kind) : null)),
			nodes.length > LISTED_MOST ? h("li", { class: "note" }, `… ${count(nodes.length - LISTED_MOST)} more`) : null));
	}

	#following(nodes) {
		const [{ pair }] = nodes, [sign, word] = kinds[pair.kind];
		return this.#list(nodes, [h("span", { class: "sign", "aria-hidden": "true" }, sign),
			h("strong", null, nodes.length > 1 ? pair.path : pair.label),
			h("span", { class: "note" }, nodes.length > 1 ? ` ${count(nodes.length)} ${word === "follows" ? "follow" : word}` : " " + word,
			    pair.why ? `: ${pair.why}` : "")], pair.kind);
	}

	// What is inside a call, or the run: what is alike is one row, where the first of it is.
	#inside(nodes) {
		const groups = new Map();
		for (const node of nodes) {
			const { pair, line, inside } = node;
			const key = !node.differs ? "same" : causes.has(pair.kind) ? `cause ${pair.like ?? line}` :
				inside.some((each) => each.differs) ? `around ${line}` : `${pair.kind} ${pair.path} ${pair.why}`;
			if (!groups.get(key)?.push(node))
				groups.set(key, [node]);
		}
		const same = groups.get("same") ?? [];
		groups.delete("same");
		return h("div", { class: "pairs" }, [...groups].map(([key, group]) => key.startsWith("cause") ? this.#cause(group) :
			key.startsWith("around") ? this.#around(group[0]) : this.#following(group)),
		same.length > 0 ? this.#list(same, [h("span", { class: "sign", "aria-hidden": "true" }, "·"), `${count(same.length)} the same`]) : null);
	}

	// A call that differs since something inside it does.
	#around({ pair, inside }) {
		return this.#fold({ class: "pair around", open: true }, this.#title(pair), () => [this.#links(pair), this.#inside(inside)]);
	}

	draw(root) { return this.#inside(root.inside); }
}

/* ---- the page ---- */

const figures = [
	["Status", ({ status }) => status ? h("span", { class: "state " + status }, `${signs[status] ?? "·"} ${status}`) : "not ended"],
	["Time", ({ figures: { ms } }) => ms === undefined ? "" : duration(ms)],
	["Tokens", ({ figures: f }) => f.input_tokens || f.output_tokens ? `${count(f.input_tokens)} in, ${count(f.output_tokens)} out` : ""],
	["Cost", ({ figures: { cost } }) => dollars(String(cost ?? ""))],
	["Retries", ({ figures: { retries } }) => retries ? String(retries) : ""],
];

function table(a, b) {
	const rows = figures.map(([name, text]) => [name, text(a), text(b)]).filter(([, one, other]) => one !== "" || other !== "");
	const head = (run, which) => h("th", { scope: "col" }, which, " ", h("a", { href: "/runs/" + run.run_id },
		`${run.name || "run"} ${run.run_id.slice(0, 8)}`));
	return h("table", null,
	    h("thead", null, h("tr", null, h("td"), head(a, "First"), head(b, "Second"))),
	    h("tbody", null, rows.map(([name, one, other]) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, one), h("td", null, other)))));
}

const relation = (a, b) => b.forked_from === a.run_id ? "The second is a fork of the first." :
	a.forked_from === b.run_id ? "The first is a fork of the second." : "";

function told({ counts, differ, what }) {
	if (!differ)
		return "Nothing differs.";
	const texts = Object.entries(counts).map(([kind, n]) => `${count(n)} ${n === 1 || kind !== "follows" ? kinds[kind]?.[1] ?? kind : "follow"}`);
	const printed = what?.includes("result") && Object.keys(counts).every((kind) => kind === "same") ? ["the workflow printed something else"] : [];
	return [...printed, ...texts].join(", ") || "no calls";
}

export async function showComparison(main, first, second) {
	const problem = h("p", { role: "alert", class: "problem" });
	main.className = "compare";
	document.title = "Compare – AWF";
	main.replaceChildren(h("h1", null, "Compare"), h("p", { role: "status" }, "Comparing…"), problem);
	let read;
	try {
		const answer = await request("/api/compare?" + new URLSearchParams({ a: first, b: second }));
		read = (await answer.text()).split("\n").filter(Boolean).map((line) => parse(line));
	} catch (error) {
		if (error.status === 401)
			throw error;
		say(problem, error.message);
		main.querySelector("[role=status]").remove();
		return;
	}
	const totals = read.pop(), view = new View(totals);
	const tree = view.draw(treeOf(read));
	document.title = `Compare ${totals.a.name || "run"} ${totals.a.run_id.slice(0, 8)} ${totals.b.run_id.slice(0, 8)} – AWF`;
	main.replaceChildren(
	    h("div", { class: "title" }, h("h1", null, "Compare"),
	        h("a", { href: comparePath(totals.b.run_id, totals.a.run_id) }, "The other way round")),
	    table(totals.a, totals.b),
	    h("p", { class: "note" }, relation(totals.a, totals.b)),
	    ...(totals.details?.length > 0 ? [h("dl", { class: "details" }, totals.details.map(detail))] : []),
	    h("h2", null, told(totals)), problem, tree);
	let at = -1;
	const step = (by) => {
		if (view.causes.length === 0)
			return;
		at = Math.max(0, Math.min(view.causes.length - 1, at + by));
		view.causes[at].firstChild.focus();
	};
	setKeys([
		{ keys: ["j", "ArrowDown"], text: "Next cause", run: () => step(1) },
		{ keys: ["k", "ArrowUp"], text: "Previous cause", run: () => step(-1) },
		{ keys: ["u", "Escape"], text: "The second run", run: () => location.assign("/runs/" + totals.b.run_id) },
	]);
}

/* ---- in the page of a run ---- */

// Names stand for themselves in the pattern of names.
export const plain = (name) => name.replace(/[*?[\\]/g, (character) => `[${character}]`);

// The last run of the same workflow before this one that has succeeded; if there is none, one after it.
async function lastSuccess(info) {
	const { runs } = await get("/api/runs?" + new URLSearchParams({ name: plain(info.name), status: "success", limit: 100 }));
	const others = runs.filter(({ run_id: id, name }) => id !== info.run_id && name === info.name);
	return others.find(({ started }) => started < info.started) ?? others[0];
}

// What a run can be compared with; this one is the second.
export function compareWith(info) {
	const list = h("ul"), problem = h("p", { role: "alert", class: "problem" });
	const offer = (run, text) => list.append(h("li", null, h("a", { href: comparePath(run, info.run_id) }, text)));
	const field = h("input", { type: "text", name: "run", required: true, autocomplete: "off", size: 12,
		placeholder: "id or @name", "aria-label": "Another run: its id, or @ and its name" });
	const form = h("form", { onsubmit: async (event) => {
		event.preventDefault();
		try {
			const { run_id: other } = await get(runPath(field.value.trim()));
			location.assign(comparePath(other, info.run_id));
		} catch (error) {
			say(problem, error.message);
		}
	} }, field, h("button", null, "Compare"));
	let asked = false;
	return h("details", { class: "compare-with", ontoggle: async () => {
		if (asked)
			return;
		asked = true;
		if (info.forked_from)
			offer(info.forked_from, "the run that it is a fork of");
		try {
			const success = await lastSuccess(info);
			if (success && success.run_id !== info.forked_from)
				offer(success.run_id, `the last success, ${success.run_id.slice(0, 8)}`);
		} catch (error) {
			say(problem, error.message);
		}
	} }, h("summary", null, "Compare with…"), h("div", null, list, form, problem));
}
