// What is known of a run without its payloads: its calls, and of each event where it belongs, when
// it was, how long it took and a label. It begins as the outline that the server makes, and each
// event that comes later is added by the same rules. Events are numbered 1, 2, 3 …, without a gap:
// one that has come before is passed over, one that is missing is noticed.
import { get, runPath } from "/www/api.js";

// ms since 1970, to the microsecond as records have it; NaN if that is no time.
const wallOf = (text) => Date.parse(text) + Number("0." + (/\.\d{3}(\d+)/.exec(text)?.[1] ?? "0"));
// Times are told in whole microseconds.
const exact = (ms) => Math.round(ms * 1000) / 1000;

// A record may hold anything: what is no number counts for none.
const number = (value) => Number.isFinite(value) ? value : 0;
const textOr = (value, other) => typeof value === "string" ? value : other;

const OUTLINE_LIMIT = 20_000;

// Of calls that ended with one of these errors more is said than that they failed.
const errorStates = { __proto__: null, waiting: "waiting", cancelled: "cancelled", downstream_closed: "closed" };

export class Record {
	// started: when its first event was.
	constructor(runId, started) {
		this.runId = runId;
		this.clear();
		this.zero = wallOf(started) || 0;
		this.alive = false;           // as the server says
	}

	clear() {
		this.entries = [];            // by seq - 1: { type, call, at, took, size, label, code }
		this.calls = [];              // by n
		this.open = new Set();        // numbers of calls without an end
		this.failed = new Set();      // of those that failed, in the order of their ends
		this.loose = [];              // numbers of events of no call
		this.attempts = [];           // { from, to: ms since the first event, or null; waits: it ended as that }
		this.zero = 0;                // ms since 1970 of the first event
		this.#events = new Map();     // event id → { call: its number, ends: whether it is its end, at }
		this.#ids = new Map();        // call id → number, of the last attempt that has it
	}

	#events;
	#ids;

	get seq() { return this.entries.length; }
	get end() { return this.entries.length > 0 ? this.entries[this.entries.length - 1].at : 0; }

	// Reads all that there is now. progress is told how many events have come.
	async load(progress) {
		for (let after = this.seq; after !== null;) {
			const answer = await get(`${runPath(this.runId)}/outline?after=${after}&limit=${OUTLINE_LIMIT}`);
			this.#take(answer);
			progress(this.seq);
			after = answer.next;
		}
	}

	#take({ calls, events }) {
		for (const call of calls) {
			const fresh = this.calls[call.n] === undefined;
			const known = this.calls[call.n] ??= { children: [], events: [], around: null };
			Object.assign(known, call, {
				at: exact(wallOf(call.started) - this.zero),
				until: call.ended ? exact(wallOf(call.ended) - this.zero) : null,
				tokensIn: call.tokens_in ?? 0, tokensOut: call.tokens_out ?? 0,
			});
			if (fresh && known.around !== null)
				this.calls[known.around].children.push(known.n);
			this.#settle(known);
			this.#events.set(call.event_id, { call: call.n, ends: false, at: known.at });
			if (!(this.#ids.get(call.id) > call.n))
				this.#ids.set(call.id, call.n);
		}
		for (const [seq, type, call, at, took, size, label, code, id] of events)
			if (seq === this.seq + 1) {
				this.#push({ type, call: call === -1 ? null : call, at: at / 1000, took: took / 1000, size, label, code });
				if (id !== null)
					this.#events.set(id, { call, ends: false, at: at / 1000, seq });
			}
	}

	#settle(call) {
		if (call.state === "open")
			this.open.add(call.n);
		else
			this.open.delete(call.n);
		if (call.state === "failed")
			this.failed.add(call.n);
	}

