// Figures of many runs: of each workflow, step, tool or model how often it ran and failed, and why of late, how
// long it took, and what it used, over a day, a week or a month; from each to the calls behind it. The server sums
// up what it has read, as awf-tail --stats does, and says how far that reaches.
import { get } from "/www/api.js";
import { arrange, byId, h, say, throttle } from "/www/dom.js";
import { ago, count, dollars, duration, line, when } from "/www/format.js";
import { setKeys } from "/www/keys.js";

const AGAIN_MS = 700, LATER_MS = 15_000, REASON = 160, DRAWN_MOST = 500;

const kinds = { workflow: "Workflows", step: "Steps", tool: "Tools", model: "Models" };
const spans = { "1d": "Day", "7d": "Week", "30d": "Month" };
const heads = { workflow: ["Workflow", "Runs"], step: ["Step", "Calls"], tool: ["Tool", "Calls"], model: ["Model", "Answers"] };

const rate = (row) => row.count > 0 ? row.failed / row.count : 0;
const costOf = (row) => row.cost === undefined ? -1 : Number(row.cost);
const tokens = (row) => row.input_tokens + row.output_tokens;

// Of each column: by what it is sorted, the largest first unless ascending, and what a cell shows.
const columns = [
	{ key: "name", text: ({ by }) => heads[by][0], value: (row) => row.name.toLowerCase(), ascending: true },
	{ key: "count", text: ({ by }) => heads[by][1], value: (row) => row.count, show: (row) => count(row.count), number: true },
	{ key: "failed", text: () => "Failed", value: rate, show: (row) => row.failed === 0 ? "" : `${percent(rate(row))} (${count(row.failed)})`, number: true },
	{ key: "spans", text: () => "Over time" },
	{ key: "p50", text: () => "p50", value: (row) => row.p50_ms, show: (row) => row.count > 0 ? duration(row.p50_ms) : "", number: true, title: "Half of them took no longer" },
	{ key: "p95", text: () => "p95", value: (row) => row.p95_ms, show: (row) => row.count > 0 ? duration(row.p95_ms) : "", number: true, title: "19 of 20 took no longer" },
	{ key: "tokens", text: () => "Tokens", value: tokens, show: (row) => tokens(row) > 0 ? `${count(row.input_tokens)} in, ${count(row.output_tokens)} out` : "", number: true },
	{ key: "cost", text: () => "Cost", value: costOf, show: (row) => row.cost === undefined ? "not known" : dollars(String(row.cost)), number: true },
];

const sortable = columns.filter(({ value }) => value);
const SVG = "http://www.w3.org/2000/svg";

// How many ended in each span of the time, and how many of them failed, as bars.
function bars(spans) {
	const most = Math.max(...spans.map(([n]) => n)), svg = document.createElementNS(SVG, "svg");
	svg.setAttribute("viewBox", `0 0 ${spans.length * 4} 20`);
	svg.setAttribute("role", "img");
	svg.setAttribute("aria-label", `Over time: at most ${count(most)} in a span, failures in ${spans.filter(([, failed]) => failed > 0).length} of ${spans.length} spans`);
	spans.forEach(([n, failed], i) => [[n, ""], [failed, "bad"]].forEach(([of, name]) => {
		if (of === 0)
			return;
		const bar = document.createElementNS(SVG, "rect"), high = Math.max(2, of / most * 20);
		Object.entries({ x: i * 4, y: 20 - high, width: 3, height: high, class: name }).forEach(([key, value]) => bar.setAttribute(key, value));
		svg.append(bar);
	}));
	return svg;
}

const percent = (share) => share > 0 && share < 0.01 ? "<1 %" : `${Math.round(share * 100)} %`;

let rows = [], state, table, body, headRow, problem, progress, none, field, sums, timer = 0, asked = 0;
const open = new Map();               // names of rows that are unfolded → their elements

function readState() {
	const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
	return {
		by: given.by in kinds ? given.by : "workflow", since: given.since in spans ? given.since : "7d",
		sort: sortable.some(({ key }) => key === given.sort) ? given.sort : "cost",
		turned: given.turned === "1", q: given.q ?? "",
	};
}

