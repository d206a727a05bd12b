// The list of runs, with filters, kept up to date; above it how many wait, run and have failed of
// late. The filters stand behind the # of the address,
// so that a list can be kept as a bookmark, and reload shows the same.
import { get, runPath } from "/www/api.js";
import { comparePath, plain } from "/www/compare.js";
import { arrange, byId, h, say, throttle } from "/www/dom.js";
import { ago, count, dollars, duration, line, signs, when } from "/www/format.js";
import { setKeys } from "/www/keys.js";
import { Stream } from "/www/stream.js";

const SHOWN = 100, COUNTED = 100, SORTED_MS = 5000;
const statuses = ["running", "queued", "waiting", "failed", "success", "cancelled", "timeout", "died"];
const since = { "": "any time", "1h": "last hour", "1d": "last day", "7d": "last week", "30d": "last month" };

// What the server can sort by; the others are its words for nothing.
const heads = [["Compare", "pick"], ["Status", "", "status"], ["Workflow", "", "name"], ["Why", ""], ["Id", ""], ["Started", "", "started"],
	["Time", "number", "duration"], ["Calls", "number calls", "calls"], ["Tokens", "number", "tokens"], ["Cost", "number", "cost"]];
const ascending = new Set(["status", "name"]);

// What is counted above the list: [word, filters].
const counted = [["waiting", { status: "waiting" }], ["running", { status: "running" }],
	["failed since yesterday", { status: "failed", since: "1d" }]];

let runs = [], before = [], next = null, body, headRow, problem, filters, counts, named, compare, rows = new Map();
const chosen = new Map();             // run ids → runs that are to be compared, at most two

const filter = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

