// A run: what it came to, what waits, its tree and times beside its conversation. What there is is
// read first; then each event comes by the stream, once, in order. When an attempt has ended the
// stream does, too; a further attempt, or a decision, is seen by asking now and then.
import { againButton } from "/www/again.js";
import { get, post, request, runPath } from "/www/api.js";
import { forgetOpened, openAll } from "/www/blocks.js";
import { compareWith } from "/www/compare.js";
import { Conversation } from "/www/conversation.js";
import { Details } from "/www/details.js";
import { ask, byId, h, say, throttle } from "/www/dom.js";
import { Evaluation, isEvaluation } from "/www/evaluation.js";
import { isError } from "/www/event.js";
import { Events } from "/www/events.js";
import { count, dollars, duration, signs, when } from "/www/format.js";
import { parse, parseExactly } from "/www/json.js";
import { setKeys } from "/www/keys.js";
import { Live } from "/www/live.js";
import { Outcome } from "/www/outcome.js";
import { Payloads } from "/www/payloads.js";
import { Record } from "/www/record.js";
import { matches, search } from "/www/search.js";
import { Stream } from "/www/stream.js";
import { legend, Tree } from "/www/tree.js";
import { Waits } from "/www/waits.js";

const ASK_MS = 5000, TICK_MS = 1000, DRAW_MS = 120, TYPED_MS = 250, EVALUATED_MS = 3000;

// Which events are shown, by the word behind show= in the address.
const kinds = {
	__proto__: null,
	talk: ["Messages and tools", ({ type }) => /^(message|tool)\./.test(type)],
	messages: ["Messages", ({ type }) => type.startsWith("message.")],
	tools: ["Tools", ({ type }) => type.startsWith("tool.")],
	steps: ["Steps", ({ type }) => /^(step|run)\./.test(type)],
	errors: ["Errors", isError],
};

// Set by each look at the run, of which a later one may be answered first.
let looked = 0, asked = 0;
let runId, record, payloads, live, tree, conversation, events, details, outcome, waits, stream, info, parts, skew = 0;
let evaluation = null;                // of a run of awf-eval

// What is seen of what was said: the conversation, or all events.
let shown = null;

const said = (text) => say(parts.problem, text);
// ms since the first event, by the clock of the machine where the run is as far as its events tell it.
const now = () => {
	if (record.goesOn)
		skew = Math.max(skew, record.zero + record.end - Date.now());
	return Date.now() + skew - record.zero;
};
// The last event that is known: of the stream, or where the outline began, by its number and digest.
let lastId = null;
const idOf = ({ seq, digest }) => digest ? `${seq}-${digest}` : null;

// Nothing is to come, and nothing is other than it was.
const isOver = () => !info.alive && idOf(info) === lastId;

/* ---- what is shown ---- */

function showInfo() {
	const state = info.status;
	record.alive = info.alive;
	parts.state.className = "state " + state;
	say(parts.state, `${signs[state] ?? "·"} ${state}`);
	showFigures();
	say(parts.name, info.name ?? "run");
	say(parts.started, info.started ? when(info.started) : "");
	parts.stop.hidden = !(info.alive && parts.may.includes("decide"));
	outcome.draw(now(), info.status);
	// Why it ended, if no call says it.
	say(parts.error, info.error && !["running", "waiting"].includes(info.status) && !outcome.tells(info.error.code) ?
	    `${info.error.code ?? ""}: ${info.error.message ?? ""}` : "");
	parts.resume.hidden = info.alive || ["success", "queued"].includes(info.status);
	parts.resume.classList.toggle("decided", state === "waiting" && !(info.waits?.length > 0));
	waits.show(info.waits);
	document.title = `${signs[state] ?? ""} ${info.name ?? "run"} ${info.run_id.slice(0, 8)} – AWF`;
}

function showFigures() {
	const running = info.status === "running";
	const took = running ? now() - (record.attempts.at(-1)?.from ?? 0) : info.duration_ms;
	const { usage = {}, calls = {} } = info;
	const figures = [
		["Time", duration(took ?? 0)],
		["Calls", ["total", "open", "failed", "waiting"].filter((name) => calls[name] > 0)
			.map((name) => name === "total" ? calls[name] : `${calls[name]} ${name}`).join(", ") || "0"],
		["Tokens", usage.input_tokens || usage.output_tokens ?
			`${count(usage.input_tokens ?? 0)} in, ${count(usage.output_tokens ?? 0)} out` : ""],
		["Cost", dollars(info.cost)],
		["Attempt", info.attempt > 1 ? String(info.attempt) : ""],
		["Events", count(record.seq)],
	].filter(([, text]) => text !== "");
	if (parts.figures.children.length !== figures.length)
		parts.figures.replaceChildren(...figures.map(() => h("div", null, h("dt"), h("dd"))));
	figures.forEach(([name, text], i) => {
		say(parts.figures.children[i].firstChild, name);
		say(parts.figures.children[i].lastChild, text);
	});
}

