// The conversation of a run, or of a call and what is in it: rows (talk.js, said.js) in a list of which only what is
// seen is made. An answer grows in its row while it is being written, and stays in it once it is recorded.
import { h } from "/www/dom.js";
import { isError } from "/www/event.js";
import { List } from "/www/list.js";
import { fillRow, forgetShown, guessHeight, makeRow } from "/www/said.js";
import { Talk } from "/www/talk.js";

const SETTLED_MS = 60;                // nothing is fetched for what only flies by

export class Conversation {
	constructor(record, payloads, live, scroller, said) {
		this.record = record;
		this.payloads = payloads;
		this.said = said;
		this.call = null;
		this.types = null;                // of the events shown, as a test of an entry; null: all
		this.found = null;                // the numbers of those that were searched for; null: all
		this.current = null;              // the event that was chosen
		this.rows = [];
		this.talk = new Talk(record, live);
		const space = h("div", { class: "space", role: "feed", "aria-label": "Conversation" });
		scroller.replaceChildren(space);
		this.list = new List(scroller, space, {
			height: (i) => guessHeight(record, this.rows[i]),
			key: (i) => this.rows[i].key,
			make: (i) => this.#make(i),
			fill: (i, element) => this.#fill(i, element),
		});
		this.list.onDraw = () => this.#fetchSoon();
	}

	#places = null;                     // event → index of its row, once it was asked for
	#fetchTimer = 0;
	#fetchTop = 0;

	get firstSeq() { return this.rows.find(({ seq }) => seq !== null)?.seq ?? null; }
	get lastSeq() { return this.rows.findLast(({ seq }) => seq !== null)?.seq ?? null; }

	// Where the row of an event is; -1 if it is not shown.
	indexOf(seq) {
		if (seq === null)
			return -1;
		if (!this.#places) {
			this.#places = new Map();
			this.rows.forEach(({ seqs }, i) => seqs.forEach((each) => this.#places.set(each, i)));
		}
		return this.#places.get(seq) ?? -1;
	}

	// The row of an event; undefined: it is not shown.
	rowOf(seq) { return this.rows[this.indexOf(seq)]; }

	// Which rows are shown: of a call (null: of the run), of some types of events, with those found.
	select(call, types = this.types, found = this.found) {
		const other = call !== this.call;
		Object.assign(this, { call, types, found });
		this.#choose();
		this.list.rewind();
		// What of a call is open depends on whether it was chosen.
		if (other)
			this.list.measured.clear();
		this.list.reset(this.rows.length);
		if (this.indexOf(this.current) !== -1)
			this.list.show(this.indexOf(this.current));
	}

	#choose() {
		const { record, types, found } = this, rows = this.talk.rows(this.call);
		this.#places = null;
		this.rows = !types && !found ? rows : rows.filter(({ seqs }) => seqs.some((seq) =>
			(!types || types(record.entries[seq - 1])) && (!found || found.has(seq))));
		this.base = this.call === null ? 0 : rows[0]?.level ?? 0;
	}

	// More may have come, anywhere in it.
	grow() {
		const follow = this.list.following, before = this.rows;
		this.#choose();
		let from = 0;
		while (from < before.length && from < this.rows.length && before[from].key === this.rows[from].key)
			from++;
		this.list.update(from, this.rows.length);
		for (const [index, element] of this.list.shown)
			this.#number(index, element);
		if (follow)
			this.list.follow(true);
	}

	// All rows anew: what is open in them is another.
	redraw() {
		const { current } = this;
		this.list.measured.clear();
		this.select(this.call);
		if (current !== null)
			this.show(current, true);
	}

	clear() {
		this.talk.clear();
		this.list.measured.clear();
		forgetShown();
	}

	get #context() {
		const { record, payloads } = this;
		return {
			record, payloads, chosen: this.call, base: this.base,
			changed: (row) => this.#renew(row),
			load: async (seq) => {
				try {
					await payloads.fetchOne(seq);
				} catch (error) {
					this.said(error.message);
				}
				this.grow();
			},
		};
	}

	#renew({ key }) {
		for (const [index, element] of this.list.shown)
			if (element.listKey === key) {
				element.stamp = null;
				this.#fill(index, element);
			}
		this.list.draw();
	}

	#make(index) {
		const element = makeRow();
		this.#fill(index, element);
		this.#number(index, element);
		return element;
	}

	#fill(index, element) {
		const row = this.rows[index], other = fillRow(element, row, this.#context);
		element.classList.toggle("current", this.current !== null && row.seqs.includes(this.current));
		return other;
	}

	#number(index, element) {
		element.setAttribute("aria-posinset", index + 1);
		element.setAttribute("aria-setsize", this.rows.length);
	}

	// What is seen and not here is fetched, once nothing moves any more.
	#fetchSoon() {
		const { place } = this.list;
		if (this.#fetchTimer && place === this.#fetchTop)
			return;
		this.#fetchTop = place;
		clearTimeout(this.#fetchTimer);
		this.#fetchTimer = setTimeout(async () => {
			this.#fetchTimer = 0;
			const needs = [...this.list.shown].filter(([, element]) => element.classList.contains("empty") || element.classList.contains("live"))
				.flatMap(([index]) => this.rows[index]?.needs ?? []);
			try {
				if (await this.payloads.want(needs))
					this.said("");
				// They may have come otherwise meanwhile.
				else if (![...this.list.shown].some(([index, element]) => element.classList.contains("empty") &&
				    this.rows[index]?.needs.every((seq) => this.payloads.have(seq))))
					return;
			} catch (error) {
				this.said(error.message);
				return;
			}
			this.list.update(this.rows.length, this.rows.length);
		}, SETTLED_MS);
	}

	// Goes to the row of an event, and marks it. False if it is not among those shown.
	show(seq, focus) {
		const index = this.indexOf(seq);
		if (index === -1)
			return false;
		this.current = seq;
		const { seqs } = this.rows[index];
		for (const [each, element] of this.list.shown)
			element.classList.toggle("current", each === index);
		this.list.show(index, false);
		// Once it is there; who has gone elsewhere meanwhile stays there.
		const had = document.activeElement;
		if (focus)
			requestAnimationFrame(() => requestAnimationFrame(() => {
				if ([had, document.body].includes(document.activeElement) && seqs.includes(this.current))
					this.list.shown.get(this.indexOf(seq))?.focus({ preventScroll: true });
			}));
		return true;
	}

	// The event of the row by so many from the one that was chosen, or from the one at the top.
	step(by) {
		const at = this.indexOf(this.current);
		const from = at === -1 || !this.list.shown.has(at) ? this.list.first() - Math.sign(by) : at;
		const index = Math.max(0, Math.min(this.rows.length - 1, from + by));
		return this.rows[index]?.seq ?? null;
	}

	// The next event with an error.
	nextError(by) {
		const at = this.indexOf(this.current);
		for (let i = (at === -1 && by < 0 ? this.rows.length : at) + by; i >= 0 && i < this.rows.length; i += by) {
			const seq = this.rows[i].seqs.find((each) => isError(this.record.entries[each - 1]));
			if (seq !== undefined)
				return seq;
		}
		return null;
	}
}
