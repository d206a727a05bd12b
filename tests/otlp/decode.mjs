// What a collector was sent, taken apart by the official definitions of OTLP: node decode.mjs <FILE,
// a request in each line, with the modules in $OTLP_MODULES. A member that they do not have, or of
// another type, is an error; so is an attribute that no semantic convention has. Prints each span:
// its id, its parent's, its name.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(process.env.OTLP_MODULES + '/')
const root = require('@opentelemetry/otlp-transformer/build/src/generated/root.js')
const conventions = require('@opentelemetry/semantic-conventions/incubating')
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest

const named = Object.entries(conventions).filter(([name]) => name.startsWith('ATTR_')).map(([, value]) => value)
// The conventions for generative AI, in a repository of their own since, have renamed one.
const names = new Set([...named, 'gen_ai.usage.cache_write.input_tokens'])
const operations = new Set(Object.entries(conventions)
	.filter(([name]) => name.startsWith('GEN_AI_OPERATION_NAME_VALUE_')).map(([, value]) => value))

// Ids are hexadecimal in the JSON of OTLP, base64 in that of protocol buffers.
const hex = /^(traceId|spanId|parentSpanId)$/
const plain = value => Array.isArray(value) ? value.map(plain)
	: value === null || typeof value !== 'object' ? value
	: Object.fromEntries(Object.entries(value).map(([key, member]) =>
		[key, hex.test(key) ? Buffer.from(member, 'hex').toString('base64') : plain(member)]))
// Without what is not there, or is as if it were not.
const told = value => Array.isArray(value) ? value.map(told)
	: value === null || typeof value !== 'object' ? value
	: Object.fromEntries(Object.entries(value).map(([key, member]) => [key, told(member)])
		.filter(([, member]) => !(Array.isArray(member) && member.length === 0)))

for await (const line of createInterface({ input: process.stdin })) {
	const sent = plain(JSON.parse(line))
	const fault = Request.verify(Request.fromObject(sent))
	assert.equal(fault, null)
	const bytes = Request.encode(Request.fromObject(sent)).finish()
	const taken = Request.toObject(Request.decode(bytes), { longs: String, bytes: String })
	assert.deepEqual(told(taken), told(sent))
	for (const { scopeSpans } of sent.resourceSpans) for (const { spans } of scopeSpans) for (const span of spans) {
		const attributes = Object.fromEntries(span.attributes.map(({ key, value }) => [key, value]))
		for (const name of Object.keys(attributes))
			assert(name.startsWith('awf.') || names.has(name), `${name} is in no convention`)
		const operation = attributes['gen_ai.operation.name']?.stringValue
		if (operation) assert(operations.has(operation), `${operation} is no operation`)
		const subject = { chat: 'gen_ai.request.model', invoke_agent: 'gen_ai.agent.name',
			execute_tool: 'gen_ai.tool.name', invoke_workflow: 'gen_ai.workflow.name' }[operation]
		if (operation)
			assert.equal(span.name, [operation, attributes[subject]?.stringValue].filter(Boolean).join(' '))
		if (span.status?.code === 2) assert(attributes['error.type'], `${span.name} has failed and has no error.type`)
		const id = text => text ? Buffer.from(text, 'base64').toString('hex') : '-'
		console.log(id(span.spanId), id(span.parentSpanId), span.name)
	}
}
