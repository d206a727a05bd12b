// An agent of the Vercel AI SDK: writes the letter to the customer, word for word as it comes.
// It reads {"mail", "finding"} and prints {"finding", "letter"}.
import { readFileSync } from 'node:fs';
import { anthropic } from '@ai-sdk/anthropic';
import { stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const { mail, finding } = JSON.parse(readFileSync(0));
const stock = tool({
  description: 'How many of an article are in stock.',
  inputSchema: z.object({ article: z.string() }),
  execute: ({ article }) => JSON.parse(readFileSync('stock.json'))[article] ?? 0,
});
const answer = streamText({
  model: anthropic('claude-haiku-4-5'),
  system: 'You answer customers. Be friendly and brief, and promise nothing that is not in the finding.',
  prompt: `Finding: ${finding}\n\nMail:\n${mail}`,
  tools: { stock },
  stopWhen: stepCountIs(5),
  onError: () => {}, // thrown below
});
let letter = '';
for await (const part of answer.fullStream) {
  if (part.type === 'error') throw part.error;
  if (part.type === 'text-delta') letter += part.text;
}
console.log(JSON.stringify({ finding, letter }));
