// Numbers as people read them, and the words and signs for states.

export function duration(ms) {
	if (ms < 1000)
		return Math.max(0, Math.round(ms)) + " ms";
	if (ms < 60_000)
		return (ms / 1000).toFixed(1) + " s";
	const seconds = Math.round(ms / 1000), minutes = Math.floor(seconds / 60);
	if (minutes < 60)
		return `${minutes} min ${seconds % 60} s`;
	const hours = Math.floor(minutes / 60);
	return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function count(n) {
	if (!(n >= 1000))
		return String(n ?? 0);
	return n < 1e6 ? (n / 1e3).toFixed(n < 1e4 ? 1 : 0) + "k" : (n / 1e6).toFixed(1) + "M";
}

export function bytes(n) {
	if (n < 1024)
		return n + " B";
	return n < 1 << 20 ? (n / 1024).toFixed(0) + " KiB" : (n / (1 << 20)).toFixed(1) + " MiB";
}

// Dollars are a decimal text, which is not made a number but to be shown.
export function dollars(text) {
	const n = Number(text);
	if (!text || !(n > 0))
		return "";
	return "$" + (n < 0.01 ? n.toPrecision(2) : n.toFixed(n < 1 ? 3 : 2));
}

export function ago(time) {
	const s = (Date.now() - Date.parse(time)) / 1000;
	if (s < 60)
		return "now";
	if (s < 3600)
		return Math.floor(s / 60) + " min ago";
	return s < 86400 ? Math.floor(s / 3600) + " h ago" : Math.floor(s / 86400) + " d ago";
}

export function when(time) {
	const date = new Date(time);
	return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

// One line, and not a long one.
export function short(text, most = 80) {
	const line = String(text).slice(0, most * 4).replace(/\s+/g, " ").trim();
	return line.length > most ? line.slice(0, most - 1) + "…" : line;
}

// What a value is on one line: text as it is, else JSON.
export const line = (value, most) => value === undefined || value === null ? "" :
	short(typeof value === "string" ? value : JSON.stringify(value), most);

// Runs and calls alike: the sign, and the word, for who does not see it.
export const signs = {
	__proto__: null,
	running: "▶", success: "✓", done: "✓", reused: "=", failed: "✗", timeout: "✗", died: "✗",
	unfinished: "?", cancelled: "■", waiting: "‖", queued: "…", skipped: "–", closed: "–",
};
