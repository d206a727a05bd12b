// What programs write for terminals: colours and bold become so here, all other sequences (places,
// titles, links) are left out.
import { h } from "/www/dom.js";
import { visible } from "/www/visible.js";

const SEQUENCE = /\x1b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_=>78])/g;
// As the page uses them: for what is bad, good, uncertain; of the others it has one each.
const colours = { __proto__: null, 1: "red", 2: "green", 3: "yellow", 4: "blue", 5: "magenta", 6: "blue" };

export const bare = (text) => text.replace(SEQUENCE, "");

// A text without its sequences, as texts and elements.
export function plain(text) {
	if (!text.includes("\x1b"))
		return [visible(text)];
	const out = [];
	let at = 0, colour = "", bold = false;
	const put = (piece) => {
		const name = [colour, bold ? "bold" : ""].filter(Boolean).join(" ");
		if (piece !== "")
			out.push(name ? h("span", { class: name }, piece) : visible(piece));
	};
	for (const found of text.matchAll(SEQUENCE)) {
		put(text.slice(at, found.index));
		at = found.index + found[0].length;
		const codes = found[2] === "m" ? found[1].split(/[;:]/).map(Number) : [];
		for (let i = 0; i < codes.length; i++) {
			const code = codes[i];
			// A colour of a palette (38;5;N), or of all (38;2;R;G;B).
			if (code === 38 || code === 48)
				i += codes[i + 1] === 5 ? 2 : 4;
			else if (code === 0)
				[colour, bold] = ["", false];
			else if (code === 1 || code === 22)
				bold = code === 1;
			else if (code === 39 || (code >= 30 && code <= 37) || (code >= 90 && code <= 97))
				colour = colours[code % 10] ?? "";
		}
	}
	put(text.slice(at));
	return out;
}
