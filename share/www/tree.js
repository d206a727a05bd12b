// The calls of a run as a tree, each beside its bar in time; below a call without calls of its own
// its turns and tools. Many calls of one step are one row that counts them; those that run, wait or
// have failed are shown all the same.
import { h, say } from "/www/dom.js";
import { kindOf } from "/www/event.js";
import { count, dollars, duration, signs } from "/www/format.js";
import { List } from "/www/list.js";
import { axis, bar, Scale, setBars } from "/www/timeline.js";

const ROW_PX = 28;
const GROUP_FROM = 12;                // so many calls of a step beside each other are one row
const SHOWN_OF_GROUP = 10;
// States of items that people want to see one by one, from the worst on.
const worst = ["failed", "unfinished", "waiting", "running"];
const BARS_MOST = 300;                // of turns and tools in the row of their call

// Items, rounds and branches by their numbers, however they have begun: each in a place of one of its
// own, so that those of several steps stay mixed as they were. As trees of awf-replay have them.
function byNumber(calls) {
	const last = new Map();
	if (calls.every(({ series, number }) => !(last.get(series) > number) && last.set(series, number)))
		return calls;
	const sorted = new Map(), places = new Map();
	for (const call of calls)
		if (!sorted.get(call.series)?.push(call))
			sorted.set(call.series, [call]);
	for (const list of sorted.values())
		list.sort((a, b) => a.number - b.number);
	return calls.map(({ series }) => {
		const place = places.get(series) ?? 0;
		places.set(series, place + 1);
		return sorted.get(series)[place];
	});
}

// What signs and bars mean.
export function legend() {
	const sign = (state) => h("dt", { class: "is-" + state }, h("span", { class: "sign" }, signs[state]));
	const bars = (name) => h("dt", null, h("span", { class: "bar " + name }));
	const all = () => h("dl", null, [
		["running", "runs"], ["done", "done"], ["reused", "the same as in an earlier attempt: not made again"], ["failed", "failed"],
		["unfinished", "has no end: the run died"], ["waiting", "waits"], ["skipped", "skipped, or not needed any more"], ["cancelled", "cancelled"],
	].map(([state, text]) => [sign(state), h("dd", null, text)]), [
		["call is-done", "a call that is done"], ["call is-failed", "that failed"], ["call is-running", "that runs"], ["call is-waiting", "that waits"],
		["call is-skipped", "skipped, cancelled, or without an end"],
		["turn", "an answer of a model"], ["tool", "a tool"], ["whole", "an attempt of the run"],
	].map(([name, text]) => [bars(name), h("dd", null, text)]));
	return h("details", { class: "legend", ontoggle: ({ currentTarget }) => {
		if (currentTarget.children.length === 1)
			currentTarget.append(all());
	} }, h("summary", null, "Signs"));
}

export class Tree {
	// on: choose(call number or null), event(seq).
	constructor(record, scroller, axisElement, on) {
		this.record = record;
		this.on = on;
		this.axis = axisElement;
		this.toggled = new Set();         // keys that are not as they begin
		this.rows = [];
		this.active = "run";              // the key of the row with the focus
		this.chosen = null;
		this.view = { from: 0, until: 1 };
		this.space = h("div", { class: "space", role: "tree", tabIndex: 0, "aria-label": "Steps" });
		scroller.replaceChildren(this.space);
		this.list = new List(scroller, this.space, {
			height: () => ROW_PX, key: (i) => this.rows[i].key, make: (i) => this.#make(i),
			fill: (i, element) => this.#fill(i, element),
		});
		this.space.addEventListener("keydown", (event) => this.#key(event));
		new ResizeObserver(() => this.#drawAxis()).observe(this.axis);
	}

	// All rows as they are now; live bars grow while the run does.
	draw(now) {
		this.scale = new Scale(this.record, this.record.goesOn ? now : 0);
		this.scale.zoom(this.view);
		this.now = now;
		this.rows = [{ key: "run", level: 1, kind: "run" }];
		this.#enter(this.record.calls.filter((call) => call.around === null), 2);
		this.#place();
		this.#drawAxis();
		this.list.refresh(this.rows.length);
		this.#mark();
	}

	// Which one each row is of those beside it, and of how many.
	#place() {
		const sets = [];
		for (const row of this.rows) {
			sets.length = row.level + 1;
			row.set = sets[row.level] ??= { size: 0 };
			row.place = ++row.set.size;
		}
	}

	#drawAxis() {
		const width = this.axis.clientWidth;
		this.axis.replaceChildren(...(this.scale && width > 0 ? axis(this.scale, width) : []));
	}

