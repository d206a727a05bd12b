// A run once more: go on with it, fork it at a step, perhaps with other inputs or another text of its pipeline, or
// start it anew with the same input. Each is a command, which the server makes and this shows; where the server
// may start the workflow, it does.
import { get, post, runPath } from "/www/api.js";
import { h, say } from "/www/dom.js";
import { visible } from "/www/visible.js";

const TYPED_MS = 200;

const ways = {
	resume: ["Resume", "What has succeeded stays; the rest is made."],
	fork: ["Fork", "A new run that takes over what is as it was: a step and what came of it are made again."],
	again: ["Run again", "A new run, from the beginning, with the same input."],
};

// What can be said beforehand of the input of a new run.
const inputs = {
	__proto__: null,
	part: "It had not read all of its input: what it had read is what the new run gets.",
	not_kept: "Its input was a terminal or a device, which is not kept: the new run reads what the shell gives it.",
};

async function copy(text, button) {
	const field = h("textarea", { value: text, class: "unseen", "aria-hidden": "true" });
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		// Without TLS a browser has no clipboard for pages.
		button.after(field);
		field.select();
		document.execCommand("copy");
		field.remove();
	}
	say(button, "Copied");
	setTimeout(() => say(button, "Copy"), 2000);
}

class Dialog {
	#asked = 0;
	#timer = 0;
	#command = "";

	constructor(info, how, calls, chosen) {
		this.info = info;
		this.how = how;
		this.code = h("code");
		this.unseen = h("p", { class: "problem" });
		this.problem = h("p", { role: "alert", class: "problem" });
		this.note = h("p", { class: "note" });
		this.status = h("p", { role: "status", class: "note" });
		this.buttons = Object.fromEntries(Object.entries(ways).map(([way, [text]]) => [way,
			h("button", { type: "button", "aria-pressed": "false", onclick: () => this.#choose(way) }, text)]));
		this.start = h("button", { type: "button", class: "main", hidden: true, onclick: () => this.#start() }, "Do it here");
		this.copyButton = h("button", { type: "button", onclick: () => copy(this.#command, this.copyButton) }, "Copy");
		const paths = [...new Set(calls.map(({ path }) => path).filter(Boolean))];
		this.at = h("input", { type: "text", value: chosen ?? "", autocomplete: "off", list: "again-steps", oninput: () => this.#soon() });
		this.pipeline = how.pipeline === null ? null : h("textarea", { value: how.pipeline, rows: Math.min(8, how.pipeline.split("\n").length + 1), spellcheck: false, oninput: () => this.#soon() });
		this.shown = this.pipeline?.value;
		this.inputs = Object.entries(how.inputs).map(([name, value]) => [name, value,
			h("textarea", { value, rows: Math.min(5, value.split("\n").length), spellcheck: false, oninput: () => this.#soon() })]);
		const label = (text, field) => h("label", null, h("span", null, text), field);
		this.fork = h("div", { class: "fields" },
		    label("At this step or call (empty: what is made of something else now)", this.at),
		    h("datalist", { id: "again-steps" }, paths.map((path) => h("option", { value: path }))),
		    this.pipeline ? label("Its pipeline, with its prompts", this.pipeline) : null);
		this.named = h("div", { class: "fields" }, this.inputs.map(([name, , field]) => label(`Input ${name}`, field)));
		this.element = h("dialog", { class: "again", "aria-labelledby": "again-title", onclose: () => this.element.remove() },
		    h("h2", { id: "again-title" }, "Again"),
		    h("div", { class: "buttons", role: "group", "aria-label": "How" }, Object.values(this.buttons)),
		    this.note, this.fork, this.named,
		    h("pre", { tabIndex: 0, "aria-label": "The command" }, this.code), this.unseen, this.problem, this.status,
		    h("div", { class: "buttons" }, this.start, this.copyButton, h("button", { type: "button", onclick: () => this.element.close() }, "Close")));
	}

	open() {
		const { alive, status } = this.info;
		this.buttons.resume.disabled = alive || ["success", "queued"].includes(status);
		document.body.append(this.element);
		this.element.showModal();
		this.#choose(this.buttons.resume.disabled ? this.at.value ? "fork" : "again" : "resume");
	}

	#choose(way) {
		this.way = way;
		for (const [each, button] of Object.entries(this.buttons))
			button.setAttribute("aria-pressed", String(each === way));
		this.fork.hidden = way !== "fork";
		this.named.hidden = way === "resume" || this.inputs.length === 0;
		const { file, origin, pipeline } = this.how;
		say(this.note, [ways[way][1],
			way === "fork" && file && !pipeline ? `Its prompts stand in ${file} and the files that it names: edit them first, and what depends on them is made again.` : "",
			way === "again" ? inputs[this.how.input] : "", origin ? `It was recorded by ${origin}: the command is for there.` : ""].filter(Boolean).join(" "));
		this.#ask();
	}

	#soon() {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.#ask(), TYPED_MS);
	}

	#body() {
		const body = { do: this.way };
		if (this.way === "fork" && this.at.value.trim())
			body.at = this.at.value.trim();
		if (this.way === "fork" && this.pipeline && this.pipeline.value !== this.shown)
			body.pipeline = this.pipeline.value;
		const given = this.inputs.filter(([, value, field]) => field.value !== value);
		if (this.way !== "resume" && given.length > 0)
			body.inputs = Object.fromEntries(given.map(([name, , field]) => [name, field.value]));
		return body;
	}

	async #ask() {
		const mine = ++this.#asked;
		try {
			const { command, may_start: may } = await post(runPath(this.info.run_id) + "/again", this.#body());
			if (mine !== this.#asked)
				return;
			this.#command = command;
			say(this.code, command);
			say(this.problem, "");
			say(this.unseen, visible(command) === command ? "" : "Some of its characters are invisible, and shown as escapes: take it with Copy.");
			this.start.hidden = !may;
			this.copyButton.disabled = false;
		} catch (error) {
			if (mine !== this.#asked)
				return;
			say(this.code, "");
			say(this.problem, error.message);
			this.start.hidden = true;
			this.copyButton.disabled = true;
		}
	}

	async #start() {
		clearTimeout(this.#timer);
		this.start.disabled = true;
		say(this.status, "Starting…");
		try {
			const { run_id: id } = await post(runPath(this.info.run_id) + "/again", { ...this.#body(), start: true });
			if (id === this.info.run_id)
				this.element.close();
			else
				location.assign("/runs/" + id);
		} catch (error) {
			say(this.status, "");
			say(this.problem, error.message);
			this.start.disabled = false;
		}
	}
}

// The call that is looked at, by the address of the page.
const chosen = () => new URLSearchParams(location.hash.replace(/^#\d*&?/, "")).get("call");

// The button that opens it. info(): of the run; calls(): its calls.
export function againButton(info, calls) {
	const button = h("button", { type: "button", onclick: async () => {
		button.disabled = true;
		const problem = button.nextElementSibling;
		say(problem, "");
		try {
			const how = await get(runPath(info().run_id) + "/again");
			if (how.impossible !== null)
				say(problem, `Not again: ${how.impossible}.`);
			else
				new Dialog(info(), how, calls(), chosen()).open();
		} catch (error) {
			say(problem, error.message);
		}
		button.disabled = false;
	} }, "Again…");
	return [button, h("span", { role: "alert", class: "problem" })];
}
