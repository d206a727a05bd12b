// All that waits for a person, of all runs, in one list, the oldest first, decided where it stands: by keys
// alone, one after another. What is decided leaves at once, and the next has the focus; what comes meanwhile
// moves nothing that somebody looks at.
import { get, post, runPath } from "/www/api.js";
import { arrange, ask, byId, h, say, throttle } from "/www/dom.js";
import { count, line } from "/www/format.js";
import { parseExactly } from "/www/json.js";
import { setKeys } from "/www/keys.js";
import { Stream } from "/www/stream.js";
import { makeWait, sinceWhen, waitKey } from "/www/waits.js";

const SHOWN = 100, EXCERPT = 160;

let list, problem, told, none, total, more, filterField, mayDecide;
let items = [];                       // { key, wait, element, controls, sending, gone }, as they are shown
let current = null;                   // the one that is open, and has the focus
let known = { total: 0, more: false };
const sent = new Map();               // keys of what was decided here, until the server tells of it no more

const keyOf = (wait) => wait.run_id + waitKey(wait);

// What it is about, on one line: a tool's arguments, the question, the data.
function excerpt({ input = {}, question }) {
	if (question?.prompt)
		return line(question.prompt, EXCERPT);
	const asked = input.json;
	return "text" in input ? line(input.text, EXCERPT) :
		asked?.tool && asked.input ? line(asked.input, EXCERPT) : "json" in input ? line(asked, EXCERPT) : "";
}

const runOf = ({ run_id: id, name }) => `${name || "run"} ${id.slice(0, 8)}`;
const hrefOf = ({ run_id: id, call }) => `/runs/${id}#call=${encodeURIComponent(call)}`;

/* ---- one ---- */

function makeItem(wait) {
	const item = { key: keyOf(wait), wait, sending: false, gone: false };
	const controls = makeWait(wait.run_id, wait, mayDecide, (decision) => decided(item, decision));
	const since = h("span", { class: "note since" });
	item.controls = controls;
	item.since = since;
	item.body = h("div", { class: "body", hidden: true }, controls.form);
	item.element = h("li", { class: "ask wait", tabIndex: -1,
		onfocusin: () => show(item),
		onclick: () => {
			if (current !== item)
				focus(item);
		} },
	    h("div", { class: "line" }, h("h2", null, controls.heading), " ",
	        h("a", { href: hrefOf(wait) }, runOf(wait)), wait.origin ? h("span", { class: "note" }, ` of ${wait.origin}`) : null, since,
	        h("span", { class: "about" }, excerpt(wait))), item.body);
	controls.form.addEventListener("keydown", (event) => fieldKey(item, event));
	return item;
}

// Keys of who writes in a field: Escape leads back to the list, Enter denies with the reason, and Control and
// Enter send what was edited.
function fieldKey(item, event) {
	if (event.key === "Escape") {
		event.preventDefault();
		event.stopPropagation();
		focus(item);
	} else if (event.key === "Enter" && event.target === item.controls.reason) {
		event.preventDefault();
		press(item, "danger");
	} else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target === item.controls.field) {
		event.preventDefault();
		press(item, "main");
	}
}

// Opens one, and closes the one that was open.
function show(item) {
	if (current === item)
		return;
	if (current) {
		current.body.hidden = true;
		current.element.tabIndex = -1;
		current.element.removeAttribute("aria-current");
		const left = current;
		current = null;
		// One that others have decided meanwhile was kept while somebody was at it.
		if (left.gone)
			drop(left);
	}
	current = item;
	item.body.hidden = false;
	item.element.tabIndex = 0;
	item.element.setAttribute("aria-current", "true");
}

function focus(item) {
	show(item);
	item.element.focus({ preventScroll: true });
	item.element.scrollIntoView({ block: "nearest" });
}

const shown = () => items.filter(({ element }) => !element.hidden);

function move(by) {
	const all = shown(), at = all.indexOf(current);
	const next = all[Math.max(0, Math.min(all.length - 1, at === -1 ? 0 : at + by))];
	if (next)
		focus(next);
}

/* ---- deciding ---- */

// The next one is at hand at once; if the server refuses, this one stays, and says why.
async function press(item, which) {
	if (!mayDecide || !item || item.sending)
		return;
	const all = shown().filter((each) => !each.sending || each === item), at = all.indexOf(item);
	item.sending = true;
	item.element.classList.add("sending");
	const answer = item.controls.press(which);
	const next = all[at + 1] ?? all[at - 1];
	if (next && current === item)
		focus(next);
	if (!await answer) {
		item.sending = false;
		item.element.classList.remove("sending");
		say(problem, `${item.wait.call} of ${runOf(item.wait)}: ${item.controls.form.querySelector("[role=status]").textContent}`);
		loadSoon();
	}
}

