// What waits for a person, with the form to decide about it: approve what stands there or what was
// made of it, deny with a reason; or give the result of work that was handed on.
import { post, runPath } from "/www/api.js";
import { h, say } from "/www/dom.js";
import { ago, bytes, when } from "/www/format.js";
import { parseExactly } from "/www/json.js";
import { lookalikes, visible, visibleJson } from "/www/visible.js";

// What of it a form is made from: another question of the same call is another form.
export const waitKey = ({ call, since, input, question, form }) => JSON.stringify([call, since, input, question, form]);

// What an agent asks about a call of a tool (approve_tools): the tool, the rule, its arguments; null: it is
// another question.
function toolApproval(wait) {
	const asked = wait.for === "approval" ? wait.input?.json : null, name = wait.call.match(/\/([^/:]*):[^/]*$/)?.[1];
	const isOne = asked && typeof asked === "object" && name === asked.tool && typeof asked.rule === "string" &&
	    typeof asked.always === "boolean" && asked.input && typeof asked.input === "object" && Object.keys(asked).length === 4;
	return isOne ? asked : null;
}

// Its arguments: a text as it is, with its line feeds, other values as JSON.
const toolQuestion = ({ tool, input, rule }) => h("dl", { class: "tool-question" },
    h("dt", null, "Tool"), h("dd", null, h("code", null, visible(tool))),
    h("dt", null, "Rule"), h("dd", null, h("code", null, visible(rule))),
    Object.entries(input).map(([name, value]) => [h("dt", null, visible(name)),
	h("dd", null, h("pre", { tabIndex: 0, "aria-label": visible(name) },
	    visible(typeof value === "string" ? value : JSON.stringify(value))))]));

// What a wait is called, and the form to decide about it: { heading, form, press(which), edited(), field, reason,
// always }. press takes "main" (approve, complete) or "danger" (deny, it failed). decided gets the decision that was
// recorded, and whether the run goes on.
export function makeWait(runId, wait, mayDecide, decided) {
	const complete = wait.for === "completion", asks = wait.question;
	const heading = `‖ ${wait.call} ${wait.for === "time" ? "sleeps" : `waits for ${asks ? "an answer" : complete ? "its result" : "approval"}`}`;
	if (wait.for === "time")
		return { heading, form: null };
	const input = wait.input ?? {}, isText = typeof input.text === "string";
	const asText = !complete ? isText : asks ? !("schema" in asks) : wait.form !== "json";
	const asked = isText ? input.text : "json" in input ? JSON.stringify(input.json, null, 2) : null;
	const given = complete ? "" : asText ? asked ?? "" : visibleJson(asked ?? "");
	const field = h("textarea", {
		value: given, rows: Math.min(8, Math.max(2, given.split("\n").length)), spellcheck: false,
		readOnly: !mayDecide || input.bytes !== undefined,
	});
	// A field has its own line ends: what is not edited is not sent.
	const shown = field.value;
	const reason = h("input", { type: "text", maxLength: 1000, autocomplete: "off" });
	const said = h("p", { role: "status" });
	const tool = toolApproval(wait);
	const always = tool && mayDecide ? h("input", { type: "checkbox" }) : null;
	const buttons = [];
	const decide = async (decision, more) => {
		const body = { decision, call: wait.call, ...more };
		if (reason.value && (!complete || more))
			body.reason = reason.value;
		if (always?.checked && decision === "approve")
			body.always = true;
		try {
			if (!more && (complete || (decision === "approve" && field.value !== shown)))
				body.data = asText ? withLineEnds(field.value, given) : parseExactly(field.value);
		} catch (error) {
			say(said, "This is not JSON: " + error.message);
			return false;
		}
		buttons.forEach((button) => { button.disabled = true; });
		try {
			const { goes_on: next } = await post(runPath(runId) + "/decisions", body);
			say(said, next === "at_once" ? "Decided. The run goes on." :
			    next === "by_itself" ? "Decided. The run goes on by itself." : "Decided.");
			decided(body.failed ? "failed" : decision, next);
			return true;
		} catch (error) {
			say(said, error.message);
			buttons.forEach((button) => { button.disabled = false; });
			return false;
		}
	};
	const choices = complete ? { main: ["complete", "Complete"], danger: ["complete", "It failed", { failed: true }] } :
		{ main: ["approve", "Approve"], danger: ["deny", "Deny"] };
	const press = (which) => decide(choices[which][0], choices[which][2]);
	const alike = lookalikes(complete ? asks?.prompt ?? asked : given);
	const form = h("form", { onsubmit: (event) => event.preventDefault() },
	    asks ? h("pre", { tabIndex: 0, "aria-label": "Its question" }, asks.prompt ?? "(a long question: see its event)") :
	        tool ? toolQuestion(tool) : complete && asked !== null ? h("pre", { tabIndex: 0, "aria-label": "Its input" }, asked) : null,
	    input.bytes !== undefined && !complete ? h("p", { class: "note" }, `Its input has ${bytes(input.bytes)}: it can only be approved unchanged.`) :
	        h("label", null, h("span", null, `${complete ? "Result" : "Input"} (${asText ? "text" : "JSON"})`), field),
	    visible(given) !== given && input.bytes === undefined ? [
	        h("p", { class: "problem" }, "Some of its characters are invisible in the field. This is all of it:"),
	        h("pre", { class: "unseen", tabIndex: 0, "aria-label": "The input with its invisible characters" }, given),
	    ] : null,
	    alike ? h("p", { class: "problem alike" }, `Letters that look like others: ${alike}.`) : null);
	if (mayDecide) {
		buttons.push(...Object.entries(choices).map(([which, [, text]]) =>
			h("button", { type: "button", class: which, onclick: () => press(which) }, text)));
		form.append(h("div", { class: "decide" },
		    h("label", null, h("span", null, complete ? "Reason, if it failed" : "Reason"), reason),
		    always ? h("label", { class: "always" }, always, " Always for this run") : null, buttons));
	}
	form.append(said);
	const edited = () => field.value !== shown;
	field.addEventListener("input", () => {
		if (!complete && mayDecide)
			buttons[0].textContent = edited() ? "Approve as edited" : "Approve";
	});
	return { heading, form, press, edited, field, reason, always };
}

