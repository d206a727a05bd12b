/* The table alone: a shape after those that it is made of. */
#include "transcript/event_table.h"

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
/* Those that form_check() keeps. */
#define KEPT(key, kind, flags, into) \
	{ key, sizeof key - 1, KIND_##kind, flags, NULL, NULL, offsetof(struct form, into) }
#define SHAPED_KEPT(key, kind, flags, shape, into) \
	{ key, sizeof key - 1, KIND_##kind, flags, &(shape), NULL, offsetof(struct form, into) }

/* Who checks an object counts its members in 64 bits. */
#define COUNT(shape) \
	(sizeof (shape) / sizeof *(shape) + \
	0 * sizeof (char[sizeof (shape) / sizeof *(shape) <= 64 ? 1 : -1]))
#define SHAPE(shape, id, name, about, ordered) \
	{ id, name, about, shape, COUNT(shape), ordered }

static const struct event_member error_members[] = {
	MEMBER("code", TEXT, REQUIRED | FIXED),
	MEMBER("message", TEXT, REQUIRED | NULLABLE),
};
static const struct event_shape error_shape = SHAPE(error_members, "error", "an error",
    "Why something failed; the codes stand in awf(7).", false);

static const struct event_member link_members[] = {
	MEMBER("run_id", UUID, REQUIRED),
	MEMBER("event_id", UUID, REQUIRED),
};
/* Or its id alone, if it is of this run. */
static const struct event_shape link_shape = SHAPE(link_members, "event", "a link",
    "An event of this run, or of another.", false);

static const struct event_member condition_members[] = {
	MEMBER("when", TEXT, NULLABLE),
	MEMBER("while", TEXT, NULLABLE),
	MEMBER("until", TEXT, NULLABLE),
	MEMBER("outcome", BOOL, NULLABLE),
};
static const struct event_shape condition_shape = SHAPE(condition_members, "condition",
    "a condition", "What was asked, and the answer.", false);

static const struct event_member loop_members[] = {
	MEMBER("while", TEXT, NULLABLE),
	MEMBER("until", TEXT, NULLABLE),
	MEMBER("max", POSITIVE, REQUIRED),
};
static const struct event_shape loop_shape = SHAPE(loop_members, "loop", "a loop",
    "What a loop goes by.", false);

static const struct event_member stream_members[] = {
	MEMBER("sha256", DIGEST, REQUIRED),
	MEMBER("bytes", COUNT, REQUIRED),
};
static const struct event_shape stream_shape = SHAPE(stream_members, "stream", "a stream",
    "What was kept of standard input, or printed.", false);

static const struct event_member seal_members[] = {
	WORD("algorithm", REQUIRED, SEAL_ALGORITHM),
	KEPT("public_key", DIGEST, REQUIRED, public_key),
	KEPT("signature", SIGNATURE, REQUIRED, signature),
};
static const struct event_shape seal_shape = SHAPE(seal_members, "seal", "a seal",
    "A signature over the line with an empty signature.", false);

static const struct event_member approval_members[] = {
	KEPT("asks", TEXT, FIXED, asks),
	MEMBER("form", TEXT, NULLABLE | FIXED),
	MEMBER("timeout_ms", COUNT, NULLABLE),
	MEMBER("deadline", TIME, NULLABLE | FIXED),
	MEMBER("decision", TEXT, NULLABLE | FIXED),
	MEMBER("by", TEXT, NULLABLE),
	MEMBER("reason", TEXT, NULLABLE),
	KEPT("decides", UUID, FIXED, decides),
};
static const struct event_shape approval_shape = SHAPE(approval_members, "approval",
    "an approval",
    "What a call waits for (asks), or who decided, and what; decides: about which end.", false);

static const struct event_member block_members[] = {
	MEMBER("type", TEXT, REQUIRED | FIXED),
	MEMBER("text", TEXT, NULLABLE),
	MEMBER("thinking", TEXT, NULLABLE),
	MEMBER("signature", TEXT, NULLABLE),
	MEMBER("tool_id", TEXT, NULLABLE | FIXED),
	MEMBER("tool_name", TEXT, NULLABLE),
	MEMBER("tool_input", ANY, DATA),
	MEMBER("tool_content", ANY, DATA),
	MEMBER("is_error", BOOL, NULLABLE),
	MEMBER("command", ANY, 0),
	MEMBER("media_type", TEXT, NULLABLE),
	MEMBER("name", TEXT, NULLABLE),
	MEMBER("bytes", COUNT, NULLABLE),
	MEMBER("sha256", DIGEST, NULLABLE),
	MEMBER("data", TEXT, NULLABLE),
	MEMBER("api", TEXT, NULLABLE),
	MEMBER("field", TEXT, NULLABLE),
	MEMBER("raw", ANY, 0),
	WORD("fidelity", NULLABLE | FIXED, "router", "agent_emitted"),
};
static const struct event_shape block_shape = SHAPE(block_members, "block", "a block",
    "A part of a message.", false);

static const struct event_member file_members[] = {
	MEMBER("path", TEXT, REQUIRED),
	MEMBER("config", TEXT, NULLABLE),
	MEMBER("sha256", DIGEST, NULLABLE),
	MEMBER("bytes", COUNT, NULLABLE),
	MEMBER("kept", BOOL, NULLABLE),
	MEMBER("executable", BOOL, NULLABLE),
};
/* Or its path alone, as older versions wrote it. */
static const struct event_shape file_shape = SHAPE(file_members, "file", "a file",
    "What a run or step is made of; a string is a path alone.", false);

static const struct event_member phase_members[] = {
	MEMBER("number", POSITIVE, REQUIRED),
	MEMBER("of", POSITIVE, REQUIRED),
	MEMBER("token", TEXT, NULLABLE),
};
static const struct event_shape phase_shape = SHAPE(phase_members, "phase", "a phase",
    "Which phase of an agent the call is; its start tells the token.", false);

static const struct event_member offered_members[] = {
	MEMBER("name", TEXT, NULLABLE),
	MEMBER("description", TEXT, NULLABLE),
	MEMBER("input_schema", ANY, DATA),
};
static const struct event_shape offered_shape = SHAPE(offered_members, "offered_tool",
    "a tool", "A tool that a model may call.", false);

static const struct event_member run_started_members[] = {
	MEMBER("name", TEXT, REQUIRED),
	MEMBER("kind", TEXT, REQUIRED | FIXED),
	MEMBER("argv", ARRAY, NULLABLE),
	MEMBER("cwd", TEXT, NULLABLE),
	MEMBER("workspace", TEXT, NULLABLE),
	MEMBER("snapshot", BOOL, NULLABLE),
	MEMBER("no_input", BOOL, NULLABLE),
	MEMBER("directory", TEXT, NULLABLE),
	MEMBER("inputs", OBJECT, NULLABLE | DATA),
	MEMBER("env", OBJECT, NULLABLE | DATA),
	MEMBER("workflow_sha256", DIGEST, NULLABLE),
	SHAPED_KEPT("files", TEXT, NULLABLE | LIST, file_shape, files),
	MEMBER("awf_version", TEXT, REQUIRED | FIXED),
	MEMBER("format", POSITIVE, REQUIRED | FIXED),
	KEPT("attempt", POSITIVE, REQUIRED | FIXED, attempt),
	MEMBER("forked_from", UUID, NULLABLE | FIXED),
	MEMBER("forked_at", TEXT, NULLABLE),
	MEMBER("masked", BOOL, NULLABLE | FIXED),
};
static const struct event_shape run_started_shape = SHAPE(run_started_members, "run.started",
    "its payload", "An attempt begins.", false);

static const struct event_member run_completed_members[] = {
	WORD("status", REQUIRED | FIXED, "success", "failed", "cancelled", "timeout", "waiting"),
	MEMBER("exit_code", INTEGER, NULLABLE | FIXED),
	SHAPED("error", OBJECT, NULLABLE, error_shape),
	MEMBER("duration_ms", COUNT, NULLABLE),
	SHAPED("stdin", OBJECT, NULLABLE, stream_shape),
	SHAPED_KEPT("stdout", OBJECT, NULLABLE, stream_shape, output),
	MEMBER("usage", OBJECT, NULLABLE),
	MEMBER("interrupted", BOOL, NULLABLE | FIXED),
	SHAPED("seal", OBJECT, NULLABLE | FIXED, seal_shape),
};
static const struct event_shape run_completed_shape = SHAPE(run_completed_members,
    "run.completed", "its payload", "An attempt ends.", false);

#define CALL_MEMBERS \
	MEMBER("name", TEXT, REQUIRED | OF_STEP), \
	MEMBER("kind", TEXT, REQUIRED | FIXED), \
	KEPT("call", TEXT, REQUIRED | FIXED, call)

static const struct event_member step_started_members[] = {
	CALL_MEMBERS,
	MEMBER("attempt", POSITIVE, NULLABLE | FIXED),
	MEMBER("input_sha256", DIGEST, NULLABLE),
	MEMBER("input", ANY, DATA),
	MEMBER("no_newline", BOOL, NULLABLE),
	MEMBER("attachments", ARRAY, NULLABLE),
	MEMBER("definition_sha256", DIGEST, NULLABLE),
	MEMBER("workflow_sha256", DIGEST, NULLABLE),
	SHAPED_KEPT("files", TEXT, NULLABLE | LIST, file_shape, files),
	MEMBER("inputs", OBJECT, NULLABLE | DATA),
	MEMBER("effects", TEXT, NULLABLE | FIXED),
	MEMBER("idempotent", BOOL, NULLABLE),
	SHAPED("blocks", OBJECT, NULLABLE | LIST, block_shape),
	MEMBER("agent", ANY, 0),
	MEMBER("provider", TEXT, NULLABLE),
	MEMBER("model", TEXT, NULLABLE),
	MEMBER("tool", TEXT, NULLABLE),
	SHAPED("phase", OBJECT, NULLABLE, phase_shape),
	MEMBER("strategy", TEXT, NULLABLE),
	MEMBER("timeout_ms", COUNT, NULLABLE),
	MEMBER("detached", BOOL, NULLABLE),
	SHAPED("condition", OBJECT, NULLABLE, condition_shape),
	SHAPED("loop", OBJECT, NULLABLE, loop_shape),
	MEMBER("require", ARRAY, NULLABLE),
	WORD("sandbox", NULLABLE, "workspace", "read-only"),
	MEMBER("network", BOOL, NULLABLE),
	MEMBER("mode", TEXT, NULLABLE | FIXED),
	MEMBER("try", COUNT, NULLABLE | FIXED),
	SHAPED("claims", UUID, NULLABLE | FIXED, link_shape),
};
static const struct event_shape step_started_shape = SHAPE(step_started_members,
    "step.started", "its payload", "A call begins.", false);

static const struct event_member step_completed_members[] = {
	CALL_MEMBERS,
	MEMBER("agent", TEXT, NULLABLE),
	MEMBER("result", ANY, DATA),
	MEMBER("no_newline", ANY, 0),
	SHAPED("error", OBJECT, NULLABLE, error_shape),
	MEMBER("duration_ms", COUNT, NULLABLE),
	MEMBER("exit_code", INTEGER, NULLABLE | FIXED),
	MEMBER("retries", ARRAY, NULLABLE),
	MEMBER("stderr", TEXT, NULLABLE),
	MEMBER("stderr_bytes", COUNT, NULLABLE),
	MEMBER("stdout_bytes", COUNT, NULLABLE),
	SHAPED("stdin", OBJECT, NULLABLE, stream_shape),
	MEMBER("changed", ARRAY, NULLABLE),
	MEMBER("changed_more", COUNT, NULLABLE),
	MEMBER("commit", TEXT, NULLABLE),
	MEMBER("skipped", ANY, FIXED),
	SHAPED("phase", OBJECT, NULLABLE, phase_shape),
	SHAPED("reused_from", UUID, NULLABLE | FIXED, link_shape),
	MEMBER("count", COUNT, NULLABLE),
	MEMBER("parts", COUNT, NULLABLE | FIXED),
	MEMBER("winner", COUNT, NULLABLE),
	SHAPED("condition", OBJECT, NULLABLE, condition_shape),
	WORD("outcome", NULLABLE, "success", "failure"),
	MEMBER("reason", TEXT, NULLABLE),
	SHAPED("approval", OBJECT, NULLABLE, approval_shape),
	SHAPED("seal", OBJECT, NULLABLE | FIXED, seal_shape),
};
static const struct event_shape step_completed_shape = SHAPE(step_completed_members,
    "step.completed", "its payload", "A call ends.", false);

static const struct event_member message_user_members[] = {
	WORD("role", REQUIRED | FIXED, "user"),
	SHAPED("blocks", OBJECT, REQUIRED | LIST, block_shape),
	MEMBER("system_prompt", TEXT, NULLABLE),
	SHAPED("tools", OBJECT, NULLABLE | LIST, offered_shape),
	MEMBER("mcp", ARRAY, NULLABLE),
	MEMBER("params", OBJECT, NULLABLE | DATA),
	MEMBER("turn", COUNT, NULLABLE),
	MEMBER("agent", TEXT, NULLABLE),
	MEMBER("handoff", OBJECT, NULLABLE),
	MEMBER("before_turn", OBJECT, NULLABLE),
	MEMBER("provider", TEXT, NULLABLE),
	MEMBER("model", TEXT, NULLABLE),
};
static const struct event_shape message_user_shape = SHAPE(message_user_members,
    "message.user", "its payload", "What a model is given.", false);

static const struct event_member message_assistant_members[] = {
	WORD("role", REQUIRED | FIXED, "assistant"),
	MEMBER("agent", TEXT, NULLABLE),
	SHAPED("blocks", OBJECT, REQUIRED | LIST, block_shape),
	MEMBER("model", TEXT, NULLABLE),
	MEMBER("stop_reason", TEXT, NULLABLE | FIXED),
	MEMBER("usage", OBJECT, NULLABLE),
	MEMBER("duration_ms", COUNT, NULLABLE),
	MEMBER("turn", COUNT, NULLABLE),
	MEMBER("request_sha256", DIGEST, NULLABLE),
	MEMBER("provider", TEXT, NULLABLE),
	MEMBER("fallback", COUNT, NULLABLE),
	MEMBER("request_id", TEXT, NULLABLE),
	MEMBER("partial", BOOL, NULLABLE),
	MEMBER("retry", OBJECT, NULLABLE),
	MEMBER("delay_ms", COUNT, NULLABLE),
	MEMBER("session_id", TEXT, NULLABLE),
};
static const struct event_shape message_assistant_shape = SHAPE(message_assistant_members,
    "message.assistant", "its payload", "What a model answers.", false);

static const struct event_member tool_members[] = {
	MEMBER("name", TEXT, REQUIRED),
	KEPT("call_id", TEXT, REQUIRED | FIXED, call_id),
	MEMBER("input", ANY, DATA),
	MEMBER("output", ANY, DATA),
	SHAPED("error", OBJECT, NULLABLE, error_shape),
	MEMBER("effects", TEXT, NULLABLE | FIXED),
	MEMBER("idempotent", BOOL, NULLABLE),
	WORD("sandbox", NULLABLE, "workspace", "read-only"),
	MEMBER("network", BOOL, NULLABLE),
	MEMBER("warning", TEXT, NULLABLE),
	MEMBER("duration_ms", COUNT, NULLABLE),
	MEMBER("exit_code", INTEGER, NULLABLE | FIXED),
	MEMBER("changed", ARRAY, NULLABLE),
	MEMBER("changed_more", COUNT, NULLABLE),
	MEMBER("commit", TEXT, NULLABLE),
	MEMBER("stderr", TEXT, NULLABLE),
	WORD("fidelity", NULLABLE | FIXED, "router", "agent_emitted"),
};
const struct event_shape event_tool = SHAPE(tool_members, "tool", "its payload",
    "A tool is called, or has answered.", false);

static const struct event_member answer_members[] = {
	SHAPED("blocks", OBJECT, REQUIRED | LIST, block_shape),
	MEMBER("model", TEXT, NULLABLE),
	MEMBER("stop_reason", TEXT, NULLABLE),
	MEMBER("usage", OBJECT, NULLABLE),
	MEMBER("request_id", TEXT, NULLABLE),
	MEMBER("session_id", TEXT, NULLABLE),
};
const struct event_shape event_answer = SHAPE(answer_members, NULL, "the answer", NULL, false);

const struct event_description event_table[EVENT_TYPES] = {
	[EVENT_RUN_STARTED] = { "run.started", false, &run_started_shape },
	[EVENT_RUN_COMPLETED] = { "run.completed", true, &run_completed_shape },
	[EVENT_STEP_STARTED] = { "step.started", true, &step_started_shape },
	[EVENT_STEP_COMPLETED] = { "step.completed", true, &step_completed_shape },
	[EVENT_CALL_WORKFLOW_STARTED] = { "step.call_workflow.started", true,
	    &step_started_shape },
	[EVENT_CALL_WORKFLOW_COMPLETED] = { "step.call_workflow.completed", true,
	    &step_completed_shape },
	[EVENT_MESSAGE_USER] = { "message.user", false, &message_user_shape },
	[EVENT_MESSAGE_ASSISTANT] = { "message.assistant", true, &message_assistant_shape },
	[EVENT_TOOL_CALL] = { "tool.call", true, &event_tool },
	[EVENT_TOOL_RESULT] = { "tool.result", false, &event_tool },
};

static const struct event_member ref_members[] = {
	MEMBER("at", POINTER, REQUIRED),
	MEMBER("sha256", DIGEST, REQUIRED),
	MEMBER("bytes", COUNT, REQUIRED),
	WORD("encoding", REQUIRED, "json", "raw"),
};
static const struct event_shape ref_shape = SHAPE(ref_members, "ref", "a ref",
    "A value that stands in a blob.", false);

static const struct event_member line_members[] = {
	MEMBER("seq", SEQ, REQUIRED),
	KEPT("timestamp", TIME, REQUIRED, timestamp),
	KEPT("event_id", UUID, REQUIRED, event_id),
	KEPT("run_id", UUID, REQUIRED, run_id),
	KEPT("parent_run_id", UUID, 0, parent_run_id),
	KEPT("child_run_id", UUID, 0, child_run_id),
	KEPT("parent_event_id", UUID, REQUIRED | NULLABLE, parent_event_id),
	SHAPED_KEPT("links", UUID, LIST | NOT_EMPTY, link_shape, links),
	KEPT("type", TYPE, REQUIRED, type_name),
	KEPT("path", PATH, REQUIRED, path),
	MEMBER("iteration", COUNT, REQUIRED),
	MEMBER("payload", PAYLOAD, REQUIRED),
	SHAPED_KEPT("refs", OBJECT, LIST | NOT_EMPTY, ref_shape, refs),
	MEMBER("prev", DIGEST, REQUIRED),
};
const struct event_shape event_line = SHAPE(line_members, NULL, "the line",
    "One event, awf-transcript(5). Types and keys that are not listed here are allowed. What a "
    "schema cannot say stands in the page: the order of keys, and what holds between lines.",
    true);

const struct event_shape *const event_shapes[] = {
	&run_started_shape, &run_completed_shape, &step_started_shape, &step_completed_shape,
	&message_user_shape, &message_assistant_shape, &event_tool, &error_shape, &link_shape,
	&file_shape, &stream_shape, &condition_shape, &loop_shape, &phase_shape, &approval_shape,
	&seal_shape, &block_shape, &offered_shape, &ref_shape,
};
const size_t event_shape_count = sizeof event_shapes / sizeof *event_shapes;
