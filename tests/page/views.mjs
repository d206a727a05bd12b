// Drives the views of awf-serve's page that show many runs: views.mjs SCENARIO URL CODE [ARGUMENT...], as
// drive.mjs drives that of one.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { startRelay } from "./relay.mjs";

const require = createRequire(import.meta.url);
const { chromium } = require("playwright-core");
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
	"--disable-background-networking", "--disable-component-update", "--disable-sync"];

const [scenario, url, code, ...given] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "awf-views-"));
const problems = [];
const context = await chromium.launchPersistentContext(profile, {
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS, viewport: { width: 1280, height: 800 },
});
const page = context.pages()[0] ?? await context.newPage();
page.setDefaultTimeout(20_000);
page.on("pageerror", (error) => problems.push(error.stack));
page.on("console", (message) => {
	if (/Content Security Policy|TrustedHTML/.test(message.text()))
		problems.push(message.text());
});

const until = async (what, check, ms = 20_000) => {
	for (const end = Date.now() + ms; ; await page.waitForTimeout(30)) {
		if (await check())
			return;
		assert.ok(Date.now() < end, "never came true: " + what);
	}
};
// On a machine that has other work, all takes as much longer.
const slower = () => Math.max(1, loadavg()[0] / availableParallelism());
const logIn = async (at = url, how = code) => {
	await page.goto(`${at}/#code=${how}`);
	await page.waitForSelector("main.runs tbody", { state: "attached" });
	await until("the code leaves the address", () => new URL(page.url()).hash === "");
};
const press = (key) => page.keyboard.press(key);
const texts = (selector) => page.$$eval(selector, (all) => all.map((each) => each.innerText.replace(/\s+/g, " ").trim()));

/* ---- the inbox ---- */

// The names of the runs in the list, and which one has the focus, or holds it.
const waiting = () => page.$$eval(".ask", (all) => all.filter((each) => !each.hidden).map((each) => each.querySelector("a").textContent.replace(/ [0-9a-f]{8}$/, "")));
const held = () => page.evaluate(() => document.activeElement.closest(".ask")?.querySelector("a").textContent.replace(/ [0-9a-f]{8}$/, ""));
const openInbox = async (at = url) => {
	await page.goto(at + "/inbox");
	await page.waitForSelector("main.inbox");
	await until("it is read", async () => await page.textContent("#none") !== "Reading…");
};
const ask = (name, text) => assert.equal(spawnSync("awf-run", ["--name", name, "-c", "awf-step --approve ok | awf-step go -r -- cat"], { input: text }).status, 75);

// What axe finds, and whether something is wider than the page, from narrow to wide, in light and dark.
async function looks(what) {
	const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"), found = [];
	for (const colorScheme of ["light", "dark"])
		for (const width of [420, 1280, 2560]) {
			await page.emulateMedia({ colorScheme });
			await page.setViewportSize({ width, height: 900 });
			await page.waitForTimeout(120);
			await page.evaluate(axe);
			const { violations } = await page.evaluate(() => window.axe.run());
			for (const { id, nodes } of violations)
				found.push(`${what} ${width} ${colorScheme}: ${id}: ${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary}`);
			const over = await page.evaluate(() => Math.max(document.documentElement.scrollWidth - innerWidth, document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth));
			assert.ok(over <= 0, `${what} ${width}: ${over} px too wide`);
		}
	assert.deepEqual(found, []);
	await page.setViewportSize({ width: 1280, height: 800 });
	await page.emulateMedia({ colorScheme: "light" });
}

