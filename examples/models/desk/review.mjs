// Agents of the OpenAI Agents SDK: a reviewer holds the letter against the finding, and hands
// one with a fault over to an editor. It reads {"finding", "letter"} and prints the letter.
import { readFileSync } from 'node:fs';
import { Agent, run, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';

setTracingDisabled(true); // it would go to OpenAI; the transcript has all of it

const { finding, letter } = JSON.parse(readFileSync(0));
const words = tool({
  name: 'count_words',
  description: 'How many words a text has.',
  parameters: z.object({ text: z.string() }),
  execute: ({ text }) => String(text.split(/\s+/).filter(Boolean).length),
});
const editor = new Agent({
  name: 'editor', model: 'gpt-5-mini',
  instructions: 'Mend the letter. Answer with the letter alone, of at most 60 words: count them.',
  tools: [words],
});
const reviewer = new Agent({
  name: 'reviewer', model: 'gpt-5-mini',
  instructions: 'If the letter says anything that the finding does not, hand over to the editor. ' +
    'Else answer with the letter as it is.',
  handoffs: [editor],
});
const { finalOutput } = await run(reviewer, `Finding: ${finding}\n\nLetter:\n${letter}`);
console.log(finalOutput);
