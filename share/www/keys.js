// Keys, and the dialog that shows them (?). A view says which it has; none is taken from who
// writes in a field, or holds Control, Alt or Meta.
import { byId, h } from "/www/dom.js";

const everywhere = [
	{ keys: ["?"], text: "Show these keys", run: showKeys },
	{ keys: ["t"], text: "Theme: as the system, light, dark", run: nextTheme },
];
let view = [];

export function setKeys(keys) {
	view = keys;
}

function writes(target) {
	return target.closest("input, textarea, select, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
	if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented ||
	    document.querySelector("dialog[open]"))
		return;
	if (writes(event.target)) {
		if (event.key === "Escape")
			event.target.blur();
		return;
	}
	const key = [...view, ...everywhere].find(({ keys }) => keys.includes(event.key));
	// Enter and space are a button's own.
	if (!key || (event.key === "Enter" && event.target.closest("a, button, summary")))
		return;
	event.preventDefault();
	key.run(event);
});

export function showKeys() {
	const dialog = byId("keys");
	dialog.replaceChildren(h("form", { method: "dialog" },
	    h("h2", { id: "keys-title" }, "Keys"),
	    h("dl", null, [...view, ...everywhere].map(({ keys, text }) => [
	        h("dt", null, keys.map((key) => h("kbd", null, names[key] ?? key))), h("dd", null, text),
	    ])),
	    h("div", { class: "buttons" }, h("button", null, "Close"))));
	dialog.showModal();
}

const names = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Enter: "⏎" };

// The theme is that of the system, until another was chosen.
const themes = ["system", "light", "dark"];

export function showTheme() {
	const theme = localStorage.getItem("theme") ?? "system";
	document.documentElement.dataset.theme = theme;
	byId("theme").textContent = "Theme: " + theme;
}

export function nextTheme() {
	const theme = localStorage.getItem("theme") ?? "system";
	localStorage.setItem("theme", themes[(themes.indexOf(theme) + 1) % themes.length]);
	showTheme();
}
