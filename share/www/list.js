// A long list of which only what is seen is in the document. The heights of rows are guessed until
// they have been there once; then they are kept, and what is at the top of the view stays there
// whatever the rows above it turn out to be. A browser's elements are at most some 17 million px
// high: a list that is higher is scrolled in proportion, but by a little as far as was asked for.
const BEYOND_PX = 400;                // rows are made this far beyond what is seen
const ROWS_MOST = 200;
const HIGHEST_PX = 8_000_000;

// Sums of heights by position, so that a place in 100,000 rows is found in 17 steps.
class Heights {
	heights = [];
	#tree = [0];

	get size() { return this.heights.length; }

	push(height) {
		const i = this.heights.push(height);
		this.#tree.push(height + this.before(i - 1) - this.before(i - (i & -i)));
	}

	// Keeps so many.
	cut(size) {
		this.heights.length = size;
		this.#tree.length = size + 1;
	}

	set(index, height) {
		const more = height - this.heights[index];
		this.heights[index] = height;
		for (let i = index + 1; i <= this.size; i += i & -i)
			this.#tree[i] += more;
	}

	// Where a row begins.
	before(index) {
		let sum = 0;
		for (let i = index; i > 0; i -= i & -i)
			sum += this.#tree[i];
		return sum;
	}

	// The row at a place.
	at(place) {
		let index = 0, step = 1;
		while (step * 2 <= this.size)
			step *= 2;
		for (; step > 0; step >>= 1)
			if (index + step <= this.size && this.#tree[index + step] <= place) {
				index += step;
				place -= this.#tree[index];
			}
		return Math.min(index, this.size - 1);
	}
}

export class List {
	// rows: { height(index): a guess, key(index), or null if it is never the same again, make(index): element,
	// fill(index, element): only for refresh() }.
	constructor(scroller, space, rows) {
		this.scroller = scroller;
		this.space = space;
		this.rows = rows;
		this.count = 0;
		this.heights = new Heights();
		this.measured = new Map();        // key → height
		this.shown = new Map();           // index → element
		this.following = false;
		this.onDraw = () => {};
		this.#sizes = new ResizeObserver((entries) => this.#resized(entries));
		scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
		new ResizeObserver(() => this.#widthChanged()).observe(scroller);
	}

	#sizes;
	#filled = new Set();                // elements with other content, whose heights are yet to be seen
	#frame = 0;
	#anchor = null;                     // the row at the top, and how far it is above it
	#target = null;                     // the same of the row that was gone to, until somebody scrolls
	#targetKey = null;
	#wrote = -1;                        // a scroll position of ours, of which an event will come
	#scrollTop = 0;                     // where it was
	#shift = 0;                         // what the rows are below that, in a list above HIGHEST_PX
	#width = 0;

	get #height() { return this.heights.before(this.count); }
	// The place in the list that is at the top of the view.
	get place() { return this.scroller.scrollTop + this.#shift; }

	// Other rows than before: all is made anew. Those with a height that is known keep it.
	reset(count) {
		this.#target = null;
		this.change(0, count);
	}

	// Perhaps other rows than before, each with a key: those that stay keep their elements, filled anew.
	refresh(count) {
		const kept = new Map([...this.shown.values()].map((element) => [element.listKey, element]));
		this.#target = null;
		this.shown.clear();
		this.count = count;
		this.heights.cut(0);
		for (let i = 0; i < count; i++) {
			const key = this.rows.key(i), element = kept.get(key);
			this.heights.push(this.measured.get(key) ?? this.rows.height(i));
			if (!element)
				continue;
			kept.delete(key);
			element.listIndex = i;
			this.shown.set(i, element);
			this.rows.fill(i, element);
		}
		for (const element of kept.values()) {
			this.#sizes.unobserve(element);
			element.remove();
		}
		this.draw();
	}

	// Other rows from this one on, each with a key: those that stay keep their elements, and what is at the
	// top stays there, wherever in the list it is now. All that are shown are filled anew.
	update(from, count) {
		const kept = new Map(), top = this.#topKey(), target = this.#target ? this.#targetKey : null;
		for (const [index, element] of this.shown)
			if (index >= from) {
				kept.set(element.listKey, element);
				this.shown.delete(index);
			}
		this.count = count;
		this.heights.cut(Math.min(from, this.heights.size));
		for (let i = this.heights.size; i < count; i++) {
			const key = this.rows.key(i), element = kept.get(key);
			this.heights.push(this.measured.get(key) ?? this.rows.height(i));
			if (top?.key === key)
				this.#anchor = { ...top, index: i };
			if (target === key)
				this.#anchor = this.#target = { ...this.#target, index: i };
			if (!element)
				continue;
			kept.delete(key);
			element.listIndex = i;
			this.shown.set(i, element);
		}
		for (const element of kept.values()) {
			this.#sizes.unobserve(element);
			element.remove();
		}
		for (const [index, element] of this.shown)
			if (this.rows.fill(index, element))
				this.#filled.add(element);
		this.draw();
	}

	// The row at the top of the view, to be found again.
	#topKey() {
		if (this.count === 0 || this.following)
			return null;
		if (this.#anchor?.key !== undefined)
			return this.#anchor;
		const top = this.place, index = this.heights.at(top), element = this.shown.get(index);
		return element ? { key: element.listKey, above: top - this.heights.before(index) } : null;
	}

	// Other rows from this one on.
	change(from, count) {
		for (const [index, element] of this.shown)
			if (index >= from)
				this.#remove(index, element);
		this.count = count;
		this.heights.cut(Math.min(from, this.heights.size));
		for (let i = this.heights.size; i < count; i++)
			this.heights.push(this.measured.get(this.rows.key(i)) ?? this.rows.height(i));
		this.draw();
	}

	// A row's content has changed.
	renew(index) {
		const element = this.shown.get(index);
		if (element) {
			this.#remove(index, element);
			this.draw();
		}
	}

	#forget() {
		for (const [index, element] of this.shown)
			this.#remove(index, element);
	}

	#remove(index, element) {
		this.#sizes.unobserve(element);
		element.remove();
		this.shown.delete(index);
	}

