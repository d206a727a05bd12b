-- What awf-ship keeps in PostgreSQL, awf-sql(7). Tables stay as they are; views are made anew by
-- each version. The month is that in which the run began: so one that is unique by month, which
-- a partitioned table demands, is unique.

CREATE TABLE IF NOT EXISTS runs_head (
	run_id uuid PRIMARY KEY,
	month date NOT NULL,
	origin text NOT NULL,
	seq bigint NOT NULL,
	digest text NOT NULL,
	name text,
	status text,
	started timestamptz,
	started_seq bigint,
	ended_seq bigint,
	last_seen timestamptz NOT NULL,
	pruned_through bigint NOT NULL DEFAULT 0
);
-- Also made where the tables are of a version of AWF that had no such index: postgresql_main.c.
CREATE INDEX IF NOT EXISTS runs_head_started ON runs_head (started);

CREATE TABLE IF NOT EXISTS agent_run_events (
	month date NOT NULL,
	run_id uuid NOT NULL,
	seq bigint NOT NULL,
	event_id uuid NOT NULL,
	parent_event_id uuid,
	call uuid,
	type text NOT NULL,
	path text NOT NULL,
	ts timestamptz NOT NULL,
	cost_usd numeric,
	line text NOT NULL,
	event jsonb NOT NULL,
	UNIQUE (run_id, seq, month),
	UNIQUE (run_id, event_id, month)
) PARTITION BY RANGE (month);
CREATE INDEX IF NOT EXISTS agent_run_events_type ON agent_run_events (type, run_id);
CREATE INDEX IF NOT EXISTS agent_run_events_end ON agent_run_events (run_id, call, seq)
	WHERE type IN ('step.completed', 'step.call_workflow.completed');
CREATE INDEX IF NOT EXISTS agent_run_events_result ON agent_run_events (run_id, parent_event_id)
	WHERE type = 'tool.result';

CREATE TABLE IF NOT EXISTS agent_run_blobs (
	run_id uuid NOT NULL,
	sha256 text NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (run_id, sha256)
);

DROP VIEW IF EXISTS cost_by_day;
DROP VIEW IF EXISTS runs;
DROP VIEW IF EXISTS steps;
DROP VIEW IF EXISTS llm_calls;
DROP VIEW IF EXISTS tool_calls;
DROP VIEW IF EXISTS changed_files;

-- What is no number where one should be, as another program may have it, is none.
CREATE OR REPLACE FUNCTION awf_number(value jsonb) RETURNS numeric IMMUTABLE LANGUAGE sql AS
	$$ SELECT CASE jsonb_typeof(value) WHEN 'number' THEN value::numeric END $$;
CREATE OR REPLACE FUNCTION awf_array(value jsonb) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
	$$ SELECT CASE jsonb_typeof(value) WHEN 'array' THEN value ELSE '[]'::jsonb END $$;
-- JSON null stands for what is absent.
CREATE OR REPLACE FUNCTION awf_there(value jsonb) RETURNS boolean IMMUTABLE LANGUAGE sql AS
	$$ SELECT value IS NOT NULL AND jsonb_typeof(value) <> 'null' $$;