const words = { approve: "Approved", deny: "Denied", complete: "Completed", failed: "Said to have failed" };

function decided(item, decision) {
	sent.set(item.key, true);
	say(problem, "");
	known.total = Math.max(0, known.total - 1);
	const held = item.element.contains(document.activeElement);
	const all = shown(), at = all.indexOf(item);
	drop(item);
	if (held || current === null) {
		const next = all[at + 1] ?? all[at - 1];
		current = null;
		if (next)
			focus(next);
		else
			byId("main").focus();
	}
	say(told, `${words[decision]}: ${item.wait.call} of ${runOf(item.wait)}. `);
	loadSoon();
}

function drop(item) {
	items = items.filter((each) => each !== item);
	item.element.remove();
	if (current === item)
		current = null;
	sums();
}

// What is edited is sent as it was edited; a result has to be written first.
function approve(event) {
	if (event.repeat || !current)
		return;
	const { controls, wait } = current;
	if (wait.for === "completion" && controls.field.value === "")
		controls.field.focus();
	else
		press(current, "main");
}

function approveAlways(event) {
	if (event.repeat || !current)
		return;
	if (!current.controls.always) {
		say(told, "Only calls of tools are approved for a whole run.");
		return;
	}
	current.controls.always.checked = true;
	press(current, "main");
}

async function stop() {
	if (!mayDecide || !current)
		return;
	const { wait } = current;
	if (!wait.alive) {
		say(told, "This run has no process: it can be denied, or left.");
		return;
	}
	if (!await ask("Stop this run?", `${runOf(wait)}: calls in progress are ended; a resume can continue them later.`, "Stop it"))
		return;
	try {
		await post(runPath(wait.run_id) + "/decisions", { decision: "cancel" });
		loadSoon();
	} catch (error) {
		say(problem, error.message);
	}
}

/* ---- the list ---- */

let asked = 0;

async function load() {
	const mine = ++asked;
	let answer;
	try {
		answer = await get(`/api/waits?limit=${SHOWN}`, parseExactly);
	} catch (error) {
		// That the connection is lost is said above.
		if (error.status)
			say(problem, error.message);
		if (error.status === 401)
			location.reload();
		return;
	}
	if (mine === asked)
		take(answer);
}

function take(answer) {
	const old = new Map(items.map((item) => [item.key, item])), there = new Set(answer.waits.map(keyOf));
	for (const key of sent.keys())
		if (!there.has(key))
			sent.delete(key);
	const now = answer.waits.filter((wait) => !sent.has(keyOf(wait))).map((wait) => {
		const item = old.get(keyOf(wait)) ?? makeItem(wait);
		item.gone = false;
		return item;
	});
	// What somebody is at stays where it is, also if another has decided it.
	const kept = new Set(now);
	items.forEach((item, i) => {
		if (kept.has(item) || (item !== current && !item.sending) || sent.has(item.key))
			return;
		item.gone = !item.sending;
		const before = items.slice(0, i).findLast((each) => kept.has(each));
		now.splice(before ? now.indexOf(before) + 1 : 0, 0, item);
		kept.add(item);
	});
	const held = document.activeElement, top = current?.element.getBoundingClientRect().top;
	items = now;
	known = { total: Math.max(answer.total - sent.size, now.filter(({ gone }) => !gone).length), more: answer.more };
	arrange(list, items.map(({ element }) => element));
	for (const item of items) {
		item.element.classList.toggle("gone", item.gone);
		say(item.since, item.gone ? " decided elsewhere, or does not wait any more" : sinceWhen(item.wait));
	}
	filter();
	// As far as rows that came above it have moved it.
	if (current?.element.isConnected && top !== undefined)
		byId("main").scrollTop += current.element.getBoundingClientRect().top - top;
	if (held?.isConnected && held !== document.activeElement)
		held.focus({ preventScroll: true });
	if (current === null && shown().length > 0) {
		if (document.activeElement === document.body || document.activeElement === byId("main"))
			focus(shown()[0]);
		else
			shown()[0].element.tabIndex = 0;
	}
}

