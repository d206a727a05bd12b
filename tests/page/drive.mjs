// Drives the page of awf-serve in Chromium: drive.mjs SCENARIO URL CODE [ARGUMENT...]. Whoever
// starts it has playwright-core, and axe-core, in NODE_PATH. It prints what was measured; a
// scenario that fails ends it with 1.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostile } from "./markdown-cases.mjs";
import { startRelay } from "./relay.mjs";

const require = createRequire(import.meta.url);
const { chromium } = require("playwright-core");
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
	"--disable-background-networking", "--disable-component-update", "--disable-sync"];

const [scenario, url, code, ...given] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "awf-page-"));
const problems = [];

const context = await chromium.launchPersistentContext(profile, {
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS, viewport: { width: 1280, height: 800 },
});
const page = context.pages()[0] ?? await context.newPage();
page.setDefaultTimeout(20_000);
page.on("pageerror", (error) => problems.push(error.stack));
// What the policy of the page refuses is said there.
page.on("console", (message) => {
	if (/Content Security Policy|TrustedHTML/.test(message.text()))
		problems.push(message.text());
});

const logIn = async (at = url) => {
	await page.goto(`${at}/#code=${code}`);
	await page.waitForSelector("main.runs tbody", { state: "attached" });
	await until("the code leaves the address", () => new URL(page.url()).hash === "");
};
// With all its events, or with its conversation.
const openRun = async (run, at = url) => {
	await page.goto("about:blank");
	await page.goto(`${at}/runs/${run}#view=events`);
	await page.waitForSelector("article.event", { timeout: 100_000 });
};
const openTalk = async (run, at = url, more = "") => {
	await page.goto("about:blank");
	await page.goto(`${at}/runs/${run}${more}`);
	await page.waitForSelector("article.talk", { timeout: 100_000 });
};
const events = async () => Number(await page.evaluate(() => [...document.querySelectorAll(".figures > div")]
	.find((each) => each.textContent.startsWith("Events"))?.lastChild.textContent));
const until = async (what, check, ms = 20_000) => {
	for (const end = Date.now() + ms; ; await page.waitForTimeout(50)) {
		if (await check())
			return;
		assert.ok(Date.now() < end, "never came true: " + what);
	}
};

// The numbers of all events that the conversation has, from its beginning to its end.
const allEvents = () => page.evaluate(async () => {
	const scroller = document.querySelector(".conversation .scroll:not([hidden])"), seen = [];
	const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 30)));
	scroller.scrollTop = 0;
	for (let before = -1; scroller.scrollTop !== before;) {
		await frame();
		for (const row of scroller.querySelectorAll("article[data-seq]"))
			seen.push(Number(row.dataset.seq));
		before = scroller.scrollTop;
		scroller.scrollTop += scroller.clientHeight / 2;
		await frame();
		const seqs = [...scroller.querySelectorAll("article[data-seq]")].map((row) => row.dataset.seq);
		if (new Set(seqs).size !== seqs.length)
			throw new Error("an event is there twice");
	}
	return [...new Set(seen)].sort((a, b) => a - b);
});
// Calls look with each screenful of events, once they are there.
async function everyRow(look, empty = "article.event.empty:not(:has(button))") {
	const scroller = "document.querySelector('.conversation .scroll:not([hidden])')";
	await page.evaluate(`${scroller}.scrollTop = 0`);
	await page.waitForTimeout(120);
	for (let before = -1, now = 0; now !== before;) {
		await until("what is seen is here", () => page.evaluate((empty) => document.querySelector(empty) === null, empty));
		await look();
		before = now;
		now = await page.evaluate(`${scroller}.scrollTop += ${scroller}.clientHeight * 0.8, ${scroller}.scrollTop`);
		await page.waitForTimeout(120);
	}
}
// All that the page of a run shows: the conversation and the tree from their first rows to their last,
// and what stands above them. A page that followed a run shows the same as one that was opened after it.
async function everything(tab = page) {
	const rows = async (selector, name) => {
		const all = new Map();
		for (let before = -1, at = 0; at !== before;) {
			await until("what is seen is here", () => tab.evaluate(() => document.querySelector("article.event.empty:not(:has(button))") === null));
			for (const [key, html] of await tab.$$eval(`${selector} .row`, (rows, name) => rows.map((row) => {
				const copy = row.cloneNode(true);
				for (const each of [copy, ...copy.querySelectorAll("[style], [id], [aria-labelledby]")])
					["style", "id", "aria-labelledby"].forEach((one) => each.removeAttribute(one));
				// The address of a picture is another each time, and once its row was away it is there at once.
				copy.querySelectorAll("img").forEach((each) => { each.removeAttribute("src"); });
				copy.classList.remove("active", "current");
				return [name === "article" ? row.dataset.seq ?? "live" : row.id, copy.outerHTML.replace(/ aria-selected="\w+"/, "")];
			}), name))
				all.set(key, html);
			before = at;
			at = await tab.evaluate(`(() => { const s = document.querySelector("${selector}"); s.scrollTop += s.clientHeight * 0.7; return s.scrollTop; })()`);
			await page.waitForTimeout(60);
		}
		return [...all].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
	};
	const above = () => tab.evaluate(() => Object.fromEntries(
	    [".title h1", "main .state", ".figures", ".error-line", ".problem", ".resume", ".waits-list", ".failed-list", ".running-list", "#link", ".head a"]
	        .map((each) => {
	        	const element = document.querySelector(each);
	        	return [each, element === null || element.closest("[hidden]") ? null : element.textContent];
	        }).concat([["title", document.title], ["waits", [...document.querySelectorAll(".wait")].map((each) => each.open)],
	        	["times", document.querySelector(".axis").textContent]])));
	await tab.bringToFront();
	for (const selector of [".conversation .scroll:not([hidden])", ".tree .scroll"])
		await tab.evaluate(`document.querySelector("${selector}").scrollTop = 0`);
	await page.waitForTimeout(300);
	return { above: await above(), events: await rows(".conversation .scroll:not([hidden])", "article"), tree: await rows(".tree .scroll", "item") };
}