	#open(key, usual) { return usual !== this.toggled.has(key); }

	// Many items of a step are one row, where the first of them stands, whatever began in between.
	// Rounds and branches of a group stand each for itself.
	#enter(calls, level) {
		const steps = new Map();
		calls.forEach((call) => this.#markSeries(call));
		calls = byNumber(calls);
		for (const call of calls)
			if (!steps.get(call.step)?.push(call))
				steps.set(call.step, [call]);
		for (const call of calls) {
			const items = steps.get(call.step);
			if (items.length < GROUP_FROM)
				this.#enterCall(call, level);
			else if (items[0] === call)
				this.#enterGroup(items, level);
		}
	}

	// What a call is part of (the items of a step, or the rounds or branches of a group, of its attempt),
	// its number there, which stands behind the last colon of its id, and its step, which a round or branch, whose id begins as that of its group does, is alone. Worked
	// out once for each call: there may be very many.
	#markSeries(call) {
		if (call.step !== undefined)
			return;
		const [group, member] = call.id.split("/").slice(-2), colon = call.id.lastIndexOf(":");
		call.series = this.record.attemptOf(call) + "/" + call.id.slice(0, colon);
		call.number = Number(call.id.slice(colon + 1)) || 0;
		call.step = member?.includes(":") && group.startsWith(member.slice(0, member.indexOf(":") + 1)) ? call.n :
		    [call.series, call.path, call.name].join("\n");
	}

	#enterGroup(calls, level) {
		const key = "group" + calls[0].n, open = this.#open(key, false);
		this.rows.push({ key, level, kind: "group", calls, open });
		const told = open ? calls : calls.filter((call) => this.#tells(call)).slice(0, SHOWN_OF_GROUP);
		for (const call of told)
			this.#enterCall(call, level + 1);
	}

	// Whether an item is one to be seen. What waits for a step before it is not: that step is.
	#tells(call) {
		return worst.includes(this.record.told(call)) && !(call.state === "waiting" && call.code === undefined);
	}

	#enterCall(call, level) {
		const inside = call.children.length > 0, key = "call" + call.n;
		const events = inside ? [] : call.events.filter((seq) => !this.record.entries[seq - 1].type.startsWith("step."));
		const open = this.#open(key, inside);
		this.rows.push({ key, level, kind: "call", call, open: inside || events.length > 0 ? open : undefined });
		if (!open)
			return;
		this.#enter(call.children.map((n) => this.record.calls[n]), level + 1);
		for (const seq of events)
			this.rows.push({ key: "event" + seq, level: level + 1, kind: "moment", seq });
	}

	#make(index) {
		const element = h("div", {
			id: "row-" + this.rows[index].key, role: "treeitem",
			onclick: (event) => {
				const row = this.rows[element.listIndex];
				this.active = row.key;
				if (event.target.closest(".twist"))
					this.#toggle(row);
				else
					this.#choose(row);
			},
		},
		    h("span", { class: "names" },
		        h("span", { class: "twist", "aria-hidden": "true" }), h("span", { class: "sign", "aria-hidden": "true" }),
		        h("span", { class: "unseen" }), h("span", { class: "name" }), " ", h("span", { class: "about" })),
		    h("span", { class: "took" }),
		    h("span", { class: "bars", "aria-hidden": "true" }));
		this.#fill(index, element);
		return element;
	}

	#fill(index, element) {
		const row = this.rows[index], [names, took, bars] = element.children;
		const shown = this[`_${row.kind}`](row);
		const [twist, sign, unseen, name, about] = names.children;
		element.className = `row item ${row.kind} is-${shown.state}` + (row.key === this.active ? " active" : "");
		element.style.setProperty("--level", Math.min(row.level, 12));
		element.setAttribute("aria-level", row.level);
		element.setAttribute("aria-posinset", row.place);
		element.setAttribute("aria-setsize", row.set.size);
		element.setAttribute("aria-selected", String(row.key === this.#chosenKey()));
		if (row.open === undefined)
			element.removeAttribute("aria-expanded");
		else
			element.setAttribute("aria-expanded", String(row.open));
		if (shown.kind)
			element.title = shown.kind;
		say(twist, row.open === undefined ? "" : row.open ? "▾" : "▸");
		say(sign, shown.sign);
		say(unseen, shown.state + " ");
		say(name, shown.name);
		say(about, shown.about);
		say(took, shown.took);
		setBars(bars, shown.bars);
	}

	_run() {
		const { record } = this;
		return {
			sign: "●", state: "run", name: "run", about: `${count(record.seq)} events`, took: duration(this.scale.length),
			bars: record.attempts.map(({ from, to }) => bar(this.scale, from, to ?? Math.max(this.now, record.end), "whole", "attempt")),
		};
	}

	_group({ calls }) {
		const states = {};
		for (const call of calls)
			states[this.record.told(call)] = (states[this.record.told(call)] ?? 0) + 1;
		const state = [...worst, "cancelled", "done", "reused", "closed"].find((each) => states[each]) ?? "skipped";
		const until = calls.reduce((last, call) =>
			Math.max(last, call.until ?? (this.record.running(call) ? this.now : call.at)), 0);
		return {
			sign: signs[state], state, name: `${calls[0].name} ×${count(calls.length)}`, took: duration(until - calls[0].at),
			about: Object.entries(states).map(([each, n]) => `${count(n)} ${each}`).join(", "),
			bars: [bar(this.scale, calls[0].at, until, `call is-${worst.includes(state) && state !== "running" ? "done" : state}`, ""),
				...calls.filter((call) => this.#tells(call) && !this.record.running(call)).slice(0, BARS_MOST)
					.map((call) => bar(this.scale, call.at, call.until ?? call.at, "call is-" + this.record.told(call), ""))],
		};
	}

	_call({ call, open }) {
		const state = this.record.told(call);
		const until = call.until ?? (state === "running" ? this.now : Math.max(call.at, ...call.events.slice(-1).map((seq) => this.record.entries[seq - 1].at)));
		// Of a step that is made several times: which time, and which item; of a round or branch its number.
		const [item, occurrence] = (call.id ?? "").split(":").reverse();
		const many = (occurrence > 0 ? ":" + occurrence : "") + (item > 0 || call.step === call.n ? `[${item}]` : "");
		const bars = [bar(this.scale, call.at, until, `call is-${state}`, `${call.name}: ${duration(until - call.at)}, from +${duration(call.at)} to +${duration(until)}`)];
		if (call.children.length === 0 && !open)
			for (const seq of call.events.slice(0, BARS_MOST))
				bars.push(this.#eventBar(seq));
		return {
			sign: signs[state], state, name: call.name + many, took: duration(until - call.at), kind: call.kind, bars,
			about: [
				state === "done" || state === "running" ? null : state === "unfinished" ? state : call.code ?? state, dollars(call.cost),
				call.tokensIn + call.tokensOut > 0 ? count(call.tokensIn + call.tokensOut) + " tok" : null,
			].filter(Boolean).join(" · "),
		};
	}

	#eventBar(seq) {
		const entry = this.record.entries[seq - 1];
		return entry.took > 0 && /^(message|tool)/.test(entry.type) ?
			bar(this.scale, entry.at - entry.took, entry.at, entry.type.startsWith("tool") ? "tool" : "turn", entry.label) : null;
	}

	_moment({ seq }) {
		const entry = this.record.entries[seq - 1];
		const tool = entry.type.startsWith("tool");
		return {
			sign: { __proto__: null, "message.user": "◆", "message.assistant": "◇", "tool.call": "⚙", "tool.result": "↩" }[entry.type] ?? "·",
			state: entry.code ? "failed" : tool ? "tool" : "turn", name: entry.label || kindOf(entry.type)[2],
			about: "", took: entry.took >= 1 ? duration(entry.took) : "", bars: [this.#eventBar(seq) ??
				bar(this.scale, entry.at, entry.at, tool ? "tool" : "turn", "")],
		};
	}

	#chosenKey() { return this.chosen === null ? "run" : "call" + this.chosen; }

	#toggle(row) {
		if (row.open === undefined)
			return;
		if (!this.toggled.delete(row.key))
			this.toggled.add(row.key);
		this.draw(this.now);
	}

	#choose(row) {
		if (row.kind === "moment") {
			this.on.event(row.seq);
		} else if (row.kind === "group") {
			this.#toggle(row);
		} else {
			this.chosen = row.kind === "run" ? null : row.call.n;
			this.on.choose(this.chosen);
		}
		this.#mark();
	}

	// Marks what was chosen elsewhere.
	mark(call) {
		this.chosen = call;
		this.active = this.#chosenKey();
		this.#mark();
	}

	#mark() {
		for (const [index, element] of this.list.shown) {
			const { key } = this.rows[index];
			element.classList.toggle("active", key === this.active);
			element.setAttribute("aria-selected", String(key === this.#chosenKey()));
		}
		const id = "row-" + this.active;
		if (document.getElementById(id))
			this.space.setAttribute("aria-activedescendant", id);
		else
			this.space.removeAttribute("aria-activedescendant");
	}

	#key(event) {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		const at = Math.max(0, this.rows.findIndex(({ key }) => key === this.active)), row = this.rows[at];
		let to = at;
		switch (event.key) {
		case "ArrowDown": case "j": to = at + 1; break;
		case "ArrowUp": case "k": to = at - 1; break;
		case "Home": to = 0; break;
		case "End": to = this.rows.length - 1; break;
		case "PageDown": to = at + 15; break;
		case "PageUp": to = at - 15; break;
		case "ArrowRight":
			if (row.open === false)
				this.#toggle(row);
			else if (row.open)
				to = at + 1;
			break;
		case "ArrowLeft":
			if (row.open && row.kind !== "run")
				this.#toggle(row);
			else
				for (to = at; to > 0 && this.rows[to].level >= row.level; to--)
					;
			break;
		case "Enter": case " ": this.#choose(row); break;
		default: return;
		}
		event.preventDefault();
		to = Math.max(0, Math.min(this.rows.length - 1, to));
		this.active = this.rows[to].key;
		this.list.show(to, true);
		this.#mark();
		requestAnimationFrame(() => requestAnimationFrame(() => this.#mark()));
	}

	// Shows half of the time around the middle, or twice of it; 0: all.
	zoom(by) {
		const { from, until } = this.view, middle = (from + until) / 2;
		const length = by === 0 ? 1 : Math.min(1, (until - from) * by);
		const begin = by === 0 ? 0 : Math.max(0, Math.min(1 - length, middle - length / 2));
		this.view = { from: begin, until: begin + length };
		this.draw(this.now);
	}

	pan(by) {
		const { from, until } = this.view, length = until - from;
		const begin = Math.max(0, Math.min(1 - length, from + by * length));
		this.view = { from: begin, until: begin + length };
		this.draw(this.now);
	}
}