const scenarios = {
	// Twenty, by one key each; what comes meanwhile moves nothing.
	async twenty(many) {
		await logIn();
		await openInbox();
		await until("all", async () => (await waiting()).length === Number(many));
		assert.deepEqual(await waiting(), Array.from({ length: Number(many) }, (_, i) => `r${i + 1}`));
		await until("the oldest has the focus", async () => await held() === "r1");
		assert.equal(await page.textContent(".title .state"), `${many} wait`);
		const begin = Date.now();
		for (let i = 1; i <= Number(many); i++) {
			await press("a");
			// At once: nothing is waited for.
			if (i < Number(many))
				assert.equal(await held(), `r${i + 1}`);
		}
		await until("none is left", async () => await page.textContent("#none") === "Nothing waits for a person.", 60_000 * slower());
		const took = Date.now() - begin;
		console.log(`${many} decisions took ${took} ms`);
		assert.ok(took < 60_000 * slower());
		assert.equal(await page.textContent(".problem"), "");
	},

	// Each key; a run that is decided about elsewhere; what has gone wrong; live.
	async keys() {
		await logIn();
		await press("i");
		await page.waitForSelector("main.inbox");
		await until("all are there", async () => (await waiting()).length === 6);
		assert.deepEqual(await waiting(), ["one", "two", "three", "tool", "job", "asks"]);
		await until("the first", async () => await held() === "one");
		await press("j");
		await press("ArrowDown");
		assert.equal(await held(), "three");
		await press("k");
		assert.equal(await held(), "two");
		assert.equal(await page.locator(".ask .body:visible").count(), 1);
		// Edited, and sent by Control and Enter; Escape leads back to the list.
		await press("e");
		assert.equal(await page.evaluate(() => document.activeElement.localName), "textarea");
		await page.keyboard.type("tea ");
		await press("Escape");
		assert.equal(await held(), "two");
		assert.equal(await page.evaluate(() => document.activeElement.localName), "li");
		await press("e");
		await press("Control+a");
		await page.keyboard.type("tea\na");
		assert.equal(await page.textContent(".ask[aria-current] button.main"), "Approve as edited");
		await press("Control+Enter");
		assert.equal(await held(), "three");
		await until("it has left", async () => (await waiting()).join() === "one,three,tool,job,asks");
		assert.match(await page.textContent(".title .note"), /^Approved: ok:0:0 of two /);
		// A younger one comes below; an older one, of a run that began before, above, without moving what is seen.
		await press("d");
		await page.keyboard.type("not now");
		const top = () => page.$eval(".ask[aria-current]", (each) => each.getBoundingClientRect().top);
		const before = await top();
		ask("seven", "late");
		await until("seven is there", async () => (await waiting()).includes("seven"));
		assert.equal((await waiting()).at(-1), "seven");
		assert.equal(await page.inputValue(".ask[aria-current] .decide input"), "not now");
		assert.ok(Math.abs(await top() - before) < 1);
		await press("Enter");
		assert.equal(await held(), "tool");
		await until("it is denied", async () => !(await waiting()).includes("three"));
		assert.match(await page.textContent(".title .note"), /^Denied: ok:0:0 of three /);
		// What a tool is to do, with what is not seen, and always.
		assert.match((await texts(".ask[aria-current] .tool-question"))[0], /Tool ship.*command cat \\u200bx/);
		await press("A");
		await until("it has left", async () => !(await waiting()).includes("tool"));
		// A result has to be written first.
		assert.equal(await held(), "job");
		await press("a");
		assert.equal(await page.evaluate(() => document.activeElement.localName), "textarea");
		await page.keyboard.type("done by hand");
		await press("Escape");
		await press("a");
		await until("it has left", async () => !(await waiting()).includes("job"));
		// A question.
		assert.equal(await held(), "asks");
		await press("e");
		await page.keyboard.type("yes");
		await press("Control+Enter");
		await until("it has left", async () => !(await waiting()).includes("asks"));
		// Somebody else decides what is being looked at: it stays until one goes on.
		assert.equal(await held(), "seven");
		await press("k");
		assert.equal(await held(), "one");
		await press("e");
		await page.keyboard.type("half a thought, ");
		assert.equal(spawnSync("awf-ctl", ["approve", "ok", "@one"]).status, 0);
		await until("it is said", async () => (await texts(".ask.gone .since")).join() === "decided elsewhere, or does not wait any more");
		assert.match(await page.inputValue(".ask[aria-current] textarea"), /half a thought/);
		await press("Escape");
		await press("a");
		assert.equal(await held(), "seven");
		await until("it is told", async () => /^ok:0:0 of one [0-9a-f]{8}: .*(approved|does not wait)/.test(await page.textContent(".problem")));
		assert.deepEqual(await waiting(), ["seven"]);
		// A filter; Enter opens the run at its call; back.
		await press("/");
		await page.keyboard.type("nothing like it");
		await until("none", async () => (await waiting()).length === 0);
		assert.equal(await page.textContent("#none"), "Nothing here matches.");
		await page.fill("#q", "sev");
		await until("one", async () => (await waiting()).join() === "seven");
		assert.match(page.url(), /#q=sev$/);
		await press("Escape");
		await press("j");
		await press("Enter");
		await page.waitForSelector(".item.call");
		assert.match(page.url(), /\/runs\/[0-9a-f-]{36}#(\d+&)?call=ok%3A0%3A0/);
		await page.goBack();
		await until("seven again", async () => (await waiting()).join() === "seven");
		// The keys are told.
		await press("?");
		assert.match((await texts("#keys dl"))[0], /a Approve.*d Deny.*x Stop the run/);
		await press("Escape");
		await looks("inbox");
	},

	// A decision that the network swallows is told, stays, and is made again once it is there.
	async lost() {
		const relay = await startRelay(new URL(url).port), at = `http://localhost:${relay.port}`;
		await logIn(at);
		await openInbox(at);
		await until("both", async () => (await waiting()).join() === "one,two");
		await until("the first", async () => await held() === "one");
		relay.cut();
		await until("it says so", async () => /lost/.test(await page.textContent("#link")));
		await press("e");
		await press("Control+a");
		await page.keyboard.type("tea");
		await press("Control+Enter");
		await until("it is told", async () => /^ok:0:0 of one/.test(await page.textContent(".problem")));
		assert.deepEqual(await waiting(), ["one", "two"]);
		assert.equal(await page.inputValue(".ask textarea"), "tea");
		// Meanwhile one comes.
		ask("three", "late");
		relay.mend();
		await until("it is there again", async () => await page.textContent("#link") === "", 40_000);
		await until("what has come is there", async () => (await waiting()).join() === "one,two,three");
		await press("k");
		assert.equal(await held(), "one");
		await press("a");
		await until("it went through", async () => (await waiting()).join() === "two,three");
		assert.equal(await held(), "two");
		relay.close();
	},

	// Who may only read sees what waits.
	async reader(token) {
		await page.goto(url);
		await page.fill("#token", token);
		await press("Enter");
		await page.waitForSelector("main.runs");
		await openInbox();
		await until("one", async () => (await waiting()).join() === "one");
		await press("a");
		await press("d");
		await page.waitForTimeout(300);
		assert.deepEqual(await waiting(), ["one"]);
		assert.equal(await page.locator(".ask button").count(), 0);
		assert.match(await page.textContent("main"), /may read, not decide/);
	},

	/* ---- the overview ---- */

	async overview() {
		await logIn();
		await press("v");
		await page.waitForSelector("main.overview");
		const names = () => texts("tbody tr:not(.behind) .name");
		await until("all are read", async () => /^Of \d+ runs/.test(await page.textContent(".overview > .note")));
		assert.deepEqual((await names()).sort(), ["<b>bad", "good"]);
		const row = (name) => page.locator("tbody tr", { has: page.locator(`.name:text-is("${name}")`) });
		assert.equal(await row("<b>bad").locator(".failed").innerText(), "100 % (2)");
		assert.match(await row("<b>bad").locator(".why").innerText(), /no <i>disk.*now$/s);
		assert.equal(await page.$("main b, main i"), null);
		// By a column, the other way round, and by keys.
		await page.click("th .sort:text-is('Workflow')");
		assert.deepEqual(await names(), ["<b>bad", "good"]);
		assert.equal(await page.getAttribute("th:has-text('Workflow')", "aria-sort"), "ascending");
		await press("r");
		assert.deepEqual(await names(), ["good", "<b>bad"]);
		assert.match(page.url(), /#by=workflow&since=7d&sort=name&turned=1$/);
		await page.reload();
		await until("the same", async () => (await names()).join() === "good,<b>bad");
		// What is behind a row, by keys alone.
		await page.locator("h1").click();
		await press("j");
		await press("j");
		await press("Enter");
		await until("its failures", async () => (await texts(".behind li")).length === 2);
		assert.match((await texts(".behind li"))[0], /^<b>bad [0-9a-f]{8} now, .*no <i>disk/);
		assert.equal(await page.getAttribute(".name[aria-expanded=true]", "aria-expanded"), "true");
		await page.click(".behind button:text-is('Slowest')");
		await until("the slowest", async () => (await texts(".behind li")).length === 2);
		await looks("overview");
		await page.click(".behind a:text-is('its failed runs')");
		await page.waitForSelector("main.runs tbody tr");
		assert.deepEqual(await texts("tbody th"), ["<b>bad", "<b>bad"]);
		assert.match(await page.textContent(".filters"), /Workflow <b>bad ✕/);
		await page.goBack();
		// To the event behind a failure.
		await page.waitForSelector("main.overview tbody tr");
		await page.click("tbody .why a");
		await page.waitForSelector("article.current");
		await until("why", async () => /no <i>disk/.test(await page.textContent("main")));
		await page.goBack();
		await page.waitForSelector("main.overview tbody tr");
		// Steps, tools, models; a filter.
		await press("b");
		await until("steps", async () => (await names()).sort().join() === "<b>bad a,good a,good b");
		await press("/");
		await page.keyboard.type("no <i>disk");
		await until("by its reason", async () => (await names()).join() === "<b>bad a");
		await page.fill("#q", "");
		await press("Escape");
		await press("b");
		await until("tools", async () => /Nothing has ended/.test(await page.textContent("#none")));
		await press("b");
		await until("models", async () => (await names()).join() === "scripted/m");
		await press("p");
		assert.match(page.url(), /since=30d/);
	},

	// A storage of many runs: the first figures are there within a second, and how far they reach is said.
	async many(runs) {
		await logIn();
		// The page itself is in the browser's cache, and the server has read nothing.
		await page.goto(url + "/inbox");
		await page.waitForSelector("main.inbox");
		const begin = Date.now();
		await page.goto(url + "/overview#by=step&since=30d");
		await page.waitForSelector("main.overview h1");
		const first = Date.now() - begin;
		await until("figures", async () => (await page.$$("tbody tr")).length > 0);
		const figures = Date.now() - begin;
		const said = await page.textContent(".overview > .note");
		await until("all", async () => new RegExp(`^Of ${Number(runs).toLocaleString("en")} runs`).test(await page.textContent(".overview > .note")), 120_000);
		console.log(`${runs} runs: painted after ${first} ms, first figures after ${figures} ms (${said}), all after ${Date.now() - begin} ms`);
		assert.ok(first < 1000 * slower(), `painted after ${first} ms`);
		assert.ok(figures < 2000 * slower(), `figures after ${figures} ms`);
		const counts = await texts("tbody .count");
		assert.equal(counts.length, 2);
		const again = Date.now();
		await page.reload();
		await until("all", async () => /^Of /.test(await page.textContent(".overview > .note")));
		console.log(`again after ${Date.now() - again} ms`);
		assert.deepEqual(await texts("tbody .count"), counts);
	},

	/* ---- lists ---- */

	async lists() {
		await logIn();
		const names = () => texts("tbody th");
		await until("all", async () => (await names()).length === 3);
		assert.deepEqual(await names(), ["beta", "alpha", "gamma"]);
		await page.click(".sort:text-is('Workflow')");
		await until("by name", async () => (await names()).join() === "alpha,beta,gamma");
		assert.match(page.url(), /#sort=name$/);
		await page.reload();
		await until("by name", async () => (await names()).join() === "alpha,beta,gamma");
		await page.click(".sort >> text=Workflow");
		await until("the other way round", async () => (await names()).join() === "gamma,beta,alpha");
		await page.click(".sort:text-is('Time')");
		await until("the longest first", async () => (await names())[0] === "beta");
		assert.equal(await page.getAttribute("th:has-text('Time')", "aria-sort"), "descending");
		await page.click(".sort:text-is('Calls')");
		await until("by calls", async () => (await names()).join() === "gamma,beta,alpha");
		await press("r");
		await until("the fewest first", async () => (await names()).join() === "alpha,beta,gamma" || (await names()).join() === "beta,alpha,gamma");
		await page.click(".sort:text-is('Started')");
		await until("as it was", async () => (await names()).join() === "beta,alpha,gamma");
		assert.equal(new URL(page.url()).hash, "");
		// Two that are chosen, by keys; the one that has started first is the first.
		await press("j");
		await press("x");
		assert.equal(await page.textContent("button.main:visible"), "Compare with another: choose it");
		await press("j");
		await press("j");
		await press("x");
		assert.equal(await page.textContent("button.main:visible"), "Compare the two");
		assert.equal(await page.locator(".pick input:checked").count(), 2);
		await looks("list");
		await press("c");
		await page.waitForSelector("main.compare thead a");
		assert.deepEqual((await texts(".compare thead a")).map((each) => each.split(" ")[0]), ["gamma", "beta"]);
		await page.goBack();
		await page.waitForSelector("main.runs tbody tr");
		// By the mouse: of three the first is let go.
		for (const i of [1, 2, 3])
			await page.click(`tbody tr:nth-child(${i}) .pick input`);
		assert.deepEqual(await page.$$eval(".pick input", (all) => all.map((each) => each.checked)), [false, true, true]);
	},

	async search() {
		await logIn();
		await press("f");
		await page.waitForSelector("main.search");
		await page.keyboard.type("qUICK <b>");
		await until("both", async () => (await texts(".found h2")).length === 2);
		assert.deepEqual((await texts(".found h2 a")).map((each) => each.split(" ")[0]), ["two", "one"]);
		assert.deepEqual([...new Set(await texts(".found mark"))], ["Quick <b>"]);
		assert.equal(await page.$("main b"), null);
		assert.match(await page.textContent(".search > .note"), /^Found in 2 runs\. 3 runs searched, all there are\.$/);
		assert.match(page.url(), /#q=qUICK\+%3Cb%3E$/);
		await looks("search");
		await press("Escape");
		await press("j");
		await press("j");
		const seq = await page.evaluate(() => document.activeElement.textContent);
		await press("Enter");
		await until("its event", async () => new URL(page.url()).pathname.startsWith("/runs/") && /^#\d+/.test(new URL(page.url()).hash));
		assert.equal(parseInt(new URL(page.url()).hash.slice(1), 10), Number(seq));
		await until("what was said", async () => /Quick <b>/.test(await page.textContent("article.current").catch(() => "")));
		await page.goBack();
		await until("again", async () => (await texts(".found h2")).length === 2);
		await page.fill("main.search label:nth-of-type(2) input", "on");
		await until("one", async () => (await texts(".found h2 a")).map((each) => each.split(" ")[0]).join() === "one");
		await page.fill("#q", "not to be found");
		await until("none", async () => /^Found in 0 runs/.test(await page.textContent(".search > .note")));
	},

	/* ---- again ---- */

	async again(run, waits, copied) {
		await logIn();
		await page.goto(`${url}/runs/${run}#call=say%3A0%3A0`);
		await page.waitForSelector(".item.call");
		await page.waitForTimeout(500);
		const command = () => page.textContent("dialog.again pre code");
		await page.click("text=Again…");
		await page.waitForSelector("dialog.again[open]");
		await until("resume", async () => /awf-run --resume [0-9a-f-]{36}$/.test(await command()));
		await page.click("dialog.again button:text-is('Fork')");
		// At the call that is looked at.
		await until("a fork at the call", async () => / --at say:0:0$/.test(await command()));
		await page.fill("dialog.again input", "say");
		await until("a fork", async () => / --at say$/.test(await command()));
		await page.fill("dialog.again .fields:visible textarea >> nth=0", "awf-step -n say -r -q -- echo \"it's <b>edited\"");
		await until("edited", async () => /--at say --name talk -n .*-c 'awf-step/.test(await command()));
		await page.fill("dialog.again .fields:visible textarea >> nth=1", "J. O'Neil");
		await until("an input", async () => /--input 'who=J. O'\\''Neil'/.test(await command()));
		writeFileSync(copied, await command());
		assert.equal(await page.isVisible("dialog.again button:text-is('Do it here')"), false);
		await looks("again");
		await page.click("dialog.again button:text-is('Run again')");
		await until("anew", async () => /^cd .* && .*awf-run --name talk -n/.test(await command()));
		await press("Escape");
		await until("closed", async () => await page.$("dialog.again") === null);
		// Where a workflow may be started, it is.
		await page.goto(`${url}/runs/${waits}`);
		await page.waitForSelector(".item.call");
		await page.click("text=Again…");
		await page.waitForSelector("dialog.again[open]");
		await page.click("dialog.again button:text-is('Run again')");
		await page.click("dialog.again button:text-is('Do it here')");
		await until("the new run", async () => /\/runs\/[0-9a-f-]{36}$/.test(page.url()) && !page.url().includes(waits));
		await page.waitForSelector(".item.call");
		await until("it ran", async () => /success/.test(await page.textContent("main .state")), 40_000);
	},

	// Pictures of all views, for who looks at them: into a directory.
	async pictures(into, ...paths) {
		await logIn();
		for (const [name, path, ready] of paths.map((each) => each.split("|")))
			for (const colorScheme of ["light", "dark"])
				for (const width of [420, 1280, 2560]) {
					await page.emulateMedia({ colorScheme });
					await page.setViewportSize({ width, height: width === 420 ? 900 : width === 1280 ? 800 : 1300 });
					await page.goto("about:blank");
					await page.goto(url + path);
					await page.waitForSelector(ready);
					await page.waitForTimeout(700);
					await page.screenshot({ path: join(into, `${name}-${width}-${colorScheme}.png`) });
				}
	},
};

try {
	assert.ok(scenario in scenarios, "no scenario " + scenario);
	await scenarios[scenario](...given);
	assert.deepEqual(problems, []);
} catch (error) {
	console.error(error.stack);
	console.error("items:", await page.$$eval(".ask", (all) => all.map((each) => [each.className, each.getAttribute("aria-current"), each.querySelector("a").textContent, each.querySelector("form [role=status]")?.textContent].join("|"))).catch(() => ""));
	console.error("the page:", page.url(), (await page.textContent("main").catch(() => "")).slice(0, 1500));
	process.exitCode = 1;
} finally {
	await context.close();
	if (existsSync(profile))
		rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
}
