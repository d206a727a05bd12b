// The chain with the OpenAI Agents SDK, without its tracing: openai-agents.mjs COUNT BASE-URL
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';

const [count, base] = process.argv.slice(2);
setTracingDisabled(true);
const echo = tool({ name: 'echo', description: 'Returns its text.', parameters: z.object({ text: z.string() }),
	execute: async ({ text }) => text });
const agent = new Agent({ name: 'chain', model: 'mock', tools: [echo] });
const runner = new Runner({ tracingDisabled: true,
	modelProvider: new OpenAIProvider({ baseURL: `${base}/v1`, apiKey: 'x', useResponses: false }) });
let text = 'start';
for (let i = 0; i < Number(count); i++)
	text = (await runner.run(agent, text)).finalOutput;
console.log(text);
