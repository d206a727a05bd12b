// What an operator looks for first: which calls run now, and which have failed, and why.
import { text } from "/www/blocks.js";
import { arrange, h, say } from "/www/dom.js";
import { count, duration, line } from "/www/format.js";

const RUNNING_SHOWN = 4, FAILED_SHOWN = 3;
const STDERR_LINES = 8, WHY_MOST = 600;

export class Outcome {
	#failed = "";                       // the numbers of those that are shown
	#running = new Map();               // call → element

	// on: choose(call number), event(seq), errors().
	constructor(record, payloads, live, element, on) {
		this.record = record;
		this.payloads = payloads;
		this.live = live;
		this.on = on;
		this.failedList = h("ul", { class: "failed-list", "aria-label": "What failed" });
		this.runningList = h("ul", { class: "running-list", "aria-label": "What runs now" });
		this.more = h("li", { class: "note" });
		element.replaceChildren(this.failedList, this.runningList);
	}

	// now: ms since the run began.
	draw(now, status) {
		this.#drawRunning(now);
		this.#drawFailed(status);
	}

	#drawRunning(now) {
		const { record } = this, running = record.innermost(record.open).filter((call) => record.running(call));
		const old = this.#running;
		this.#running = new Map(running.slice(-RUNNING_SHOWN).map((call) =>
			[call, old.get(call) ?? h("li", null, h("button", { type: "button", class: "plain", onclick: () => this.on.choose(call.n) },
			    h("span", { class: "sign", "aria-hidden": "true" }, "▶"), " ", h("strong", null, call.id), " ",
			    h("span", { class: "note" }), " ", h("span", { class: "about" })))]));
		for (const [call, element] of this.#running) {
			const { n } = call, last = record.entries[call.events.at(-1) - 1];
			const [, , took, about] = element.firstChild.children;
			say(took, duration(now - call.at));
			const written = this.live.last(n);
			const doing = written ? "✎ … " + line(written.slice(-90)) : last && !last.type.startsWith("step.") ? line(last.label, 100) : "";
			say(about, [call.agent, doing].filter(Boolean).join(": "));
		}
		const more = running.length - this.#running.size;
		say(this.more, `and ${count(more)} more`);
		arrange(this.runningList, [...this.#running.values(), ...(more > 0 ? [this.more] : [])]);
		this.runningList.hidden = running.length === 0;
	}

	// Of what was caught nothing is said here once the run has gone on and ended well, and little before.
	#drawFailed(status) {
		const failed = status === "success" ? [] : this.record.innermost(this.record.failed);
		const ended = !["running", "waiting"].includes(status);
		this.failedList.hidden = failed.length === 0;
		this.failedList.classList.toggle("short", !ended);
		const key = JSON.stringify([ended, failed.length, failed.slice(0, FAILED_SHOWN).map(({ id, code, events }) =>
			[id, code, events.at(-1), this.record.entries[events.at(-1) - 1]?.label])]);
		if (key === this.#failed)
			return;
		this.#failed = key;
		this.failedList.replaceChildren(...failed.slice(0, FAILED_SHOWN).map((call) => this.#makeFailed(call, ended)),
		    ...(failed.length > FAILED_SHOWN ? [h("li", null, h("button", { type: "button", class: "more", onclick: () => this.on.errors() },
		        `All errors (${count(failed.length)} calls)`))] : []));
	}

	// Whether a call is shown that has failed for that.
	tells(code) {
		return !this.failedList.hidden && this.record.innermost(this.record.failed).some((call) => call.code === code);
	}

	#makeFailed(call, ended) {
		const seq = call.events.at(-1), entry = this.record.entries[seq - 1];
		const element = h("li", null, h("a", { href: "#" + seq, onclick: (event) => {
			event.preventDefault();
			this.on.event(seq);
		} }, h("span", { "aria-hidden": "true" }, "✗ "), h("strong", null, call.id), " ", call.code ?? ""), " ",
		    h("span", { class: "why" }, entry?.label ?? ""));
		this.#addWords(element, call, ended);
		return element;
	}

	// The whole of why it failed: its cause stands at the end. And the end of what it wrote, as a log has
	// it; what a child run wrote, its caller has.
	async #addWords(element, call, ended) {
		for (let n = call.n; n !== null; n = this.record.calls[n].around) {
			const seq = this.record.calls[n].events.findLast((each) => this.record.entries[each - 1]?.type.endsWith(".completed"));
			if (seq === undefined)
				return;
			await this.payloads.want([seq]).catch(() => null);
			const { error, stderr } = this.payloads.have(seq)?.payload ?? {};
			if (n === call.n && typeof error?.message === "string")
				say(element.querySelector(".why"), line(error.message, WHY_MOST));
			if (!ended)
				return;
			if (typeof stderr === "string" && stderr.trim() !== "") {
				element.append(text("stderr" + seq, stderr.trimEnd().split("\n").slice(-STDERR_LINES).join("\n"), "code"));
				return;
			}
		}
	}
}
