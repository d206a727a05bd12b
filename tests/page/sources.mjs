// EventSource of Chromium follows a run whose connections are cut at any byte, whose server is
// killed and started again, and whose record has a line torn: sources.mjs RUN TRANSCRIPT FIFO TOKEN
// CUTS. What is written to FIFO is appended to the run, by append of tests/support; awf-serve, which
// is found by PATH, is started here. Each event must come once, in order, with its own bytes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, createWriteStream, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startRelay } from "./relay.mjs";

const require = createRequire(import.meta.url);
const { chromium } = require("playwright-core");
const [run, transcript, fifo, token, cutsWanted] = process.argv.slice(2);
const SOURCES = 5;                    // a browser has six connections to a server
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

// Numbers by chance that come again with the same seed (xorshift).
let state = seed | 1;
function below(n) {
	state ^= state << 13;
	state ^= state >>> 17;
	state ^= state << 5;
	return (state >>> 0) % n;
}

let server;
async function startServer(port) {
	for (;;) {
		server = spawn("awf-serve", ["--listen", `127.0.0.1:${port}`, "--host", "localhost"], { stdio: ["ignore", "pipe", "pipe"] });
		let said = "";
		server.stderr.on("data", (text) => { said += text; });
		const link = await new Promise((resolve) => {
			server.stdout.once("data", (text) => resolve(String(text)));
			server.once("exit", () => resolve(null));
		});
		if (link)
			return Number(new URL(link).port);
		assert.match(said, /in use/);
		await pause(50);
	}
}

async function killServer(port) {
	const gone = new Promise((resolve) => server.once("exit", resolve));
	server.kill("SIGKILL");
	await gone;
	await pause(below(50));
	await startServer(port);
}

const lines = () => readFileSync(transcript, "utf8").split("\n").slice(0, -1);
const input = createWriteStream(fifo);
let made = 0;
function append(many) {
	for (let i = 0; i < many; i++)
		input.write(`message.user - ${JSON.stringify({ role: "user", blocks: [{ type: "text", text: `${++made} ${"é\u2028x ".repeat(below(below(8) === 0 ? 3000 : 40))}` }] })}\n`);
}
async function appended() {
	for (const end = Date.now() + 20_000; lines().filter((line) => line.includes('"type":"message.user"')).length < made; await pause(5))
		assert.ok(Date.now() < end, "events were not appended");
}

const port = await startServer(0);
const relay = await startRelay(port, `Authorization: Bearer ${token}`);
const profile = mkdtempSync(join(tmpdir(), "awf-page-"));
const context = await chromium.launchPersistentContext(profile, {
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});
const page = context.pages()[0] ?? await context.newPage();
let status = 0;
try {
	append(20);
	// The page itself may connect to where it came from.
	await page.goto(`http://localhost:${relay.port}/`);
	await page.evaluate(([path, many]) => {
		window.sources = Array.from({ length: many }, () => {
			const source = new EventSource(path), one = { source, got: [], cuts: 0, named: [] };
			source.onmessage = ({ data, lastEventId }) => one.got.push([data, lastEventId]);
			source.onerror = () => { one.cuts++; };
			for (const name of ["end", "reset"])
				source.addEventListener(name, ({ data }) => one.named.push([name, data]));
			return one;
		});
	}, [`/api/runs/${run}/events/stream`, SOURCES]);
	const cutsOf = async () => (await page.evaluate(() => window.sources.map(({ source, cuts }) =>
		source.readyState === EventSource.CLOSED ? null : cuts))).reduce((sum, cuts) => {
		assert.ok(cuts !== null, "a source has given up");
		return sum + cuts;
	}, 0);
	// Mostly within what is new, now and then within much of it.
	relay.limit(() => below(2 ** (1 + below(17))));
	let cuts = 0;
	for (let round = 0; cuts < Number(cutsWanted); round++) {
		append(below(12));
		if (round % 5 === 2)
			await killServer(port);
		if (round % 7 === 3) {
			// What a writer leaves that is killed: the next one moves it away.
			await appended();
			appendFileSync(transcript, lines().at(-1).slice(0, 20 + below(60)));
			await pause(below(40));
			append(1 + below(3));
		}
		relay.end();
		await pause(400 + below(400));
		cuts = await cutsOf();
	}
	relay.limit(() => Infinity);
	relay.end();
	append(5);
	await appended();
	input.end();
	await page.waitForFunction(() => window.sources.every(({ named, source }) => named.length > 0 && source.readyState === EventSource.CLOSED),
	    null, { timeout: 60_000 });
	const record = lines(), all = await page.evaluate(() => window.sources.map(({ got, named }) => ({ got, named })));
	for (const { got, named } of all) {
		got.forEach(([data, id], i) => {
			assert.equal(data, record[i], `event ${i + 1}`);
			assert.match(id, new RegExp(`^${i + 1}-[0-9a-f]{8}$`));
		});
		assert.equal(got.length, record.length);
		assert.deepEqual(named.map(([name]) => name), ["end"]);
	}
	console.log(`${cuts} connections cut, ${record.length} events to ${SOURCES} sources`);
} catch (error) {
	console.error(error.stack, `SEED=${seed}`);
	status = 1;
}
server.kill();
relay.close();
await context.close();
rmSync(profile, { recursive: true, force: true });
process.exit(status);
