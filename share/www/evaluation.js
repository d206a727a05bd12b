// An evaluation, a run of awf-eval: how often its variants and checks passed, how sure that is, and its inputs, those that
// fail most first, each with links to what was tried. The server says what came of each trial, and computes what follows
// of all (GET /api/runs/RUN/evaluation), as awf-eval --report -o json does.
import { request, runPath } from "/www/api.js";
import { comparePath } from "/www/compare.js";
import { h, say } from "/www/dom.js";
import { count, dollars, duration, short } from "/www/format.js";
import { parse } from "/www/json.js";

const ROWS = 200;                     // inputs that are shown at once
const FEW = 6;                        // repetitions that stand in one line
const WHY_MOST = 600;
const TRIES = 3, RETRY_MS = 2000;     // where the server was busy, or not there

const outcomes = {
	__proto__: null,
	pass: ["✓", "passed"], fail: ["✗", "failed"], error: ["!", "error"], missing: ["…", "not ended"],
};

// Whether this is the command line of an evaluation.
export const isEvaluation = (argv) => Array.isArray(argv) && typeof argv[0] === "string" &&
	argv[0].split("/").at(-1) === "awf-eval" && argv[1] === "--cases";

/* ---- what is read ---- */

const has = (outcome) => (each) => each.outcome === outcome;
const passed = (list) => list.filter(has("pass")).length;

// Of the trials of an input: below 1 if any does not pass; 2 if none has ended.
const rank = (trials) => {
	const ended = trials.filter(({ outcome }) => outcome !== "missing");
	return ended.length === 0 ? 2 : passed(ended) / ended.length;
};

// The trials of each variant, and the inputs, in their order.
function read(trials) {
	const variants = new Map(), inputs = new Map();
	for (const trial of trials) {
		const input = inputs.get(trial.id) ?? { id: trial.id, trials: [], of: new Map() };
		inputs.set(trial.id, input);
		input.trials.push(trial);
		for (const map of [variants, input.of])
			if (!map.get(trial.variant)?.push(trial))
				map.set(trial.variant, [trial]);
	}
	const failingFirst = [...inputs.values()].map((input) => [rank(input.trials), input]).sort(([a], [b]) => a - b);
	return { variants, inputs: failingFirst.map(([, input]) => input) };
}

// The runs of the first two variants, of a repetition in which they differ, if there is one.
function pairOf(input, [a, b]) {
	const both = (input.of.get(a) ?? []).map((one) => [one, input.of.get(b)?.find(({ k }) => k === one.k)])
		.filter(([one, other]) => one.run !== undefined && other?.run !== undefined);
	return both.find(([one, other]) => one.outcome !== other.outcome) ?? both[0];
}

// What is said of what did not pass, each text once: { where, text }.
function whysOf(input, variants) {
	const found = new Map();
	const add = (variant, check, text) => {
		const where = [variants.size > 1 ? variant : "", check].filter(Boolean).join(", ");
		found.set(JSON.stringify([where, text]), { where, text: short(text, WHY_MOST) });
	};
	for (const { variant, outcome, error, checks } of input.trials) {
		if (error !== undefined)
			add(variant, outcome === "error" ? "error" : "", error);
		for (const [check, verdict] of Object.entries(checks))
			if (["fail", "error"].includes(verdict.outcome) && error === undefined)
				add(variant, check, verdict.why ?? outcomes[verdict.outcome][1]);
	}
	return [...found.values()];
}

/* ---- what is shown ---- */

const plural = (n, one) => `${count(n)} ${one}${n === 1 ? "" : "s"}`;
const head = (texts) => h("thead", null, h("tr", null, texts.map((text) => h("th", { scope: "col" }, text))));
// A cell, with the head of its column for where a narrow window has no room for columns.
const cell = (column, ...content) => h("td", null, h("span", { class: "column" }, column), content);
const rowHead = (column, name) => h("th", { scope: "row" }, h("span", { class: "column" }, column), name);
const percent = (rate) => Math.round(100 * Number(rate));
const share = ({ passed: ok, count: of }) => of > 0 ? [`${count(ok)} / ${count(of)}`, h("span", { class: "note" }, ` ${percent(ok / of)} %`)] : "–";
// In which the true rate lies, 19 times of 20.
const interval = ({ low, high }) => low === undefined ? "" : `${percent(low)} to ${percent(high)} %`;

// Of the figures those that any variant has.
const columns = [
	["Passed", share],
	["95 % interval", interval],
	["Errors", ({ errors }) => count(errors)],
	["Not ended", ({ missing }) => missing > 0 ? count(missing) : ""],
	["Median time", ({ p50_ms: median }) => median === undefined ? "" : duration(median)],
	["Cost each", ({ each_usd: each }) => each === undefined ? "" : dollars(String(each))],
	["Paid", ({ paid_usd: paid }) => paid === undefined ? "" : dollars(String(paid))],
];

function variantsTable(variants) {
	const shown = columns.filter(([, text]) => variants.some((figures) => text(figures) !== ""));
	return h("table", null,
	    head(["Variant", ...shown.map(([column]) => column)]),
	    h("tbody", null, variants.map((figures) => h("tr", null, rowHead("Variant", figures.variant),
	        shown.map(([column, text]) => cell(column, text(figures) || "–"))))));
}

function checksTable(variants) {
	return h("table", null,
	    head(["Check", ...variants.map(({ variant }) => variant)]),
	    h("tbody", null, Object.keys(variants[0].checks).map((check) => h("tr", null, rowHead("Check", check),
	        variants.map(({ variant, checks }) => cell(variant, share(checks[check]),
	            h("span", { class: "note" }, interval(checks[check]) && ` (${interval(checks[check])})`)))))));
}

