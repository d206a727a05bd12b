// Elements. What comes from a record becomes text and nothing else: there is no way in here from
// a string to markup. What of a text is not seen is shown (visible.js).
import { visible } from "/www/visible.js";

// An element with properties, and children: elements or texts; null and false are left out.
export function h(name, properties, ...children) {
	const element = document.createElement(name);
	for (const [key, value] of Object.entries(properties ?? {})) {
		if (value === undefined || value === null)
			continue;
		if (key === "class")
			element.className = value;
		else if (key === "data")
			Object.assign(element.dataset, value);
		else if (key.startsWith("on"))
			element.addEventListener(key.slice(2), value);
		else if (key === "title")
			element.title = visible(value);
		else if (key in element && !key.startsWith("aria") && key !== "role" && key !== "list")
			element[key] = value;
		else
			element.setAttribute(key, value);
	}
	element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined &&
	    child !== false && child !== "").map((child) => typeof child === "string" ? visible(child) : child));
	return element;
}

export const byId = (id) => document.getElementById(id);

// Sets a text only if it is another: what is read aloud is then what has changed.
export function say(element, text) {
	const shown = visible(text);
	if (element.textContent !== shown)
		element.textContent = shown;
}

// Makes these the children of an element. Those that stay are not touched: a focus or a click that
// has begun in them goes on.
export function arrange(parent, elements) {
	const wanted = new Set(elements);
	for (const child of [...parent.children])
		if (!wanted.has(child))
			child.remove();
	elements.forEach((element, i) => {
		if (parent.children[i] !== element)
			parent.insertBefore(element, parent.children[i] ?? null);
	});
}

// Calls what at most once in so many ms, the last time included.
export function throttle(ms, what) {
	let timer = 0, last = -Infinity;
	return () => {
		timer ||= setTimeout(() => {
			timer = 0;
			last = performance.now();
			what();
		}, Math.max(0, last + ms - performance.now()));
	};
}

// A small question before something that cannot be taken back; true if the answer is yes.
export function ask(title, text, yes) {
	const dialog = byId("ask");
	dialog.replaceChildren(h("form", { method: "dialog" },
	    h("h2", { id: "ask-title" }, title), h("p", null, text),
	    h("div", { class: "buttons" },
	        h("button", { value: "no" }, "No"),
	        h("button", { value: "yes", class: "danger" }, yes))));
	dialog.returnValue = "no";
	dialog.showModal();
	return new Promise((resolve) => dialog.addEventListener("close",
	    () => resolve(dialog.returnValue === "yes"), { once: true }));
}