const drawSoon = throttle(DRAW_MS, () => {
	tree.draw(now());
	shown.grow();
	details.draw();
	showTell();
	outcome.draw(now(), info.status);
	showFigures();
});

async function refresh() {
	const mine = ++asked;
	try {
		const answer = await get(runPath(runId), parseExactly);
		if (mine < looked)
			return;
		info = answer;
		looked = mine;
	} catch (error) {
		said(error.message);
		if (error.status === 401)
			throw error;
		return;
	}
	showInfo();
	drawSoon();
	if (!stream && !isOver())
		open();
}

const refreshSoon = throttle(1000, refresh);

const evaluateSoon = throttle(EVALUATED_MS, () => evaluation?.refresh());

/* ---- the stream ---- */

function open() {
	const path = runPath(runId) + "/events/stream?live=1";
	stream = new Stream(path, {
		message: take,
		event: named,
		state: (state, error) => {
			say(byId("link"), state === "cut" ? "connection lost, trying again" : "");
			if (state === "live")
				live.renew();
			if (state !== "over")
				return;
			stream = null;
			if (error?.status === 401) {
				location.reload();
			} else {
				if (error)
					said(error.message);
				refreshSoon();
			}
		},
	}, lastId);
}

function take(data, id) {
	const event = parse(data);
	if (!record.add(event, event.bytes ?? data.length)) {
		// One is missing: from the last one on, again.
		stream.again(lastId ?? String(record.seq));
		return;
	}
	lastId = id ?? lastId;
	payloads.put(event);
	if (shown.found && matches(event, needle))
		shown.found.add(event.seq);
	if (event.type === "message.assistant" || event.type.endsWith(".completed")) {
		const call = record.entries[event.seq - 1]?.call;
		if (call !== null && call !== undefined)
			live.forget(record.calls[call].event_id, event.type === "message.assistant" ? event.payload?.turn : undefined);
	}
	if (event.type === "step.completed" && record.calls[record.entries[event.seq - 1].call]?.tokensOut > 0)
		record.learnCost(event.seq).then(drawSoon, () => null);
	if (event.type.endsWith(".completed") || event.type.startsWith("run.") || event.type === "message.assistant")
		refreshSoon();
	if (/^(step|run)\.completed$/.test(event.type))
		evaluateSoon();
	drawSoon();
}

function named(name, data) {
	if (name === "live") {
		live.write(JSON.parse(data));
	} else if (name === "reset") {
		lastId = null;
		record.clear();
		payloads.clear();
		forgetOpened();
		conversation.clear();
		events.list.measured.clear();
		live.clear();
		choose(null);
		tree.mark(null);
		refreshSoon();
		evaluateSoon();
		drawSoon();
	}
}

/* ---- what is done ---- */

function choose(call) {
	shown.select(call);
	showWhere();
	details.choose(call, []);
	showTell();
	keepAddress();
}

function showWhere() {
	const { call } = shown, whole = shown === events ? "All events" : "Whole run";
	say(parts.where, call === null ? whole : record.calls[call].id ?? record.calls[call].name);
	say(parts.all, whole);
	parts.all.hidden = call === null;
}

// The conversation, or all events (view=events in the address), with what was chosen in the other.
function showView(word) {
	const other = word === "events" ? events : conversation, was = shown;
	shown = other;
	parts.talkView.setAttribute("aria-pressed", String(shown === conversation));
	parts.eventsView.setAttribute("aria-pressed", String(shown === events));
	parts.conversation.hidden = shown !== conversation;
	parts.events.hidden = shown !== events;
	parts.download.hidden = shown !== events;
	if (was !== shown) {
		shown.current = was.current;
		shown.select(was.call, was.types, was.found);
		shown.list.follow(was.list.following);
		was.list.change(0, 0);
	}
	showWhere();
	keepAddress();
}

