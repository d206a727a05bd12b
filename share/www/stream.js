// Server-sent events by fetch, which unlike EventSource can send a token. What has come is known
// by the id of the last message: a connection that is cut is opened again after it, at longer and
// longer intervals. A tab that is not seen lets its connection go, as a browser has but six.
import { request } from "/www/api.js";

const FIRST_WAIT_MS = 500, LONGEST_WAIT_MS = 15_000;
const SILENCE_MS = 40_000;       // the server says something each 15 s
const HIDDEN_MS = 30_000;

// The messages in a stream of text: {event, id, data}.
export class Parser {
	#rest = "";
	#message = { data: [] };

	// Calls take for each message that is whole now.
	push(text, take) {
		const lines = (this.#rest + text).split("\n");
		this.#rest = lines.pop();
		for (let line of lines) {
			if (line.endsWith("\r"))
				line = line.slice(0, -1);
			if (line === "") {
				const { event, id, data } = this.#message;
				this.#message = { data: [] };
				if (data.length > 0)
					take({ event, id, data: data.join("\n") });
				continue;
			}
			const colon = line.indexOf(":");
			if (colon === 0)
				continue;
			const field = colon === -1 ? line : line.slice(0, colon);
			const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
			if (field === "data")
				this.#message.data.push(value);
			else if (field === "event" || field === "id")
				this.#message[field] = value;
		}
	}
}

// on: message(data, id), event(name, data), state("live" | "cut" | "over", error).
export class Stream {
	#abort = null;
	#closed = false;
	#wait = 0;
	#wake = null;
	#visible = () => this.#watchTab();
	#hiddenTimer = 0;

	constructor(path, on, lastId = null) {
		this.path = path;
		this.on = on;
		this.lastId = lastId;
		document.addEventListener("visibilitychange", this.#visible);
		window.addEventListener("online", this.#visible);
		this.#run();
	}

	close() {
		this.#closed = true;
		document.removeEventListener("visibilitychange", this.#visible);
		window.removeEventListener("online", this.#visible);
		clearTimeout(this.#hiddenTimer);
		this.#abort?.abort();
		this.#wake?.();
	}

	// Forgets what this connection was at, and opens another behind an id.
	again(lastId) {
		this.lastId = lastId;
		this.#abort?.abort();
	}

	#watchTab() {
		clearTimeout(this.#hiddenTimer);
		if (document.hidden) {
			this.#hiddenTimer = setTimeout(() => this.#abort?.abort(), HIDDEN_MS);
		} else {
			this.#wait = 0;
			this.#wake?.();
		}
	}

	async #run() {
		while (!this.#closed) {
			let over = false, why = null;
			try {
				over = await this.#connection();
			} catch (error) {
				why = error;
			}
			if (this.#closed)
				return;
			if (over || (why?.status >= 400 && why.status < 500 && why.status !== 429)) {
				this.close();
				this.on.state("over", why);
				return;
			}
			this.on.state("cut", why);
			await this.#pause();
		}
	}

	// Before the next try; until the tab is seen, if it is not.
	#pause() {
		const wait = this.#wait * (0.75 + Math.random() / 2);
		this.#wait = Math.min(LONGEST_WAIT_MS, Math.max(FIRST_WAIT_MS, this.#wait * 2));
		return new Promise((resolve) => {
			this.#wake = resolve;
			if (!document.hidden)
				setTimeout(resolve, wait);
		});
	}

	// True if the server has said that there is no more.
	async #connection() {
		const abort = this.#abort = new AbortController();
		const headers = { Accept: "text/event-stream" };
		if (this.lastId !== null)
			headers["Last-Event-ID"] = this.lastId;
		let silence = setTimeout(() => abort.abort(), SILENCE_MS);
		try {
			const answer = await request(this.path, { headers, signal: abort.signal });
			if (answer.status === 204)
				return true;
			this.on.state("live");
			const reader = answer.body.getReader(), text = new TextDecoder(), parser = new Parser();
			for (let over = false;;) {
				const { done, value } = await reader.read();
				if (done)
					return over;
				this.#wait = 0;
				clearTimeout(silence);
				silence = setTimeout(() => abort.abort(), SILENCE_MS);
				parser.push(text.decode(value, { stream: true }), (message) => {
					if (abort.signal.aborted)
						return;
					if (message.id !== undefined)
						this.lastId = message.id;
					if (message.event === undefined) {
						this.on.message(message.data, message.id);
						return;
					}
					if (message.event === "reset")
						this.lastId = null;
					over ||= message.event === "end";
					this.on.event(message.event, message.data);
				});
			}
		} finally {
			clearTimeout(silence);
			abort.abort();
		}
	}
}
