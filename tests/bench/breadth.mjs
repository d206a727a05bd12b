// As many calls at once, each with a line of the input: breadth.mjs AT-ONCE BASE-URL
import { streamText } from 'ai';
import { createOpenAI } from '@ai-sdk/openai';
import { readFileSync } from 'node:fs';

const [atOnce, baseURL] = process.argv.slice(2);
const model = createOpenAI({ baseURL, apiKey: 'k' }).chat('m');
const lines = readFileSync(0, 'utf8').trim().split('\n');
async function work() {
	for (let prompt; (prompt = lines.pop()) !== undefined;) {
		let text = '';
		for await (const delta of streamText({ model, prompt }).textStream)
			text += delta;
		console.log(text);
	}
}
await Promise.all(Array.from({ length: Number(atOnce) }, work));
