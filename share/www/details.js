// What is known of the call and the events that were chosen: the figures of the call, and each event as it was recorded.
import { data, refs } from "/www/blocks.js";
import { h } from "/www/dom.js";
import { bytes, count, dollars, duration, when } from "/www/format.js";

const EVENTS_SHOWN = 6;

export class Details {
	#shown = "";

	constructor(record, payloads, element) {
		this.record = record;
		this.payloads = payloads;
		this.element = element;
		this.n = null;
		this.seqs = [];
	}

	// The call, or null, and numbers of events of it.
	choose(n, seqs) {
		Object.assign(this, { n, seqs });
		this.draw();
	}

	// Draws it anew if something of it is other than before. Nothing is fetched while it is not seen.
	async draw() {
		if (this.element.clientHeight === 0)
			return;
		const { record, payloads, n } = this, seqs = this.seqs.slice(0, EVENTS_SHOWN), call = n === null ? null : record.calls[n];
		const key = JSON.stringify([n, seqs, call && [record.told(call), call.until, call.tokensIn, call.tokensOut, call.cost, call.events.length]]);
		if (key === this.#shown)
			return;
		this.#shown = key;
		let problem = null;
		await payloads.want(seqs).catch((error) => { problem = error; });
		// Something else may have been chosen meanwhile.
		if (this.#shown !== key)
			return;
		this.element.replaceChildren(...[
			call ? callFacts(record, call) : null,
			problem ? h("p", { class: "problem" }, problem.message) : null,
			...seqs.map((seq) => this.#event(seq)),
			this.seqs.length > seqs.length ? h("p", { class: "note" }, `and ${count(this.seqs.length - seqs.length)} events more`) : null,
			!call && seqs.length === 0 ? h("p", { class: "note" }, "Select a step, or a row of the conversation.") : null,
		].filter(Boolean));
	}

	// All that an event has, as it is.
	#event(seq) {
		const { record, payloads } = this, entry = record.entries[seq - 1], event = payloads.have(seq);
		const key = `${record.runId}/${seq}/details`;
		return h("section", { class: "of-event", "aria-label": `Event ${seq}` },
		    h("h3", null, h("a", { class: "seq", href: "#" + seq }, "#" + seq), " ", entry.type),
		    facts([
		    	["Time", event ? when(event.timestamp) : ""], ["After", duration(entry.at)], ["Took", entry.took >= 1 ? duration(entry.took) : ""],
		    	["Size", bytes(entry.size)], ["Path", event?.path ?? ""], ["Event id", event?.event_id ?? ""],
		    ]),
		    event ? data(key, event.payload ?? null, "output") : h("p", { class: "note" }, `${bytes(entry.size)}: load it in the conversation`),
		    event ? refs(key, event) : null);
	}
}

const facts = (list) => h("dl", { class: "facts" }, list.filter(([, text]) => text !== "" && text !== null && text !== undefined)
	.map(([name, text]) => [h("dt", null, name), h("dd", null, String(text))]));

function callFacts(record, call) {
	const inside = record.within(call.n).length;
	return h("section", { "aria-label": "The call" }, h("h3", null, call.id ?? call.name), facts([
		["State", record.told(call)], ["Code", call.code && call.code !== record.told(call) ? call.code : ""], ["Kind", call.kind], ["Agent", call.agent],
		["Provider", call.provider], ["Model", call.model], ["Tool", call.tool],
		["Began", record.zero ? when(record.zero + call.at) : ""], ["Took", call.until === null ? "" : duration(call.until - call.at)],
		["Tokens", call.tokensIn + call.tokensOut > 0 ? `${count(call.tokensIn)} in, ${count(call.tokensOut)} out` : ""], ["Cost", dollars(call.cost)],
		["Path", call.path], ["Calls inside", call.children.length > 0 ? count(call.children.length) : ""], ["Events", count(inside)],
	]));
}