	#push(entry) {
		this.entries.push(entry);
		if (entry.type === "run.started") {
			const last = this.attempts.at(-1);
			if (last && last.to === null)
				last.to = this.entries.at(-2)?.at ?? entry.at;
			this.attempts.push({ from: entry.at, to: null });
		} else if (entry.type === "run.completed" && this.attempts.length > 0) {
			this.attempts.at(-1).to = entry.at;
			this.attempts.at(-1).waits = entry.code === "waiting" || entry.label === "waiting";
		}
		if (entry.call === null)
			this.loose.push(this.seq);
		else
			this.calls[entry.call]?.events.push(this.seq);
	}

	// Takes the event of a line. False: it is not the one that comes next, but a later one.
	add(event, size) {
		if (event.seq <= this.seq)
			return true;
		if (event.seq !== this.seq + 1)
			return false;
		const type = textOr(event.type, ""), payload = event.payload ?? {};
		const wall = wallOf(event.timestamp) || this.zero + this.end;
		if (this.zero === 0)
			this.zero = wall;
		const at = Math.max(0, exact(wall - this.zero));
		const begins = /^step\.(.*\.)?started$/.test(type), ends = /^step\.(.*\.)?completed$/.test(type);
		let call = type.startsWith("run.") ? null : this.#callOf(event, payload, begins, ends);
		const took = this.#took(event, type, at, ends && call !== null ? this.calls[call] : null);
		if (begins)
			call = this.#begin(event, payload, at, call);
		else if (ends)
			this.#endCall(call, payload, at);
		this.#events.set(event.event_id, { call, ends, at, seq: event.seq });
		const usage = type === "message.assistant" ? payload.usage : null;
		if (usage && call !== null) {
			this.calls[call].tokensIn += number(usage.input_tokens);
			this.calls[call].tokensOut += number(usage.output_tokens);
		}
		this.#push({ type, call, at, took, size,
			label: label(type, payload), code: textOr(payload.error?.code, null) });
		return true;
	}

	// The number of the call that an event is of, or null. Of what the outline told, the ids of events
	// are known of calls that were open; of another cause it is the call under way at that place.
	#callOf(event, payload, begins, ends) {
		if (ends && this.#ids.has(payload.call))
			return this.#ids.get(payload.call);
		const parent = this.#events.get(event.parent_event_id);
		if (parent)
			return parent.ends && begins ? this.calls[parent.call]?.around ?? null : parent.call;
		if (begins) {
			// That whose id is the beginning of its own.
			const id = textOr(payload.call, "");
			return this.#ids.get(id.slice(0, Math.max(0, id.lastIndexOf("/")))) ?? null;
		}
		for (let n = this.calls.length - 1; n >= 0; n--) {
			const call = this.calls[n];
			if (call.state === "open" && call.path === event.path && call.iteration === event.iteration)
				return n;
		}
		return null;
	}

	// How long what an event ends went on, as the outline has it; 0: it ends nothing.
	#took(event, type, at, ended) {
		// What the outline told of a call may be newer than the events that it told.
		if (ended !== null)
			return ended.state === "open" || (ended.until === at && !event.payload?.approval?.decision) ? Math.max(0, exact(at - ended.at)) : 0;
		if (type === "tool.result")
			return Math.max(0, exact(at - (this.#events.get(event.parent_event_id)?.at ?? at)));
		return type === "message.assistant" || type === "run.completed" ? Math.max(0, number(event.payload?.duration_ms)) : 0;
	}

	#begin(event, payload, at, around) {
		const n = this.calls.length, path = textOr(event.path, "");
		this.calls.push({
			n, id: textOr(payload.call, path), event_id: event.event_id,
			name: textOr(payload.name, path.split(".").at(-1)), kind: textOr(payload.kind, ""),
			path, iteration: event.iteration, around, state: "open", at, until: null,
			agent: payload.agent, model: payload.model, tool: payload.tool,
			child_run_id: event.child_run_id, tokensIn: 0, tokensOut: 0, first_seq: event.seq,
			children: [], events: [],
		});
		this.#ids.set(this.calls[n].id, n);
		this.#settle(this.calls[n]);
		if (around !== null)
			this.calls[around].children.push(n);
		return n;
	}

	// Once: a decision about a call that waits, which comes as a second end of it, leaves it so.
	#endCall(n, payload, at) {
		const call = n === null ? null : this.calls[n];
		if (!call || call.state !== "open")
			return;
		const code = textOr(payload.error?.code, payload.error ? "exit_status" : undefined);
		call.until = at;
		call.state = payload.skipped ? payload.skipped === "upstream_waiting" ? "waiting" : "skipped" :
			errorStates[code] ?? (code ? "failed" : payload.reused_from ? "reused" : "succeeded");
		if (!payload.skipped)
			call.code = code;
		this.#settle(call);
	}

	// The state of a call as every display tells it (lib/model/told_state.h has the table): what its end
	// tells, in an attempt that has come to what it has.
	told(call) {
		const attempt = this.attempts[this.attemptOf(call)];
		const runs = this.goesOn && attempt === this.attempts.at(-1);
		if (call.state === "open")
			return runs ? "running" : "unfinished";
		if (call.state === "waiting" && !runs && !attempt?.waits)
			return "unfinished";
		return call.state === "succeeded" ? "done" : call.state;
	}

	// In which attempt a call began: index. Looked for once, as there may be very many calls.
	attemptOf(call) {
		if (call.begunIn === undefined && this.attempts.length > 0)
			call.begunIn = Math.max(0, this.attempts.findLastIndex(({ from }) => from <= call.at));
		return call.begunIn ?? 0;
	}

	// Whether an attempt goes on. One that died has no end, and leaves its calls open.
	get goesOn() { return this.alive && this.attempts.at(-1)?.to === null; }

	running(call) { return this.told(call) === "running"; }

	// The call that an event is of, by the id of the event; null: it is not known.
	callOf(eventId) { return this.#events.get(eventId)?.call ?? null; }

	// The number of the event of an id; null: it is not known.
	seqOf(eventId) { return this.#events.get(eventId)?.seq ?? null; }

	// What the call that an event ends has cost is known to the server alone.
	async learnCost(seq) {
		const { calls } = await get(`${runPath(this.runId)}/outline?after=${seq - 1}&limit=1`);
		for (const { n, id, cost } of calls)
			if (this.calls[n]?.id === id)
				this.calls[n].cost = cost;
	}

	// Whether a call is another, or in it.
	isWithin(n, other) {
		while (n !== null && n !== other)
			n = this.calls[n].around;
		return n !== null;
	}

	// Calls of the last attempt that have no call like them in them: those that run, or why it failed.
	innermost(numbers) {
		const from = this.attempts.at(-1)?.from ?? 0, all = new Set(numbers), around = new Set();
		for (const n of all)
			for (let each = this.calls[n].around; each !== null; each = this.calls[each].around)
				around.add(each);
		return [...all].filter((n) => !around.has(n) && this.calls[n].at >= from).map((n) => this.calls[n]);
	}

	// The numbers of the events of a call and what is in it, in order; null: all.
	within(n) {
		if (n === null)
			return null;
		const inside = [n], seqs = [];
		for (let i = 0; i < inside.length; i++) {
			const { children, events } = this.calls[inside[i]];
			for (const child of children)
				inside.push(child);
			for (const seq of events)
				seqs.push(seq);
		}
		return seqs.sort((a, b) => a - b);
	}
}

const LABEL = 80;                     // characters

// The first line of a value that has something in it, cut to so many characters.
function excerpt(value, room = LABEL) {
	const text = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
	const characters = [...text.replace(/^[\r\n]+/, "").split(/[\r\n]/, 1)[0]];
	return characters.length <= room ? characters.join("") : room > 0 ? characters.slice(0, room - 1).join("") + "…" : "";
}

// An event on one line, as the outline has it (cmd/serve/outline.c).
export function label(type, payload) {
	if (typeof payload.error?.message === "string")
		return excerpt(payload.error.message);
	if (type.startsWith("message.")) {
		const blocks = Array.isArray(payload.blocks) ? payload.blocks : [];
		return excerpt(blocks.find((each) => each?.text)?.text ?? blocks.find((each) => each?.thinking)?.thinking ??
		    blocks.find((each) => each?.tool_name)?.tool_name);
	}
	if (type === "run.completed")
		return excerpt(payload.status);
	if (type !== "tool.call")
		return excerpt(payload.name);
	const name = excerpt(payload.name) + " ";
	return name + excerpt(payload.input, LABEL - [...name].length);
}