function keepState(change) {
	Object.assign(state, change);
	const { by, since, sort, turned, q } = state;
	const parameters = new URLSearchParams({ by, since, sort, ...turned ? { turned: "1" } : {}, ...q ? { q } : {} });
	history.replaceState(null, "", "#" + parameters);
}

/* ---- reading ---- */

async function load() {
	const mine = ++asked;
	clearTimeout(timer);
	let answer = null;
	try {
		answer = await get("/api/stats?" + new URLSearchParams({ by: state.by, since: state.since }));
		say(problem, "");
		say(byId("link"), "");
	} catch (error) {
		if (error.status === 401)
			location.reload();
		if (error.status)
			say(problem, error.message);
		else
			say(byId("link"), "connection lost, trying again");
	}
	if (mine !== asked)
		return;
	timer = setTimeout(() => document.hidden || load(), answer && !answer.complete ? AGAIN_MS : LATER_MS);
	if (!answer)
		return;
	rows = answer.rows.map((row) => ({ ...row, name: row[state.by] }));
	showProgress(answer);
	draw();
}

function showProgress({ runs, read, complete, unreadable, whole_since: whole, left_out: left }) {
	const texts = [complete ? `Of ${runs.toLocaleString("en")} run${runs === 1 ? "" : "s"} that may tell something since then.` :
		`${read.toLocaleString("en")} of ${runs.toLocaleString("en")} runs are read; the figures grow until all are.`];
	if (whole)
		texts.push(`More than fits: some of what was before ${when(whole)} is left out (awf-tail --stats reads all).`);
	if (unreadable > 0)
		texts.push(`${unreadable} cannot be read whole (see awf-verify).`);
	if (left > 0)
		texts.push(`${count(left)} rows that cost least are left out.`);
	say(progress, texts.join(" "));
}

/* ---- the table ---- */

const isUp = ({ key, ascending }) => Boolean(ascending) !== (state.turned && state.sort === key);

function sorted() {
	const needle = state.q.toLowerCase(), column = columns.find(({ key }) => key === state.sort), sign = isUp(column) ? 1 : -1;
	return rows.filter((row) => needle === "" || row.name.toLowerCase().includes(needle) ||
	    row.last_failures?.some(({ reason }) => reason.toLowerCase().includes(needle)))
		.sort((a, b) => {
			const one = column.value(a), other = column.value(b);
			return one < other ? -sign : one > other ? sign : b.count - a.count || (a.name < b.name ? -1 : 1);
		});
}

function sortBy(column) {
	keepState({ sort: column.key, turned: state.sort === column.key && !state.turned });
	draw();
}

function drawHead() {
	headRow.replaceChildren(...columns.map((column) => !column.value ? h("th", { scope: "col", class: column.key }, column.text()) : h("th", {
		scope: "col", class: column.number ? "number" : "", title: column.title,
		"aria-sort": state.sort === column.key ? isUp(column) ? "ascending" : "descending" : undefined,
	}, h("button", { type: "button", class: "plain sort", onclick: () => {
		sortBy(column);
		headRow.children[columns.indexOf(column)].firstChild.focus();
	} }, column.text(state), state.sort === column.key ? h("span", { "aria-hidden": "true" }, isUp(column) ? " ▲" : " ▼") : null))),
	h("th", { scope: "col", class: "why" }, "Last failures"));
}

const known = new Map();              // name → its row's elements

function makeRow(name) {
	const button = h("button", { type: "button", class: "plain name", "aria-expanded": "false", onclick: () => toggle(name) });
	const row = h("tr", null, columns.map(({ key, number }) => key === "name" ? h("th", { scope: "row" }, button) :
		h("td", { class: `${number ? "number " : ""}${key}`, data: { label: key } })), h("td", { class: "why" }));
	row.addEventListener("click", (event) => {
		if (!event.target.closest("a, button") && getSelection().isCollapsed)
			toggle(name);
	});
	return row;
}

