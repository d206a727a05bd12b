// Text that is being written, of calls whose models answer just now, and what their tools and commands
// print: the stream of a run tells it
// beside the events (awf-serve(1)), and it goes as its event comes.
import { h } from "/www/dom.js";

const RENEWED_MS = 3000;
const SHOWN = 3000;                   // characters, the last ones
const signs = { __proto__: null, thinking: "thinking", tool: "calls a tool", output: "prints" };

export class Live {
	#calls = new Map();                 // event id of a call's begin, or of a tool's call → { call, turn, parts: [{ kind, text }], cut }

	// changed is called when there is something else to show.
	constructor(record, changed) {
		this.record = record;
		this.changed = changed;
	}

	write({ call, tool, turn, kind, append, restart, cut, done }) {
		const key = tool ?? call;
		let now = this.#calls.get(key);
		if (now?.isOld) {
			now.isOld = false;
			now.parts = [];
			now.cut = false;
		}
		if (done || restart) {
			this.#calls.delete(key);
		} else {
			if (now?.turn !== turn) {
				now = { call, tool, turn, parts: [], cut: false, version: 0 };
				this.#calls.set(key, now);
			}
			now.cut ||= Boolean(cut);
			now.version++;
			if (append !== undefined && kind === "output" && now.parts.length > 0)
				now.parts[0].text = (now.parts[0].text + append).slice(-2 * SHOWN);
			else if (append !== undefined && now.parts.at(-1)?.kind === kind)
				now.parts.at(-1).text += append;
			else if (append !== undefined)
				now.parts.push({ kind, text: append });
		}
		this.changed();
	}

	// The answer of a turn is recorded, or the call has ended (turn undefined).
	forget(call, turn = Infinity) {
		const now = this.#calls.get(call), prints = now?.parts.at(-1)?.kind === "output";
		if (now?.turn <= turn && (turn === Infinity || !prints) && this.#calls.delete(call))
			this.changed();
	}

	clear() {
		this.#calls.clear();
		this.changed();
	}

	// Another connection tells anew what is being written; until then what is here stands, for a while.
	renew() {
		for (const now of this.#calls.values())
			now.isOld = true;
		setTimeout(() => {
			for (const [key, { isOld }] of this.#calls)
				if (isOld)
					this.#calls.delete(key);
			this.changed();
		}, RENEWED_MS);
	}

	// What is written in a call (null: in any), and in those in it: [{ n, turn, parts, cut }], n the
	// number of the call. Nobody writes in a call that is not known yet, has ended, or died with its run.
	within(call) {
		return [...this.#calls.values()].map((each) => ({ n: this.record.callOf(each.call), ...each }))
			.filter(({ n, parts }) => parts.length > 0 && n !== null && this.record.running(this.record.calls[n]) &&
			    (call === null || this.record.isWithin(n, call)));
	}

	// The last words in a call, or "".
	last(n) {
		return this.within(n).at(-1)?.parts.at(-1).text.slice(-200) ?? "";
	}
}

export function liveRow(record, { n, parts, cut }) {
	const kind = parts.at(-1).kind;
	return h("article", { class: "event model live", "aria-busy": "true", "aria-label": kind === "output" ? "Output in progress" : "Answer in progress" },
	    h("header", null, h("span", { class: "sign", "aria-hidden": "true" }, "✎"),
	        h("span", { class: "word" }, cut ? "continues, not shown" : signs[kind] ?? "writing"),
	        h("span", { class: "where" }, record.calls[n]?.id ?? "")),
	    parts.map(({ kind, text }) => h("div", { class: `text ${kind === "text" ? "said" : kind === "tool" || kind === "output" ? "code" : "thinking"}` },
	        text.length > SHOWN ? "…" + text.slice(-SHOWN) : text)));
}
