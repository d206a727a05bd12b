// All events of a run, or of a call and what is in it, as they were recorded, in a list of which only
// what is seen is made. Text that is being written stands behind the last event.
import { h } from "/www/dom.js";
import { eventRow, guess, isError, largeRow } from "/www/event.js";
import { duration } from "/www/format.js";
import { liveRow } from "/www/live.js";
import { List } from "/www/list.js";

const SETTLED_MS = 60;                // nothing is fetched for what only flies by

export class Events {
	constructor(record, payloads, live, scroller, said) {
		this.record = record;
		this.payloads = payloads;
		this.call = null;
		this.types = null;                // of the events shown, as a test of an entry; null: all
		this.found = null;                // the numbers of those that were searched for; null: all
		this.seqs = null;                 // those shown; null: all
		this.live = live;
		this.said = said;
		this.current = null;              // the event that was chosen
		const space = h("div", { class: "space", role: "feed", "aria-label": "Events" });
		scroller.replaceChildren(space);
		this.list = new List(scroller, space, {
			height: (i) => i < this.#count ? guess(this.record.entries[this.seqAt(i) - 1]) : 80,
			key: (i) => i < this.#count ? this.seqAt(i) : null,
			make: (i) => this.#make(i),
		});
		this.list.onDraw = () => this.#fetchSoon();
	}

	#listed = { seqs: null, count: 0 }; // the events of which the list knows
	#fetchTimer = 0;
	#fetchTop = 0;

	get #count() { return this.seqs ? this.seqs.length : this.record.seq; }
	get #liveShown() { return this.types || this.found ? [] : this.live.within(this.call); }

	// The first and the last event that is shown; null: there is none.
	get firstSeq() { return this.#count > 0 ? this.seqAt(0) : null; }
	get lastSeq() { return this.#count > 0 ? this.seqAt(this.#count - 1) : null; }

	seqAt(index) { return this.seqs ? this.seqs[index] : index + 1; }

	// Where an event stands; -1 if it is not shown.
	indexOf(seq) {
		if (seq === null)
			return -1;
		if (!this.seqs)
			return seq >= 1 && seq <= this.record.seq ? seq - 1 : -1;
		let low = 0, high = this.seqs.length - 1;
		while (low <= high) {
			const mid = (low + high) >> 1;
			if (this.seqs[mid] === seq)
				return mid;
			if (this.seqs[mid] < seq)
				low = mid + 1;
			else
				high = mid - 1;
		}
		return -1;
	}

	// Which events are shown: those of a call (null: of the run), of some types, among those found.
	select(call, types = this.types, found = this.found) {
		Object.assign(this, { call, types, found });
		this.#choose();
		this.list.rewind();
		this.#tell((all) => this.list.reset(all));
		if (this.indexOf(this.current) !== -1)
			this.list.show(this.indexOf(this.current));
	}

	// All rows anew: what is open in them is another.
	redraw() {
		const { current } = this;
		this.list.measured.clear();
		this.select(this.call);
		if (current !== null)
			this.show(current, true);
	}

	#choose() {
		const { record, call, types, found } = this;
		this.seqs = record.within(call);
		if (types || found)
			this.seqs = (this.seqs ?? Array.from(record.entries, (_, i) => i + 1))
				.filter((seq) => (!types || types(record.entries[seq - 1])) && (!found || found.has(seq)));
	}

	// More may have come. The list is told of all rows behind those events that it has already: rows of
	// text under way stand behind the events, and move.
	grow() {
		const follow = this.list.following, { seqs: before, count } = this.#listed;
		this.#choose();
		let from = 0;
		const both = Math.min(count, this.#count);
		if (before && this.seqs)
			while (from < both && before[from] === this.seqs[from])
				from++;
		else if (!before && !this.seqs)
			from = both;
		this.#tell((all) => this.list.change(from, all));
		if (follow)
			this.list.follow(true);
	}

	// Gives the list its number of rows, and keeps which events it has then: how many there are is
	// another number as soon as the next one is in the record.
	#tell(change) {
		this.#listed = { seqs: this.seqs, count: this.#count };
		change(this.#count + this.#liveShown.length);
		for (const [index, element] of this.list.shown)
			if (index < this.#count)
				element.setAttribute("aria-setsize", this.#count);
	}

	#make(index) {
		if (index >= this.#count)
			return this.#makeLive(this.#liveShown[index - this.#count]);
		const seq = this.seqAt(index), entry = this.record.entries[seq - 1];
		const call = entry.call === null ? null : this.record.calls[entry.call];
		const row = eventRow(seq, entry, this.payloads.have(seq), call && call.n !== this.call ? call.id ?? call.name : "",
		    (each) => (each.took >= 1 ? duration(each.took) + " · " : "") + "+" + duration(each.at));
		if (this.payloads.large(seq) && !this.payloads.have(seq))
			largeRow(row, entry, async () => {
				await this.payloads.fetchOne(seq);
				this.list.renew(this.indexOf(seq));
			});
		row.setAttribute("aria-posinset", index + 1);
		row.setAttribute("aria-setsize", this.#count);
		if (seq === this.current)
			row.classList.add("current");
		return row;
	}

	#makeLive(live) {
		return live ? liveRow(this.record, live) : h("article");
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
			const seqs = [...this.list.shown.keys()].filter((i) => i < this.#count).map((i) => this.seqAt(i));
			try {
				if (await this.payloads.want(seqs))
					this.said("");
			} catch (error) {
				this.said(error.message);
				return;
			}
			for (const [index, element] of [...this.list.shown])
				if (element.classList.contains("empty") && this.payloads.have(this.seqAt(index)))
					this.list.renew(index);
		}, SETTLED_MS);
	}

	// Goes to an event, and marks it. False if it is not among those shown.
	show(seq, focus) {
		const index = this.indexOf(seq);
		if (index === -1)
			return false;
		this.#mark(seq);
		this.list.show(index, false);
		// Once it is there; who has gone elsewhere meanwhile stays there.
		const had = document.activeElement;
		if (focus)
			requestAnimationFrame(() => requestAnimationFrame(() => {
				if ([had, document.body].includes(document.activeElement))
					this.list.shown.get(index)?.focus({ preventScroll: true });
			}));
		return true;
	}

	#mark(seq) {
		const old = this.current;
		this.current = seq;
		for (const each of [old, seq]) {
			const element = each === null ? null : this.list.shown.get(this.indexOf(each));
			element?.classList.toggle("current", each === seq);
		}
	}

	// The event by so many from the one that was chosen, or from the one at the top.
	step(by) {
		const at = this.current === null ? -1 : this.indexOf(this.current);
		const from = at === -1 || !this.list.shown.has(at) ? this.list.first() - Math.sign(by) : at;
		const index = Math.max(0, Math.min(this.#count - 1, from + by));
		return this.#count > 0 ? this.seqAt(index) : null;
	}

	// The next event with an error.
	nextError(by) {
		const from = this.current === null ? -1 : this.indexOf(this.current);
		for (let i = from + by; i >= 0 && i < this.#count; i += by) {
			const seq = this.seqAt(i);
			if (isError(this.record.entries[seq - 1]))
				return seq;
		}
		return null;
	}
}
