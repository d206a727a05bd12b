// The difference between two texts, line by line.
import { h } from "/www/dom.js";

const LINES_MOST = 2000;              // beyond that all is taken for changed
const AROUND = 3;                     // lines that are shown around a change

// The lines of a text; one without a line feed at its end is told from one with it.
function linesOf(text, other) {
	if (text.endsWith("\n"))
		return text.slice(0, -1).split("\n");
	const lines = text === "" ? [] : text.split("\n");
	return other.endsWith("\n") && text !== "" ? [...lines, "(no line feed at the end)"] : lines;
}

// [["=" | "-" | "+", line] …] by a longest common subsequence, once what is the same at both ends
// is put aside.
export function diff(old, now) {
	const a = linesOf(old, now), b = linesOf(now, old);
	let begin = 0, end = 0;
	while (begin < a.length && begin < b.length && a[begin] === b[begin])
		begin++;
	while (end < a.length - begin && end < b.length - begin && a.at(-1 - end) === b.at(-1 - end))
		end++;
	const x = a.slice(begin, a.length - end), y = b.slice(begin, b.length - end);
	return [
		...a.slice(0, begin).map((line) => ["=", line]),
		...changes(x, y),
		...a.slice(a.length - end).map((line) => ["=", line]),
	];
}

function changes(x, y) {
	if (x.length * y.length > LINES_MOST ** 2 / 4)
		return [...x.map((line) => ["-", line]), ...y.map((line) => ["+", line])];
	const width = y.length + 1, common = new Uint32Array((x.length + 1) * width);
	for (let i = x.length - 1; i >= 0; i--)
		for (let j = y.length - 1; j >= 0; j--)
			common[i * width + j] = x[i] === y[j] ? common[(i + 1) * width + j + 1] + 1 :
				Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
	const out = [];
	for (let i = 0, j = 0; i < x.length || j < y.length;) {
		if (i < x.length && j < y.length && x[i] === y[j]) {
			out.push(["=", x[i++]]);
			j++;
		} else if (j >= y.length ||
		    (i < x.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
			out.push(["-", x[i++]]);
		} else {
			out.push(["+", y[j++]]);
		}
	}
	return out;
}

const words = { "-": "removed: ", "+": "added: ", "=": "" };

export function showDiff(old, now, most = 400) {
	const lines = diff(old, now), near = new Set();
	lines.forEach(([sign], at) => {
		for (let i = at - AROUND; sign !== "=" && i <= at + AROUND; i++)
			near.add(i);
	});
	const out = h("div", { class: "diff" });
	let left = 0;
	lines.slice(0, most).forEach(([sign, line], at) => {
		if (!near.has(at)) {
			left++;
			return;
		}
		if (left > 0)
			out.append(h("div", { class: "left" }, `… ${left} lines`));
		left = 0;
		out.append(h("div", { class: { "-": "gone", "+": "new", "=": "" }[sign] },
		    h("span", { class: "unseen" }, words[sign]),
		    h("span", { class: "sign", "aria-hidden": "true" }, sign === "=" ? " " : sign), line || " "));
	});
	if (lines.length > most)
		out.append(h("div", { class: "left" }, `… ${lines.length - most} lines more`));
	return out;
}