function fillSpans(cell, spans) {
	const text = JSON.stringify(spans);
	if (cell.dataset.is === text)
		return;
	cell.dataset.is = text;
	cell.replaceChildren(bars(spans));
}

function fillRow(element, row) {
	columns.forEach((column, i) => {
		const cell = element.cells[i];
		if (column.key === "name")
			say(cell.firstChild, row.name || "(no name)");
		else if (column.key === "spans")
			fillSpans(cell, row.spans);
		else
			say(cell, column.show(row));
	});
	element.querySelector(".failed").classList.toggle("bad", row.failed > 0);
	const why = element.cells[columns.length], failures = row.last_failures ?? [];
	const text = JSON.stringify(failures);
	if (why.dataset.is === text)
		return;
	why.dataset.is = text;
	why.replaceChildren(...failures.slice(0, 1).map(({ reason, run_id: id, seq, at }) => h("a", { href: `/runs/${id}#${seq}`, title: reason },
		line(reason, REASON) || "no reason is recorded", h("span", { class: "note" }, ` ${ago(at)}`))));
}

function draw() {
	const all = sorted(), drawn = all.slice(0, DRAWN_MOST);
	drawHead();
	const elements = [];
	for (const row of drawn) {
		const element = known.get(row.name) ?? makeRow(row.name);
		known.set(row.name, element);
		fillRow(element, row);
		elements.push(element);
		if (open.has(row.name))
			elements.push(open.get(row.name));
	}
	const focused = document.activeElement;
	arrange(body, elements);
	if (focused?.isConnected && focused !== document.activeElement)
		focused.focus({ preventScroll: true });
	table.hidden = drawn.length === 0;
	say(none, drawn.length > 0 ? all.length > drawn.length ? `${count(all.length - drawn.length)} more rows: filter to see them.` : "" :
		rows.length > 0 ? "Nothing here matches." : progress.textContent === "" ? "Reading…" : "Nothing has ended since then.");
	const total = all.reduce((sum, row) => ({ count: sum.count + row.count, failed: sum.failed + row.failed,
		cost: sum.cost + (row.cost === undefined ? 0 : Number(row.cost)) }), { count: 0, failed: 0, cost: 0 });
	say(sums, total.count === 0 ? "" : [`${count(total.count)} ${heads[state.by][1].toLowerCase()}`,
		total.failed > 0 ? `${count(total.failed)} failed (${percent(total.failed / total.count)})` : "none failed",
		dollars(String(total.cost))].filter(Boolean).join(", "));
}

/* ---- what is behind a row ---- */

function callRow({ run_id: id, workflow, seq, at, ms, failed, reason }) {
	return h("li", { class: failed ? "bad" : "" }, h("a", { href: `/runs/${id}#${seq}` }, `${workflow || "run"} ${id.slice(0, 8)}`), " ",
	    h("span", { class: "note", title: when(at) }, `${ago(at)}, ${duration(ms)}`), failed ? ` ${line(reason, REASON) || "failed, no reason is recorded"}` : "");
}

async function fillCalls(element, name, choice) {
	const list = element.querySelector("ul"), { by, since } = state;
	try {
		const { calls, more, complete } = await get("/api/stats/calls?" + new URLSearchParams({ by, since, name, limit: 20, ...choice }));
		list.replaceChildren(...calls.map(callRow), ...calls.length === 0 ? [h("li", { class: "note" }, "None.")] : [],
			...more || !complete ? [h("li", { class: "note" }, more ? "… and more." : "… more is being read.")] : []);
	} catch (error) {
		list.replaceChildren(h("li", { class: "problem" }, error.message));
	}
}