export class Waits {
	#forms = new Map();                 // key → form; one that somebody writes in stays

	constructor(runId, element, mayDecide, decided) {
		this.runId = runId;
		this.element = element;
		this.mayDecide = mayDecide;
		this.decided = decided;
	}

	show(waits) {
		const old = this.#forms;
		this.#forms = new Map();
		for (const wait of waits ?? [])
			this.#forms.set(waitKey(wait), old.get(waitKey(wait)) ?? this.#form(wait, this.#forms.size === 0));
		for (const [each, form] of old)
			if (!this.#forms.has(each))
				form.remove();
		for (const form of this.#forms.values())
			if (!form.isConnected)
				this.element.append(form);
		this.element.hidden = this.#forms.size === 0;
		// The one that was open is decided: the next one is shown in its place.
		const forms = [...this.#forms.values()];
		if (forms.length > 0 && old.size > 0 && !forms.some((form) => form.open) && ![...old.values()].every((form) => form.isConnected))
			forms[0].open = true;
		(waits ?? []).forEach((wait) => say(this.#forms.get(waitKey(wait)).querySelector("summary .note"), sinceWhen(wait)));
	}

	focus() {
		(this.element.querySelector("details[open] textarea") ?? this.element.querySelector("summary"))?.focus();
	}

	// isOpen: the first one is, others are asked for.
	#form(wait, isOpen) {
		const { heading, form } = makeWait(this.runId, wait, this.mayDecide, this.decided);
		return h("details", { class: "wait", open: isOpen && form !== null },
		    h("summary", null, h("h2", null, heading,
		        h("span", { class: "note", title: wait.since ? when(wait.since) : "" }, sinceWhen(wait)))), form);
	}
}

export const sinceWhen = ({ since, deadline }) => (since ? " since " + ago(since).replace("now", "just now") : "") +
    (deadline ? ", until " + when(deadline) : "");

// A text that was edited in a field, which knows LF alone, with the line ends of what it was. Of the
// last one the record keeps the LF elsewhere.
function withLineEnds(value, before) {
	if (!/\r(\n|$)/.test(before) || /(^|[^\r])\n|\r(?!\n|$)/.test(before))
		return value;
	const out = value.replaceAll("\n", "\r\n");
	return before.endsWith("\r") && out.endsWith("\n") ? out.slice(0, -1) : out;
}
