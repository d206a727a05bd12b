// Looks for a text in the events of a run: in their paths and all that their payloads hold, but in
// no name of a member, and in no blob. The server sends the events as they stand; most lines are
// passed over by their bytes alone.
import { request, runPath } from "/www/api.js";
import { parse } from "/www/json.js";

const TOLD_MS = 200;

const holds = (value, needle) => {
	if (value === null || typeof value !== "object")
		return String(value).toLowerCase().includes(needle);
	return Object.values(value).some((each) => holds(each, needle));
};

export const matches = (event, needle) => holds(event.path ?? "", needle) || holds(event.payload ?? "", needle);

// Calls found(numbers, whether that is all) now and then.
export async function search(runId, needle, signal, found) {
	const escaped = JSON.stringify(needle).slice(1, -1), seqs = new Set();
	const answer = await request(`${runPath(runId)}/events`, { signal });
	const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
	let parts = [], told = performance.now();
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			break;
		// A line may come in very many parts.
		const lines = value.split("\n");
		lines.slice(0, -1).forEach((line, i) => {
			const whole = i === 0 ? parts.join("") + line : line;
			if (!whole.toLowerCase().includes(escaped))
				return;
			const event = parse(whole);
			if (matches(event, needle))
				seqs.add(event.seq);
		});
		parts = lines.length > 1 ? [lines.at(-1)] : [...parts, lines[0]];
		if (performance.now() - told > TOLD_MS) {
			told = performance.now();
			found(seqs, false);
		}
	}
	found(seqs, true);
}
