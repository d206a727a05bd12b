// A LangGraph agent: reads a mail of a customer, looks up the order and the rules, and finds
// what is due. It prints {"mail", "finding"}.
import { readFileSync } from 'node:fs';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

const order = tool(({ number }) => JSON.stringify(JSON.parse(readFileSync('orders.json'))[number] ?? null),
  { name: 'order', description: 'The order of this number.', schema: z.object({ number: z.string() }) });
const rules = tool(() => readFileSync('rules.txt', 'utf8'),
  { name: 'rules', description: 'What customers are entitled to.', schema: z.object({}) });

const tools = [order, rules];
const model = new ChatOpenAI({ model: 'gpt-5-mini' }).bindTools(tools);
const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', ({ messages }) => messages.at(-1).tool_calls?.length ? 'tools' : END)
  .addEdge('tools', 'agent')
  .compile();

const mail = readFileSync(0, 'utf8');
const { messages } = await graph.invoke({ messages: [
  new SystemMessage('Find out what is due to this customer. One sentence, with the sum.'),
  new HumanMessage(mail),
] });
console.log(JSON.stringify({ mail, finding: messages.at(-1).text }));