// All rows of the conversation, from the first to the last.
async function talked() {
	const rows = new Map();
	await everyRow(async () => {
		for (const [key, row] of await page.$$eval("article.talk", (all) => all.map((each) => [each.getAttribute("aria-posinset"), {
			name: each.className, label: each.getAttribute("aria-label"), text: each.querySelector(".main").textContent, html: each.querySelector(".main").innerHTML,
			summary: each.querySelector("summary")?.textContent ?? "", margin: each.querySelector(".margin").textContent, open: each.querySelectorAll("details[open]").length, seq: each.dataset.seq,
		}])))
			rows.set(Number(key), row);
	}, "article.talk.empty:not(:has(button))");
	return [...rows].sort(([a], [b]) => a - b).map(([, row]) => row);
}
// What a row says, whatever is open in it.
const withoutFolds = ({ name, label, summary, margin, open, text }) => ({ name: name.replace(/ current/, ""), label, summary, margin, text: open > 0 ? "" : text });
// The numbers of all events that the rows of the conversation are made of.
const talkedSeqs = () => page.evaluate(async () => {
	const { Record } = await import("/www/record.js"), { Talk } = await import("/www/talk.js"), { get, runPath } = await import("/www/api.js");
	const { run_id, started } = await get(runPath(location.pathname.split("/").at(-1))), record = new Record(run_id, started);
	await record.load(() => {});
	return new Talk(record, { within: () => [] }).rows(null).flatMap(({ seqs }) => seqs);
});
// The row of an event, seen and filled.
async function goToRow(seq) {
	await page.evaluate((to) => { location.hash = location.hash.replace(/^#?\d*&?/, `#${to}&`).replace(/&$/, ""); }, seq);
	await page.waitForSelector("article.talk.current:not(.empty)");
	await page.waitForTimeout(100);
}

// What a page that has followed a run shows by now is what it shows once it is loaded anew.
async function sameAfterReload(what, tab = page) {
	const followed = await everything(tab);
	await tab.reload();
	await tab.waitForSelector("article.event", { timeout: 100_000 });
	await until("all is read", async () => await tab.textContent(".problem") === "");
	const anew = await everything(tab);
	assert.deepEqual(followed.above, anew.above, `${what}: above: followed (+) is other than loaded anew (-)`);
	for (const part of ["events", "tree"]) {
		const one = Object.fromEntries(followed[part]), other = Object.fromEntries(anew[part]);
		const differing = Object.keys({ ...one, ...other }).filter((key) => one[key] !== other[key]);
		assert.deepEqual(differing, [], `${what}: ${part}: ${differing}: followed: ${one[differing[0]]} loaded anew: ${other[differing[0]]}`);
	}
}

// What the page of a run says of it and its calls: [name, status, waits, call=state…].
async function told([name, status, waits, ...calls], anew = true) {
	if (anew)
		await openRun("@" + name);
	assert.equal((await page.textContent("main .state")).split(" ")[1], status, name);
	assert.equal((await page.$$(".wait")).length, Number(waits), name);
	assert.deepEqual((await page.$$eval(".item.call", (rows) => rows.map((row) => row.querySelector(".name").textContent + "=" +
	    [...row.classList].find((each) => each.startsWith("is-")).slice(3)))).sort(), calls, name);
	// The word that is read out is that of the sign.
	for (const [word, state] of await page.$$eval(".item.call", (rows) => rows.map((row) => [row.querySelector(".unseen").textContent.trim(), row.className])))
		assert.ok(state.includes("is-" + word), `${name}: ${word}, ${state}`);
	const figures = Object.entries({ open: /=(running|unfinished)$/, failed: /=failed$/, waiting: /=waiting$/ })
		.map(([word, of]) => [calls.filter((each) => of.test(each)).length, word]).filter(([n]) => n > 0).map((each) => each.join(" "));
	assert.equal(await page.evaluate(() => [...document.querySelectorAll(".figures > div")].find((each) => each.firstChild.textContent === "Calls").lastChild.textContent),
	    [calls.length, ...figures].join(", "), name);
}

// The rows of the list of runs, and the counts above it.
const listed = (tab) => tab.evaluate(() => [...document.querySelectorAll(".counts button:not([hidden])")].map((each) => each.textContent)
	.concat([...document.querySelectorAll("tbody tr")].map((row) => [...row.cells].filter((cell) => !cell.classList.contains("ago")).map((cell) => cell.textContent).join(" | "))));

// Numbers that look random, the same for the same seed.
function randomly(seed) {
	let state = Number(seed) >>> 0;
	return (below) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32 * below;
	};
}
const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);

const part = (frames, share) => frames[Math.floor((frames.length - 1) * share)].toFixed(1);

// Scrolls the conversation from its beginning to its end: how long each frame took, and beside it,
// how much of a processor the page took: other programs do not change that.
async function scrolled() {
	const devtools = await context.newCDPSession(page);
	await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
	const threadTime = async () => (await devtools.send("Performance.getMetrics")).metrics
		.find(({ name }) => name === "TaskDuration").value * 1000;
	const before = await threadTime();
	const { frames, rows, last } = await page.evaluate(async () => {
		const scroller = document.querySelector(".conversation .scroll:not([hidden])"), frames = [];
		const after = new MessageChannel();
		let rows = 0;
		// From the begin of a frame until its work is done, painting included.
		const frame = (by) => new Promise((resolve) => requestAnimationFrame((begin) => {
			scroller.scrollTop += by;
			after.port1.onmessage = () => resolve(performance.now() - begin);
			requestAnimationFrame(() => {});
			after.port2.postMessage(null);
		}));
		const count = () => { rows = Math.max(rows, document.querySelectorAll(".row").length); };
		const by = Math.max(scroller.clientHeight * 0.7, scroller.scrollHeight / 1500);
		while (scroller.scrollTop + scroller.clientHeight < scroller.scrollHeight - 2 && frames.length < 5000) {
			frames.push(await frame(by));
			count();
		}
		// At the pace of a wheel, over what is fetched meanwhile.
		scroller.scrollTop = scroller.scrollHeight / 2;
		for (let i = 0; i < 200; i++) {
			frames.push(await frame(120));
			count();
		}
		scroller.scrollTop = scroller.scrollHeight;
		await new Promise((resolve) => setTimeout(resolve, 1000));
		scroller.scrollTop = scroller.scrollHeight;
		await new Promise((resolve) => setTimeout(resolve, 500));
		return { frames, rows, last: [...document.querySelectorAll("article[data-seq]")].reduce((last, row) => Math.max(last, Number(row.dataset.seq)), 0) };
	});
	frames.sort((a, b) => a - b);
	return { frames, rows, last, work: ((await threadTime() - before) / frames.length).toFixed(1) };
}

// So many events, from the first to the last: how long the page works for each frame.
async function scrolling(run, many, most) {
	const begin = Date.now();
	await openRun(run);
	await until("all events", async () => await page.textContent(".problem") === "" &&
		(await page.getAttribute("article.event", "aria-setsize")) === String(many), 100_000);
	const opened = Date.now() - begin;
	const { frames, rows, last, work } = await scrolled();
	console.log(`opened ${opened} ms, frames ${frames.length}: median ${part(frames, 0.5)} ms, 95 % ${part(frames, 0.95)} ms, longest ${part(frames, 1)} ms; processor ${work} ms a frame; rows ${rows}`);
	assert.equal(last, many);
	assert.ok(rows < 400, "too many rows");
	assert.ok(Number(work) < Number(most), "slow");
	// By keys to the first and the last event, which is seen then, whatever the rows above it are.
	await page.keyboard.press("g");
	await page.waitForSelector("article.current[data-seq='1']");
	await page.keyboard.press("G");
	await page.waitForSelector(`article.current[data-seq='${many}']:not(.empty)`);
	await page.waitForTimeout(500);
	const [top, bottom, end] = await page.evaluate(() => {
		const { top, bottom } = document.querySelector("article.current").getBoundingClientRect();
		return [top, bottom, document.querySelector(".conversation .scroll:not([hidden])").getBoundingClientRect().bottom];
	});
	assert.ok(top > 0 && bottom <= end + 1, `the last event is not seen: ${top} ${bottom} ${end}`);
	// To one in the middle, and from there as far as a wheel says.
	const middle = String(Math.floor(many / 2));
	await page.goto(`${url}/runs/${run}#${middle}&view=events`);
	await page.waitForSelector(`article.current[data-seq='${middle}']:not(.empty)`, { timeout: 60_000 });
	await page.waitForTimeout(500);
	const place = () => page.evaluate(() => document.querySelector("article.current").getBoundingClientRect().top);
	const before = await place();
	await page.hover("article.current");
	await page.mouse.wheel(0, 120);
	await until("it moves", async () => await place() !== before);
	await page.waitForTimeout(300);
	assert.ok(Math.abs(before - await place() - 120) < 2, `moved by ${before - await place()}`);
}

const scenarios = {
	// The list, its filters and search; a run is opened and left again.
	async list() {
		await logIn();
		const names = () => page.$$eval("tbody th", (cells) => cells.map((cell) => cell.textContent));
		await until("both runs", async () => (await names()).length === 2);
		await until("how many failed", async () => await page.textContent(".counts button:visible") === "✗ 1 failed since yesterday");
		await page.click(".counts button:visible");
		await until("the failed one, and why", async () => (await names()).join() === "broken" &&
			await page.textContent("tbody .why") === "false: exit status 1");
		assert.equal(await page.inputValue("#since"), "1d");
		await page.selectOption("#since", "");
		await page.selectOption("#status", "");
		await until("both runs again", async () => (await names()).length === 2);
		await page.selectOption("#status", "failed");
		await until("the failed one", async () => (await names()).join() === "broken");
		await page.reload();
		await until("the same list", async () => (await names()).join() === "broken");
		await page.selectOption("#status", "");
		await page.fill("#q", "dem");
		await until("the one of that name", async () => (await names()).join() === "demo");
		const id = await page.$eval("tbody .id", (cell) => cell.textContent);
		await page.fill("#q", id);
		await until("the one of that id", async () => (await names()).join() === "demo");
		await page.click("tbody th a");
		await page.waitForSelector("article.talk");
		await page.keyboard.press("l");
		await page.waitForSelector("article.event");
		assert.deepEqual(await allEvents(), upTo(await events()));
		assert.match(await page.textContent("h1"), /demo/);
		// A link to one event, in another tab, which is logged in as this one is.
		const other = await context.newPage();
		await other.goto(page.url().split("#")[0] + "#4&view=events");
		await other.waitForSelector("article.current[data-seq='4']");
		await other.close();
	},

	// The printed link, used once more.
	async login() {
		await logIn();
		// In the browser that it has logged in: in this tab, and in another when no tab shows the page.
		await logIn();
		const other = await context.newPage();
		await page.goto("about:blank");
		await other.goto(`${url}/#code=${code}`);
		await other.waitForSelector("main.runs tbody", { state: "attached" });
		// In a browser that has no session.
		await other.evaluate(() => localStorage.clear());
		await other.goto("about:blank");
		await other.goto(`${url}/#code=${code}`);
		await other.waitForSelector("form.login");
		assert.match(await other.textContent("[role=alert]"), /This link was used already, or it is of an awf-serve that has ended/);
		assert.match(await other.textContent("form.login"), /awf-serve --new-token decide/);
		assert.equal(new URL(other.url()).hash, "");
		// By a token then; a wrong one says so, and leaves nobody logged in.
		await other.fill("#token", "wrong");
		await other.click("form.login button");
		await other.waitForFunction(() => /the token is not good/.test(document.querySelector("[role=alert]").textContent));
		await other.fill("#token", given[0]);
		await other.click("form.login button");
		await other.waitForSelector("main.runs tbody", { state: "attached" });
		await other.reload();
		await other.waitForSelector("main.runs tbody", { state: "attached" });
		await other.click("text=Log out");
		await other.waitForSelector("form.login");
		assert.equal(await other.textContent("[role=alert]"), "");
	},

	// Everything from an event is text, wherever it stands and whatever is opened.
	async text(...runs) {
		await context.exposeFunction("violated", (what) => problems.push("violated: " + what));
		await context.addInitScript(() => document.addEventListener("securitypolicyviolation",
		    (event) => window.violated(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`)));
		// Where the page asks for anything.
		const asked = new Set();
		page.on("request", (request) => asked.add(new URL(request.url()).origin));
		await logIn();
		for (const run of runs) {
			await openRun(run);
			await everyRow(async () => {
				for (let opened = 1; opened > 0;)
					opened = await page.evaluate(() => {
						const closed = document.querySelectorAll(".conversation details:not([open])");
						closed.forEach((each) => { each.open = true; });
						return closed.length;
					});
				await page.waitForTimeout(50);
				assert.deepEqual(await page.$$eval(`script:not([src="/www/page.js"]), style, iframe, svg, object, embed, base, form:not(.wait > form, form.tell, .compare-with form), img:not([src^="blob:"]),
					a:not([href^="/runs/"], [href^="#"], [href="/"], #views > a), [onerror], [onload], [onfocus]`, (all) => all.map((each) => each.outerHTML)), []);
				assert.equal(await page.evaluate(() => window.bad ?? window.parent.bad), undefined);
			});
			assert.match(await page.textContent("main"), /<img src=x onerror=/);
		}
		await page.goto(url + "/");
		await until("the list", async () => /<img src=x onerror=/.test(await page.textContent("tbody")));
		assert.equal(await page.$$eval("tbody img", (all) => all.length), 0);
		assert.deepEqual([...asked], [new URL(url).origin, "null"].filter((origin) => asked.has(origin)));
		assert.equal(await page.evaluate(() => window.bad), undefined);
	},

	// What is not seen is shown, in names, events and what is to be approved; what is approved is as it was.
	async unseen(text, json) {
		const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
		const looks = async () => assert.doesNotMatch(await page.evaluate(() => document.body.innerText), hidden);
		const shown = "echo safe\\u200b\\u202e\\x1b\\U000e0041\\ufe0f # 1\ufe0f\u20e3 👩\u200d👧";
		await logIn();
		await until("the list", async () => /x\\x1b]0;\\U000e0041/.test(await page.textContent("tbody")));
		await looks();
		await openRun(text);
		assert.equal(await page.textContent(".wait pre.unseen"), shown);
		assert.match(await page.textContent("h1"), /x\\x1b]0;\\U000e0041/);
		assert.doesNotMatch((await page.textContent("main")).replaceAll(/1\ufe0f\u20e3|👩\u200d👧/gu, ""), hidden);
		await page.click(".wait button:text-is('Approve')");
		await page.waitForSelector(".wait", { state: "detached" });
		await openRun(json);
		assert.equal(await page.$(".wait pre.unseen"), null);
		assert.match(await page.inputValue(".wait textarea"), /safe\\u200b\\u202e\\u001b\\udb40\\udc41/);
		await page.click(".wait button:text-is('Approve')");
		await page.waitForSelector(".wait", { state: "detached" });
	},

	// A tool call of an agent is approved, with all that follow.
	async toolApproval(run) {
		await logIn();
		await openRun(run);
		await page.waitForSelector(".wait .tool-question");
		assert.deepEqual(await page.$$eval(".tool-question dt, .tool-question dd", (all) => all.map((each) => each.textContent)),
		    ["Tool", "ship", "Rule", "ship", "command", "ls\ncat \\u200bx", "n", "12345678901234567890"]);
		await page.check(".wait .always input");
		await page.click(".wait button:text-is('Approve')");
		await page.waitForSelector(".wait", { state: "detached" });
	},

	// What a tool prints while it runs, over a reload; the agent is told something, here and by awf-ctl;
	// then the tool ends. The tool goes on when there are the files gate.1 and gate.2.
	async tell(run, gate) {
		const prints = () => page.$$eval(".event.live", (all) => all.filter((each) => each.getAttribute("aria-label") === "Output in progress")
			.map((each) => each.querySelector(".where").textContent + ": " + each.querySelector(".text.code").textContent));
		await logIn();
		await openRun(run);
		await until("what it prints", async () => (await prints()).join() === "work:0:0: north\naside\n");
		writeFileSync(gate + ".1", "");
		await until("what it prints after that", async () => (await prints()).join() === "work:0:0: north\naside\nsouth\n");
		await page.reload();
		await until("the same", async () => (await prints()).join() === "work:0:0: north\naside\nsouth\n");
		// The field is there for a call of an agent that works.
		assert.equal(await page.isVisible("form.tell"), false);
		await page.click(".item.call .name");
		await page.waitForSelector("form.tell input:visible");
		await page.click("form.tell button");
		assert.equal(await page.textContent("form.tell output, form.tell [role=status]"), "");
		await page.fill("form.tell input", "only the <b>north");
		await page.click("form.tell button");
		await until("it is told", async () => (await page.textContent("form.tell")).includes("Told: it reads this before its next turn."));
		assert.equal(await page.inputValue("form.tell input"), "");
		const said = spawnSync("awf-ctl", ["tell", "work"], { input: "and the east\n" });
		assert.equal(said.status, 0, String(said.stderr));
		writeFileSync(gate + ".2", "");
		await until("the end", async () => (await page.textContent(".state")).includes("success"));
		assert.deepEqual(await prints(), []);
		assert.equal(await page.isVisible("form.tell"), false);
		const rows = async () => page.$$eval("article[data-seq]", (all) => all.map((each) => each.textContent));
		for (const text of ["only the <b>north", "and the east"])
			await until(text, async () => (await rows()).filter((each) => each.includes(text)).length === 1);
		await sameAfterReload("told");
	},

	// Events of any shape are shown.
	async shapes(run) {
		await logIn();
		await openRun(run);
		const rows = [];
		await everyRow(async () => rows.push(...await page.$$eval("article[data-seq]:not(.empty)", (all) => all.map((row) => Number(row.dataset.seq)))));
		assert.deepEqual([...new Set(rows)].sort((a, b) => a - b), upTo(await page.evaluate(() => Number(document.querySelector("article").getAttribute("aria-setsize")))));
	},

	// What failed, and which events are shown: of a call, of a kind, with a text; in the address, too.
	async look(run, broken) {
		await logIn();
		await openRun(broken);
		assert.match(await page.textContent(".failed-list"), /fetch:0:0 exit_status .*exit status 7/);
		await until("what it wrote", async () => /cannot reach it/.test(await page.textContent(".failed-list")));
		await page.click(".failed-list a");
		await page.waitForSelector("article.current.is-error[data-seq='3']");
		await openRun(run);
		assert.match(await page.textContent(".figures"), /Tokens15k in, 4\.6k outCost\$0\.113/);
		assert.match(await page.textContent(".item.call:has-text('analyse')"), /\$0\.113 · 20k tok/);
		// The system prompt is folded, a change shown as one.
		await page.goto(`${url}/runs/${run}#13&view=events`);
		await page.waitForSelector("article.current details:not([open]) > summary:has-text('system prompt')");
		await page.evaluate(() => { location.hash = "#24&view=events"; });
		assert.equal(await page.textContent("article.current .diff .gone"), "removed: -\t.most = 8,");
		assert.equal(await page.textContent("article.current .diff .new"), "added: +\t.most = 64,\t/* 8 made requests wait */");
		// Of an answer that tells its cost alone no tokens are told.
		await page.evaluate(() => { location.hash = "#28&view=events"; });
		assert.equal(await page.textContent("article.current[data-seq='28'] footer"), "claude-sonnet-4-5 · 900 ms");
		await openRun(run);
		const seqs = () => page.$$eval("article[data-seq]", (all) => all.map((row) => Number(row.dataset.seq)));
		const hash = () => new URL(page.url()).hash;
		const all = await allEvents();
		await page.keyboard.press("/");
		await page.keyboard.type("WRITES outside");
		await until("the one with it", async () => (await seqs()).length === 1);
		assert.equal(await page.textContent(".pane-head [role=status]"), "1");
		const [blocked] = await seqs();
		assert.match(await page.textContent("article.is-held"), /blocked/);
		await page.reload();
		await until("the same one", async () => (await seqs()).join() === String(blocked));
		// Names of members are nothing that is said; a number is, and a line feed.
		await page.fill(".search", "file_path");
		await until("none", async () => (await seqs()).length === 0);
		await page.fill(".search", "0.031");
		await until("the number", async () => (await seqs()).length === 1);
		await page.fill(".search", "");
		await until("all", async () => (await allEvents()).length === all.length);
		for (const [kind, word] of [["errors", /error|held/], ["tools", /tool/], ["messages", /model|user/]]) {
			await page.selectOption(".pane-head select", kind);
			await until(kind, async () => (await page.$$eval("article[data-seq]", (rows) => rows.map((row) => row.className))).every((name) => word.test(name)));
			assert.equal(hash(), "#view=events&show=" + kind);
			assert.ok((await allEvents()).length > 2 && (await allEvents()).length < all.length);
		}
		await page.click(".item.call:has-text('analyse') .name");
		await until("of the call", async () => await page.textContent(".pane.conversation h2") === "analyse:0:0");
		assert.equal(hash(), "#view=events&show=messages&call=analyse%3A0%3A0");
		const shown = await allEvents();
		await page.reload();
		await page.waitForSelector("article.event");
		assert.deepEqual(await allEvents(), shown);
		// What was meant for a terminal.
		assert.ok(await page.evaluate(async () => {
			const { plain } = await import("/www/ansi.js"), made = document.createElement("div");
			made.append(...plain("a\x1b[1;31mb\x1b[0mc\x1b[2J\x1b]8;;http://x\x07d\x1b]8;;\x07\x1b[38;5;1me\x1b"));
			return made.innerHTML === 'a<span class="red bold">b</span>cde\\x1b';
		}));
		// The number of one of them leads to it, and leaves them.
		await page.click(`article[data-seq="${shown.at(-1)}"] a.seq`);
		await page.waitForSelector(`article.current[data-seq="${shown.at(-1)}"]`);
		assert.equal(hash(), `#${shown.at(-1)}&view=events&show=messages&call=analyse%3A0%3A0`);
		// A link to an event that is not among them shows it all the same.
		await page.evaluate(() => { location.hash = "#2&view=events"; });
		await page.waitForSelector("article.current[data-seq='2']");
		assert.equal(hash(), "#2&view=events");
		await page.goBack();
		await until("as before", async () => hash() === `#${shown.at(-1)}&view=events&show=messages&call=analyse%3A0%3A0`);
		await until("the same events", async () => (await allEvents()).join() === shown.join());
	},

	// What the stream tells of a run comes to the same as what the outline does.
	async same(...runs) {
		await logIn();
		for (const run of runs) {
			const [outline, stream] = await page.evaluate(async (run) => {
				const { Record } = await import("/www/record.js"), { get, request, runPath } = await import("/www/api.js");
				const { run_id, started } = await get(runPath(run));
				const one = new Record(run_id, started), other = new Record(run_id, started);
				await one.load(() => {});
				for (const line of (await (await request(runPath(run) + "/events")).text()).trim().split("\n"))
					other.add(JSON.parse(line), new TextEncoder().encode(line).length);
				return [one, other].map(({ calls, entries }) => ({
					calls: calls.map(({ n, id, name, kind, path, iteration, around, state, code, tokensIn, tokensOut, children, events }) =>
						({ n, id, name, kind, path, iteration, around, state, code, tokensIn, tokensOut, children, events })),
					entries: entries.map(({ type, call, size, code }) => ({ type, call, size, code: code ?? null })),
					times: [...calls.flatMap(({ at, until }) => [at, until ?? -1]), ...entries.map(({ at }) => at)],
				}));
			}, run);
			// What the outline tells of calls may be newer than its last event: the rest comes by the stream.
			const [whole, late] = await page.evaluate(async (run) => {
				const { Record } = await import("/www/record.js"), { get, request, runPath } = await import("/www/api.js");
				const { run_id, started } = await get(runPath(run)), one = new Record(run_id, started), other = new Record(run_id, started);
				await one.load(() => {});
				const { fetch } = window;
				window.fetch = async (...given) => {
					const all = await (await fetch(...given)).json();
					const events = all.events.slice(0, all.events.length / 2), last = events.at(-1)[0];
					return new Response(JSON.stringify({ calls: all.calls.filter(({ first_seq: first }) => first <= last), events, next: null }));
				};
				await other.load(() => {});
				window.fetch = fetch;
				for (const line of (await (await request(runPath(run) + "/events")).text()).trim().split("\n"))
					other.add(JSON.parse(line), 0);
				return [one, other].map(({ entries }) => entries.map(({ type, call, took }) => [type, call, took]));
			}, run);
			whole.forEach(([type, call, took], i) => {
				assert.deepEqual([late[i][0], late[i][1]], [type, call], `${run}: event ${i + 1} of what came late`);
				assert.ok(Math.abs(late[i][2] - took) <= 1, `${run}: event ${i + 1}, ${type}: ${late[i][2]} ms, ${took} ms`);
			});
			// The outline knows microseconds, the page milliseconds.
			stream.times.forEach((time, i) => assert.ok(Math.abs(time - outline.times[i]) <= 1, `${run}: times`));
			assert.deepEqual({ ...stream, times: [] }, { ...outline, times: [] }, run);
		}
	},

	// Keys alone: from the list into a run, through its tree and events, and back.
	async keys() {
		await logIn();
		await page.waitForSelector("tbody tr");
		const press = (...keys) => keys.reduce((last, key) => last.then(() => page.keyboard.press(key)), Promise.resolve());
		await press("?");
		await page.waitForSelector("dialog[open] kbd");
		await press("Escape");
		await page.waitForSelector("dialog[open]", { state: "detached" });
		await press("/");
		await page.keyboard.type("demo");
		await until("one run", async () => await page.$$eval("tbody tr", (rows) => rows.length) === 1);
		await press("Escape", "j", "Enter");
		await page.waitForSelector("article.talk");
		await press("l");
		await page.waitForSelector("article.event");
		await press("j", "j");
		await page.waitForSelector("article.current[data-seq='2']");
		assert.equal(new URL(page.url()).hash, "#2&view=events");
		await press("k");
		await page.waitForSelector("article.current[data-seq='1']");
		await press("G");
		await page.waitForSelector(`article.current[data-seq='${await events()}']`);
		await press("s", "ArrowDown", "Enter");
		await page.waitForSelector("[role=treeitem][aria-selected=true]:not(#row-run)");
		assert.deepEqual(await page.$$eval("[role=treeitem]", (all) => all.map((each) =>
			["level", "posinset", "setsize"].map((name) => each.getAttribute("aria-" + name)).join())),
			["1,1,1", "2,1,3", "2,2,3", "2,3,3"]);
		const path = await page.textContent(".pane.conversation h2");
		assert.match(path, /^a:0:0$/);
		await until("its own events", async () => await page.$$eval("article[data-seq]", (all) => all.length) === 2);
		await press("u");
		await until("all events", async () => await page.textContent(".pane.conversation h2") === "All events");
		await press("t");
		assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
		await press("u");
		await page.waitForSelector("main.runs");
	},

	// A run that goes on is followed, over a reload and 5 s without a network.
	async follow(run, transcript) {
		const relay = await startRelay(new URL(url).port);
		const at = `http://localhost:${relay.port}`;
		await logIn(at);
		await openRun(run, at);
		await until("some events", async () => await events() > 8);
		await until("what runs now", async () => /▶ s\d+:0:0/.test(await page.textContent(".running-list")));
		await page.reload();
		await page.waitForSelector("article.event");
		await until("more events", async () => await events() > 16);
		relay.cut();
		await until("the page says so", async () => /lost/.test(await page.textContent("#link")));
		await page.waitForTimeout(5000);
		relay.mend();
		await until("the end", async () => (await page.textContent(".state")).includes("success"), 60_000);
		assert.equal(await page.textContent("#link"), "");
		assert.equal(await page.isVisible(".running-list"), false);
		const written = readFileSync(transcript, "utf8").trim().split("\n").length;
		assert.deepEqual(await allEvents(), upTo(written));
		const shown = await page.textContent(".figures");
		await page.reload();
		await page.waitForSelector("article.event");
		await until("the same figures", async () => await page.textContent(".figures") === shown);
		relay.close();
	},

	// Text as it is written: over a reload, begun anew when it is asked again, gone when it is recorded.
	// To go on, a file is removed.
	async live(run, held) {
		const shown = () => page.$$eval(".event.live .text", (all) => all.map((each) => each.textContent));
		await logIn();
		await openRun(run);
		await until("what was written", async () => (await shown()).join("|") === "one two |look {");
		await until("beside what runs", async () => /✎ … look {/.test(await page.textContent(".running-list")));
		await page.reload();
		await until("the same", async () => (await shown()).join("|") === "one two |look {");
		// In a call that is chosen, too, but not where events are searched.
		await page.click(".item.call .name");
		await until("that call alone", async () => await page.textContent(".pane.conversation h2") === "s:0:0");
		assert.equal((await shown()).length, 2);
		await page.fill(".search", "nothing is like this");
		await until("none", async () => (await shown()).length === 0);
		await page.fill(".search", "");
		await until("again", async () => (await shown()).length === 2);
		const answered = () => page.$$eval(".event.model:not(.live) .said", (all) => all.map((each) => each.textContent));
		rmSync(held);
		await until("the answer in its place", async () => (await answered()).includes("one two three") && !(await shown()).includes("one two "));
		// The next turn: the first try of it has failed.
		await until("the new try alone", async () => (await shown()).join() === "better");
		writeFileSync(held + ".more", "");
		await until("the end", async () => (await page.textContent(".state")).includes("success"));
		assert.deepEqual(await shown(), []);
		await until("each answer once", async () => (await answered()).join() === "one two three,better so");
	},

	// Agents whose answers stream, watched from before their first word until after their end. To go on,
	// files are removed: the first before anybody writes, the second in the midst of the answers.
	async streams(run, agents, first, second) {
		const writing = () => page.$$eval(".event.live", (all) => all.length);
		await logIn();
		await openRun(run);
		await until("all have begun", async () => await page.evaluate(() =>
			[...document.querySelectorAll(".figures > div")].find((each) => each.textContent.startsWith("Calls"))?.textContent ?? "")
			.then((text) => new RegExp(`\\b${agents} open`).test(text)), 100_000);
		assert.equal(await writing(), 0);
		await page.evaluate(() => { window.kept = true; });
		await page.evaluate(() => document.querySelector(".conversation .scroll:not([hidden])").scrollTo(0, 1e9));
		if (await page.getAttribute("button:text-is('Follow')", "aria-pressed") === "false")
			await page.click("button:text-is('Follow')");
		rmSync(first);
		await until("text that is written", async () => await writing() > 0);
		await until("each beside its call", async () => (await page.$$eval(".event.live .where", (all) => all.map((each) => each.textContent)))
			.every((where) => where !== ""));
		await page.waitForTimeout(500);
		rmSync(second);
		await until("the end", async () => (await page.textContent("main .state")).includes("success"), 100_000);
		await until("nothing is written", async () => await writing() === 0);
		assert.equal(await page.evaluate(() => window.kept), true);
		await sameAfterReload(`${agents} agents`);
		const all = (await everything()).events.map(([, html]) => html).join("");
		for (const answer of ["one two three", "better so"])
			assert.equal(all.split(`<div class="text said">${answer}</div>`).length - 1, Number(agents), answer);
	},

	// A run of all kinds, watched by tabs that are opened at random moments, over a network that is cut at
	// random moments, one of them in the background for a while. It waits, is decided about, and goes on:
	// each time all tabs, and the list of runs, show what they show once they are loaded anew.
	async grows(name, seed, many) {
		const random = randomly(seed), wait = (most) => page.waitForTimeout(random(most));
		const relay = await startRelay(new URL(url).port), at = `http://localhost:${relay.port}`;
		// A tab that is not seen lets its connection go after 0.3 s instead of 30.
		await context.addInitScript(() => {
			const later = window.setTimeout;
			window.setTimeout = (what, ms, ...more) => later(what, ms === 30_000 ? 300 : ms, ...more);
			window.seen = (hidden) => {
				Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
				document.dispatchEvent(new Event("visibilitychange"));
			};
		});
		await logIn(at);
		const tabs = [];
		let status = null;
		const starts = (...words) => {
			status = null;
			spawn("awf-run", words, { stdio: ["ignore", "ignore", "inherit"] }).once("exit", (code) => { status = code; });
		};
		const goesOn = async () => {
			while (status === null) {
				await wait(900);
				switch (Math.floor(random(4))) {
				case 0:
					relay.end();
					break;
				case 1:
					relay.cut();
					await wait(500);
					relay.mend();
					break;
				case 2:
					if (tabs.length > 0)
						await tabs[0].evaluate((hidden) => window.seen(hidden), random(2) < 1);
					break;
				default:
					if (tabs.length < Number(many)) {
						const tab = await context.newPage();
						tab.setDefaultTimeout(60_000);
						tab.on("pageerror", (error) => problems.push(error.stack));
						await tab.goto(`${at}/runs/@${name}#view=events`);
						await tab.waitForSelector("article.event");
						tabs.push(tab);
					}
				}
			}
			relay.mend();
			if (tabs.length > 0)
				await tabs[0].evaluate(() => window.seen(false));
		};
		const settled = async (word) => {
			assert.ok(tabs.length > 0, "no tab was opened: another seed");
			for (const [i, tab] of tabs.entries()) {
				await until(`tab ${i}: ${word}`, async () => (await tab.textContent("main .state")).includes(word) &&
				    await tab.textContent("#link") === "", 60_000);
				await until(`tab ${i}: all events`, async () => (await tab.textContent(".figures")).includes("Events" + (
				    await tab.evaluate(async (run) => {
				    	const { get, runPath } = await import("/www/api.js");
				    	return (await get(runPath(run))).seq;
				    }, "@" + name))), 60_000);
			}
			for (const [i, tab] of tabs.entries())
				await sameAfterReload(`seed ${seed}: tab ${i}, ${word}`, tab);
			await until("the list is up to date", async () => (await page.$$eval("tbody .state", (all) => all[0].textContent)).includes(word));
			await page.waitForTimeout(3500);
			const followed = await listed(page);
			await page.reload();
			await page.waitForSelector("tbody tr");
			await page.waitForTimeout(3500);
			assert.deepEqual(followed, await listed(page), `seed ${seed}: list, ${word}`);
		};
		starts("-n", "--name", name, "grows.awf");
		await until("it is there", async () => (await page.textContent("tbody")).includes(name));
		await goesOn();
		assert.equal(status, 75);
		await settled("waiting");
		assert.equal(spawnSync("awf-ctl", ["approve", "ok", "@" + name]).status, 0);
		await settled("waiting");
		starts("--resume", "@" + name);
		await goesOn();
		assert.equal(status, 3);
		await settled("failed");
		relay.close();
	},

	// The record of a run is replaced: what stood in it is gone, all that stands there now is shown.
	async reset(run, transcript, other) {
		await logIn();
		await openRun(run);
		const talk = () => page.textContent(".conversation .scroll:not([hidden])");
		await page.click(".item.call:has-text('fetch') .name");
		await until("the old one", async () => /metrics\.local/.test(await talk()));
		const lines = readFileSync(other, "utf8");
		writeFileSync(transcript, lines);
		await until("the new one", async () => await events() === lines.trim().split("\n").length);
		assert.equal(await page.textContent(".pane.conversation h2"), "All events");
		assert.deepEqual(await allEvents(), upTo(lines.trim().split("\n").length));
		await page.evaluate(() => { document.querySelector(".conversation .scroll:not([hidden])").scrollTop = 0; });
		await until("its text", async () => /metrics\.changed/.test(await talk()));
		assert.doesNotMatch(await talk(), /metrics\.local/);
	},

	// Events above 1 MiB are there when they are asked for, whether they were read or have come.
	async large(run, go) {
		await logIn();
		await openRun(run);
		const load = () => page.$$eval(".event button.more", (all) => all.map((each) => each.textContent));
		await until("the first one", async () => (await load()).length === 1);
		assert.match((await load())[0], /^Load 1\.\d MiB$/);
		rmSync(go);
		await until("the end", async () => (await page.textContent(".state")).includes("success"));
		await until("the second one", async () => (await load()).length === 2);
		for (const seq of [3, 5]) {
			const event = `article.current[data-seq='${seq}']`;
			await page.evaluate((to) => { location.hash = to; }, `#${seq}&view=events`);
			await page.click(`${event} button.more`);
			await page.click(`${event} summary:has-text('result')`);
			await until("its beginning", async () => /^\[\s+\[\s+100000,/.test(await page.textContent(`${event} .code`)));
			assert.ok((await page.textContent(`${event} .code`)).length < 4000);
		}
		assert.deepEqual(await allEvents(), upTo(await events()));
	},

	// Pictures are shown, other blobs saved, and long texts that lie in one read when they are opened.
	async blobs(run) {
		await logIn();
		await openRun(run);
		await page.click(".item.call:has-text('analyse') .name");
		await page.waitForSelector("figure img");
		await until("the picture", async () => (await page.$eval("figure img", (image) => image.naturalWidth)) === 480);
		assert.equal((await page.$$("figure img")).length, 1, "an SVG is no picture");
		const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Download vendor notes.pdf")]);
		assert.equal(download.suggestedFilename(), "vendor notes.pdf");
		assert.match(readFileSync(await download.path(), "utf8"), /^%PDF-1\.4/);
		await page.keyboard.press("G");
		await page.click(".conversation summary:has-text('result')");
		await until("the text", async () => /line of a long log\nline of/.test(await page.textContent("article.current")));
	},

	// The list changes as runs come, end and go.
	async changes(transcripts) {
		await logIn();
		const rows = () => page.$$eval("tbody tr", (all) => all.map((row) => [row.querySelector("th").textContent, row.querySelector(".state").textContent].join(" ")));
		await until("none", async () => /No matching runs/.test(await page.textContent("#none")));
		const run = spawn("awf-run", ["-n", "--name", "fresh", "-c", "awf-step -n a -q -- cat go"], { stdio: "ignore" });
		await until("it runs", async () => (await rows()).join() === "fresh ▶ running");
		await until("one is counted", async () => await page.textContent(".counts button:visible") === "▶ 1 running");
		// A run that comes and goes takes no focus along.
		const before = readdirSync(transcripts);
		spawnSync("awf-run", ["-n", "--name", "other", "-c", "true"], { stdio: "ignore" });
		await until("both", async () => (await rows()).join() === "other ✓ success,fresh ▶ running");
		await page.focus("tbody tr:last-child a");
		for (const file of readdirSync(transcripts).filter((file) => !before.includes(file)))
			rmSync(join(transcripts, file));
		await until("the first one", async () => (await rows()).join() === "fresh ▶ running");
		assert.equal(await page.evaluate(() => document.activeElement.textContent), "fresh");
		const gone = new Promise((resolve) => run.once("exit", resolve));
		writeFileSync("go", "x");
		await until("it has ended", async () => (await rows()).join() === "fresh ✓ success");
		await gone;
		await until("none is counted", async () => (await page.$$(".counts button:visible")).length === 0);
		const [file] = readdirSync(transcripts);
		rmSync(join(transcripts, file));
		await until("it is gone", async () => (await rows()).length === 0);
	},

	// A run of so many events.
	async long(run, many, most) {
		await logIn();
		await scrolling(run, Number(many), most);
	},

	// The calls of a run, of which there are very many: one row counts them, all are there if asked for.
	async calls(run, many, most) {
		await logIn();
		await openRun(run);
		await until("all calls", async () => /×140k/.test(await page.textContent("[role=tree]")), 100_000);
		await until("those that failed", async () => (await page.$$(".tree .item.call.is-failed")).length === 2);
		await page.click(".item.group .twist");
		await page.focus("[role=tree]");
		await page.keyboard.press("End");
		await page.waitForSelector(".item.active:not(.group)");
		await page.keyboard.press("Enter");
		await until("the last call", async () => await page.textContent(".pane.conversation h2") === `work:0:${many - 1}`);
		await until("its events", async () => await page.$$eval("article[data-seq]", (all) => all.length) === 2);
		await scrolling(run, 2 * many + 2, most);
	},

	// What axe finds, in light and dark, from narrow to wide: of each view, with all that can be opened
	// open, of the keys, the question before a stop, and the login.
	// Two runs: what made a difference is open, the rest counted and folded; from there to both; and from a
	// run to what it may be compared with.
	async compare(before, after, fork) {
		await logIn();
		await openRun(after);
		await page.click(".compare-with > summary");
		await until("the last success", () => page.isVisible(".compare-with li a"));
		assert.match(await page.textContent(".compare-with li"), /^the last success, /);
		await page.click(".compare-with li a");
		await page.waitForSelector(".pair");
		assert.match(new URL(page.url()).pathname, /^\/compare\/[0-9a-f-]{36}\/[0-9a-f-]{36}$/);
		const open = () => page.$$eval(".pair[open] > summary", (all) => all.map((each) => each.textContent));
		assert.deepEqual(await open(), ["!changed up (3 calls)", "!changed say", "+new extra"]);
		assert.match(await page.textContent("h2"), /^1 the same, 4 changed, 4 follow, 1 new$|^4 changed, 4 follow, 1 new, 1 the same$/);
		// Words, lines, and what markup there is in them stays text.
		const say = page.locator(".pair.changed", { has: page.locator("strong", { hasText: /^say$/ }) });
		assert.equal(await say.locator(".words del").first().textContent(), "brown ");
		assert.equal(await say.locator(".words ins").first().textContent(), "<b>red</b> ");
		assert.equal(await page.$("main b, main img"), null);
		// What follows is folded, and made when it is opened.
		const low = page.locator(".pair.follows", { hasText: "low" });
		assert.equal(await low.locator("li").count(), 0);
		await low.locator("summary").first().click();
		await until("what follows", async () => await low.locator("li").count() === 3);
		assert.match(await low.locator(".diff").first().textContent(), /removed: -.*added: \+/s);
		// Keys go from cause to cause.
		await page.keyboard.press("j");
		await page.keyboard.press("j");
		assert.equal(await page.evaluate(() => document.activeElement.textContent), "!changed say");
		// To the call in each of the runs.
		await page.click(".pair.changed .links a:nth-of-type(2)");
		await page.waitForSelector("article.talk");
		assert.match(await page.textContent(".conversation h2"), /^up:0:0$/);
		// A run by its name, and a fork.
		await openRun(before);
		await page.click(".compare-with > summary");
		await page.fill(".compare-with input", "none-such");
		await page.press(".compare-with input", "Enter");
		await until("there is none", async () => await page.textContent(".compare-with .problem") === "there is no such run");
		await page.fill(".compare-with input", before);
		await page.press(".compare-with input", "Enter");
		await until("nothing differs", async () => (await page.textContent("h2").catch(() => "")) === "Nothing differs.");
		assert.doesNotMatch(await page.textContent("main"), /null|undefined/);
		await openRun(fork);
		await page.click(".compare-with > summary");
		await page.click("text=the run that it is a fork of");
		await page.waitForSelector(".pair");
		assert.match(await page.textContent("main"), /The second is a fork of the first/);
		await page.click("text=The other way round");
		await until("the other way round", async () => /The first is a fork of the second/.test(await page.textContent("main")));
		await page.goto(`${url}/compare/${before.replace("@", "%40")}/none-such`);
		await until("there is none", async () => await page.textContent(".problem") === "there is no such run");
	},

	// An evaluation of two variants, and one of a single trial: what passed, how sure that is, what failed and why, and the ways
	// from there; what is tried meanwhile is added. go: a file at which a trial of the second ends; intervals: of the variants.
	async evaluation(tried, later, other, go, ...intervals) {
		const text = (selector) => page.$$eval(selector, (all) => all.map((each) => each.innerText.replace(/\s+/g, " ").trim()));
		const pressed = () => page.locator(".tabs button[aria-pressed=true]:visible").allInnerTexts();
		await logIn();
		// A server that is busy is asked again.
		await page.route("**/evaluation", (route) => route.fulfill({ status: 503, json: { error: { code: "unavailable", message: "busy" } } }), { times: 1 });
		await page.goto(`${url}/runs/${tried}`);
		await until("that it is busy is said", async () => await page.textContent(".evaluation .problem") === "busy");
		await page.waitForSelector(".of-inputs tbody tr");
		assert.equal(await page.isVisible(".evaluation .problem"), false);
		assert.deepEqual(await pressed(), ["Evaluation"]);
		assert.equal(await page.isVisible(".pane.conversation"), false);
		const [variants, checks] = await page.$$eval(".sums table", (all) => all.map((table) =>
			[...table.rows].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))));
		assert.deepEqual(variants.map((row) => row.slice(0, 4)), [["Variant", "Passed", "95 % interval", "Errors"],
			["plain", "2 / 4 50 %", intervals[0], "2"], ["up", "0 / 4 0 %", intervals[1], "2"]]);
		assert.match(variants[1][4], /^\d+(\.\d)? m?s$/);
		assert.deepEqual(checks.map((row) => row.map((cell) => cell.replace(/ \(\d+ to \d+ %\)$/, ""))),
			[["Check", "plain", "up"], ["same", "2 / 4 50 %", "0 / 4 0 %"], ["short", "4 / 4 100 %", "4 / 4 100 %"]]);
		assert.equal(checks[1][1], `2 / 4 50 % (${intervals[0]})`);
		assert.deepEqual(await text(".evaluation .scroll > div > p.note"), ["up against plain, by input: better 0, worse 1, equal 1; p = 1.000: not told apart at 95 %"]);
		// Failing first; what is said is text.
		assert.match(await page.textContent(".evaluation h3"), /^3 inputs, 3 of which did not always pass$/);
		assert.deepEqual(await page.$$eval(".of-inputs tbody tr", (all) => all.map((row) => [...row.cells].slice(0, 4)
			.map((cell) => cell.innerText.replace(/\s+/g, " ").trim()))),
		[["bad", "0 / 2 ! 1 ! 2", "0 / 2 ! 1 ! 2", "Compare"], ["<i>Up", "0 / 2 ✗ 1 ✗ 2", "0 / 2 ✗ 1 ✗ 2", "Compare"],
			["a", "2 / 2 ✓ 1 ✓ 2", "0 / 2 ✗ 1 ✗ 2", "Compare"]]);
		const whys = await text(".whys");
		assert.equal(whys[1], "plain, same: no <img src=x onerror=window.bad=1> for <i>Up up, same: no <img src=x onerror=window.bad=1> for <I>UP");
		assert.match(whys[0], /^plain, error: .*exit status 4/);
		assert.equal(whys[2], "up, same: no <img src=x onerror=window.bad=1> for A");
		assert.equal(await page.$("main img, main i"), null);
		assert.equal(await page.evaluate(() => window.bad), undefined);
		// Keys: from input to input; to the steps, and back.
		const at = () => page.evaluate(() => document.activeElement.closest("tr")?.cells[0].innerText.trim());
		await page.keyboard.press("j");
		assert.equal(await at(), "bad");
		await page.keyboard.press("j");
		await page.keyboard.press("j");
		assert.equal(await at(), "a");
		await page.keyboard.press("k");
		assert.equal(await at(), "<i>Up");
		await page.keyboard.press("c");
		assert.equal(await page.isVisible(".pane.conversation"), true);
		assert.equal(await page.isVisible(".pane.tree"), true);
		assert.equal(await page.isVisible(".pane.evaluation"), false);
		assert.deepEqual(await pressed(), ["Steps and conversation"]);
		await page.keyboard.press("v");
		assert.deepEqual(await pressed(), ["Evaluation"]);
		assert.equal(await at(), "bad");
		// Light and dark, wide and narrow: nothing is cut off, and axe finds nothing.
		const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
		for (const [width, colorScheme] of [[420, "light"], [420, "dark"], [1280, "light"], [1280, "dark"]]) {
			await page.emulateMedia({ colorScheme });
			await page.setViewportSize({ width, height: 800 });
			await page.waitForTimeout(150);
			assert.equal(await page.$eval(".evaluation .scroll", (each) => each.scrollWidth - each.clientWidth), 0);
			await page.evaluate(axe);
			const { violations } = await page.evaluate(() => window.axe.run());
			assert.deepEqual(violations.map(({ id, nodes }) => `${width} ${colorScheme}: ${id}: ${nodes[0].html}`), []);
		}
		// To a child run, and to what differs between two.
		await page.click(".of-inputs tr:nth-child(3) .trials a:nth-of-type(2)");
		await page.waitForSelector("article.talk");
		await until("the child run", async () => await page.textContent("h1") === "plain");
		assert.equal(await page.$(".evaluation"), null);
		await page.goBack();
		await page.waitForSelector(".of-inputs");
		await page.click(".of-inputs tr:nth-child(3) >> text=Compare");
		await page.waitForSelector(".pair");
		assert.deepEqual((await text(".compare thead a")).map((each) => each.split(" ")[0]), ["plain", "up"]);
		// The address of an event leads to it.
		await page.goto(`${url}/runs/${tried}#2`);
		await page.waitForSelector(".pane.evaluation", { state: "attached" });
		assert.deepEqual(await pressed(), ["Steps and conversation"]);
		// One that goes on.
		await page.goto(`${url}/runs/${later}`);
		await page.waitForSelector(".of-inputs tbody tr");
		assert.deepEqual(await text(".of-inputs tbody td:nth-child(2)"), ["… not ended"]);
		writeFileSync(go, "");
		await until("the trial has ended", async () => (await text(".of-inputs tbody td:nth-child(2)"))[0] === "✓ passed");
		// A run whose name alone is that of an evaluation has none.
		await openRun(other);
		await page.waitForTimeout(500);
		assert.equal(await page.$(".evaluation"), null);
	},

	async axe(rich, ...runs) {
		const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
		const found = [];
		let where = "";
		const look = async (what) => {
			await page.waitForTimeout(150);
			await page.evaluate(axe);
			const { violations } = await page.evaluate(() => window.axe.run());
			for (const { id, nodes } of violations)
				found.push(`${where} ${what}: ${id}: ${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary}`);
		};
		const visit = async (path) => {
			await page.goto("about:blank");
			await page.goto(url + path);
			await page.waitForSelector("tbody tr, .item, article", { state: "attached" });
			await page.waitForTimeout(300);
		};
		await page.goto(url + "/");
		await page.waitForSelector(".login");
		await look("login");
		await logIn();
		for (const colorScheme of ["light", "dark"])
			for (const width of [420, 1280, 2560]) {
				where = `${width} ${colorScheme}`;
				await page.emulateMedia({ colorScheme });
				await page.setViewportSize({ width, height: width === 2560 ? 1440 : 800 });
				await visit("/");
				await look("list");
				if (width !== 2560) {
					await page.keyboard.press("?");
					await look("keys");
				}
				if (width !== 2560) {
					await page.goto("about:blank");
					await page.goto(`${url}/compare/${runs[0]}/${runs[1]}`);
					await page.waitForSelector(".pair");
					await page.evaluate(() => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
					await look("compare");
				}
				for (const run of width === 2560 ? [] : runs) {
					await visit("/runs/" + run);
					await page.click(".compare-with > summary");
					await look(run);
				}
				// The times on the axis are read whole, also once the window has become narrower.
				for (const narrower of width === 2560 ? [] : [0, 60]) {
					await page.setViewportSize({ width: width - narrower, height: 800 });
					await page.waitForTimeout(100);
					const [end, marks] = await page.evaluate(() => {
						const axis = document.querySelector(".axis");
						return [axis.getBoundingClientRect().right, [...axis.querySelectorAll(".mark")].map((mark) => mark.getBoundingClientRect())
							.map(({ left, right }) => [left, right])];
					});
					assert.ok(marks.length > 0, `${where}: no times`);
					marks.forEach(([, right], i) => assert.ok(right <= (marks[i + 1]?.[0] ?? end), `${where}: mark ${i} is cut off`));
				}
				for (const hash of ["", "#22&call=analyse%3A0%3A0", "#22&view=events&call=analyse%3A0%3A0"]) {
					await visit(`/runs/${rich}${hash}`);
					if (hash !== "")
						await page.evaluate(() => document.querySelectorAll("details:not([open])").forEach((each) => { each.open = true; }));
					await look(hash);
				}
			}
		assert.deepEqual(found, []);
	},

	// Approve with an edit, deny with a reason, approve as it is, say that it failed; edit what has
	// other line ends, and JSON with numbers that JavaScript has not; give a result.
	async decide(approved, denied, asItIs, failed, otherEnds, numbers, result, question) {
		await logIn();
		await openRun(approved);
		await page.fill(".wait textarea", "tea");
		await page.click(".wait button:text-is('Approve as edited')");
		await page.waitForSelector(".wait", { state: "detached" });
		await openRun(denied);
		await page.fill(".wait input", "not today");
		await page.click(".wait button:text-is('Deny')");
		await page.waitForSelector(".wait", { state: "detached" });
		assert.match(await page.textContent(".state"), /waiting/);
		assert.match(await page.textContent(".resume.decided"), /Continue it with/);
		await until("the reason", async () => /not today/.test(await page.textContent(".conversation .scroll:not([hidden])")));
		// By keys alone: to what waits, past its text and the reason.
		await openRun(asItIs);
		await page.keyboard.press("a");
		for (const key of ["Tab", "Tab", "Enter"])
			await page.keyboard.press(key);
		await page.waitForSelector(".wait", { state: "detached" });
		await openRun(failed);
		await page.fill(".wait input", "no room");
		await page.click(".wait button:text-is('It failed')");
		await page.waitForSelector(".wait", { state: "detached" });
		await until("why", async () => /no room/.test(await page.textContent(".conversation .scroll:not([hidden])")));
		await openRun(otherEnds);
		await page.fill(".wait textarea", "c\nb\n");
		await page.click(".wait button:text-is('Approve as edited')");
		await page.waitForSelector(".wait", { state: "detached" });
		await openRun(numbers);
		const shown = await page.inputValue(".wait textarea");
		assert.match(shown, /"order": 12345678901234567890,\n *"price": 1\.0,/);
		await page.fill(".wait textarea", "{");
		await page.click(".wait button:text-is('Approve as edited')");
		await until("what is wrong", async () => /not JSON/.test(await page.textContent(".wait [role=status]")));
		await page.fill(".wait textarea", shown.replace('"n": 1', '"n": 2'));
		await page.click(".wait button:text-is('Approve as edited')");
		await page.waitForSelector(".wait", { state: "detached" });
		await openRun(result);
		await page.fill(".wait textarea", '{"id": 98765432109876543210}');
		await page.click(".wait button:text-is('Complete')");
		await page.waitForSelector(".wait", { state: "detached" });
		// A question of a run that goes on.
		await openRun(question);
		assert.equal(await page.textContent(".wait pre"), "Is cake right?");
		await page.fill(".wait textarea", '{"ok": 1}');
		await page.click(".wait button:text-is('Complete')");
		await page.waitForSelector(".wait", { state: "detached" });
	},

	// A token that may only read is given in the form; nothing can be decided then; who logs out is out.
	async read(run, token) {
		await page.goto(url);
		await page.fill("#token", "awf_none");
		await page.keyboard.press("Enter");
		await until("a word on it", async () => (await page.textContent("[role=alert]")) !== "");
		await page.fill("#token", token);
		await page.keyboard.press("Enter");
		await page.waitForSelector("tbody tr");
		await openRun(run);
		await page.waitForSelector(".wait textarea[readonly]");
		assert.equal((await page.$$(".wait button, .title button.danger:visible")).length, 0);
		await page.click("text=Log out");
		await page.waitForSelector(".login");
		await page.goto(`${url}/runs/${run}`);
		await page.waitForSelector(".login");
	},

	// While a run goes on, what is shown of it stays in place: a slow click is one, the focus is kept.
	// A run that was killed runs no more, nor does its time; what was running in it is open.
	async died(run, pid) {
		await logIn();
		await openRun(run);
		await until("what runs now", async () => /a:0:0/.test(await page.textContent(".running-list")));
		for (const place of [".item.call .name", ".item.call .bar", ".running-list button"]) {
			const shown = await page.textContent(".item.call .took");
			await page.hover(place);
			await page.mouse.down();
			await until("a redraw", async () => await page.textContent(".item.call .took") !== shown);
			await page.mouse.up();
			await until("the call of " + place, async () => await page.textContent(".pane.conversation h2") === "a:0:0");
			await page.keyboard.press("u");
			await until("all events", async () => await page.textContent(".pane.conversation h2") === "All events");
		}
		assert.equal(await page.evaluate(() => document.activeElement.closest(".running-list") !== null), true);
		process.kill(Number(pid), "SIGKILL");
		await until("it has died", async () => (await page.textContent(".state")).includes("died"));
		assert.equal(await page.isVisible(".running-list"), false);
		await page.reload();
		await page.waitForSelector(".item.is-unfinished");
		assert.equal((await page.$$(".is-running")).length, 0);
		assert.equal(await page.isVisible("text=Stop"), false);
		const [figures, took] = [await page.textContent(".figures"), await page.textContent(".item.call .took")];
		await page.waitForTimeout(2200);
		assert.deepEqual([await page.textContent(".figures"), await page.textContent(".item.call .took")], [figures, took]);
	},

	// Each of "NAME STATUS WAITS CALL=STATE…", of calls in the order of their names, is told so in the
	// list, above it, and on the page of the run.
	async states(...table) {
		await logIn();
		const runs = table.map((each) => each.split(" "));
		const inList = async () => Object.fromEntries(await page.$$eval("tbody tr", (rows) => rows.map((row) =>
		    [row.cells[1].textContent, [...row.cells[0].classList].find((each) => each !== "state")])));
		await until("all are listed", async () => Object.keys(await inList()).length === runs.length);
		assert.deepEqual(await inList(), Object.fromEntries(runs.map(([name, status]) => [name, status])));
		// As many as are counted are shown.
		const named = (status) => runs.filter((each) => each[1] === status).map(([name]) => name).sort();
		for (const status of ["waiting", "running"]) {
			await page.goto(`${url}/#`);
			await page.waitForSelector(`.counts .${status}`);
			assert.match(await page.textContent(`.counts .${status}`), new RegExp(` ${named(status).length} `));
			await page.click(`.counts .${status}`);
			await until(status, async () => JSON.stringify(Object.keys(await inList()).sort()) === JSON.stringify(named(status)));
		}
		for (const run of runs)
			await told(run);
	},

	// The rows of the tree are those of awf-replay --tree.
	async mixed(expected) {
		await logIn();
		await openRun("@mixed");
		assert.equal((await page.$$eval(".item.call .name, .item.group .name", (names) => names.map((each) => each.textContent))).join(","), expected);
	},

	// What a child run of a child run has failed for.
	async nested(run) {
		await logIn();
		await until("why", async () => (await page.textContent("tbody tr .why")).endsWith("the database of the customers is not there"));
		await openRun(run);
		await until("the cause", async () => /: the database of the customers is not there$/.test(await page.textContent(".failed-list .why")));
		await until("what it wrote", async () => /connecting\n/.test(await page.textContent(".failed-list .code")));
	},

	// A run is ended by Ctrl-C while its page is open.
	async ends(pid, expected) {
		await logIn();
		const run = expected.split(" ");
		await openRun("@" + run[0]);
		await page.waitForSelector(".wait");
		process.kill(-Number(pid), "SIGINT");
		await until("its end", async () => (await page.textContent("main .state")).includes(run[1]));
		await until("no form", async () => (await page.$$(".wait")).length === 0);
		await told(run, false);
		await told(run);
	},

	// A run is stopped, after a question.
	async stop(run) {
		await logIn();
		await openRun(run);
		await page.keyboard.press("x");
		await page.waitForSelector("dialog[open]");
		await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
		assert.deepEqual((await page.evaluate(() => window.axe.run())).violations, []);
		await page.keyboard.press("Escape");
		await page.waitForSelector("dialog[open]", { state: "detached" });
		assert.match(await page.textContent(".state"), /running/);
		await page.keyboard.press("x");
		await page.click("dialog button.danger");
		await until("its end", async () => (await page.textContent(".state")).includes("cancelled"));
	},

	/* ---- the conversation ---- */

	// What each row of a rich run says; each text stands once; events are the other view, and stay over a reload.
	async talk(run) {
		await logIn();
		await openTalk(run);
		await page.click(".item.call:has-text('analyse') .name");
		await until("the call", async () => await page.textContent(".pane.conversation h2") === "analyse:0:0");
		const rows = await talked();
		const texts = rows.map(({ text }) => text).join("\n");
		for (const once of ["Why has the latency of checkout risen? The picture has the last hour.", "The rise begins at 14:02.", "8c1f2ab is the suspect",
			"I put the old size back", "Since 14:02 each instance of checkout"])
			assert.equal(texts.split(once).length - 1, 1, once);
		// A tool is a line: its name, its arguments, what became of it, how long it took.
		const tools = rows.filter(({ name }) => name.includes(" tool"));
		assert.deepEqual(tools.map(({ summary }) => summary.replace(/\s+/g, " ")), ["⚙ bash git log --since=14:00 --oneline ✓", "⚙ read /srv/ops/pool.c ✓",
			"⚙ bash rm -rf /var/lib/checkout ⊘ blocked", "⚙ edit /srv/ops/pool.c +1 −1 ✓", "⚙ bash make check ✗ exit 2", "⚙ write tests/expected ✓"]);
		assert.equal(tools[0].margin, "#16420 ms");
		// Why one was not allowed is seen without opening it.
		assert.match(tools[2].text, /blocked bash: writes outside of the workspace/);
		assert.equal(rows.filter(({ open }) => open > 0).length, 0, "nothing is open");
		// Opened, it shows what it changed, or its arguments, output and what it wrote to standard error.
		await goToRow(24);
		await page.click("article.current summary");
		assert.equal(await page.textContent("article.current .diff .gone"), "removed: -\t.most = 8,");
		await goToRow(26);
		await page.click("article.current summary");
		assert.match(await page.textContent("article.current .tool-parts"), /make check.*42 passed, 1 failed.*check_pool: FAILED: expected 8/s);
		assert.equal(await page.textContent("article.current .text .red"), "FAILED");
		// A thought is folded; a list is one.
		assert.match(rows.find(({ text }) => text.includes("The rise begins at 14:02.")).text, /thinking The picture shows a step, no slope/);
		const last = rows.find(({ text }) => text.includes("Since 14:02"));
		assert.match(last.html, /<ol class="tight"><li>Requests wait for a connection: p99 1\.9 s\.<\/li>/);
		assert.match(last.margin, /1\.3 s6\.1k in, 4\.1k out/);
		assert.match(texts, /stopped: max_tokens/);
		assert.ok(rows.some(({ margin }) => /\$0\.013/.test(margin)), "the cost of an answer");
		assert.match(texts, /rate_limited: 429: too many requests/);
		assert.match(texts, /handed over from analyst to writer/);
		// The address has the view; so a reload shows the same.
		await page.keyboard.press("l");
		await page.waitForSelector("article.event");
		assert.match(new URL(page.url()).hash, /view=events&call=analyse/);
		await page.reload();
		await page.waitForSelector("article.event");
		assert.equal(await page.getAttribute(".views button:text-is('Events')", "aria-pressed"), "true");
		await page.click(".views button:text-is('Conversation')");
		await page.waitForSelector("article.talk");
		assert.doesNotMatch(new URL(page.url()).hash, /view=/);
		// The whole run: sections of calls, whatever else went on; what failed is open, with its reason.
		await page.keyboard.press("u");
		await until("the whole run", async () => await page.textContent(".pane.conversation h2") === "Whole run");
		const all = await talked();
		const names = all.filter(({ name }) => / (call|work)\b/.test(name)).map(({ label }) => label);
		assert.deepEqual(names.slice(0, 6), ["Step fetch", "Step look", "Step logs", "Step deploys[1]", "Step traces[2]", "Step analyse"]);
		assert.ok(all.filter(({ label }) => /traces\[2\]|page\[9\]/.test(label)).every(({ open }) => open > 0), "what failed is open");
		assert.ok(all.filter(({ label }) => /page\[[0-8]\]/.test(label)).every(({ open }) => open === 0), "what is done is folded");
		assert.match(all.find(({ label }) => /traces/.test(label)).text, /giving up after 3 tries/);
		// A row found by its text; a kind of rows.
		await page.fill(".search", "WRITES outside");
		await until("one row", async () => (await page.$$("article.talk")).length === 1);
		assert.match(await page.textContent("article.talk"), /⊘ blocked/);
		await page.fill(".search", "");
		await page.selectOption(".pane-head select", "errors");
		await until("errors alone", async () => (await talked()).every(({ text }) => /✗|⊘|‖|–|\?|error|skipped|↻/.test(text)));
		await page.selectOption(".pane-head select", "");
		// An answer is copied as it was written; the record is saved.
		await context.grantPermissions(["clipboard-read", "clipboard-write"]);
		await goToRow(33);
		await page.hover("article.current");
		await page.click("article.current .copy");
		await until("it is copied", async () => await page.textContent("article.current .copy") === "Copied");
		assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^Since 14:02 each instance.*\n\n1\. Requests wait/);
		await page.keyboard.press("l");
		const [saved] = await Promise.all([page.waitForEvent("download"), page.click("button:text-is('Download')")]);
		assert.equal(readFileSync(await saved.path(), "utf8").trim().split("\n").length, await events());
		await page.keyboard.press("l");
		// The details of a row that is clicked.
		await page.setViewportSize({ width: 2560, height: 1440 });
		await goToRow(24);
		await until("its details", async () => /tool\.call.*tool\.result/s.test(await page.textContent(".details-pane")));
		assert.match(await page.textContent(".details-pane .facts"), /Statedone.*Kindagent.*Agentwriter/);
	},

	// A run whose calls are commands.
	async commands(run) {
		await logIn();
		await openTalk(run);
		const rows = await talked(), of = (label) => rows.find((row) => row.label === "Step " + label);
		assert.deepEqual(rows.map(({ label }) => label), ["The run begins", "Step up", "Step colours", "Step bad", "Step nothing", "The run ends"]);
		assert.match(of("up").summary.replace(/\s+/g, " "), /^✓ up HELLO$/);
		assert.match(of("colours").summary, /colours +HELLO red$/);
		assert.match(of("bad").text.replace(/\s+/g, " "), /exit_status.*half.*exit 4.*stderr why/);
		// Chosen, it is open: its command, input and output, with colours.
		await page.click(".item.call:has-text('colours') .name");
		await until("the call", async () => await page.textContent(".pane.conversation h2") === "colours:0:0");
		await until("its input", async () => /the result of up:0:0HELLO/.test(await page.textContent("article.talk")));
		const [colours] = await talked();
		assert.match(colours.text, /printf.*input from the step before.*HELLO.*HELLO\nred/s);
		assert.equal(await page.textContent("article.talk .red"), "red");
		await page.click(".item.call:has-text('nothing') .name");
		await until("the other", async () => await page.textContent(".pane.conversation h2") === "nothing:0:0");
		assert.match((await talked())[0].text, /no output/);
	},

	// What hostile Markdown becomes: known elements, with known attributes; nothing is asked for, nothing runs.
	async markdown() {
		await logIn();
		await page.waitForSelector("tbody tr");
		const asked = [];
		page.on("request", (request) => asked.push(request.url()));
		await page.evaluate(async () => { window.prose = (await import("/www/prose.js")).prose; });
		asked.length = 0;
		let slowest = ["", 0];
		for (const [name, text] of hostile) {
			const { took, found } = await page.evaluate(async (text) => {
				const elements = { DIV: [], P: [], H3: [], H4: [], H5: [], H6: [], HR: [], PRE: [], CODE: [], BLOCKQUOTE: [], UL: [], OL: ["start"], LI: [], TABLE: [], THEAD: [], TBODY: [], TR: [],
					TH: ["scope"], TD: [], EM: [], STRONG: [], DEL: [], BR: [], SPAN: ["title", "aria-hidden"], A: ["href", "rel", "target", "title"] };
				const always = ["class", "tabindex", "role", "aria-label"], found = [];
				// Of what is long the page shows the beginning, and of what is very long no more than this (said.js).
				const begin = performance.now(), made = window.prose(text.slice(0, 400_000)), took = performance.now() - begin;
				const shown = window.prose(text.slice(0, 20_000));
				document.querySelector("main").append(shown);
				for (const element of made.querySelectorAll("*")) {
					if (!(element.nodeName in elements))
						found.push("element " + element.nodeName);
					for (const { name } of element.attributes)
						if (!always.includes(name) && !elements[element.nodeName]?.includes(name))
							found.push(`attribute ${name} of ${element.nodeName}`);
					if (element.nodeName === "A" && !(/^(https?:|mailto:)$/.test(element.protocol) && element.rel === "noopener noreferrer" && element.title !== ""))
						found.push("a link " + element.href);
				}
				const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.exec(made.textContent);
				if (hidden)
					found.push("not seen: " + hidden[0].codePointAt(0).toString(16));
				for (const link of made.querySelectorAll("a"))
					if (/[\u202a-\u202e\u2066-\u2069\u200b\0]/.test(link.title))
						found.push("not seen in a title");
				await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
				shown.remove();
				return { took, found: found.slice(0, 3) };
			}, text);
			assert.deepEqual(found, [], name);
			assert.ok(took < 8000, `${name}: ${took.toFixed(0)} ms`);
			if (took > slowest[1])
				slowest = [name, took];
		}
		// The list of runs, which is behind it, goes on asking for its own.
		assert.deepEqual(asked.filter((each) => !each.startsWith(url + "/api/runs?")), []);
		assert.equal(await page.evaluate(() => window.bad), undefined);
		console.log(`${hostile.length} texts; slowest: ${slowest[0]}, ${slowest[1].toFixed(0)} ms`);
		// What grows is what it is at once, at each length; blocks that are done stay the elements that they are.
		assert.deepEqual(await page.evaluate(async () => {
			const { Prose, prose } = await import("/www/prose.js"), wrong = [];
			const text = "# A\n\nwords with *some* `code` and [a link](http://a.b \"t\").\n\n- one\n- two\n  1. three\n\n> said\n> so\n\n|a|b|\n|-|-|\n|1|2|\n\n```c\nint x;\n```\n\n[r] and more\n\n## B\n\n- [x] done\n\n[r]: http://c.d\n";
			const grows = new Prose();
			let first = null;
			for (let length = 0; length <= text.length; length++) {
				grows.update(text.slice(0, length));
				if (grows.element.outerHTML !== prose(text.slice(0, length)).outerHTML)
					wrong.push(length);
				if (length === 60)
					first = grows.element.childNodes[1];
				if (length > 60 && length < text.length - 4 && grows.element.childNodes[1] !== first)
					wrong.push("another element at " + length);
			}
			return wrong.slice(0, 5);
		}), []);
	},

	// Everything from an event is text in the conversation, whatever is opened; and rows of any shape are shown.
	async talkText(hostileRun, shapes) {
		await context.exposeFunction("violated", (what) => problems.push("violated: " + what));
		await context.addInitScript(() => document.addEventListener("securitypolicyviolation",
		    (event) => window.violated(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`)));
		const asked = new Set();
		page.on("request", (request) => asked.add(new URL(request.url()).origin));
		await logIn();
		await page.setViewportSize({ width: 2560, height: 1440 });
		const seen = new Set();
		for (const run of [hostileRun, shapes]) {
			await openTalk(run);
			await everyRow(async () => {
				for (let opened = 1; opened > 0;)
					opened = await page.evaluate(() => {
						const closed = document.querySelectorAll(".conversation details:not([open]), .details-pane details:not([open])");
						closed.forEach((each) => { each.open = true; });
						return closed.length;
					});
				await page.$$eval("article.talk .margin", (all) => all.forEach((each) => each.click()));
				await page.waitForTimeout(50);
				assert.deepEqual(await page.$$eval(`script:not([src="/www/page.js"]), style, iframe, svg, object, embed, base, form:not(.wait > form, form.tell, .compare-with form), img:not([src^="blob:"]),
					a:not([href^="/runs/"], [href^="#"], [href="/"], .prose a[rel="noopener noreferrer"]), [onerror], [onload], [onfocus]`, (all) => all.map((each) => each.outerHTML)), []);
				assert.equal(await page.evaluate(() => window.bad ?? window.parent.bad), undefined);
				for (const text of await page.$$eval("article.talk", (all) => all.map((each) => each.textContent)))
					seen.add(/<img src=x onerror=/.test(text));
			}, "article.talk.empty:not(:has(button))");
			assert.equal(new Set(await talkedSeqs()).size, await events(), `${run}: each event is in a row`);
		}
		assert.ok(seen.has(true));
		assert.deepEqual([...asked], [new URL(url).origin, "null"].filter((origin) => asked.has(origin)));
	},

	// An answer of ten seconds from before its first word to after its end: over a reload, and without a
	// network for a while; what is selected stays so, and nothing jumps.
	async watched(run, first, held) {
		const relay = await startRelay(new URL(url).port), at = `http://localhost:${relay.port}`;
		const prose = (tab = page) => tab.$$eval("article.talk .prose", (all) => all.map((each) => each.innerText.replace(/\n+/g, "|")));
		await logIn(at);
		await openTalk(run, at);
		await until("the prompt, as it is", async () => (await page.$$eval("article.talk.prompt .said", (all) => all.map((each) => each.textContent))).includes("What is the **plan**?"));
		await page.evaluate(() => { window.kept = true; });
		rmSync(first);
		await until("a thought, folded", async () => /thinking … I think/.test(await page.textContent(".conversation .scroll:not([hidden])")));
		await until("a heading", async () => (await page.$$("article.talk.live .prose h3")).length === 1);
		await until("strong words", async () => (await page.$$eval("article.talk.live .prose strong", (all) => all.map((each) => each.textContent))).join() === "picture");
		await until("a list", async () => (await page.$$("article.talk.live .prose li")).length > 2);
		// What is selected, and the elements of what is written, stay while more comes.
		await page.evaluate(() => {
			const strong = document.querySelector("article.talk.live .prose strong");
			window.strong = strong;
			window.heading = document.querySelector("article.talk.live .prose h3");
			getSelection().selectAllChildren(strong);
			window.tops = [];
			const look = () => {
				const scroller = document.querySelector(".conversation .scroll:not([hidden])");
				if (window.watching === false)
					return;
				window.tops.push(window.heading.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop);
				requestAnimationFrame(look);
			};
			look();
		});
		const items = () => page.$$eval("article.talk .prose li", (all) => all.length);
		const before = await items();
		await until("more items", async () => await items() > before + 1);
		assert.equal(await page.evaluate(() => String(getSelection())), "picture");
		const tops = await page.evaluate(() => { window.watching = false; return [...new Set(window.tops.map(Math.round))]; });
		assert.ok(tops.length === 1, `it jumps: ${tops}`);
		// A tab that is opened in its midst shows the same.
		const other = await context.newPage();
		other.on("pageerror", (error) => problems.push(error.stack));
		await other.goto(`${at}/runs/${run}`);
		await other.waitForSelector("article.talk.live .prose li");
		await until("the same", async () => JSON.stringify(await prose(other)) === JSON.stringify(await prose()));
		// Without a network.
		relay.cut();
		await until("the page says so", async () => /lost/.test(await page.textContent("#link")));
		relay.mend();
		await until("all items", async () => await items() === 9, 60_000);
		await until("that it calls a tool", async () => /calls a tool/.test(await page.textContent(".conversation .scroll:not([hidden])")));
		rmSync(held);
		await until("the tools", async () => (await page.$$("article.talk.tool")).length === 3);
		// The answer is where it was written: the same element, with what is selected in it.
		assert.equal(await page.evaluate(() => window.strong.isConnected && window.heading.isConnected), true);
		assert.equal(await page.evaluate(() => String(getSelection())), "picture");
		await until("the end", async () => /success|failed/.test(await page.textContent("main .state")), 60_000);
		assert.equal(await page.evaluate(() => window.kept), true);
		await until("nothing is written", async () => (await page.$$("article.talk.live")).length === 0);
		// The command line of the run has the prompt, too.
		const rows = (await talked()).filter(({ label }) => label !== "The run begins"), texts = rows.map(({ text }) => text).join("\n");
		for (const once of ["First a picture of it:", "It is done.", "What is the **plan**?"])
			assert.equal(texts.split(once).length - 1, 1, once);
		// What a try that failed has said is no answer.
		assert.equal(texts.split("wrong").length - 1, 1);
		assert.match(texts, /cut off: no answerwrong/);
		assert.match(texts, /overloaded: it failed/);
		assert.deepEqual(rows.filter(({ name }) => / tool\b/.test(name)).map(({ summary }) => summary.replace(/\s+/g, " ").trim()).map((each) => each.replace(/ \d.*$/, "")),
		    ['⚙ shot {"of":"all"} ✓', "⚙ bad ✗ exit_status", '⚙ ship {"to":"all"} ⊘ blocked']);
		assert.match(rows.find(({ summary }) => /bad/.test(summary)).text, /no such thing/);
		// What was followed is what is loaded anew.
		const followed = (await talked()).map(withoutFolds);
		await page.reload();
		await page.waitForSelector("article.talk");
		await until("all is here", async () => (await page.$$("article.talk.empty")).length === 0 && await page.textContent(".problem") === "");
		const anew = (await talked()).map(withoutFolds);
		assert.deepEqual(followed, anew);
		// What a tool has answered, opened: a text and a picture.
		await page.click("article.talk.tool:has-text('shot') summary");
		await until("its text", async () => await page.textContent("article.talk.tool:has-text('shot') .tool-parts .output") === "here");
		await page.waitForSelector("article.talk.tool:has-text('shot') figure img[src^='blob:']");
		await other.close();
		relay.close();
	},

	// Agents whose answers stream at once, each in its own section.
	async sections(run, agents, first, held) {
		await logIn();
		await openTalk(run);
		await until("all have begun", async () => new RegExp(`\\b${agents} open`).test(await page.textContent(".figures")), 100_000);
		rmSync(first);
		await until("text that is written", async () => (await page.$$("article.talk.live")).length > 0);
		await page.waitForTimeout(700);
		rmSync(held);
		await until("the end", async () => (await page.textContent("main .state")).includes("success"), 100_000);
		await until("nothing is written", async () => (await page.$$("article.talk.live")).length === 0);
		const rows = (await talked()).filter(({ label }) => !/^The run/.test(label));
		assert.deepEqual(rows.map(({ name }) => name.split(" ").find((each) => ["call", "prompt", "answer", "end"].includes(each))),
		    Array.from({ length: Number(agents) }, () => ["call", "prompt", "answer", "end"]).flat());
		const numbers = rows.filter(({ name }) => / prompt/.test(name)).map(({ text }) => Number(/number (\d+)/.exec(text)[1]));
		assert.deepEqual(new Set(numbers).size, Number(agents));
		rows.forEach(({ label, name }, i) => {
			if (/ call/.test(name))
				assert.match(rows[i + 1].text, new RegExp(`number ${label.slice("Step s".length)}\\b`));
		});
		const followed = rows.map(withoutFolds);
		await page.reload();
		await page.waitForSelector("article.talk");
		const anew = (await talked()).filter(({ label }) => !/^The run/.test(label)).map(withoutFolds);
		assert.deepEqual(followed, anew);
	},

	// A long conversation: how long it takes until it is seen, and to be scrolled.
	async longTalk(run, most) {
		await logIn();
		const took = [], worked = [];
		const devtools = await context.newCDPSession(page);
		await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
		for (let i = 0; i < 3; i++) {
			await page.goto("about:blank");
			const begin = Date.now();
			await page.goto(`${url}/runs/${run}`);
			await page.waitForFunction(() => document.querySelector("article.talk .prose") !== null && document.querySelector("article.talk.empty") === null);
			took.push(Date.now() - begin);
			worked.push(Math.round((await devtools.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000));
		}
		const messages = await page.evaluate(() => Number(document.querySelector("article.talk").getAttribute("aria-setsize")));
		assert.ok(messages > 5000, `${messages} rows`);
		const { frames, rows, work } = await scrolled();
		console.log(`${messages} rows: opened in ${took.join(", ")} ms, of the processor ${worked.join(", ")} ms; frames: median ${part(frames, 0.5)} ms, 95 % ${part(frames, 0.95)} ms; processor ${work} ms a frame; rows ${rows}`);
		// Other programs do not change how much the page works for it.
		assert.ok(Math.min(...worked) < 1000, "opens slowly");
		assert.ok(Number(work) < Number(most), "slow");
		assert.ok(rows < 400, "too many rows");
		await page.keyboard.press("G");
		await until("the last row", async () => await page.evaluate(() => document.querySelector("article.current")?.getAttribute("aria-posinset") === document.querySelector("article.current")?.getAttribute("aria-setsize")));
	},

	async talkKeys(run) {
		await logIn();
		await openTalk(run, url, "#call=analyse%3A0%3A0");
		const press = (...keys) => keys.reduce((last, key) => last.then(() => page.keyboard.press(key)), Promise.resolve());
		const current = () => page.getAttribute("article.current", "data-seq");
		await until("the call", async () => await page.textContent(".pane.conversation h2") === "analyse:0:0");
		await press("g");
		await until("the first row", async () => (await page.$$("article.current")).length === 1);
		const first = Number(await current());
		await press("j", "j");
		await until("two rows on", async () => Number(await current()) > first + 1);
		await press("k");
		await press("e");
		await until("an error", async () => /error|held|bad|↻/.test(await page.$eval("article.current", (each) => each.innerHTML)));
		await press("e");
		await until("the call that was not allowed", async () => /⊘ blocked/.test(await page.textContent("article.current")));
		await press("o");
		await page.waitForSelector("article.current details[open]");
		await press("o");
		await page.waitForSelector("article.current details:not([open])");
		await press("d");
		await page.waitForSelector(".details-pane:visible");
		await until("what it is", async () => /tool\.call/.test(await page.textContent(".details-pane")));
		assert.equal(await page.isVisible(".pane.tree"), false);
		await press("d");
		await page.waitForSelector(".pane.tree:visible");
		// All is opened, folded, and as it was.
		const opens = () => page.$$eval("article.talk details", (all) => [...new Set(all.map((each) => each.open))].sort().join());
		const before = await opens();
		await press("O");
		await until("all is open", async () => await opens() === "true");
		await press("O");
		await until("all is folded", async () => await opens() === "false");
		await press("O");
		await until("as it was", async () => await opens() === before);
		const seq = Number(await current());
		await press("l");
		// The row is of a tool's call and its result, which is the error.
		await page.waitForSelector(`article.event.current[data-seq='${seq + 1}']`);
		await press("l");
		await page.waitForSelector("article.talk.current");
		await press("u");
		await until("the whole run", async () => await page.textContent(".pane.conversation h2") === "Whole run");
		await press("u");
		await page.waitForSelector("main.runs");
	},

	async talkAxe(run, commands) {
		const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"), found = [];
		await logIn();
		for (const colorScheme of ["light", "dark"])
			for (const width of [420, 1280, 2560]) {
				await page.emulateMedia({ colorScheme });
				await page.setViewportSize({ width, height: width === 2560 ? 1440 : 800 });
				for (const [name, more] of [[run, ""], [run, "#22&call=analyse%3A0%3A0"], [commands, ""]]) {
					await page.goto("about:blank");
					await page.goto(`${url}/runs/${name}${more}`);
					await page.waitForSelector(".item", { state: "attached" });
					await page.waitForTimeout(200);
					const panes = await page.$$eval(".pane", (all) => all.filter((each) => each.clientWidth > 0).map((each) => each.getAttribute("aria-label")));
					assert.equal(panes.length, width === 2560 ? 3 : width === 1280 ? 2 : 1, `${width}: ${panes}`);
					if (width === 420)
						await page.click(".tabs button:text-is('Conversation')");
					await page.waitForTimeout(150);
					for (const open of more !== "" ? [false, true] : [false]) {
						if (open)
							await page.evaluate(() => document.querySelectorAll(".conversation details:not([open]), .details-pane details:not([open])").forEach((each) => { each.open = true; }));
						await page.waitForTimeout(150);
						const wide = await page.$$eval(".conversation .scroll:not([hidden]), .details-pane .scroll, body", (all) => all.map((each) => each.scrollWidth - each.clientWidth));
						assert.ok(wide.every((more) => more <= 0), `${width}: cut off: ${wide}`);
						await page.evaluate(axe);
						const { violations } = await page.evaluate(() => window.axe.run());
						for (const { id, nodes } of violations)
							found.push(`${width} ${colorScheme} ${more}: ${id}: ${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary}`);
					}
					if (width === 420) {
						await page.click(".tabs button:text-is('Details')");
						assert.equal(await page.isVisible(".details-pane"), true);
					}
				}
				// Each bar is told from what is behind it.
				await page.evaluate(() => { location.hash = ""; });
				const faint = await page.evaluate(() => {
					const light = (text) => {
						const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
						paint.fillStyle = text;
						paint.fillRect(0, 0, 1, 1);
						const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map((each) => each / 255).map((each) => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
						return 0.2126 * r + 0.7152 * g + 0.0722 * b;
					};
					const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), faint = [];
					const style = getComputedStyle(document.documentElement), grounds = ["--ground", "--chosen"].map((name) => style.getPropertyValue(name).trim());
					const place = document.createElement("div");
					document.querySelector("main").append(place);
					for (const name of ["call is-done", "call is-failed", "call is-running", "call is-waiting", "call is-skipped", "turn", "tool", "whole"]) {
						place.className = "bar " + name;
						for (const ground of grounds) {
							const is = contrast(light(getComputedStyle(place).backgroundColor), light(ground));
							if (!(is >= 3))
								faint.push(`${name} on ${ground}: ${is.toFixed(2)}`);
						}
					}
					place.remove();
					return faint;
				});
				assert.deepEqual(faint, [], colorScheme);
			}
		assert.deepEqual(found, []);
		// What the signs mean.
		await page.click(".legend summary");
		assert.match(await page.textContent(".legend dl"), /✗failed.*‖waits.*an answer of a model/);
	},
};

let status = 0;
try {
	await scenarios[scenario](...given);
	assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /NaN/);
	assert.deepEqual(problems, []);
} catch (error) {
	console.error(error.stack, problems);
	if (process.env.AWF_TEST_SHOT)
		await page.screenshot({ path: process.env.AWF_TEST_SHOT });
	status = 1;
}
await context.close();
rmSync(profile, { recursive: true, force: true });
process.exit(status);
