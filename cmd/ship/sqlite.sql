-- What awf-ship keeps in SQLite, awf-sql(7). Tables stay as they are; views are made anew by each
-- version.

CREATE TABLE IF NOT EXISTS runs_head (
	run_id text PRIMARY KEY,
	origin text NOT NULL,
	seq integer NOT NULL,
	digest text NOT NULL,
	name text,
	status text,
	started text,
	started_seq integer,
	ended_seq integer,
	last_seen text NOT NULL,
	pruned_through integer NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Also made where the tables are of a version of AWF that had no such index: sqlite_main.c.
CREATE INDEX IF NOT EXISTS runs_head_started ON runs_head (started);

CREATE TABLE IF NOT EXISTS agent_run_events (
	id integer PRIMARY KEY,
	run_id text NOT NULL,
	seq integer NOT NULL,
	event_id text NOT NULL,
	parent_event_id text,
	call text,
	type text NOT NULL,
	path text NOT NULL,
	ts text NOT NULL,
	cost_usd real,
	line text NOT NULL,
	cleaned text,
	event text GENERATED ALWAYS AS (coalesce(cleaned, line)) VIRTUAL,
	UNIQUE (run_id, seq),
	UNIQUE (run_id, event_id)
);
CREATE INDEX IF NOT EXISTS agent_run_events_type ON agent_run_events (type, run_id);
CREATE INDEX IF NOT EXISTS agent_run_events_end ON agent_run_events (run_id, call, seq)
	WHERE type IN ('step.completed', 'step.call_workflow.completed');
CREATE INDEX IF NOT EXISTS agent_run_events_result ON agent_run_events (run_id, parent_event_id)
	WHERE type = 'tool.result';

CREATE TABLE IF NOT EXISTS agent_run_blobs (
	run_id text NOT NULL,
	sha256 text NOT NULL,
	data blob NOT NULL,
	PRIMARY KEY (run_id, sha256)
);

CREATE VIRTUAL TABLE IF NOT EXISTS agent_run_texts USING fts5 (text);

DROP VIEW IF EXISTS cost_by_day;
DROP VIEW IF EXISTS runs;
DROP VIEW IF EXISTS steps;
DROP VIEW IF EXISTS llm_calls;
DROP VIEW IF EXISTS tool_calls;
DROP VIEW IF EXISTS changed_files;

-- json_extract() fails where a value is no JSON, as a string in an array is none by itself. sum()
-- of integers fails above 2^63, which some program may say that it has used; total() is a real.

CREATE VIEW llm_calls AS
SELECT m.run_id, m.seq, m.call, m.path, m.ts,
	coalesce(json_extract(m.event, '$.payload.provider'), json_extract(s.event, '$.payload.provider')) AS provider,
	coalesce(json_extract(m.event, '$.payload.model'), json_extract(s.event, '$.payload.model')) AS model,
	json_extract(m.event, '$.payload.turn') AS turn,
	json_extract(m.event, '$.payload.stop_reason') AS stop_reason,
	json_extract(m.event, '$.payload.usage.input_tokens') AS input_tokens,
	json_extract(m.event, '$.payload.usage.output_tokens') AS output_tokens,
	json_extract(m.event, '$.payload.usage.cache_read_tokens') AS cache_read_tokens,
	json_extract(m.event, '$.payload.usage.cache_write_tokens') AS cache_write_tokens,
	json_extract(m.event, '$.payload.usage.reasoning_tokens') AS reasoning_tokens,
	m.cost_usd,
	json_extract(m.event, '$.payload.duration_ms') AS duration_ms,
	coalesce(json_extract(m.event, '$.payload.partial'), 0) AS partial,
	json_extract(m.event, '$.payload.source') AS source,
	(SELECT group_concat(json_extract(b.value, '$.text'), char(10))
		FROM json_each(m.event, '$.payload.blocks') b
		WHERE CASE b.type WHEN 'object' THEN json_extract(b.value, '$.type') END = 'text') AS text
FROM agent_run_events m
LEFT JOIN agent_run_events s ON s.run_id = m.run_id AND s.event_id = m.call
WHERE m.type = 'message.assistant'
	AND NOT (coalesce(json_extract(m.event, '$.payload.partial'), 0)
		AND json_extract(m.event, '$.payload.usage') IS NULL);

CREATE VIEW tool_calls AS
SELECT c.run_id, c.seq, c.call, c.path,
	json_extract(c.event, '$.payload.name') AS name,
	json_extract(c.event, '$.payload.call_id') AS call_id,
	c.ts AS started, r.ts AS ended,
	coalesce(json_extract(r.event, '$.payload.duration_ms'),
		round((julianday(r.ts) - julianday(c.ts)) * 86400000)) AS duration_ms,
	CASE WHEN r.seq IS NULL THEN 'open'
		WHEN json_extract(r.event, '$.payload.error') IS NULL THEN 'done' ELSE 'failed' END AS outcome,
	json_extract(r.event, '$.payload.error.code') AS error,
	json_extract(r.event, '$.payload.error.message') AS message,
	json_extract(c.event, '$.payload.effects') AS effects,
	json_extract(c.event, '$.payload.fidelity') AS fidelity,
	json_extract(c.event, '$.payload.input') AS input,
	json_extract(r.event, '$.payload.output') AS output
FROM agent_run_events c
LEFT JOIN agent_run_events r ON r.run_id = c.run_id AND r.parent_event_id = c.event_id
	AND r.type = 'tool.result'
WHERE c.type = 'tool.call';

CREATE VIEW steps AS
SELECT s.run_id, s.seq, s.event_id AS call,
	json_extract(s.event, '$.payload.call') AS id,
	json_extract(s.event, '$.payload.name') AS name,
	json_extract(s.event, '$.payload.kind') AS kind,
	s.path,
	json_extract(s.event, '$.iteration') AS iteration,
	json_extract(s.event, '$.payload.attempt') AS attempt,
	json_extract(s.event, '$.payload.agent') AS agent,
	json_extract(s.event, '$.payload.provider') AS provider,
	json_extract(s.event, '$.payload.model') AS model,
	json_extract(s.event, '$.child_run_id') AS child_run_id,
	s.ts AS started, e.ts AS ended,
	json_extract(e.event, '$.payload.duration_ms') AS duration_ms,
	CASE WHEN e.seq IS NULL THEN 'open'
		WHEN json_extract(e.event, '$.payload.error.code') = 'waiting' THEN 'waiting'
		WHEN json_extract(e.event, '$.payload.error.code') = 'downstream_closed' THEN 'closed'
		WHEN json_extract(e.event, '$.payload.error') IS NOT NULL THEN 'failed'
		WHEN json_extract(e.event, '$.payload.skipped') IS NOT NULL THEN 'skipped'
		ELSE 'done' END AS outcome,
	json_extract(e.event, '$.payload.error.code') AS error,
	json_extract(e.event, '$.payload.error.message') AS message,
	coalesce(json_array_length(e.event, '$.payload.retries'), 0) AS retries,
	json_extract(e.event, '$.payload.approval.asks') AS asks
FROM agent_run_events s
LEFT JOIN agent_run_events e ON e.run_id = s.run_id AND e.seq = (
	SELECT max(x.seq) FROM agent_run_events x
	WHERE x.run_id = s.run_id AND x.call = s.event_id
		AND x.type IN ('step.completed', 'step.call_workflow.completed'))
WHERE s.type IN ('step.started', 'step.call_workflow.started');

CREATE VIEW runs AS
SELECT h.run_id, h.name,
	json_extract(s.event, '$.payload.kind') AS kind,
	h.status,
	json_extract(s.event, '$.payload.attempt') AS attempt,
	h.origin,
	json_extract(s.event, '$.parent_run_id') AS parent_run_id,
	h.started, e.ts AS ended,
	json_extract(e.event, '$.payload.duration_ms') AS duration_ms,
	json_extract(e.event, '$.payload.error.message') AS message,
	h.seq - h.pruned_through AS events,
	(SELECT CASE WHEN count(json_extract(m.event, '$.payload.usage.input_tokens')) > 0
			THEN CAST(total(json_extract(m.event, '$.payload.usage.input_tokens')) AS INTEGER) END
		FROM agent_run_events m
		WHERE m.run_id = h.run_id AND m.type = 'message.assistant'
			AND json_extract(m.event, '$.payload.source') IS NULL) AS input_tokens,
	(SELECT CASE WHEN count(json_extract(m.event, '$.payload.usage.output_tokens')) > 0
			THEN CAST(total(json_extract(m.event, '$.payload.usage.output_tokens')) AS INTEGER) END
		FROM agent_run_events m
		WHERE m.run_id = h.run_id AND m.type = 'message.assistant'
			AND json_extract(m.event, '$.payload.source') IS NULL) AS output_tokens,
	(SELECT sum(m.cost_usd) FROM agent_run_events m
		WHERE m.run_id = h.run_id AND m.type = 'message.assistant') AS cost_usd,
	h.last_seen
FROM runs_head h
LEFT JOIN agent_run_events s ON s.run_id = h.run_id AND s.seq = h.started_seq
LEFT JOIN agent_run_events e ON e.run_id = h.run_id AND e.seq = h.ended_seq
WHERE h.seq > h.pruned_through;

CREATE VIEW cost_by_day AS
SELECT substr(ts, 1, 10) AS day, provider, model, count(*) AS calls,
	CASE WHEN count(input_tokens) > 0 THEN CAST(total(input_tokens) AS INTEGER) END AS input_tokens,
	CASE WHEN count(output_tokens) > 0 THEN CAST(total(output_tokens) AS INTEGER) END AS output_tokens,
	sum(cost_usd) AS cost_usd
FROM llm_calls
WHERE source IS NULL
GROUP BY 1, 2, 3;

CREATE VIEW changed_files AS
SELECT e.run_id, e.seq, e.call, e.path, e.ts,
	json_extract(c.value, '$.path') AS file,
	coalesce(json_extract(c.value, '$.change'), 'changed') AS change,
	json_extract(c.value, '$.added') AS added,
	json_extract(c.value, '$.removed') AS removed
FROM agent_run_events e, json_each(e.event, '$.payload.changed') c
WHERE e.type IN ('step.completed', 'tool.result') AND c.type = 'object';