CREATE VIEW llm_calls AS
SELECT m.run_id, m.seq, m.call, m.path, m.ts,
	coalesce(m.event #>> '{payload,provider}', s.event #>> '{payload,provider}') AS provider,
	coalesce(m.event #>> '{payload,model}', s.event #>> '{payload,model}') AS model,
	awf_number(m.event #> '{payload,turn}') AS turn,
	m.event #>> '{payload,stop_reason}' AS stop_reason,
	awf_number(m.event #> '{payload,usage,input_tokens}') AS input_tokens,
	awf_number(m.event #> '{payload,usage,output_tokens}') AS output_tokens,
	awf_number(m.event #> '{payload,usage,cache_read_tokens}') AS cache_read_tokens,
	awf_number(m.event #> '{payload,usage,cache_write_tokens}') AS cache_write_tokens,
	awf_number(m.event #> '{payload,usage,reasoning_tokens}') AS reasoning_tokens,
	m.cost_usd,
	awf_number(m.event #> '{payload,duration_ms}') AS duration_ms,
	coalesce(m.event #> '{payload,partial}' = 'true', false) AS partial,
	m.event #> '{payload,source}' AS source,
	(SELECT string_agg(b ->> 'text', E'\n')
		FROM jsonb_array_elements(awf_array(m.event #> '{payload,blocks}')) b
		WHERE b ->> 'type' = 'text') AS text
FROM agent_run_events m
LEFT JOIN agent_run_events s ON s.month = m.month AND s.run_id = m.run_id AND s.event_id = m.call
WHERE m.type = 'message.assistant'
	AND NOT (coalesce(m.event #> '{payload,partial}' = 'true', false)
		AND NOT awf_there(m.event #> '{payload,usage}'));

CREATE VIEW tool_calls AS
SELECT c.run_id, c.seq, c.call, c.path,
	c.event #>> '{payload,name}' AS name,
	c.event #>> '{payload,call_id}' AS call_id,
	c.ts AS started, r.ts AS ended,
	coalesce(awf_number(r.event #> '{payload,duration_ms}'),
		round(extract(epoch FROM r.ts - c.ts) * 1000)) AS duration_ms,
	CASE WHEN r.seq IS NULL THEN 'open'
		WHEN awf_there(r.event #> '{payload,error}') THEN 'failed' ELSE 'done' END AS outcome,
	r.event #>> '{payload,error,code}' AS error,
	r.event #>> '{payload,error,message}' AS message,
	c.event #>> '{payload,effects}' AS effects,
	c.event #>> '{payload,fidelity}' AS fidelity,
	c.event #>> '{payload,input}' AS input,
	r.event #>> '{payload,output}' AS output
FROM agent_run_events c
LEFT JOIN agent_run_events r ON r.month = c.month AND r.run_id = c.run_id
	AND r.parent_event_id = c.event_id AND r.type = 'tool.result'
WHERE c.type = 'tool.call';

CREATE VIEW steps AS
SELECT s.run_id, s.seq, s.event_id AS call,
	s.event #>> '{payload,call}' AS id,
	s.event #>> '{payload,name}' AS name,
	s.event #>> '{payload,kind}' AS kind,
	s.path,
	awf_number(s.event -> 'iteration') AS iteration,
	awf_number(s.event #> '{payload,attempt}') AS attempt,
	s.event #>> '{payload,agent}' AS agent,
	s.event #>> '{payload,provider}' AS provider,
	s.event #>> '{payload,model}' AS model,
	s.event ->> 'child_run_id' AS child_run_id,
	s.ts AS started, e.ts AS ended,
	awf_number(e.event #> '{payload,duration_ms}') AS duration_ms,
	CASE WHEN e.seq IS NULL THEN 'open'
		WHEN e.event #>> '{payload,error,code}' = 'waiting' THEN 'waiting'
		WHEN e.event #>> '{payload,error,code}' = 'downstream_closed' THEN 'closed'
		WHEN awf_there(e.event #> '{payload,error}') THEN 'failed'
		WHEN awf_there(e.event #> '{payload,skipped}') THEN 'skipped'
		ELSE 'done' END AS outcome,
	e.event #>> '{payload,error,code}' AS error,
	e.event #>> '{payload,error,message}' AS message,
	jsonb_array_length(awf_array(e.event #> '{payload,retries}')) AS retries,
	e.event #>> '{payload,approval,asks}' AS asks
FROM agent_run_events s
LEFT JOIN LATERAL (
	SELECT x.seq, x.ts, x.event FROM agent_run_events x
	WHERE x.month = s.month AND x.run_id = s.run_id AND x.call = s.event_id
		AND x.type IN ('step.completed', 'step.call_workflow.completed')
	ORDER BY x.seq DESC LIMIT 1) e ON true
WHERE s.type IN ('step.started', 'step.call_workflow.started');

CREATE VIEW runs AS
SELECT h.run_id, h.name,
	s.event #>> '{payload,kind}' AS kind,
	h.status,
	awf_number(s.event #> '{payload,attempt}') AS attempt,
	h.origin,
	s.event ->> 'parent_run_id' AS parent_run_id,
	h.started, e.ts AS ended,
	awf_number(e.event #> '{payload,duration_ms}') AS duration_ms,
	e.event #>> '{payload,error,message}' AS message,
	h.seq - h.pruned_through AS events,
	u.input_tokens, u.output_tokens, u.cost_usd,
	h.last_seen
FROM runs_head h
LEFT JOIN agent_run_events s ON s.month = h.month AND s.run_id = h.run_id AND s.seq = h.started_seq
LEFT JOIN agent_run_events e ON e.month = h.month AND e.run_id = h.run_id AND e.seq = h.ended_seq
LEFT JOIN LATERAL (
	SELECT sum(awf_number(m.event #> '{payload,usage,input_tokens}'))
			FILTER (WHERE NOT awf_there(m.event #> '{payload,source}')) AS input_tokens,
		sum(awf_number(m.event #> '{payload,usage,output_tokens}'))
			FILTER (WHERE NOT awf_there(m.event #> '{payload,source}')) AS output_tokens,
		sum(m.cost_usd) AS cost_usd
	FROM agent_run_events m
	WHERE m.month = h.month AND m.run_id = h.run_id AND m.type = 'message.assistant') u ON true
WHERE h.seq > h.pruned_through;

CREATE VIEW cost_by_day AS
SELECT to_char(ts AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, provider, model, count(*) AS calls,
	sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(cost_usd) AS cost_usd
FROM llm_calls
WHERE source IS NULL
GROUP BY 1, 2, 3;

CREATE VIEW changed_files AS
SELECT e.run_id, e.seq, e.call, e.path, e.ts,
	c ->> 'path' AS file,
	coalesce(c ->> 'change', 'changed') AS change,
	awf_number(c -> 'added') AS added,
	awf_number(c -> 'removed') AS removed
FROM agent_run_events e
CROSS JOIN LATERAL jsonb_array_elements(awf_array(e.event #> '{payload,changed}')) c
WHERE e.type IN ('step.completed', 'tool.result') AND jsonb_typeof(c) = 'object';
