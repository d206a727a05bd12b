// The events themselves, fetched by range when they are to be shown, and the last ones kept.
import { get, request, runPath } from "/www/api.js";
import { parse } from "/www/json.js";

const PAGE = 64;                      // events that are fetched together
const PAGES_KEPT = 40;
const LARGE = 1 << 20;                // such an event is fetched alone, when it is asked for

export class Payloads {
	#pages = new Map();                 // page → Map of seq → event, the latest used last
	#asked = new Map();                 // page → promise

	constructor(record) {
		this.record = record;
	}

	clear() {
		this.#pages.clear();
		this.#asked.clear();
	}

	// The event if it is here.
	have(seq) {
		return this.#pages.get(this.#pageOf(seq))?.get(seq);
	}

	// One that came by the stream; one that was told without its payload is not kept.
	put(event) {
		if (event.payload !== undefined)
			this.#page(this.#pageOf(event.seq)).set(event.seq, event);
	}

	large(seq) { return this.record.entries[seq - 1].size > LARGE; }

	// Has the events around these numbers fetched, and says when they are here.
	async want(seqs) {
		const pages = new Set();
		for (const seq of seqs)
			if (!this.have(seq) && !this.large(seq))
				pages.add(this.#pageOf(seq));
		await Promise.all([...pages].map((page) => this.#fetch(page)));
		return pages.size > 0;
	}

	async fetchOne(seq) {
		const event = await get(`${runPath(this.record.runId)}/events/${seq}`);
		this.put(event);
		return event;
	}

	#pageOf(seq) { return Math.floor((seq - 1) / PAGE); }

	#page(page) {
		const kept = this.#pages.get(page) ?? new Map();
		this.#pages.delete(page);
		this.#pages.set(page, kept);
		if (this.#pages.size > PAGES_KEPT)
			this.#pages.delete(this.#pages.keys().next().value);
		return kept;
	}

	#fetch(page) {
		let asked = this.#asked.get(page);
		if (!asked) {
			asked = this.#fetchPage(page).finally(() => this.#asked.delete(page));
			this.#asked.set(page, asked);
		}
		return asked;
	}

	// The events of a page, in stretches around those that are large.
	async #fetchPage(page) {
		const last = Math.min((page + 1) * PAGE, this.record.seq);
		for (let seq = page * PAGE + 1; seq <= last;) {
			let until = seq;
			while (until <= last && !this.large(until))
				until++;
			if (until > seq) {
				const answer = await request(`${runPath(this.record.runId)}/events?after=${seq - 1}&limit=${until - seq}`);
				const kept = this.#page(page);
				for (const each of (await answer.text()).split("\n"))
					if (each !== "") {
						const event = parse(each);
						kept.set(event.seq, event);
					}
			}
			seq = until + 1;
		}
	}
}