function makeDetails(name) {
	const choices = [["Failures", { failed: "1" }], ["Slowest", { slowest: "1" }], ["Latest", {}]];
	const buttons = choices.map(([text, choice], i) => h("button", { type: "button", "aria-pressed": "false", onclick: () => {
		buttons.forEach((each, j) => each.setAttribute("aria-pressed", String(i === j)));
		fillCalls(element, name, choice);
	} }, text));
	const runs = (more) => "/#" + new URLSearchParams({ name, since: state.since, children: "1", ...more });
	const element = h("tr", { class: "behind" }, h("td", { colSpan: columns.length + 1 },
	    h("div", { class: "buttons" }, buttons, state.by === "workflow" ? [
	        h("a", { href: runs({}) }, "its runs"), h("a", { href: runs({ status: "failed" }) }, "its failed runs")] : null),
	    h("ul", { class: "calls", "aria-label": "Calls" })));
	buttons[rows.find((row) => row.name === name)?.failed > 0 ? 0 : 1].click();
	return element;
}

function toggle(name) {
	const button = known.get(name).querySelector("button");
	if (open.has(name)) {
		open.get(name).remove();
		open.delete(name);
	} else {
		open.set(name, makeDetails(name));
	}
	button.setAttribute("aria-expanded", String(open.has(name)));
	draw();
}

/* ---- the view ---- */

// What was typed a moment ago counts, too.
function choose(change) {
	keepState({ q: field.value.trim(), ...change });
	known.clear();
	open.clear();
	rows = [];
	say(progress, "");
	showChoices();
	draw();
	load();
}

function showChoices() {
	for (const button of document.querySelectorAll(".choices button"))
		button.setAttribute("aria-pressed", String(state[button.dataset.of] === button.dataset.value));
	field.value = state.q;
	document.title = `${kinds[state.by]} – AWF`;
}

const choices = (of, label, texts) => h("div", { class: "choices buttons", role: "group", "aria-label": label },
	Object.entries(texts).map(([value, text]) => h("button", { type: "button", data: { of, value }, onclick: () => choose({ [of]: value }) }, text)));

function move(by) {
	const names = [...body.querySelectorAll("button.name")], at = names.indexOf(document.activeElement);
	names[Math.max(0, Math.min(names.length - 1, at === -1 ? 0 : at + by))]?.focus();
}

const next = (words, word) => Object.keys(words)[(Object.keys(words).indexOf(word) + 1) % Object.keys(words).length];

export async function showOverview(main) {
	state = readState();
	headRow = h("tr");
	body = h("tbody");
	table = h("table", null, h("thead", null, headRow), body);
	problem = h("p", { role: "alert", class: "problem" });
	progress = h("p", { role: "status", class: "note" });
	none = h("p", { id: "none", role: "status" });
	sums = h("span", { class: "note" });
	field = h("input", { id: "q", type: "search", placeholder: "name or reason", autocomplete: "off", oninput: throttle(150, () => {
		keepState({ q: field.value.trim() });
		draw();
	}) });
	main.className = "overview";
	main.replaceChildren(
	    h("div", { class: "title" }, h("h1", null, "Overview"), sums),
	    h("div", { class: "filters" }, choices("by", "Of what", kinds), choices("since", "Since", spans),
	        h("label", null, h("span", null, "Filter"), field)),
	    problem, table, none, progress);
	showChoices();
	draw();
	setKeys([
		{ keys: ["j", "ArrowDown"], text: "Next row", run: () => move(1) },
		{ keys: ["k", "ArrowUp"], text: "Previous row", run: () => move(-1) },
		{ keys: ["Enter", "o"], text: "Unfold the row: the calls behind it", run: () => document.activeElement.click() },
		{ keys: ["b"], text: "Workflows, steps, tools, models", run: () => choose({ by: next(kinds, state.by) }) },
		{ keys: ["p"], text: "Day, week, month", run: () => choose({ since: next(spans, state.since) }) },
		{ keys: ["s"], text: "Sort by the next column", run: () => sortBy(sortable[(sortable.findIndex(({ key }) => key === state.sort) + 1) % sortable.length]) },
		{ keys: ["r"], text: "Sort the other way round", run: () => sortBy(columns.find(({ key }) => key === state.sort)) },
		{ keys: ["/"], text: "Filter", run: () => field.focus() },
		{ keys: ["u", "Escape"], text: "The list of runs", run: () => location.assign("/") },
	]);
	window.addEventListener("hashchange", () => choose(readState()));
	document.addEventListener("visibilitychange", () => document.hidden || load());
	await load();
}
