/* The table of event shapes: each shape comes after those that it uses. */
#include "transcript/event_table.h"

#include "transcript/event_keys.h"
#include "transcript/form.h"
#include "transcript/seal.h"

#define REQUIRED MEMBER_REQUIRED
#define NULLABLE MEMBER_NULLABLE
#define LIST MEMBER_LIST
#define NOT_EMPTY MEMBER_NOT_EMPTY
#define DATA MEMBER_DATA
#define FIXED MEMBER_FIXED
#define OF_STEP MEMBER_FIXED_OF_STEP

#define MEMBER(key, kind, flags) { key, sizeof key - 1, KIND_##kind, flags, NULL, NULL, 0 }
#define SHAPED(key, kind, flags, shape) \
	{ key, sizeof key - 1, KIND_##kind, flags, &(shape), NULL, 0 }
#define WORD(key, flags, ...) \
	{ key, sizeof key - 1, KIND_WORD, flags, NULL, (const char *const[]){ __VA_ARGS__, NULL }, 0 }
/* A member whose value form_check() stores in struct form. */
#define KEPT(key, kind, flags, into) \
	{ key, sizeof key - 1, KIND_##kind, flags, NULL, NULL, offsetof(struct form, into) }
#define SHAPED_KEPT(key, kind, flags, shape, into) \
	{ key, sizeof key - 1, KIND_##kind, flags, &(shape), NULL, offsetof(struct form, into) }

/* form_check() marks the members that it has met in 64 bits, so a shape has at most 64 members. */
#define COUNT(shape) \
	(sizeof (shape) / sizeof *(shape) + \
	0 * sizeof (char[sizeof (shape) / sizeof *(shape) <= 64 ? 1 : -1]))
#define SHAPE(shape, id, name, about, ordered) \
	{ id, name, about, shape, COUNT(shape), ordered }

static const struct event_member error_members[] = {
	MEMBER(KEY_CODE, TEXT, REQUIRED | FIXED),
	MEMBER(KEY_MESSAGE, TEXT, REQUIRED | NULLABLE),
};
static const struct event_shape error_shape = SHAPE(error_members, "error", "an error",
    "Why something failed; the codes stand in awf(7).", false);

static const struct event_member link_members[] = {
	MEMBER(KEY_RUN_ID, UUID, REQUIRED),
	MEMBER(KEY_EVENT_ID, UUID, REQUIRED),
};
/* A link to an event of another run; a link to an event of this run is only its id. */
static const struct event_shape link_shape = SHAPE(link_members, "event", "a link",
    "An event of this run, or of another.", false);

static const struct event_member condition_members[] = {
	MEMBER(KEY_WHEN, TEXT, NULLABLE),
	MEMBER(KEY_WHILE, TEXT, NULLABLE),
	MEMBER(KEY_UNTIL, TEXT, NULLABLE),
	MEMBER(KEY_OUTCOME, BOOL, NULLABLE),
};
static const struct event_shape condition_shape = SHAPE(condition_members, "condition",
    "a condition", "What was asked, and the answer.", false);

static const struct event_member loop_members[] = {
	MEMBER(KEY_WHILE, TEXT, NULLABLE),
	MEMBER(KEY_UNTIL, TEXT, NULLABLE),
	MEMBER(KEY_MAX, POSITIVE, REQUIRED),
};
static const struct event_shape loop_shape = SHAPE(loop_members, "loop", "a loop",
    "What a loop goes by.", false);

static const struct event_member stream_members[] = {
	MEMBER(KEY_SHA256, DIGEST, REQUIRED),
	MEMBER(KEY_BYTES, COUNT, REQUIRED),
};
static const struct event_member child_stdin_members[] = {
	MEMBER(KEY_SHA256, DIGEST, REQUIRED),
	MEMBER(KEY_BYTES, COUNT, REQUIRED),
	MEMBER(KEY_DATA_SHA256, DIGEST, NULLABLE),
};
static const struct event_shape stream_shape = SHAPE(stream_members, "stream", "a stream",
    "What was kept of standard input, or printed.", false);
static const struct event_shape child_stdin_shape = SHAPE(child_stdin_members, "child_stdin", "a child run's input",
    "What a child run was given.", false);

static const struct event_member far_end_members[] = {
	MEMBER(KEY_HOST, TEXT, REQUIRED),
	MEMBER(KEY_USER_MS, COUNT, NULLABLE),
	MEMBER(KEY_SYSTEM_MS, COUNT, NULLABLE),
	MEMBER(KEY_MAX_RSS_KIB, COUNT, NULLABLE),
};
static const struct event_shape far_end_shape = SHAPE(far_end_members, "far_end", "a far end",
    "Where a launcher has run a command, and what that has used, if its end was told.", false);

static const struct event_member seal_members[] = {
	WORD(KEY_ALGORITHM, REQUIRED, SEAL_ALGORITHM),
	KEPT(KEY_PUBLIC_KEY, DIGEST, REQUIRED, public_key),
	KEPT(KEY_SIGNATURE, SIGNATURE, REQUIRED, signature),
};
static const struct event_shape seal_shape = SHAPE(seal_members, "seal", "a seal",
    "A signature over the line with an empty signature.", false);

static const struct event_member approval_members[] = {
	KEPT(KEY_ASKS, TEXT, FIXED, asks),
	MEMBER(KEY_FORM, TEXT, NULLABLE | FIXED),
	MEMBER(KEY_TIMEOUT_MS, COUNT, NULLABLE),
	MEMBER(KEY_DEADLINE, TIME, NULLABLE | FIXED),
	MEMBER(KEY_DECISION, TEXT, NULLABLE | FIXED),
	MEMBER(KEY_BY, TEXT, NULLABLE),
	MEMBER(KEY_REASON, TEXT, NULLABLE),
	KEPT(KEY_DECIDES, UUID, FIXED, decides),
	MEMBER(KEY_TASK, TEXT, NULLABLE | FIXED),
	MEMBER(KEY_TRY, POSITIVE, NULLABLE | FIXED),
};
static const struct event_shape approval_shape = SHAPE(approval_members, "approval",
    "an approval",
    "What a call waits for (asks), or who decided, and what; decides: about which end.", false);

static const struct event_member pending_members[] = {
	KEPT(KEY_TASK, TEXT, REQUIRED | FIXED, task),
	MEMBER(KEY_FORM, TEXT, NULLABLE | FIXED),
};
static const struct event_shape pending_shape = SHAPE(pending_members, "pending",
    "a task", "How work is known that a command may hand on (AWF_TASK), and the form of its result.",
    false);

static const struct event_member block_members[] = {
	MEMBER(KEY_TYPE, TEXT, REQUIRED | FIXED),
	MEMBER(KEY_TEXT, TEXT, NULLABLE),
	MEMBER(KEY_THINKING, TEXT, NULLABLE),
	MEMBER(KEY_SIGNATURE, TEXT, NULLABLE),
	MEMBER(KEY_BOUND, DIGEST, NULLABLE),
	MEMBER(KEY_TOOL_ID, TEXT, NULLABLE | FIXED),
	MEMBER(KEY_TOOL_NAME, TEXT, NULLABLE),
	MEMBER(KEY_TOOL_INPUT, ANY, DATA),
	MEMBER(KEY_TOOL_CONTENT, ANY, DATA),
	MEMBER(KEY_IS_ERROR, BOOL, NULLABLE),
	MEMBER(KEY_COMMAND, ANY, 0),
	MEMBER(KEY_MEDIA_TYPE, TEXT, NULLABLE),
	MEMBER(KEY_NAME, TEXT, NULLABLE),
	MEMBER(KEY_BYTES, COUNT, NULLABLE),
	MEMBER(KEY_SHA256, DIGEST, NULLABLE),
	MEMBER(KEY_DATA, TEXT, NULLABLE),
	MEMBER(KEY_API, TEXT, NULLABLE),
	MEMBER(KEY_FIELD, TEXT, NULLABLE),
	MEMBER(KEY_COMMENTARY, BOOL, NULLABLE),
	MEMBER(KEY_NOTE, TEXT, NULLABLE),
	MEMBER(KEY_RAW, ANY, 0),
	WORD(KEY_FIDELITY, NULLABLE | FIXED, "router", "agent_emitted"),
};
static const struct event_shape block_shape = SHAPE(block_members, "block", "a block",
    "A part of a message.", false);

static const struct event_member file_members[] = {
	MEMBER(KEY_PATH, TEXT, REQUIRED),
	MEMBER(KEY_CONFIG, TEXT, NULLABLE),
	MEMBER(KEY_SHA256, DIGEST, NULLABLE),
	MEMBER(KEY_BYTES, COUNT, NULLABLE),
	MEMBER(KEY_KEPT, BOOL, NULLABLE),
	MEMBER(KEY_EXECUTABLE, BOOL, NULLABLE),
	MEMBER(KEY_PROGRAM, BOOL, NULLABLE),
};
/* A file; older versions wrote only its path. */
static const struct event_shape file_shape = SHAPE(file_members, "file", "a file",
    "What a run or step is made of; a string is a path alone.", false);

static const struct event_member phase_members[] = {
	MEMBER(KEY_NUMBER, POSITIVE, REQUIRED),
	MEMBER(KEY_OF, POSITIVE, REQUIRED),
	MEMBER(KEY_TOKEN, TEXT, NULLABLE),
};
static const struct event_shape phase_shape = SHAPE(phase_members, "phase", "a phase",
    "Which phase of an agent the call is; its start tells the token.", false);

static const struct event_member question_members[] = {
	MEMBER(KEY_PROMPT, TEXT, REQUIRED | NULLABLE),
	MEMBER(KEY_SCHEMA, ANY, DATA),
	MEMBER(KEY_ACCEPT, TEXT, NULLABLE),
};
static const struct event_shape question_shape = SHAPE(question_members, "question",
    "a question", "What a call asks somebody outside, and what an answer is to be.", false);

static const struct event_member offered_members[] = {
	MEMBER(KEY_NAME, TEXT, NULLABLE),
	MEMBER(KEY_DESCRIPTION, TEXT, NULLABLE),
	MEMBER(KEY_INPUT_SCHEMA, ANY, DATA),
};
static const struct event_shape offered_shape = SHAPE(offered_members, "offered_tool",
    "a tool", "A tool that a model may call.", false);

static const struct event_member start_members[] = {
	MEMBER(KEY_KEY, TEXT, REQUIRED | FIXED),
	MEMBER(KEY_VARIABLES, TEXT, REQUIRED | FIXED),
	MEMBER(KEY_IGNORED, TEXT, NULLABLE | LIST),
};
static const struct event_shape start_shape = SHAPE(start_members, "start",
    "what an attempt was started with", "Digests of the variables that an attempt was started with.", false);

static const struct event_member options_members[] = {
	MEMBER(KEY_MAX_COST, TEXT, NULLABLE),
	MEMBER(KEY_TIMEOUT_MS, COUNT, NULLABLE),
	MEMBER(KEY_ON_COMPLETE, TEXT, NULLABLE),
	MEMBER(KEY_ON_FAILURE, TEXT, NULLABLE),
};
static const struct event_shape options_shape = SHAPE(options_members, "options", "options of an attempt",
    "Options of awf-run that hold for the next attempt, too, if nobody starts it.", false);

static const struct event_member run_started_members[] = {
	MEMBER(KEY_NAME, TEXT, REQUIRED),
	MEMBER(KEY_KIND, TEXT, REQUIRED | FIXED),
	MEMBER(KEY_ARGV, ARRAY, NULLABLE),
	MEMBER(KEY_CWD, TEXT, NULLABLE),
	MEMBER(KEY_WORKSPACE, TEXT, NULLABLE),
	MEMBER(KEY_SNAPSHOT, BOOL, NULLABLE),
	MEMBER(KEY_NO_INPUT, BOOL, NULLABLE),
	MEMBER(KEY_DIRECTORY, TEXT, NULLABLE),
	MEMBER(KEY_STORAGE, TEXT, NULLABLE),
	MEMBER(KEY_INPUTS, OBJECT, NULLABLE | DATA),
	MEMBER(KEY_ENV, OBJECT, NULLABLE | DATA),
	SHAPED(KEY_START, OBJECT, NULLABLE, start_shape),
	MEMBER(KEY_WORKFLOW_SHA256, DIGEST, NULLABLE),
	SHAPED_KEPT(KEY_FILES, TEXT, NULLABLE | LIST, file_shape, files),
	MEMBER(KEY_AWF_VERSION, TEXT, REQUIRED | FIXED),
	MEMBER(KEY_FORMAT, POSITIVE, REQUIRED | FIXED),
	KEPT(KEY_ATTEMPT, POSITIVE, REQUIRED | FIXED, attempt),
	WORD(KEY_RESUME, NULLABLE | FIXED, RESUME_AUTO),
	SHAPED(KEY_OPTIONS, OBJECT, NULLABLE, options_shape),
	MEMBER(KEY_FORKED_FROM, UUID, NULLABLE | FIXED),
	MEMBER(KEY_FORKED_AT, TEXT, NULLABLE),
	MEMBER(KEY_TRACEPARENT, TEXT, NULLABLE | FIXED),
	MEMBER(KEY_MASKED, BOOL, NULLABLE | FIXED),
	MEMBER(KEY_VOCABULARY, TEXT, NULLABLE | FIXED),
};
static const struct event_shape run_started_shape = SHAPE(run_started_members, "run.started",
    "its payload", "An attempt begins.", false);

static const struct event_member run_completed_members[] = {
	WORD(KEY_STATUS, REQUIRED | FIXED, "success", "failed", "cancelled", "timeout", "waiting"),
	MEMBER(KEY_EXIT_CODE, INTEGER, NULLABLE | FIXED),
	SHAPED(KEY_ERROR, OBJECT, NULLABLE, error_shape),
	MEMBER(KEY_DURATION_MS, COUNT, NULLABLE),
	SHAPED(KEY_STDIN, OBJECT, NULLABLE, stream_shape),
	SHAPED_KEPT(KEY_STDOUT, OBJECT, NULLABLE, stream_shape, output),
	MEMBER(KEY_USAGE, OBJECT, NULLABLE),
	MEMBER(KEY_INTERRUPTED, BOOL, NULLABLE | FIXED),
	SHAPED(KEY_SEAL, OBJECT, NULLABLE | FIXED, seal_shape),
};
static const struct event_shape run_completed_shape = SHAPE(run_completed_members,
    "run.completed", "its payload", "An attempt ends.", false);

#define CALL_MEMBERS \
	MEMBER(KEY_NAME, TEXT, REQUIRED | OF_STEP), \
	MEMBER(KEY_KIND, TEXT, REQUIRED | FIXED), \
	KEPT(KEY_CALL, TEXT, REQUIRED | FIXED, call)

static const struct event_member endpoint_members[] = {
	MEMBER(KEY_NAME, TEXT, REQUIRED),
	MEMBER(KEY_MODEL, TEXT, NULLABLE),
	MEMBER(KEY_PROTOCOL, TEXT, NULLABLE),
	MEMBER(KEY_ORIGIN, TEXT, NULLABLE),
	MEMBER(KEY_SHA256, DIGEST, NULLABLE),
};
static const struct event_shape endpoint_shape = SHAPE(endpoint_members, "endpoint", "an endpoint",
    "The server of a model, awf-endpoint(5).", false);

static const struct event_member session_members[] = {
	MEMBER(KEY_NAME, TEXT, REQUIRED),
	MEMBER(KEY_RUN_ID, UUID, NULLABLE),
	MEMBER(KEY_EVENT_ID, UUID, NULLABLE),
	MEMBER(KEY_SHA256, DIGEST, NULLABLE),
	MEMBER(KEY_CONVERSATION, TEXT, NULLABLE),
};
static const struct event_shape session_shape = SHAPE(session_members, "session", "a session",
    "The session of an agent's call, and the end of the call with whose conversation it goes on.", false);

static const struct event_member step_started_members[] = {
	CALL_MEMBERS,
	MEMBER(KEY_ATTEMPT, POSITIVE, NULLABLE | FIXED),
	MEMBER(KEY_INPUT_SHA256, DIGEST, NULLABLE),
	MEMBER(KEY_INPUT, ANY, DATA),
	MEMBER(KEY_NO_NEWLINE, BOOL, NULLABLE),
	MEMBER(KEY_ATTACHMENTS, ARRAY, NULLABLE),
	MEMBER(KEY_DEFINITION_SHA256, DIGEST, NULLABLE),
	MEMBER(KEY_WORKFLOW_SHA256, DIGEST, NULLABLE),
	SHAPED_KEPT(KEY_FILES, TEXT, NULLABLE | LIST, file_shape, files),
	MEMBER(KEY_INPUTS, OBJECT, NULLABLE | DATA),
	MEMBER(KEY_DIRECTORY, TEXT, NULLABLE),
	MEMBER(KEY_VARIABLES, OBJECT, NULLABLE | DATA),
	MEMBER(KEY_EFFECTS, TEXT, NULLABLE | FIXED),
	MEMBER(KEY_IDEMPOTENT, BOOL, NULLABLE),
	SHAPED(KEY_BLOCKS, OBJECT, NULLABLE | LIST, block_shape),
	MEMBER(KEY_AGENT, ANY, 0),
	MEMBER(KEY_PROVIDER, TEXT, NULLABLE),
	MEMBER(KEY_MODEL, TEXT, NULLABLE),
	SHAPED(KEY_ENDPOINT, OBJECT, NULLABLE, endpoint_shape),
	SHAPED(KEY_ENDPOINTS, OBJECT, NULLABLE | LIST, endpoint_shape),
	MEMBER(KEY_TOOL, TEXT, NULLABLE),
	SHAPED(KEY_SESSION, OBJECT, NULLABLE, session_shape),
	SHAPED(KEY_PHASE, OBJECT, NULLABLE, phase_shape),
	MEMBER(KEY_STRATEGY, TEXT, NULLABLE),
	MEMBER(KEY_TIMEOUT_MS, COUNT, NULLABLE),
	MEMBER(KEY_DETACHED, BOOL, NULLABLE),
	MEMBER(KEY_NO_TRANSCRIPT, BOOL, NULLABLE),
	SHAPED(KEY_STDIN, OBJECT, NULLABLE, child_stdin_shape),
	SHAPED(KEY_CONDITION, OBJECT, NULLABLE, condition_shape),
	SHAPED(KEY_LOOP, OBJECT, NULLABLE, loop_shape),
	SHAPED(KEY_QUESTION, OBJECT, NULLABLE, question_shape),
	MEMBER(KEY_REQUIRE, ARRAY, NULLABLE),
	WORD(KEY_SANDBOX, NULLABLE, "workspace", "read-only"),
	MEMBER(KEY_NETWORK, BOOL, NULLABLE),
	MEMBER(KEY_VIA, TEXT, NULLABLE),
	MEMBER(KEY_MODE, TEXT, NULLABLE | FIXED),
	MEMBER(KEY_TRY, COUNT, NULLABLE | FIXED),
	SHAPED(KEY_PENDING, OBJECT, NULLABLE, pending_shape),
	MEMBER(KEY_TOOL_CALL, UUID, NULLABLE | FIXED),
	SHAPED(KEY_CLAIMS, UUID, NULLABLE | FIXED, link_shape),
	MEMBER(KEY_MADE_AGAIN, BOOL, NULLABLE | FIXED),
};
static const struct event_shape step_started_shape = SHAPE(step_started_members,
    "step.started", "its payload", "A call begins.", false);

static const struct event_member step_completed_members[] = {
	CALL_MEMBERS,
	MEMBER(KEY_AGENT, TEXT, NULLABLE),
	MEMBER(KEY_RESULT, ANY, DATA),
	MEMBER(KEY_NO_NEWLINE, ANY, 0),
	SHAPED(KEY_ERROR, OBJECT, NULLABLE, error_shape),
	MEMBER(KEY_DURATION_MS, COUNT, NULLABLE),
	MEMBER(KEY_EXIT_CODE, INTEGER, NULLABLE | FIXED),
	SHAPED(KEY_FAR_END, OBJECT, NULLABLE, far_end_shape),
	MEMBER(KEY_RETRIES, ARRAY, NULLABLE),
	MEMBER(KEY_STDERR, TEXT, NULLABLE),
	MEMBER(KEY_STDERR_BYTES, COUNT, NULLABLE),
	MEMBER(KEY_STDOUT_BYTES, COUNT, NULLABLE),
	SHAPED(KEY_STDIN, OBJECT, NULLABLE, child_stdin_shape),
	MEMBER(KEY_CHANGED, ARRAY, NULLABLE),
	MEMBER(KEY_CHANGED_MORE, COUNT, NULLABLE),
	MEMBER(KEY_COMMIT, TEXT, NULLABLE),
	MEMBER(KEY_SKIPPED, ANY, FIXED),
	MEMBER(KEY_COMPARED_WITH, UUID, NULLABLE | FIXED),
	MEMBER(KEY_FAIL_FAST, BOOL, NULLABLE),
	SHAPED(KEY_PHASE, OBJECT, NULLABLE, phase_shape),
	MEMBER(KEY_PROGRAM_CHANGED, BOOL, NULLABLE | FIXED),
	SHAPED(KEY_REUSED_FROM, UUID, NULLABLE | FIXED, link_shape),
	MEMBER(KEY_COUNT, COUNT, NULLABLE),
	MEMBER(KEY_PARTS, COUNT, NULLABLE | FIXED),
	MEMBER(KEY_WINNER, COUNT, NULLABLE),
	SHAPED(KEY_CONDITION, OBJECT, NULLABLE, condition_shape),
	WORD(KEY_OUTCOME, NULLABLE, "success", "failure"),
	MEMBER(KEY_REASON, TEXT, NULLABLE),
	SHAPED(KEY_APPROVAL, OBJECT, NULLABLE, approval_shape),
	SHAPED(KEY_SEAL, OBJECT, NULLABLE | FIXED, seal_shape),
};
static const struct event_shape step_completed_shape = SHAPE(step_completed_members,
    "step.completed", "its payload", "A call ends.", false);

static const struct event_member step_waiting_members[] = {
	CALL_MEMBERS,
	SHAPED(KEY_APPROVAL, OBJECT, REQUIRED, approval_shape),
};
static const struct event_shape step_waiting_shape = SHAPE(step_waiting_members,
    "step.waiting", "its payload", "A call waits, and its process with it.", false);

/* Members of events that other programs report; a foreign event begins with its source. */
#define EMITTED_MEMBERS \
	WORD(KEY_FIDELITY, NULLABLE | FIXED, "router", "agent_emitted"), \
	MEMBER(KEY_SOURCE, OBJECT, NULLABLE | DATA), \
	MEMBER(KEY_DATA, ANY, DATA), \
	MEMBER(KEY_NAMES, OBJECT, NULLABLE | DATA)

static const struct event_member request_members[] = {
	MEMBER(KEY_METHOD, TEXT, REQUIRED),
	MEMBER(KEY_PATH, TEXT, REQUIRED),
	MEMBER(KEY_BODY, TEXT, NULLABLE),
	WORD(KEY_ENCODING, NULLABLE, "base64"),
};
static const struct event_shape request_shape = SHAPE(request_members, "request",
    "a request", "What a program asked a model API, byte for byte (awf-step --models).", false);

static const struct event_member response_members[] = {
	MEMBER(KEY_STATUS, INTEGER, REQUIRED | FIXED),
	MEMBER(KEY_HEADERS, ARRAY, NULLABLE),
	MEMBER(KEY_BODY, TEXT, NULLABLE),
	WORD(KEY_ENCODING, NULLABLE, "base64"),
	MEMBER(KEY_BROKEN, BOOL, NULLABLE),
};
static const struct event_shape response_shape = SHAPE(response_members, "response",
    "a response", "What the program got, byte for byte.", false);

static const struct event_member told_members[] = {
	MEMBER(KEY_ID, UUID, REQUIRED),
	MEMBER(KEY_BY, TEXT, REQUIRED),
	MEMBER(KEY_AT, TIME, NULLABLE),
};
static const struct event_shape told_shape = SHAPE(told_members, "told", "what was told",
    "Who has told the agent this while it worked, and when.", false);

static const struct event_member compact_members[] = {
	MEMBER(KEY_REPLACED, COUNT, REQUIRED),
	MEMBER(KEY_KEPT, COUNT, REQUIRED),
};
static const struct event_shape compact_shape = SHAPE(compact_members, "compact", "a compaction",
    "How many messages of the conversation a summary has replaced, and how many are kept after it.", false);

static const struct event_member message_user_members[] = {
	WORD(KEY_ROLE, REQUIRED | FIXED, "user"),
	SHAPED(KEY_BLOCKS, OBJECT, REQUIRED | LIST, block_shape),
	MEMBER(KEY_SYSTEM_PROMPT, TEXT, NULLABLE),
	SHAPED(KEY_TOOLS, OBJECT, NULLABLE | LIST, offered_shape),
	MEMBER(KEY_MCP, ARRAY, NULLABLE),
	MEMBER(KEY_PARAMS, OBJECT, NULLABLE | DATA),
	MEMBER(KEY_TURN, COUNT, NULLABLE),
	MEMBER(KEY_AGENT, TEXT, NULLABLE),
	MEMBER(KEY_HANDOFF, OBJECT, NULLABLE),
	MEMBER(KEY_BEFORE_TURN, OBJECT, NULLABLE),
	SHAPED(KEY_TOLD, OBJECT, NULLABLE, told_shape),
	SHAPED(KEY_COMPACT, OBJECT, NULLABLE, compact_shape),
	MEMBER(KEY_PROVIDER, TEXT, NULLABLE),
	MEMBER(KEY_MODEL, TEXT, NULLABLE),
	MEMBER(KEY_REQUEST_SHA256, DIGEST, NULLABLE),
	SHAPED(KEY_REQUEST, OBJECT, NULLABLE, request_shape),
	EMITTED_MEMBERS,
};
static const struct event_shape message_user_shape = SHAPE(message_user_members,
    "message.user", "its payload", "What a model is given.", false);

static const struct event_member message_assistant_members[] = {
	WORD(KEY_ROLE, REQUIRED | FIXED, "assistant"),
	MEMBER(KEY_AGENT, TEXT, NULLABLE),
	SHAPED(KEY_BLOCKS, OBJECT, REQUIRED | LIST, block_shape),
	MEMBER(KEY_MODEL, TEXT, NULLABLE),
	MEMBER(KEY_STOP_REASON, TEXT, NULLABLE | FIXED),
	MEMBER(KEY_EXPLANATION, TEXT, NULLABLE),
	MEMBER(KEY_USAGE, OBJECT, NULLABLE),
	MEMBER(KEY_DURATION_MS, COUNT, NULLABLE),
	MEMBER(KEY_TURN, COUNT, NULLABLE),
	MEMBER(KEY_REQUEST_SHA256, DIGEST, NULLABLE),
	MEMBER(KEY_PROVIDER, TEXT, NULLABLE),
	MEMBER(KEY_FALLBACK, COUNT, NULLABLE),
	MEMBER(KEY_ORIGIN, TEXT, NULLABLE),
	MEMBER(KEY_PARAMS_NOTE, TEXT, NULLABLE),
	MEMBER(KEY_REQUEST_ID, TEXT, NULLABLE),
	MEMBER(KEY_PARTIAL, BOOL, NULLABLE),
	MEMBER(KEY_COMPACT, BOOL, NULLABLE),
	MEMBER(KEY_RETRY, OBJECT, NULLABLE),
	MEMBER(KEY_DELAY_MS, COUNT, NULLABLE),
	MEMBER(KEY_WAIT, OBJECT, NULLABLE),
	MEMBER(KEY_SESSION_ID, TEXT, NULLABLE),
	SHAPED(KEY_ERROR, OBJECT, NULLABLE, error_shape),
	SHAPED(KEY_RESPONSE, OBJECT, NULLABLE, response_shape),
	EMITTED_MEMBERS,
};
static const struct event_shape message_assistant_shape = SHAPE(message_assistant_members,
    "message.assistant", "its payload", "What a model answers.", false);

static const struct event_member tool_members[] = {
	MEMBER(KEY_NAME, TEXT, REQUIRED),
	KEPT(KEY_CALL_ID, TEXT, REQUIRED | FIXED, call_id),
	MEMBER(KEY_INPUT, ANY, DATA),
	MEMBER(KEY_OUTPUT, ANY, DATA),
	MEMBER(KEY_MAX_RESULT, COUNT, NULLABLE),
	SHAPED(KEY_ERROR, OBJECT, NULLABLE, error_shape),
	MEMBER(KEY_EFFECTS, TEXT, NULLABLE | FIXED),
	MEMBER(KEY_IDEMPOTENT, BOOL, NULLABLE),
	WORD(KEY_SANDBOX, NULLABLE, "workspace", "read-only"),
	MEMBER(KEY_NETWORK, BOOL, NULLABLE),
	MEMBER(KEY_VIA, TEXT, NULLABLE),
	MEMBER(KEY_WARNING, TEXT, NULLABLE),
	MEMBER(KEY_DURATION_MS, COUNT, NULLABLE),
	MEMBER(KEY_EXIT_CODE, INTEGER, NULLABLE | FIXED),
	SHAPED(KEY_FAR_END, OBJECT, NULLABLE, far_end_shape),
	MEMBER(KEY_CHANGED, ARRAY, NULLABLE),
	MEMBER(KEY_CHANGED_MORE, COUNT, NULLABLE),
	MEMBER(KEY_COMMIT, TEXT, NULLABLE),
	MEMBER(KEY_STDERR, TEXT, NULLABLE),
	EMITTED_MEMBERS,
};
const struct event_shape event_tool = SHAPE(tool_members, "tool", "its payload",
    "A tool is called, or has answered.", false);

static const struct event_member answer_members[] = {
	SHAPED(KEY_BLOCKS, OBJECT, REQUIRED | LIST, block_shape),
	MEMBER(KEY_MODEL, TEXT, NULLABLE),
	MEMBER(KEY_STOP_REASON, TEXT, NULLABLE),
	MEMBER(KEY_EXPLANATION, TEXT, NULLABLE),
	MEMBER(KEY_USAGE, OBJECT, NULLABLE),
	MEMBER(KEY_REQUEST_ID, TEXT, NULLABLE),
	MEMBER(KEY_SESSION_ID, TEXT, NULLABLE),
};
const struct event_shape event_answer = SHAPE(answer_members, NULL, "the answer", NULL, false);

#define TYPE(name) name, sizeof name - 1
const struct event_description event_table[EVENT_TYPES] = {
	[EVENT_RUN_STARTED] = { TYPE("run.started"), false, &run_started_shape },
	[EVENT_RUN_COMPLETED] = { TYPE("run.completed"), true, &run_completed_shape },
	[EVENT_STEP_STARTED] = { TYPE("step.started"), true, &step_started_shape },
	[EVENT_STEP_COMPLETED] = { TYPE("step.completed"), true, &step_completed_shape },
	[EVENT_CALL_WORKFLOW_STARTED] = { TYPE("step.call_workflow.started"), true,
	    &step_started_shape },
	[EVENT_CALL_WORKFLOW_COMPLETED] = { TYPE("step.call_workflow.completed"), true,
	    &step_completed_shape },
	[EVENT_MESSAGE_USER] = { TYPE("message.user"), false, &message_user_shape },
	[EVENT_MESSAGE_ASSISTANT] = { TYPE("message.assistant"), true, &message_assistant_shape },
	[EVENT_TOOL_CALL] = { TYPE("tool.call"), true, &event_tool },
	[EVENT_TOOL_RESULT] = { TYPE("tool.result"), false, &event_tool },
	[EVENT_STEP_WAITING] = { TYPE("step.waiting"), true, &step_waiting_shape },
};

static const struct event_member ref_members[] = {
	MEMBER(KEY_AT, POINTER, REQUIRED),
	MEMBER(KEY_SHA256, DIGEST, REQUIRED),
	MEMBER(KEY_BYTES, COUNT, REQUIRED),
	WORD(KEY_ENCODING, REQUIRED, "json", "raw"),
};
static const struct event_shape ref_shape = SHAPE(ref_members, "ref", "a ref",
    "A value that stands in a blob.", false);

static const struct event_member line_members[] = {
	MEMBER(KEY_SEQ, SEQ, REQUIRED),
	KEPT(KEY_TIMESTAMP, TIME, REQUIRED, timestamp),
	KEPT(KEY_EVENT_ID, UUID, REQUIRED, event_id),
	KEPT(KEY_RUN_ID, UUID, REQUIRED, run_id),
	KEPT(KEY_PARENT_RUN_ID, UUID, 0, parent_run_id),
	KEPT(KEY_CHILD_RUN_ID, UUID, 0, child_run_id),
	KEPT(KEY_PARENT_EVENT_ID, UUID, REQUIRED | NULLABLE, parent_event_id),
	SHAPED_KEPT(KEY_LINKS, UUID, LIST | NOT_EMPTY, link_shape, links),
	KEPT(KEY_TYPE, TYPE, REQUIRED, type_name),
	KEPT(KEY_PATH, PATH, REQUIRED, path),
	MEMBER(KEY_ITERATION, COUNT, REQUIRED),
	KEPT(KEY_PAYLOAD, PAYLOAD, REQUIRED, payload),
	SHAPED_KEPT(KEY_REFS, OBJECT, LIST | NOT_EMPTY, ref_shape, refs),
	MEMBER(KEY_PREV, DIGEST, REQUIRED),
};
const struct event_shape event_line = SHAPE(line_members, NULL, "the line",
    "One event, awf-transcript(5). Types and keys that are not listed here are allowed. What a "
    "schema cannot say stands in the page: the order of keys, and what holds between lines.",
    true);

const struct event_shape *const event_shapes[] = {
	&run_started_shape, &run_completed_shape, &step_started_shape, &step_completed_shape, &step_waiting_shape,
	&message_user_shape, &message_assistant_shape, &event_tool, &request_shape, &response_shape,
	&error_shape, &link_shape,
	&file_shape, &stream_shape, &child_stdin_shape, &far_end_shape, &condition_shape, &loop_shape,
	&phase_shape,
	&question_shape, &pending_shape, &approval_shape, &told_shape, &session_shape, &compact_shape,
	&seal_shape, &block_shape, &endpoint_shape, &offered_shape, &start_shape, &options_shape, &ref_shape,
};
const size_t event_shape_count = sizeof event_shapes / sizeof *event_shapes;