function filter() {
	const needle = filterField.value.trim().toLowerCase();
	for (const { element, wait } of items)
		element.hidden = needle !== "" && ![wait.name, wait.run_id, wait.call, wait.origin ?? "", excerpt(wait)]
			.some((text) => text.toLowerCase().includes(needle));
	const parameters = new URLSearchParams(needle ? { q: filterField.value.trim() } : {});
	if (location.hash.slice(1) !== String(parameters))
		history.replaceState(null, "", parameters.size > 0 ? "#" + parameters : location.pathname);
	sums();
}

function sums() {
	const all = shown();
	say(total, known.total === 0 ? "" : `${count(known.total)} wait${known.total === 1 ? "s" : ""}`);
	say(none, items.length === 0 ? "Nothing waits for a person." : all.length === 0 ? "Nothing here matches." : "");
	none.hidden = all.length > 0;
	say(more, known.more ? `The ${items.length} oldest of ${known.total} are shown; the rest follow as these are decided.` : "");
	document.title = `${known.total > 0 ? `(${known.total}) ` : ""}Inbox – AWF`;
}

const loadSoon = throttle(500, load);

function follow() {
	const link = byId("link");
	new Stream("/api/runs/stream?children=1", {
		message: loadSoon,
		event: loadSoon,
		state: (state, error) => {
			say(link, state === "cut" ? "connection lost, trying again" : "");
			if (state === "live")
				loadSoon();
			if (state === "over" && error?.status === 401)
				location.reload();
		},
	});
	const again = () => document.hidden || loadSoon();
	setInterval(again, 10_000);
	document.addEventListener("visibilitychange", again);
}

export async function showInbox(main, may) {
	mayDecide = may.includes("decide");
	list = h("ol", { class: "asks", "aria-label": "What waits, the oldest first" });
	problem = h("p", { role: "alert", class: "problem" });
	told = h("p", { role: "status", class: "note" });
	none = h("p", { id: "none", role: "status" }, "Reading…");
	total = h("span", { class: "state waiting" });
	more = h("p", { class: "note" });
	filterField = h("input", { id: "q", type: "search", placeholder: "workflow, call or text", autocomplete: "off", oninput: throttle(150, filter) });
	filterField.value = new URLSearchParams(location.hash.slice(1)).get("q") ?? "";
	main.className = "inbox";
	main.replaceChildren(
	    h("div", { class: "title" }, h("h1", null, "Inbox"), total, told),
	    h("form", { role: "search", class: "filters", onsubmit: (event) => event.preventDefault() },
	        h("label", null, h("span", null, "Filter"), filterField)),
	    mayDecide ? h("p", { class: "note hint" }, h("kbd", null, "a"), "approve ", h("kbd", null, "e"), "edit ", h("kbd", null, "d"),
	        "deny, with a reason ", h("kbd", null, "j"), h("kbd", null, "k"), "next, previous ", h("kbd", null, "?"), "all keys") :
	        h("p", { class: "note" }, "This token may read, not decide."),
	    problem, list, none, more);
	sums();
	say(none, "Reading…");
	const onCurrent = (what) => () => current && what(current);
	setKeys([
		{ keys: ["j", "ArrowDown"], text: "Next", run: () => move(1) },
		{ keys: ["k", "ArrowUp"], text: "Previous", run: () => move(-1) },
		{ keys: ["g"], text: "The oldest", run: () => move(-Infinity) },
		{ keys: ["G"], text: "The newest", run: () => move(Infinity) },
		...mayDecide ? [
			{ keys: ["a"], text: "Approve, as it stands in the field; complete with the result there", run: approve },
			{ keys: ["A"], text: "Approve this tool's calls always, for this run", run: approveAlways },
			{ keys: ["e"], text: "Edit; then Esc leaves the field, and Ctrl ⏎ approves at once", run: onCurrent(({ controls }) => controls.field.focus()) },
			{ keys: ["d"], text: "Deny: write a reason or none, then ⏎; Esc leaves it", run: onCurrent(({ controls }) => controls.reason.focus()) },
			{ keys: ["x"], text: "Stop the run of this call", run: stop },
		] : [],
		{ keys: ["Enter", "o"], text: "Open the run, at this call", run: onCurrent(({ wait }) => location.assign(hrefOf(wait))) },
		{ keys: ["/"], text: "Filter", run: () => filterField.focus() },
		{ keys: ["u", "Escape"], text: "The list of runs", run: () => location.assign("/") },
	]);
	await load();
	follow();
}