// Words are looked for in names; what could be the beginning of an id is that, too. A name is one alone.
function query() {
	const { q, name, status, since: from, children, sort, turned } = filter();
	const parameters = new URLSearchParams({ limit: SHOWN });
	if (q)
		parameters.set("name", /[*?[]/.test(q) ? q : `*${q}*`);
	else if (name)
		parameters.set("name", plain(name));
	if (sort)
		parameters.set("sort", sort);
	if (turned)
		parameters.set("turned", "1");
	if (status)
		parameters.set("status", status);
	if (from)
		parameters.set("since", from);
	if (children)
		parameters.set("children", "1");
	return parameters;
}

async function load() {
	const parameters = query(), { q } = filter();
	const reading = setTimeout(() => say(byId("none"), "Reading…"), 300);
	if (before.length > 0)
		parameters.set("before", before.at(-1));
	try {
		const answer = await get("/api/runs?" + parameters);
		runs = answer.runs;
		next = answer.next;
		if (q && /^[0-9a-f-]{4,36}$/.test(q) && before.length === 0) {
			const run = await get(runPath(q)).catch(() => null);
			if (run && !runs.some((each) => each.run_id === run.run_id))
				runs.unshift({ ...run, calls: run.calls.total ?? run.calls });
		}
		say(problem, "");
	} catch (error) {
		say(problem, error.message);
		if (error.status === 401)
			throw error;
	} finally {
		clearTimeout(reading);
	}
	draw();
}

// At most so many are counted: that there are many is enough.
async function countRuns() {
	const all = await Promise.all(counted.map(async ([, choice]) =>
		(await get("/api/runs?" + new URLSearchParams({ ...choice, limit: COUNTED }))).runs.length));
	counted.forEach(([word, choice], i) => {
		const button = counts.children[i];
		button.hidden = all[i] === 0;
		say(button, `${signs[choice.status]} ${all[i]}${all[i] === COUNTED ? " or more" : ""} ${word}`);
	});
}

function cells(run) {
	const tokens = (run.input_tokens ?? 0) + (run.output_tokens ?? 0);
	const took = run.status === "running" ? Date.now() - Date.parse(run.started) : run.duration_ms;
	return [
		[`state ${run.status}`, `${signs[run.status] ?? "·"} ${run.status}${run.status === "running" && run.waiting > 0 ? `, ${run.waiting} waiting` : run.waiting > 1 ? " " + run.waiting : ""}`],
		["name", run.name ?? "?"],
		["why", run.status === "waiting" && run.waiting === 0 ? "decided: continue with awf-run --resume" : run.status === "success" || run.status === "running" ? "" : line(run.error?.message, 200)],
		["id", run.run_id.slice(0, 8)],
		["ago", ago(run.started)],
		["number", duration(took ?? 0)],
		["number calls", count(run.calls)],
		["number tokens", tokens > 0 ? count(tokens) : ""],
		["number", dollars(run.cost)],
	];
}

function makeRow(run) {
	const link = h("a", { href: "/runs/" + run.run_id });
	const row = h("tr", { data: { run: run.run_id } }, h("td", { class: "pick" }, h("label", null, h("input", { type: "checkbox", checked: chosen.has(run.run_id), "aria-label": `Compare ${run.name ?? "run"} ${run.run_id.slice(0, 8)}`,
		onchange: () => choose(run) }))),
	cells(run).map((_, i) => i === 1 ? h("th", { scope: "row" }, link) : h("td")));
	row.addEventListener("click", (event) => {
		if (!event.target.closest("a, .pick") && getSelection().isCollapsed)
			location.assign(link.href);
	});
	return row;
}

// Rows that stay are kept, with the focus in them.
function draw() {
	const old = rows;
	rows = new Map();
	for (const run of runs) {
		const row = old.get(run.run_id) ?? makeRow(run);
		cells(run).forEach(([name, text], i) => {
			const cell = row.cells[i + 1];
			cell.className = name;
			say(i === 1 ? cell.firstChild : cell, text);
		});
		row.querySelector(".ago").title = when(run.started);
		rows.set(run.run_id, row);
	}
	arrange(body, [...rows.values()]);
	showChosen();
	byId("none").hidden = runs.length > 0;
	say(byId("none"), "No matching runs.");
	byId("older").hidden = !next;
	byId("newer").hidden = before.length === 0;
}

// A run that has come or changed. What is not in the list may belong there: the server knows.
const loadSoon = throttle(1000, load);
const loadSorted = throttle(SORTED_MS, load);
const countSoon = throttle(2000, () => countRuns().catch(() => null));

function changed(run) {
	countSoon();
	const at = runs.findIndex((each) => each.run_id === run.run_id);
	if (filter().sort) {
		loadSorted();
		return;
	}
	if (at === -1 || filter().status || runs[at].status === "queued") {
		loadSoon();
		return;
	}
	runs[at] = run;
	draw();
}

function follow() {
	const link = byId("link");
	new Stream("/api/runs/stream" + (filter().children ? "?children=1" : ""), {
		message: (data) => changed(JSON.parse(data)),
		event: (name) => {
			if (name === "gone") {
				loadSoon();
				countSoon();
			}
		},
		state: (state, error) => {
			say(link, state === "cut" ? "connection lost, trying again" : "");
			if (state === "live") {
				loadSoon();
				countSoon();
			}
			if (state === "over" && error?.status === 401)
				location.reload();
		},
	});
	// What time alone changes: how long ago, and which runs are of the last hour.
	const again = () => {
		if (!document.hidden) {
			loadSoon();
			countSoon();
		}
	};
	setInterval(again, 10_000);
	document.addEventListener("visibilitychange", again);
}

/* ---- two runs to compare ---- */

// Of three, the one that was chosen first is let go.
function choose(run) {
	if (!chosen.delete(run.run_id)) {
		if (chosen.size === 2)
			chosen.delete(chosen.keys().next().value);
		chosen.set(run.run_id, run);
	}
	showChosen();
}

function showChosen() {
	for (const [id, row] of rows)
		row.querySelector(".pick input").checked = chosen.has(id);
	compare.hidden = chosen.size === 0;
	compare.disabled = chosen.size < 2;
	say(compare, chosen.size < 2 ? "Compare with another: choose it" : "Compare the two");
}

// The one that has started first is the first.
function goCompare() {
	if (chosen.size < 2)
		return;
	const [one, other] = [...chosen.values()].sort((a, b) => a.started < b.started ? -1 : 1);
	location.assign(comparePath(one.run_id, other.run_id));
}

/* ---- sorting ---- */

function drawHead() {
	const { sort = "started", turned } = filter();
	headRow.replaceChildren(...heads.map(([text, name, word]) => {
		if (!word)
			return h("th", { scope: "col", class: name }, name === "pick" ? h("span", { class: "unseen" }, text) : text);
		const up = ascending.has(word) !== Boolean(turned), is = sort === word;
		return h("th", { scope: "col", class: name, "aria-sort": is ? up ? "ascending" : "descending" : undefined },
		    h("button", { type: "button", class: "plain sort", data: { sort: word }, onclick: () => {
		    	sortBy(word);
		    	headRow.querySelector(`[data-sort="${word}"]`).focus();
		    } }, text, is && (sort !== "started" || turned) ? h("span", { "aria-hidden": "true" }, up ? " ▲" : " ▼") : null));
	}));
}

function sortBy(word) {
	const { sort = "started", turned } = filter();
	setFilters({ sort: word === "started" ? "" : word, turned: sort === word && !turned ? "1" : "" });
	drawHead();
}

function select(name, label, options) {
	const field = h("select", { id: name, onchange: () => setFilter(name, field.value) },
	    Object.entries(options).map(([value, text]) => h("option", { value }, text)));
	return h("label", null, h("span", null, label), field);
}

const setFilter = (name, value) => setFilters({ [name]: value });

function setFilters(values) {
	const parameters = new URLSearchParams(location.hash.slice(1));
	for (const [name, value] of Object.entries(values))
		if (value)
			parameters.set(name, value);
		else
			parameters.delete(name);
	history.replaceState(null, "", parameters.size > 0 ? "#" + parameters : location.pathname);
	before = [];
	load();
}

function showFilters() {
	const { q, name, status, since: from, children } = filter();
	named.hidden = !name;
	say(named, name ? `Workflow ${name} ✕` : "");
	byId("q").value = q ?? "";
	byId("status").value = status ?? "";
	byId("since").value = from ?? "";
	byId("children").checked = Boolean(children);
}

function move(by) {
	const links = [...body.querySelectorAll("th a")];
	const at = links.indexOf(document.activeElement);
	links[Math.max(0, Math.min(links.length - 1, at === -1 ? 0 : at + by))]?.focus();
}

function chooseActive() {
	const run = runs.find((each) => each.run_id === document.activeElement.closest("tr")?.dataset.run);
	if (run)
		choose(run);
}

function page(back) {
	if (back)
		before.pop();
	else if (next)
		before.push(next);
	load();
	byId("main").focus();
}

export async function showRuns(main) {
	const search = h("input", {
		id: "q", type: "search", placeholder: "name or id", autocomplete: "off",
		oninput: throttle(250, () => {
			setFilters({ q: search.value.trim(), name: "" });
			named.hidden = true;
		}),
	});
	named = h("button", { type: "button", hidden: true, title: "Show all workflows", onclick: () => {
		setFilter("name", "");
		showFilters();
	} });
	compare = h("button", { type: "button", class: "main", hidden: true, onclick: goCompare });
	headRow = h("tr");
	filters = h("form", { role: "search", class: "filters", onsubmit: (event) => event.preventDefault() },
	    h("label", null, h("span", null, "Search"), search),
	    select("status", "Status", { "": "any", ...Object.fromEntries(statuses.map((s) => [s, s])) }),
	    select("since", "Started", since),
	    h("label", { class: "check" }, h("input", {
	        id: "children", type: "checkbox",
	        onchange: (event) => setFilter("children", event.target.checked ? "1" : ""),
	    }), h("span", null, "child runs")), named,
	    h("a", { class: "contents", href: "/search" }, "Search in what was said"), compare);
	counts = h("div", { class: "counts", role: "group", "aria-label": "Runs by status" }, counted.map(([, choice]) =>
	    h("button", { type: "button", class: `state ${choice.status}`, hidden: true, onclick: () => {
	        setFilters({ status: "", since: "", ...choice });
	        showFilters();
	    } })));
	body = h("tbody");
	problem = h("p", { role: "alert", class: "problem" });
	main.className = "runs";
	main.replaceChildren(
	    h("div", { class: "title" }, h("h1", null, "Runs"), counts), filters, problem,
	    h("table", null,
	        h("thead", null, headRow), body),
	    h("p", { id: "none", role: "status" }),
	    h("nav", { class: "pages", "aria-label": "Pages" },
	        h("button", { id: "newer", hidden: true, onclick: () => page(true) }, "← Newer runs"),
	        h("button", { id: "older", hidden: true, onclick: () => page(false) }, "Older runs →")));
	document.title = "Runs – AWF";
	showFilters();
	drawHead();
	window.addEventListener("hashchange", () => {
		showFilters();
		drawHead();
		load();
	});
	setKeys([
		{ keys: ["j", "ArrowDown"], text: "Next run", run: () => move(1) },
		{ keys: ["k", "ArrowUp"], text: "Previous run", run: () => move(-1) },
		{ keys: ["Enter", "o"], text: "Open the run", run: () => document.activeElement.click() },
		{ keys: ["x"], text: "Choose the run, to compare two", run: () => chooseActive() },
		{ keys: ["c"], text: "Compare the two that are chosen", run: goCompare },
		{ keys: ["s"], text: "Sort by the next column", run: () => {
			const words = heads.map(([, , word]) => word).filter(Boolean);
			sortBy(words[(words.indexOf(filter().sort ?? "started") + 1) % words.length]);
		} },
		{ keys: ["r"], text: "Sort the other way round", run: () => sortBy(filter().sort ?? "started") },
		{ keys: ["/"], text: "Search in names", run: () => search.focus() },
		{ keys: ["f"], text: "Search in what was said", run: () => location.assign("/search") },
		{ keys: ["i"], text: "Inbox: what waits", run: () => location.assign("/inbox") },
		{ keys: ["v"], text: "Overview: figures", run: () => location.assign("/overview") },
		{ keys: ["w"], text: "Waiting runs only, or all", run: () => {
			setFilter("status", filter().status ? "" : "waiting");
			showFilters();
		} },
	]);
	await load();
	follow();
}