// The field in which an agent is told something: of a call that works, or waits.
function showTell() {
	const call = shown.call === null ? null : record.calls[shown.call];
	parts.tell.hidden = !(parts.may.includes("decide") && call?.kind === "agent" && call.id &&
	    ["running", "waiting"].includes(record.told(call)));
}

async function tell(event) {
	event.preventDefault();
	const text = parts.tell.elements.text, data = text.value.trim();
	if (data === "" || shown.call === null)
		return;
	try {
		const { goes_on: next } = await post(runPath(runId) + "/decisions",
		    { decision: "tell", call: record.calls[shown.call].id, data });
		text.value = "";
		say(parts.told, next === "at_once" ? "Told: it reads this before its next turn." : "Kept: it reads this when the run goes on.");
	} catch (error) {
		say(parts.told, error.message);
	}
}

// Goes to an event, by itself if it is hidden.
function goTo(seq, focus) {
	if (!(seq >= 1 && seq <= record.seq))
		return;
	if (shown.indexOf(seq) === -1) {
		showKind("");
		lookFor("");
	}
	if (shown.indexOf(seq) === -1) {
		choose(null);
		tree.mark(null);
	}
	follow(false);
	showPane("conversation");
	shown.show(seq, focus);
	details.choose(record.entries[seq - 1].call, shown === conversation ? conversation.rowOf(seq)?.seqs ?? [seq] : [seq]);
	keepAddress();
}

/* ---- which events are shown ---- */

let needle = "", searching = null;

function showKind(word) {
	parts.kind.value = word;
	shown.select(shown.call, kinds[word]?.[1] ?? null);
	keepAddress();
}

// Those in which a text occurs; an empty one: all.
async function lookFor(words) {
	searching?.abort();
	searching = null;
	parts.search.value = words;
	needle = words.trim().toLowerCase();
	keepAddress();
	if (needle === "") {
		shown.select(shown.call, undefined, null);
		say(parts.found, "");
		return;
	}
	const mine = searching = new AbortController();
	try {
		await search(runId, needle, mine.signal, (seqs, all) => {
			if (mine.signal.aborted)
				return;
			if (shown.found === seqs)
				shown.grow();
			else
				shown.select(shown.call, undefined, seqs);
			say(parts.found, `${count(seqs.size)}${all ? "" : " …"}`);
		});
	} catch (error) {
		if (!mine.signal.aborted)
			said(error.message);
	}
}

// The address is that of what is shown: "#12&view=events&show=errors&call=a:0:0&q=text"; nothing for an evaluation.
function keepAddress() {
	const more = new URLSearchParams();
	if (shown === events)
		more.set("view", "events");
	if (parts.kind.value)
		more.set("show", parts.kind.value);
	if (shown.call !== null)
		more.set("call", record.calls[shown.call].id);
	if (needle)
		more.set("q", parts.search.value.trim());
	const seq = shown.indexOf(shown.current) === -1 ? "" : String(shown.current);
	const hash = parts.panes.dataset.pane === "evaluation" ? "" : [seq, more.toString()].filter(Boolean).join("&");
	if (location.hash.slice(1) !== hash)
		history.replaceState(null, "", hash ? "#" + hash : location.pathname);
}

function takeAddress(focus) {
	const [, seq, more] = location.hash.match(/^#?(\d*)&?(.*)$/s), parameters = new URLSearchParams(more);
	const call = record.calls.findLastIndex(({ id }) => id === parameters.get("call"));
	showView(parameters.get("view") ?? "");
	showKind(parameters.get("show") ?? "");
	choose(call === -1 ? null : call);
	tree.mark(call === -1 ? null : call);
	if ((parameters.get("q") ?? "") !== needle)
		lookFor(parameters.get("q") ?? "");
	goTo(Number(seq), focus);
	return Number(seq) > 0;
}

function follow(on) {
	parts.follow.setAttribute("aria-pressed", String(on));
	shown.list.follow(on);
}

function showPane(name) {
	parts.panes.dataset.pane = name;
	for (const each of ["tree", "conversation", "details", "evaluation"])
		parts[each + "Tab"].setAttribute("aria-pressed", String(each === name));
	parts.bothTab.setAttribute("aria-pressed", String(name !== "evaluation"));
	parts.detailsButton.setAttribute("aria-pressed", String(name === "details"));
	tree?.list.draw();
	shown?.list.draw();
	details?.draw();
	if (evaluation)
		keepAddress();
}

// A run of awf-eval has a further pane, which is seen first unless the address names something else.
async function showEvaluation(first) {
	await payloads.want([1]).catch(() => null);
	if (!isEvaluation(payloads.have(1)?.payload?.argv))
		return;
	const element = h("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Scrolled by keys" });
	parts.panes.append(h("section", { class: "pane evaluation", "aria-label": "Evaluation" }, h("h2", { class: "unseen" }, "Evaluation"), element));
	parts.tabs.prepend(parts.evaluationTab);
	parts.tabs.classList.add("three");
	evaluation = new Evaluation(runId, element);
	setKeys([...keys, { keys: ["v"], text: "Go to the evaluation; there j and k go from input to input", run: () => {
		showPane("evaluation");
		evaluation.step(0);
	} }]);
	if (first && parts.panes.dataset.pane === "tree")
		showPane("evaluation");
	await evaluation.refresh();
}

