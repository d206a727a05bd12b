// What stands in the conversation: rows, from the record alone, so that one of a hundred thousand events is
// there at once. A call is a section: its own row, prompts, answers, each call of a tool with its result,
// the calls that it makes, its end; whatever other calls do meanwhile has its place in their sections.
//
// A row: { key, kind, n, level, seq, seqs, needs }: the call that it is of (null: of none), how deep that
// lies, its first event, all events in it, and those that it is made from. kinds: "run", "call" (its begin),
// "work" (all of a call that says nothing in between), "prompt", "answer", "tool", "note", "end".
// What is being written is in live of a row: of the answer that it becomes, of its tool, or its command.

const EXACT_MS = 0.0015;

// The call of a tool, of those without a result, that a result is of: the record says when that was.
function takeCall(record, pending, seq) {
	const { entries } = record, { at, took, label } = entries[seq - 1];
	const begun = pending.filter((row) => Math.abs(entries[row.seq - 1].at - (at - took)) < EXACT_MS);
	const named = (row) => entries[row.seq - 1].label.startsWith(label + " ");
	const row = (took > 0 ? begun.find(named) ?? begun[0] : null) ?? pending.find(named) ?? (pending.length === 1 ? pending[0] : null);
	if (row)
		pending.splice(pending.indexOf(row), 1);
	return row;
}

export class Talk {
	#made = new Map();                  // call → what ownRows() has made, of so many events

	// live: what is being written (live.js).
	constructor(record, live) {
		this.record = record;
		this.live = live;
	}

	clear() { this.#made.clear(); }

	// All rows of a call and what is in it; null: of the run.
	rows(call) {
		const { record } = this, out = [], written = this.#written(call);
		if (call !== null) {
			this.#section(record.calls[call], written, out);
			return out;
		}
		const { loose, calls } = record;
		let at = 0;
		for (const each of calls) {
			// Of a record that is being read some calls may not be there yet.
			if (each === undefined || each.around !== null)
				continue;
			for (; loose[at] < (each.events[0] ?? each.first_seq); at++)
				out.push(this.#looseRow(loose[at]));
			this.#section(each, written, out);
		}
		for (; at < loose.length; at++)
			out.push(this.#looseRow(loose[at]));
		return out;
	}

	// What is being written: of calls, and of tools by the numbers of their events.
	#written(call) {
		const calls = new Map(), tools = new Map();
		for (const each of this.live.within(call)) {
			const seq = each.tool ? this.record.seqOf(each.tool) : null;
			if (seq !== null)
				tools.set(seq, each);
			else
				calls.set(each.n, each);
		}
		return { calls, tools };
	}

	#looseRow(seq) {
		const kind = /^run\.(started|completed)$/.test(this.record.entries[seq - 1].type) ? "run" : "note";
		return { key: "e" + seq, kind, n: null, level: 0, seq, seqs: [seq], needs: [seq] };
	}

	#section(call, written, out) {
		const own = this.#own(call), { calls } = this.record, live = written.calls.get(call.n);
		const prints = live?.parts.at(-1).kind === "output";
		own.head.live = prints ? live : undefined;
		out.push(own.head);
		let at = 0;
		for (const n of call.children) {
			const child = calls[n], first = child.events[0] ?? child.first_seq ?? Infinity;
			for (; at < own.rows.length && own.rows[at].seq < first; at++)
				out.push(withLive(own.rows[at], written.tools));
			this.#section(child, written, out);
		}
		for (; at < own.rows.length; at++)
			out.push(withLive(own.rows[at], written.tools));
		if (live && !prints)
			out.push({ key: `a${call.n}.${own.turns}`, kind: "answer", n: call.n, level: own.head.level, seq: null, seqs: [], needs: [], uses: 0, live });
		if (own.end)
			out.push(own.end);
	}

	#own(call) {
		const made = this.#made.get(call.n);
		if (made && made.events === call.events.length && made.isLeaf === (made.rows.length === 0 && call.children.length === 0))
			return made;
		const own = ownRows(this.record, call, call.around === null ? 0 : this.#own(this.record.calls[call.around]).head.level + 1);
		this.#made.set(call.n, own);
		return own;
	}
}

function withLive(row, tools) {
	if (row.kind === "tool")
		row.live = tools.get(row.seq);
	return row;
}

function ownRows(record, call, level) {
	const rows = [], pending = [], ends = [];
	let begin = null, answer = null, turns = 0;
	const add = (kind, seq, more) => {
		const row = { key: "e" + seq, kind, n: call.n, level, seq, seqs: [seq], needs: [seq], ...more };
		rows.push(row);
		return row;
	};
	for (const seq of call.events) {
		const { type } = record.entries[seq - 1];
		if (type.startsWith("step.") && type.endsWith("completed")) {
			ends.push(seq);
		} else if (type.startsWith("step.") && type.endsWith("started") && begin === null) {
			begin = seq;
		} else if (type === "message.user") {
			add("prompt", seq);
		} else if (type === "message.assistant") {
			// The answer that is being written has this key before it is an event.
			answer = add("answer", seq, { key: `a${call.n}.${turns++}`, uses: 0 });
		} else if (type === "tool.call") {
			pending.push(add("tool", seq, { result: null }));
			if (answer)
				answer.uses++;
		} else if (type === "tool.result") {
			const row = takeCall(record, pending, seq);
			if (row) {
				row.result = seq;
				row.seqs.push(seq);
				row.needs = row.seqs;
			} else {
				add("tool", seq, { result: seq });
			}
		} else {
			add("note", seq);
		}
	}
	const isLeaf = rows.length === 0 && call.children.length === 0, last = ends.at(-1);
	const own = [begin, ...(isLeaf ? ends : [])].filter((seq) => seq !== null);
	const head = {
		key: "c" + call.n, kind: isLeaf ? "work" : "call", n: call.n, level, seq: own[0] ?? last ?? null, seqs: own,
		needs: isLeaf && last !== undefined ? [begin, last].filter((seq) => seq !== null) : own,
	};
	const end = isLeaf || last === undefined ? null : {
		key: "d" + call.n, kind: "end", n: call.n, level, seq: last, seqs: ends, needs: answer ? [answer.seq, last] : [last],
		answer: answer?.seq ?? null,
	};
	return { events: call.events.length, isLeaf, head, rows, end, turns };
}