// Whether a variant is better than the first one, as far as that can be told.
function comparison({ variant, against }) {
	const { variant: first, better, worse, equal, p, says } = against;
	const chance = Number(p) < 0.001 ? "p < 0.001" : `p = ${Number(p).toFixed(3)}`;
	return h("p", { class: "note" }, `${variant} against ${first}, by input: better ${count(better)}, worse ${count(worse)}, ` +
		`equal ${count(equal)}; ${chance}: ${says}`);
}

// How many of the repetitions passed, and their runs.
function trialsCell(variant, trials, several) {
	const link = (trial) => {
		const [sign, word] = outcomes[trial.outcome] ?? outcomes.missing;
		const text = [h("span", { "aria-hidden": "true" }, sign), " ", trials.length > 1 ? String(trial.k) : word];
		const named = trials.length > 1 ? `repetition ${trial.k}: ${word}` : word;
		return trial.run === undefined ? h("span", { class: trial.outcome, title: named }, text) :
			h("a", { class: trial.outcome, href: "/runs/" + encodeURIComponent(trial.run),
				"aria-label": `${named}, its run` + (several ? ` of ${variant}` : "") }, text);
	};
	return cell(several ? variant : "", trials.length > 1 ? `${passed(trials)} / ${trials.length} ` : null,
	    h("span", { class: trials.length > FEW ? "trials many" : "trials" }, trials.map((trial) => [link(trial), " "])));
}

function inputRow(input, variants) {
	const names = [...variants.keys()], several = names.length > 1;
	const pair = several ? pairOf(input, names) : undefined;
	return h("tr", null, h("th", { scope: "row" }, input.id),
	    names.map((name) => trialsCell(name, input.of.get(name) ?? [], several)),
	    several ? h("td", null, pair ? h("a", { href: comparePath(pair[0].run, pair[1].run),
	        "aria-label": `Compare ${names[0]} and ${names[1]} of ${input.id}` }, "Compare") : null) : null,
	    h("td", { class: "whys" }, whysOf(input, variants).map(({ where, text }) => h("p", null,
	        where ? h("span", { class: "note" }, where + ": ") : null, text))));
}

export class Evaluation {
	#text = null;                       // what is shown
	#rows = ROWS;
	#asked = 0;
	#left = TRIES;

	constructor(runId, element) {
		this.runId = runId;
		this.element = element;
		this.problem = h("p", { role: "alert", class: "problem" });
		this.view = h("div", null, h("p", { role: "status" }, "Reading…"));
		element.replaceChildren(this.problem, this.view);
	}

	// Asks for it, and shows it if it is other than before. Throws what it was refused for if nobody is
	// logged in any more.
	async refresh() {
		const mine = ++this.#asked;
		try {
			const text = await (await request(runPath(this.runId) + "/evaluation")).text();
			if (mine !== this.#asked)
				return;
			say(this.problem, "");
			this.#left = TRIES;
			if (text !== this.#text) {
				this.#text = text;
				this.#draw();
			}
		} catch (error) {
			if (error.status === 401)
				throw error;
			say(this.problem, error.message);
			if (this.#text === null)
				this.view.replaceChildren();
			if (![404, 413].includes(error.status) && this.#left-- > 0)
				setTimeout(() => this.refresh(), RETRY_MS);
		}
	}

	#draw() {
		const report = parse(this.#text), { variants, inputs } = read(report.trials);
		const at = document.activeElement?.getAttribute("href"), within = this.view.contains(document.activeElement);
		if (inputs.length === 0) {
			this.view.replaceChildren(h("p", { class: "note" }, "No input has been tried yet."));
			return;
		}
		const several = variants.size > 1, left = inputs.length - this.#rows;
		const failing = inputs.filter((input) => rank(input.trials) < 1).length;
		this.view.replaceChildren(
		    h("div", { class: "sums" }, variantsTable(report.variants),
		        Object.keys(report.variants[0].checks).length > 0 ? checksTable(report.variants) : null),
		    ...report.variants.filter(({ against }) => against).map(comparison),
		    h("h3", null, plural(inputs.length, "input"),
		        h("span", { class: "note" }, failing > 0 ? `, ${count(failing)} of which did not always pass` : "")),
		    h("table", { class: "of-inputs" },
		        head(["Input", ...variants.keys(), ...(several ? ["Difference"] : []), "Why"]),
		        h("tbody", null, inputs.slice(0, this.#rows).map((input) => inputRow(input, variants)))),
		    ...(left > 0 ? [h("button", { type: "button", class: "more", onclick: () => {
		    	const row = this.#rows;
		    	this.#rows = Infinity;
		    	this.#draw();
		    	this.#links()[row]?.focus();
		    } }, `${count(left)} more`)] : []));
		if (within && at !== null)
			[...this.view.querySelectorAll("a")].find((link) => link.getAttribute("href") === at)?.focus({ preventScroll: true });
	}

	// The first link of each input that has one.
	#links() {
		return [...this.view.querySelectorAll(".of-inputs tbody tr")].map((row) => row.querySelector("a")).filter((link) => link !== null);
	}

	// To the next input, or the one before.
	step(by) {
		const links = this.#links(), row = document.activeElement?.closest(".of-inputs tbody tr");
		const at = row ? links.findIndex((link) => row.contains(link)) : by < 0 ? links.length : -1;
		links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
	}
}
