// The clients of the official SDKs lead themselves through workflows of awf-mcp, which they start:
// node client.mjs 1 | 2 | 2-modern, with the modules in $MCP_MODULES. 1 is @modelcontextprotocol/sdk;
// 2 is @modelcontextprotocol/client, as it speaks by default and by the revision 2026-07-28. What a
// tool answers by its outputSchema they check themselves. Says each part that held.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const kind = process.argv[2]
const require = createRequire(process.env.MCP_MODULES + '/')
const { Client } = require(kind === '1' ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client')
const { StdioClientTransport } = require(kind === '1' ? '@modelcontextprotocol/sdk/client/stdio.js'
	: '@modelcontextprotocol/client/stdio')
const { ElicitRequestSchema } = kind === '1' ? require('@modelcontextprotocol/sdk/types.js') : {}

async function open(name, { decide } = {}) {
	const client = new Client({ name, version: '1' }, {
		capabilities: decide ? { elicitation: {} } : {},
		...(kind === '2-modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}),
	})
	if (decide)
		client.setRequestHandler(kind === '1' ? ElicitRequestSchema : 'elicitation/create', decide)
	await client.connect(new StdioClientTransport({ command: 'awf-mcp', args: ['-w', 'flows'], env: process.env }))
	client.tool = (name, args = {}, options = {}) => kind === '1'
		? client.callTool({ name, arguments: args }, undefined, options)
		: client.callTool({ name, arguments: args }, options)
	// How a run stands.
	client.state = async (...words) => {
		const result = await client.tool(...words)
		assert(!result.isError, JSON.stringify(result))
		assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent)
		return result.structuredContent
	}
	// The error that a tool has answered with, and what else it says.
	client.fault = async (...words) => {
		const result = await client.tool(...words)
		assert.equal(result.isError, true)
		const { error, ...rest } = JSON.parse(result.content[0].text)
		return { ...rest, ...error }
	}
	return client
}
const runs = (...words) => execFileSync('awf-tail', words, { encoding: 'utf8' })
const status = run => JSON.parse(runs('--list', '--json').split('\n').find(line => line.includes(run))).status
const transcript = run => `${process.env.AWF_STORAGE}/transcripts/${run}.jsonl`
async function eventually(holds) {
	for (let i = 0; i < 500; i++, await new Promise(next => setTimeout(next, 20)))
		if (holds()) return
	assert.fail(`never came true: ${holds}`)
}
const held = what => console.log(what)

// ---- tools ----

const client = await open('tester')
assert.equal(client.getServerVersion().name, 'awf-mcp')
const { tools } = await client.listTools()
const names = ['list_workflows', 'inspect_workflow', 'start_workflow', 'continue_workflow', 'wait_workflow',
	'cancel_workflow', 'resume_session', 'rewind_workflow', 'checkpoint']
for (const name of names) {
	const tool = tools.find(one => one.name === name)
	assert(tool.description && tool.inputSchema.type === 'object' && tool.outputSchema.type === 'object', name)
}
assert.deepEqual(tools.map(one => one.name).filter(name => !names.includes(name)).sort(), ['slow', 'steps', 'two'])
const listed = await client.state('list_workflows')
assert(listed.workflows.some(one => one.description === 'Asks two things'))
await client.state('inspect_workflow', { workflow: 'two' })
held('tools')

// ---- a run, and what is refused ----

let state = await client.state('start_workflow', { workflow: 'two', input: 'cake' })
assert.deepEqual([state.status, state.isComplete, state.prompt], ['waiting', false, 'Is cake right?'])
const first = state.continueToken
const refused = await client.fault('continue_workflow', { continueToken: first, answer: { ok: 3 } })
assert.deepEqual([refused.code, refused.message, refused.prompt],
	['schema', '/ok: expected boolean, got integer', 'Is cake right?'])
assert.equal((await client.fault('continue_workflow', { continueToken: 'x', answer: 1 })).code, 'blocked')
assert.equal((await client.fault('continue_workflow', { answer: 1 })).code, 'invalid_input')
assert.equal((await client.fault('start_workflow', { workflow: 'none' })).code, 'usage')
await assert.rejects(client.tool('no_such_tool'), error => error.code === -32602)
state = await client.state('continue_workflow', { continueToken: refused.continueToken, answer: { ok: true } })
assert.equal(state.prompt, 'And true?')
const stale = await client.fault('continue_workflow', { continueToken: first, answer: { ok: false } })
assert.equal(stale.code, 'blocked')
assert.equal((await client.state('checkpoint', { run: state.run, notes: 'half' })).status, 'waiting')
const half = state.run

// Another session leads what it takes over alone.
const other = await open('other')
assert.equal((await other.fault('continue_workflow', { continueToken: state.continueToken, answer: 'x' })).code, 'blocked')
const taken = await other.state('resume_session', { run: half })
assert.deepEqual([taken.prompt, taken.notes.length], ['And true?', 1])
state = await other.state('continue_workflow', { continueToken: taken.continueToken, answer: 'fine' })
assert.deepEqual([state.status, state.isComplete, state.output], ['success', true, 'fine\n'])
await other.close()
held('a run')

// ---- back ----

state = await client.state('rewind_workflow', { run: half, gate: 'second:0:0' })
assert.equal(state.prompt, 'And true?')
assert.notEqual(state.run, half)
state = await client.state('continue_workflow', { continueToken: state.continueToken, answer: 'better' })
assert.deepEqual([state.status, state.output, status(half)], ['success', 'better\n', 'success'])
held('back')

// ---- resources ----

const { resources } = await client.listResources()
assert(resources.some(one => one.uri === `awf://runs/${state.run}`))
const { contents } = await client.readResource({ uri: `awf://runs/${state.run}` })
assert.equal(contents[0].text, readFileSync(transcript(state.run), 'utf8'))
await assert.rejects(client.readResource({ uri: 'awf://runs/none' }), error => typeof error.code === 'number')
held('resources')

// ---- progress, and cancelling ----

const told = []
state = await client.state('start_workflow', { workflow: 'steps' }, { onprogress: one => told.push(one) })
if (state.status === 'running')
	state = await client.state('wait_workflow', { run: state.run }, { onprogress: one => told.push(one) })
assert.equal(state.status, 'success')
assert(told.length >= 2, `told of progress ${told.length} times`)
for (let i = 1; i < told.length; i++) assert(told[i].progress > told[i - 1].progress)
held('progress')

const abort = new AbortController()
const slow = await client.state('start_workflow', { workflow: 'slow' })
assert.equal(slow.status, 'running')
setTimeout(() => abort.abort('enough'), 200)
await assert.rejects(client.tool('wait_workflow', { run: slow.run }, { signal: abort.signal }))
assert.equal(status(slow.run), 'running')
assert.equal((await client.state('cancel_workflow', { run: slow.run })).status, 'cancelled')
// One that was called as a tool ends with its call.
const before = runs('--list', '--json').split('\n').length
const call = new AbortController()
const called = client.tool('slow', { input: '' }, { signal: call.signal })
await eventually(() => runs('--list', '--json').split('\n').length > before)
call.abort('enough')
await assert.rejects(called)
await eventually(() => JSON.parse(runs('--list', '--json').split('\n')[0]).status === 'cancelled')
held('cancelled')

// ---- who uses the client decides ----

state = await client.state('start_workflow', { workflow: 'approved', input: 'draft' })
assert.equal(state.waitsFor[0].call, 'check:0:0')
await client.state('cancel_workflow', { run: state.run })
const asked = []
const asking = await open('asking', { decide: async request => {
	asked.push(request.params.message)
	return { action: 'accept', content: { approve: true } }
} })
state = await asking.state('start_workflow', { workflow: 'approved', input: 'draft' })
for (let i = 0; i < 5 && state.status !== 'success'; i++) state = await asking.state('wait_workflow', { run: state.run })
assert.equal(state.status, 'success')
assert(asked.length === 1 && asked[0].includes('draft'), JSON.stringify(asked))
await asking.close()
held('decided')

await client.close()