async function stop() {
	if (parts.stop.hidden || parts.stop.disabled || !await ask("Stop this run?", "Calls in progress are ended; a resume can continue them later.", "Stop it"))
		return;
	parts.stop.disabled = true;
	said("Stopping…");
	try {
		await post(runPath(runId) + "/decisions", { decision: "cancel" });
		said("");
	} catch (error) {
		said(error.message);
	}
	parts.stop.disabled = false;
	refreshSoon();
}

function step(by) {
	if (parts.panes.dataset.pane === "evaluation") {
		evaluation.step(by);
		return;
	}
	const seq = shown.step(by);
	if (seq !== null)
		goTo(seq, true);
}

function stepError(by) {
	const seq = shown.nextError(by);
	if (seq !== null)
		goTo(seq, true);
}

// Opens the first thing that is folded in the chosen row.
function toggleRow() {
	const row = shown.list.shown.get(shown.indexOf(shown.current)), fold = row?.querySelector("details");
	if (fold)
		fold.open = !fold.open;
}

let allOpen = null;

function toggleAll() {
	allOpen = allOpen === null ? true : allOpen ? false : null;
	openAll(allOpen);
	shown.redraw();
}

// The record, as a file.
async function download() {
	try {
		const url = URL.createObjectURL(await (await request(runPath(runId) + "/events")).blob());
		h("a", { href: url, download: runId + ".jsonl" }).click();
		setTimeout(() => URL.revokeObjectURL(url), 60_000);
	} catch (error) {
		said(error.message);
	}
}

function toggleDetails() {
	showPane(parts.panes.dataset.pane === "details" ? "tree" : "details");
}

function showAll() {
	showKind("");
	lookFor("");
	choose(null);
	tree.mark(null);
}

const keys = [
	{ keys: ["j", "ArrowDown"], text: "Next row (in the tree, too)", run: () => step(1) },
	{ keys: ["k", "ArrowUp"], text: "Previous row", run: () => step(-1) },
	{ keys: ["o"], text: "Open what is folded in the row, or fold it", run: () => toggleRow() },
	{ keys: ["e"], text: "Next error", run: () => stepError(1) },
	{ keys: ["E"], text: "Previous error", run: () => stepError(-1) },
	{ keys: ["O"], text: "Open all that is folded, fold all, each as it was", run: toggleAll },
	{ keys: ["g"], text: "First row", run: () => goTo(shown.firstSeq, true) },
	{ keys: ["G"], text: "Last row", run: () => goTo(shown.lastSeq, true) },
	{ keys: ["f"], text: "Follow what comes", run: () => follow(!shown.list.following) },
	{ keys: ["l"], text: "All events (a log), or the conversation", run: () => showView(shown === events ? "" : "events") },
	{ keys: ["d"], text: "Details of what is selected, or the steps again", run: toggleDetails },
	{ keys: ["/"], text: "Search in the events", run: () => {
		showPane("conversation");
		parts.search.focus();
	} },
	{ keys: ["s"], text: "Go to the steps; there ← → close and open, ⏎ selects", run: () => {
		showPane("tree");
		tree.space.focus();
	} },
	{ keys: ["c"], text: "Go to the conversation", run: () => {
		showPane("conversation");
		step(0);
	} },
	{ keys: ["a"], text: "Go to waiting calls", run: () => waits.focus() },
	{ keys: ["+", "="], text: "Zoom in on the times", run: () => tree.zoom(0.5) },
	{ keys: ["-"], text: "Zoom out", run: () => tree.zoom(2) },
	{ keys: ["0"], text: "Show all times", run: () => tree.zoom(0) },
	{ keys: ["[", "]"], text: "Earlier, later", run: ({ key }) => tree.pan(key === "]" ? 0.5 : -0.5) },
	{ keys: ["x"], text: "Stop the run", run: stop },
	{ keys: ["u", "Escape"], text: "The whole run; then the list of runs", run: () => {
		if (shown.call === null && !needle && !parts.kind.value)
			location.assign("/");
		showAll();
	} },
];

