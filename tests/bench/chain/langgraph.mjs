// The chain with LangGraph, one graph of it all, with checkpoints in SQLite:
// langgraph.mjs COUNT BASE-URL FILE
import { Annotation, END, REMOVE_ALL_MESSAGES, START, StateGraph, addMessages } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { HumanMessage, RemoveMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

const [count, base, file] = process.argv.slice(2);
const echo = tool(async ({ text }) => text,
	{ name: 'echo', description: 'Returns its text.', schema: z.object({ text: z.string() }) });
const model = new ChatOpenAI({ model: 'mock', apiKey: 'x', maxRetries: 0, useResponsesApi: false,
	configuration: { baseURL: `${base}/v1` } }).bindTools([echo]);
const after = state => {
	if (state.messages.at(-1).tool_calls?.length)
		return 'tools';
	return state.step < Number(count) ? 'next' : END;
};
const graph = new StateGraph(Annotation.Root({ messages: Annotation({ reducer: addMessages, default: () => [] }), step: Annotation() }))
	.addNode('agent', async state => ({ messages: [await model.invoke(state.messages)] }))
	.addNode('tools', new ToolNode([echo]))
	.addNode('next', state => ({ step: state.step + 1,
		messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), new HumanMessage(state.messages.at(-1).text)] }))
	.addEdge(START, 'agent')
	.addConditionalEdges('agent', after, ['tools', 'next', END])
	.addEdge('tools', 'agent')
	.addEdge('next', 'agent')
	.compile({ checkpointer: SqliteSaver.fromConnString(file) });
const end = await graph.invoke({ step: 1, messages: [new HumanMessage('start')] },
	{ recursionLimit: 4 * Number(count) + 10, configurable: { thread_id: 'chain' } });
console.log(end.messages.at(-1).text);