	#widthChanged() {
		const width = this.scroller.clientWidth;
		if (width !== this.#width && this.#width !== 0)
			this.measured.clear();
		this.#width = width;
		this.draw();
	}

	#scrolled() {
		const { scrollTop, clientHeight, scrollHeight } = this.scroller;
		if (Math.abs(scrollTop - this.#wrote) > 1) {
			this.#anchor = this.#target = null;
			this.following = false;
			const room = scrollHeight - clientHeight, all = this.#height - clientHeight;
			if (all <= room + 1)
				this.#shift = 0;
			else if (Math.abs(scrollTop - this.#scrollTop) > 2 * clientHeight)
				this.#shift = scrollTop / room * (all - room);
			else if (scrollTop <= 0 || scrollTop >= room - 1 || this.place < 0 || this.place > all)
				this.#scrollTo(this.place);
		}
		this.#scrollTop = this.scroller.scrollTop;
		this.draw();
	}

	#resized(entries) {
		for (const { target } of entries)
			if (target.isConnected && this.#keepHeight(target))
				this.draw();
	}

	#keepHeight(element) {
		const index = element.listIndex, height = element.offsetHeight;
		if (height === 0 || this.shown.get(index) !== element || Math.abs(this.heights.heights[index] - height) < 0.5)
			return false;
		this.#holdTop();
		this.heights.set(index, height);
		if (this.rows.key(index) !== null)
			this.measured.set(this.rows.key(index), height);
		return true;
	}

	#holdTop() {
		this.#anchor ??= this.#target;
		if (this.#anchor || this.count === 0)
			return;
		const top = this.place, index = this.heights.at(top);
		this.#anchor = { index, above: top - this.heights.before(index) };
	}

	draw() {
		this.#frame ||= requestAnimationFrame(() => {
			this.#frame = 0;
			this.#drawNow();
		});
	}

	#drawNow() {
		const view = this.scroller.clientHeight;
		if (view === 0)
			return;
		// What is made may turn out higher or lower than guessed: again, then, at most a few times.
		for (let tries = 0; tries < 4; tries++) {
			const total = this.#height;
			this.space.style.height = Math.min(total, HIGHEST_PX) + "px";
			if (this.following)
				this.#scrollTo(total - view);
			else if (this.#anchor && this.#anchor.index < this.count)
				this.#scrollTo(this.heights.before(this.#anchor.index) + this.#anchor.above);
			if (!this.#place(view))
				break;
		}
		this.#anchor = null;
		this.onDraw();
	}

	#scrollTo(place) {
		const view = this.scroller.clientHeight, all = this.#height - view;
		const room = Math.min(this.#height, HIGHEST_PX) - view;
		place = Math.max(0, Math.min(place, all));
		const top = all > room ? place / all * room : place;
		if (Math.abs(this.scroller.scrollTop - top) > 0.5) {
			this.scroller.scrollTop = top;
			this.#wrote = this.#scrollTop = this.scroller.scrollTop;
		}
		this.#shift = all > room ? place - this.scroller.scrollTop : 0;
	}

	// Puts the rows that are seen in their places. True if a height was other than thought.
	#place(view) {
		if (this.count === 0) {
			this.#forget();
			return false;
		}
		const top = this.place;
		const first = this.heights.at(Math.max(0, top - BEYOND_PX));
		const last = Math.min(this.heights.at(top + view + BEYOND_PX), first + ROWS_MOST, this.count - 1);
		const active = document.activeElement;
		for (const [index, element] of this.shown)
			if ((index < first || index > last) && !(index < this.count && element.contains(active)))
				this.#remove(index, element);
		const made = [];
		let next = null;
		for (let index = last; index >= first; index--) {
			let element = this.shown.get(index);
			if (!element) {
				element = this.rows.make(index);
				element.listIndex = index;
				element.listKey = this.rows.key(index);
				element.classList.add("row");
				this.shown.set(index, element);
				made.push(element);
			}
			// In the order of the rows, for who reads or tabs through them.
			if (!element.isConnected || (next !== null && element.nextSibling !== next))
				this.space.insertBefore(element, next);
			next = element;
		}
		let other = false;
		for (const element of this.#filled)
			if (element.isConnected)
				other = this.#keepHeight(element) || other;
		this.#filled.clear();
		for (const element of made) {
			this.#sizes.observe(element);
			other = this.#keepHeight(element) || other;
		}
		for (let index = first, y = this.heights.before(first); index <= last; index++) {
			this.shown.get(index).style.transform = `translateY(${y - this.#shift}px)`;
			y += this.heights.heights[index];
		}
		return other;
	}

	// Keeps the end in view while rows come, until somebody scrolls.
	follow(on) {
		this.following = on;
		this.#target = null;
		this.draw();
	}

	// Brings a row into view, and keeps it there whatever the rows around it turn out to be: at the top,
	// or with nearest only as far as needed.
	show(index, nearest = false) {
		this.following = false;
		const before = this.heights.before(index), view = this.scroller.clientHeight;
		const height = this.heights.heights[index], top = this.place;
		if (nearest && before >= top && before + height <= top + view)
			return;
		this.#target = { index, above: nearest && before > top ? Math.min(0, height - view) : 0 };
		this.#targetKey = this.rows.key(index);
		this.#anchor = this.#target;
		this.draw();
	}

	// The row at the top of the view.
	first() {
		return this.count === 0 ? 0 : this.heights.at(this.place + 1);
	}

	// Back to the first row.
	rewind() {
		this.#target = this.#anchor = null;
		this.#scrollTo(0);
	}
}
