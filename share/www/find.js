// Looks for a text in what was said, in all runs: messages, tools, inputs and outputs of steps. The server reads
// the runs, the newest first, and says how far it got; from there it goes on, until there is enough to look at.
import { get } from "/www/api.js";
import { h, say } from "/www/dom.js";
import { ago, signs, when } from "/www/format.js";
import { setKeys } from "/www/keys.js";

const TYPED_MS = 300, ENOUGH = 20;

const spans = { "": "any time", "1d": "last day", "7d": "last week", "30d": "last month" };

let field, nameField, since, list, problem, progress, further, mine = null;
let found = 0, next = null, missed = { cut: 0, unreadable: 0 };

const line = (text) => text.replace(/\s+/g, " ");

function hitRow(run, { seq, type, path, at, begins, before, found: text, after }) {
	return h("li", null, h("a", { href: `/runs/${run}#${seq}`, "aria-label": `Event ${seq}, ${path || "the run"}, ${type}` }, `${seq}`), " ",
	    h("span", { class: "note", title: when(at) }, `${path || "run"} ${type} `),
	    h("span", { class: "excerpt" }, begins ? "" : "…", line(before), h("mark", null, line(text)), line(after)));
}

function runRow({ run_id: id, name, status, started, more, hits: all }, needle) {
	return h("li", null, h("h2", null, h("a", { class: "run-link", href: `/runs/${id}#q=${encodeURIComponent(needle)}` }, `${name || "run"} ${id.slice(0, 8)}`), " ",
	    h("span", { class: `state ${status}` }, `${signs[status] ?? "·"} ${status}`), " ",
	    h("span", { class: "note", title: when(started) }, ago(started))),
	h("ul", { class: "hits" }, all.map((hit) => hitRow(id, hit)),
	    more ? h("li", { class: "note" }, h("a", { href: `/runs/${id}#q=${encodeURIComponent(needle)}` }, "more in this run")) : null));
}

function keep() {
	const parameters = new URLSearchParams(Object.entries({ q: field.value.trim(), name: nameField.value.trim(), since: since.value })
		.filter(([, value]) => value !== ""));
	history.replaceState(null, "", parameters.size > 0 ? "#" + parameters : location.pathname);
}

const n = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function showProgress(answer, busy) {
	if (!answer) {
		say(progress, busy ? "Searching…" : "");
		return;
	}
	const { runs, read, reaches } = answer;
	const far = read === runs ? `${n(runs, "run")} searched, all there are.` :
		`${read.toLocaleString("en")} of ${n(runs, "run")} searched${reaches ? `, back to ${when(reaches)}` : ""}${busy ? " …" : "."}`;
	say(progress, [`Found in ${n(found, "run")}.`, far, missed.cut > 0 ? `${n(missed.cut, "run")} took too long: not all of it was read.` : "",
		missed.unreadable > 0 ? `${n(missed.unreadable, "run")} cannot be read.` : ""].filter(Boolean).join(" "));
}

async function search(from) {
	mine?.abort();
	const needle = field.value.trim(), name = nameField.value.trim(), me = mine = new AbortController();
	keep();
	document.title = needle ? `${needle} – Search – AWF` : "Search – AWF";
	say(problem, "");
	further.hidden = true;
	if (!from) {
		list.replaceChildren();
		found = 0;
		missed = { cut: 0, unreadable: 0 };
	}
	if (needle === "") {
		showProgress(null, false);
		return;
	}
	if (!from)
		showProgress(null, true);
	next = from;
	try {
		for (const enough = found + ENOUGH; !me.signal.aborted;) {
			const answer = await get("/api/search?" + new URLSearchParams({ q: needle, limit: ENOUGH,
				...name ? { name: /[*?[]/.test(name) ? name : `*${name}*` } : {}, ...since.value ? { since: since.value } : {}, ...next ? { before: next } : {} }));
			if (me.signal.aborted)
				return;
			list.append(...answer.found.map((run) => runRow(run, needle)));
			found += answer.found.length;
			missed.cut += answer.cut;
			missed.unreadable += answer.unreadable;
			next = answer.next;
			const over = next === null || found >= enough;
			showProgress(answer, !over);
			further.hidden = next === null || !over;
			if (over)
				return;
		}
	} catch (error) {
		if (me.signal.aborted)
			return;
		if (error.status === 401)
			location.reload();
		say(problem, error.message);
		further.hidden = false;
	}
}

function move(by) {
	const links = [...list.querySelectorAll("a")].filter((each) => each.closest(".hits")), at = links.indexOf(document.activeElement);
	links[Math.max(0, Math.min(links.length - 1, at === -1 ? 0 : at + by))]?.focus();
}

export async function showSearch(main) {
	let typed = 0;
	const soon = () => {
		clearTimeout(typed);
		typed = setTimeout(() => search(null), TYPED_MS);
	};
	field = h("input", { id: "q", type: "search", placeholder: "a text, in any case", autocomplete: "off", oninput: soon });
	nameField = h("input", { type: "search", placeholder: "any", autocomplete: "off", oninput: soon });
	since = h("select", { onchange: () => search(null) }, Object.entries(spans).map(([value, text]) => h("option", { value }, text)));
	list = h("ol", { class: "found", "aria-label": "Found" });
	problem = h("p", { role: "alert", class: "problem" });
	progress = h("p", { role: "status", class: "note" });
	further = h("button", { type: "button", hidden: true, onclick: () => search(next) }, "Search further");
	main.className = "search";
	main.replaceChildren(
	    h("div", { class: "title" }, h("h1", null, "Search"), h("span", { class: "note" }, "in what was said: messages, tools, inputs and outputs; not in blobs")),
	    h("form", { role: "search", class: "filters", onsubmit: (event) => {
	    	event.preventDefault();
	    	clearTimeout(typed);
	    	search(null);
	    } },
	        h("label", null, h("span", null, "Text"), field), h("label", null, h("span", null, "Workflow"), nameField),
	        h("label", null, h("span", null, "Started"), since)),
	    problem, progress, list, further);
	const take = () => {
		const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
		field.value = given.q ?? "";
		nameField.value = given.name ?? "";
		since.value = given.since in spans ? given.since : "";
		return search(null);
	};
	setKeys([
		{ keys: ["j", "ArrowDown"], text: "Next place", run: () => move(1) },
		{ keys: ["k", "ArrowUp"], text: "Previous place", run: () => move(-1) },
		{ keys: ["Enter", "o"], text: "Open it in its run", run: () => document.activeElement.click() },
		{ keys: ["m"], text: "Search further", run: () => further.hidden || search(next) },
		{ keys: ["/"], text: "Another text", run: () => field.focus() },
		{ keys: ["u", "Escape"], text: "The list of runs", run: () => location.assign("/") },
	]);
	window.addEventListener("hashchange", take);
	if (!location.hash)
		field.focus();
	await take();
}
