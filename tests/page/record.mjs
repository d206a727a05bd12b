// A record for chain(1) of tests/support, made event by event: no program has run.
import { createHash } from "node:crypto";

const id = (n) => createHash("sha256").update(String(n)).digest("hex")
	.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, "$1-$2-4$3-8$4-$5");

export class Recorder {
	made = 0;
	clock = Date.parse("2026-11-01T08:00:00Z");
	#out = [];

	constructor(runId) {
		this.runId = runId;
	}

	// After so many ms. The id of the event.
	event(after, type, path, iteration, parent, payload, { child_run_id, refs } = {}) {
		this.clock += after;
		const eventId = id(this.made++);
		this.#out.push(JSON.stringify({
			timestamp: new Date(this.clock).toISOString().replace("Z", "000Z"), event_id: eventId,
			run_id: this.runId, child_run_id, parent_event_id: parent, type, path, iteration, payload, refs,
		}));
		if (this.#out.length > 10_000)
			this.flush();
		return eventId;
	}

	flush() {
		if (this.#out.length > 0)
			process.stdout.write(this.#out.join("\n") + "\n");
		this.#out = [];
	}
}