/* ---- the view ---- */

function build(main, may) {
	const button = (text, run, properties = {}) => h("button", { type: "button", onclick: run, ...properties }, text);
	parts = {
		may,
		name: h("h1"),
		started: h("span", { class: "note" }),
		state: h("span", { role: "status" }),
		figures: h("dl", { class: "figures" }),
		error: h("p", { class: "error-line" }),
		problem: h("p", { role: "alert", class: "problem" }),
		waits: h("section", { class: "waits-list", "aria-label": "Waiting calls", hidden: true }),
		stop: button("Stop", stop, { class: "danger", "aria-keyshortcuts": "x", hidden: true }),
		resume: h("p", { class: "note resume", hidden: true }, "Continue it with ",
		    h("code", null, "awf-run --resume " + info.run_id.slice(0, 8))),
		where: h("h2", null, "All events"),
		all: button("All events", () => {
			choose(null);
			tree.mark(null);
		}, { hidden: true }),
		search: h("input", { type: "search", class: "search", placeholder: "Search", "aria-label": "Search in the events",
			autocomplete: "off", "aria-keyshortcuts": "/" }),
		found: h("span", { role: "status", class: "note found" }),
		kind: h("select", { "aria-label": "Show", onchange: () => showKind(parts.kind.value) },
		    h("option", { value: "" }, "Everything"),
		    Object.entries(kinds).map(([word, [text]]) => h("option", { value: word }, text))),
		outcome: h("section", { class: "outcome-list", "aria-label": "What runs and what failed" }),
		follow: button("Follow", () => follow(!shown.list.following), { "aria-pressed": "false", "aria-keyshortcuts": "f" }),
		axis: h("div", { class: "axis", "aria-hidden": "true" }),
		tree: h("div", { class: "scroll" }),
		conversation: h("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Scrolled by keys" }),
		events: h("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Scrolled by keys", hidden: true }),
		details: h("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Scrolled by keys" }),
		talkView: button("Conversation", () => showView(""), { "aria-pressed": "true" }),
		eventsView: button("Events", () => showView("events"), { "aria-pressed": "false", "aria-keyshortcuts": "l" }),
		download: button("Download", download, { hidden: true }),
		detailsButton: button("Details", toggleDetails, { class: "details-button", "aria-pressed": "false", "aria-keyshortcuts": "d" }),
		told: h("span", { role: "status", class: "note" }),
		treeTab: button("Steps", () => showPane("tree"), { "aria-pressed": "true" }),
		conversationTab: button("Conversation", () => showPane("conversation"), { "aria-pressed": "false" }),
		detailsTab: button("Details", () => showPane("details"), { "aria-pressed": "false" }),
		bothTab: button("Steps and conversation", () => showPane("conversation"), { class: "both", "aria-pressed": "true" }),
		evaluationTab: button("Evaluation", () => showPane("evaluation"), { class: "evaluation", "aria-pressed": "false", "aria-keyshortcuts": "v" }),
	};
	parts.tabs = h("div", { class: "tabs", role: "group", "aria-label": "View" }, parts.treeTab, parts.conversationTab, parts.detailsTab, parts.bothTab);
	parts.tell = h("form", { class: "tell", hidden: true, onsubmit: tell },
	    h("input", { name: "text", type: "text", placeholder: "Tell the agent", "aria-label": "Tell the agent", autocomplete: "off" }),
	    h("button", { type: "submit" }, "Tell"), parts.told);
	parts.panes = h("div", { class: "panes", data: { pane: "tree" } },
	    h("section", { class: "pane tree", "aria-label": "Steps and times" },
	        h("div", { class: "pane-head" }, h("h2", null, "Steps"), h("span", { class: "zoom" },
	            button("−", () => tree.zoom(2), { "aria-label": "Zoom out" }),
	            button("+", () => tree.zoom(0.5), { "aria-label": "Zoom in" })), legend(), parts.axis),
	        parts.tree),
	    h("section", { class: "pane conversation", "aria-label": "Conversation" },
	        h("div", { class: "pane-head" }, h("div", { class: "views", role: "group", "aria-label": "What is shown" }, parts.talkView, parts.eventsView), parts.where, parts.all,
	            parts.found, parts.search, parts.kind, parts.follow, parts.download, parts.detailsButton), parts.conversation, parts.events, parts.tell),
	    h("section", { class: "pane details-pane", "aria-label": "Details" }, h("div", { class: "pane-head" }, h("h2", null, "Details")), parts.details));
	let typed = 0;
	parts.search.addEventListener("input", () => {
		clearTimeout(typed);
		typed = setTimeout(() => lookFor(parts.search.value), TYPED_MS);
	});
	main.className = "run";
	main.replaceChildren(
	    h("div", { class: "head" }, h("div", { class: "title" }, parts.name, h("code", { class: "note" }, info.run_id.slice(0, 8)),
	        parts.state, parts.started,
	        info.parent ? h("a", { href: "/runs/" + info.parent }, "Parent run") : null,
	        info.forked_from ? h("a", { href: "/runs/" + info.forked_from }, "Forked from") : null, compareWith(info),
	        againButton(() => info, () => record.calls), parts.stop),
	    h("div", { class: "title" }, parts.figures, parts.resume), parts.error, parts.problem),
	    parts.waits, parts.outcome,
	    parts.tabs, parts.panes);
}

