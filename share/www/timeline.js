// Where a time lies: from 0 to 1 along all attempts, without what lay between them. Zoomed in, it
// is a part of that.
import { h } from "/www/dom.js";
import { duration } from "/www/format.js";

const SHORTEST = 1;                   // ms: nothing is shorter, or it could not be seen
const LETTER_PX = 7, BESIDE_PX = 12;  // of a mark

export class Scale {
	constructor(record, now) {
		this.parts = [];
		this.length = 0;
		for (const { from, to } of record.attempts) {
			const until = Math.max(to ?? Math.max(now, record.end), from + SHORTEST);
			this.parts.push({ from, until, before: this.length });
			this.length += until - from;
		}
		this.length ||= SHORTEST;
		this.window = { from: 0, until: this.length };
	}

	// Zooms to a part, of 0 to 1.
	zoom({ from, until }) {
		this.window = { from: from * this.length, until: until * this.length };
	}

	// ms behind the start, pauses left out.
	along(at) {
		let place = 0;
		for (const { from, until, before } of this.parts)
			if (at >= from)
				place = before + Math.min(at, until) - from;
		return place;
	}

	of(at) {
		const { from, until } = this.window;
		return (this.along(at) - from) / (until - from);
	}
}

// Places a bar; it is seen even if it is short, or else not there.
export function bar(scale, from, until, name, title) {
	const left = scale.of(from), right = scale.of(until);
	if (right < 0 || left > 1)
		return null;
	const element = h("span", { class: "bar " + name, title });
	element.style.left = Math.max(0, left) * 100 + "%";
	element.style.width = (Math.min(1, right) - Math.max(0, left)) * 100 + "%";
	return element;
}

// Puts bars in a place that has some, which become these.
export function setBars(place, bars) {
	bars = bars.filter(Boolean);
	while (place.children.length > bars.length)
		place.lastChild.remove();
	bars.forEach((bar, i) => {
		const old = place.children[i];
		if (old) {
			old.className = bar.className;
			old.title = bar.title;
			old.style.cssText = bar.style.cssText;
		} else {
			place.append(bar);
		}
	});
}

// Round numbers along the top, which is so wide, as many as have their text beside each other.
export function axis(scale, width) {
	const { from, until } = scale.window, length = until - from;
	const room = (at) => (duration(at).length * LETTER_PX + BESIDE_PX) / width * length;
	const least = Math.max(length / 8, room(until), 1);
	let step = 10 ** Math.floor(Math.log10(least));
	step *= [1, 2, 5, 10].find((times) => step * times >= least);
	const marks = [];
	for (let at = Math.ceil(from / step) * step; at + room(at) <= until; at += step) {
		const mark = h("span", { class: "mark" }, at === 0 ? "0" : duration(at));
		mark.style.left = (at - from) / length * 100 + "%";
		marks.push(mark);
	}
	for (const { before } of scale.parts.slice(1)) {
		const place = (before - from) / length;
		if (place < 0 || place > 1)
			continue;
		const mark = h("span", { class: "attempt", title: "A further attempt" });
		mark.style.left = place * 100 + "%";
		marks.push(mark);
	}
	return marks;
}
