// The chain with the Vercel AI SDK: ai-sdk.mjs COUNT BASE-URL
import { generateText, stepCountIs, tool } from 'ai';
import { createOpenAI } from '@ai-sdk/openai';
import { z } from 'zod';

const [count, base] = process.argv.slice(2);
const model = createOpenAI({ baseURL: `${base}/v1`, apiKey: 'x' }).chat('mock');
const echo = tool({ description: 'Returns its text.', inputSchema: z.object({ text: z.string() }),
	execute: async ({ text }) => text });
let text = 'start';
for (let i = 0; i < Number(count); i++)
	({ text } = await generateText({ model, tools: { echo }, stopWhen: stepCountIs(4), prompt: text, maxRetries: 0 }));
console.log(text);