export async function showRun(main, name, may) {
	main.replaceChildren(h("p", { role: "status" }, "Reading…"));
	// One that waits for its turn has no record yet.
	while (!info) {
		try {
			info = await get(runPath(name), parseExactly);
		} catch (error) {
			if (error.status !== 404)
				throw error;
			main.replaceChildren(h("p", { role: "alert", class: "problem" }, error.message));
			await new Promise((resolve) => setTimeout(resolve, ASK_MS));
		}
	}
	runId = info.run_id;
	record = new Record(runId, info.started);
	payloads = new Payloads(record);
	build(main, may);
	waits = new Waits(runId, parts.waits, may.includes("decide"), refreshSoon);
	live = new Live(record, throttle(50, () => shown.grow()));
	conversation = new Conversation(record, payloads, live, parts.conversation, said);
	events = new Events(record, payloads, live, parts.events, said);
	details = new Details(record, payloads, parts.details);
	shown = conversation;
	outcome = new Outcome(record, payloads, live, parts.outcome, {
		choose: (call) => {
			choose(call);
			tree.mark(call);
			showPane("conversation");
			follow(true);
		},
		event: (seq) => goTo(seq, true),
		errors: () => {
			showKind("errors");
			showPane("conversation");
		},
	});
	tree = new Tree(record, parts.tree, parts.axis, { choose, event: (seq) => goTo(seq, false) });
	tree.draw(0);
	// What the outline tells beyond this comes by the stream, too, and is passed over. Should another
	// line stand there by then, all comes anew.
	lastId = idOf(info);
	await record.load((seq) => say(parts.problem, `Reading… ${count(seq)} events`));
	said("");
	showInfo();
	tree.draw(now());
	setKeys(keys);
	const named = location.hash.length > 1;
	if (!takeAddress(false) && info.alive)
		follow(true);
	showEvaluation(!named);
	window.addEventListener("hashchange", () => takeAddress(true));
	// The number of an event leads to it among those that are shown; in another tab, among all.
	for (const element of [parts.conversation, parts.events, parts.details])
		element.addEventListener("click", (event) => {
			const link = event.target.closest("a.seq");
			if (!link || event.ctrlKey || event.metaKey || event.shiftKey)
				return;
			event.preventDefault();
			goTo(Number(link.hash.slice(1)), true);
		});
	for (const element of [parts.conversation, parts.events])
		element.addEventListener("scroll", () => {
			if (!shown.list.following)
				parts.follow.setAttribute("aria-pressed", "false");
		}, { passive: true });
	// A row that is clicked shows its details, where there is room for them.
	parts.conversation.addEventListener("click", (event) => {
		const row = event.target.closest("article.talk[data-seq]"), seq = Number(row?.dataset.seq);
		if (row && !event.target.closest("a, button") && getSelection().isCollapsed)
			details.choose(record.entries[seq - 1].call, conversation.rowOf(seq)?.seqs ?? [seq]);
	});
	if (!isOver())
		open();
	setInterval(() => {
		if (!document.hidden && info.status === "running") {
			tree.draw(now());
			outcome.draw(now(), info.status);
			showFigures();
		}
	}, TICK_MS);
	const look = () => document.hidden || refresh();
	setInterval(look, ASK_MS);
	document.addEventListener("visibilitychange", look);
}
