/*
 * One descent over the line, led by tables: a shape lists the members of an
 * object, a rule says what one member must be. lib/json/transcript.schema.json
 * says the same; a change here is a change there.
 */
#include "record/form.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "record/seal.h"

struct cursor {
	const char *line, *at, *end;
	struct form *form;
	struct form_fault *fault;
};

enum { REQUIRED = 1, NULLABLE = 2 };

struct rule {
	const char *key;
	size_t len;
	bool (*check)(struct cursor *c, const struct rule *rule, struct span *value);
	unsigned flags;
	size_t into;              /* offset in struct form where the value is kept */
	const char *const *words; /* of is_word: what it may be */
};

struct shape {
	const char *name;
	const struct rule *rules;
	size_t count;             /* 32 at most: see members_seen */
	bool ordered;
};

static bool
fault(struct cursor *c, enum form_rule rule, const char *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static bool
fault(struct cursor *c, enum form_rule rule, const char *at, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	c->fault->rule = rule;
	c->fault->at = (size_t)(at - c->line);
	error_set(&c->fault->what, ERROR_SCHEMA, NULL, "%s", text);
	return false;
}

static bool
refuse(struct cursor *c, const struct rule *rule, const char *wanted)
{
	return fault(c, FORM_SCHEMA, c->at, "\"%s\" is not %s", rule->key, wanted);
}

static void
skip_space(struct cursor *c)
{
	while (c->at < c->end &&
	    (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
		c->at++;
}

static bool
take(struct cursor *c, char byte)
{
	skip_space(c);
	if (c->at == c->end || *c->at != byte)
		return false;
	c->at++;
	skip_space(c);
	return true;
}

/* Any value; checks all of it. */
static bool
is_any(struct cursor *c, const struct rule *rule, struct span *value)
{
	size_t end, bad;
	const char *why = scan_value(c->at, (size_t)(c->end - c->at), SCAN_LINE_DEPTH, &end, &bad);

	(void)rule;
	if (why != NULL)
		return fault(c, FORM_JSON, c->at + bad, "%s", why);
	*value = span_of(c->at, end);
	c->at += end;
	return true;
}

static bool
begins(const struct cursor *c, char byte)
{
	return c->at < c->end && *c->at == byte;
}

static bool
is_text(struct cursor *c, const struct rule *rule, struct span *value)
{
	return begins(c, '"') ? is_any(c, rule, value) : refuse(c, rule, "a string");
}

static bool
is_object(struct cursor *c, const struct rule *rule, struct span *value)
{
	return begins(c, '{') ? is_any(c, rule, value) : refuse(c, rule, "an object");
}

static bool
is_array(struct cursor *c, const struct rule *rule, struct span *value)
{
	return begins(c, '[') ? is_any(c, rule, value) : refuse(c, rule, "an array");
}

static bool
is_bool(struct cursor *c, const struct rule *rule, struct span *value)
{
	if (!begins(c, 't') && !begins(c, 'f'))
		return refuse(c, rule, "true or false");
	return is_any(c, rule, value);
}

static bool
is_integer(struct cursor *c, const struct rule *rule, struct span *value)
{
	const char *at = c->at;

	if (at < c->end && *at == '-')
		at++;
	if (at == c->end || *at < '0' || *at > '9')
		return refuse(c, rule, "a whole number");
	if (!is_any(c, rule, value))
		return false;
	for (; at < c->at; at++) {
		if (*at < '0' || *at > '9') {
			c->at = value->at;
			return fault(c, FORM_NOTATION, c->at,
			    "\"%s\" is not written as a whole number", rule->key);
		}
	}
	return true;
}

static bool
is_count(struct cursor *c, const struct rule *rule, struct span *value)
{
	return begins(c, '-') ? refuse(c, rule, "0 or more") : is_integer(c, rule, value);
}

static bool
is_positive(struct cursor *c, const struct rule *rule, struct span *value)
{
	if (begins(c, '-') || begins(c, '0'))
		return refuse(c, rule, "1 or more");
	return is_integer(c, rule, value);
}

static bool
is_seq(struct cursor *c, const struct rule *rule, struct span *value)
{
	long long seq;

	if (!is_positive(c, rule, value))
		return false;
	if (!span_integer(*value, &seq)) {
		c->at = value->at;
		return refuse(c, rule, "a number of 63 bits");
	}
	c->form->seq = seq;
	return true;
}

/* The text of a string token of exactly len bytes between its quotes, or NULL. */
static const char *
token_of(const struct cursor *c, size_t len)
{
	if ((size_t)(c->end - c->at) < len + 2 || *c->at != '"' || c->at[len + 1] != '"')
		return NULL;
	return c->at + 1;
}

static bool
take_token(struct cursor *c, size_t len, struct span *value)
{
	*value = span_of(c->at, len + 2);
	c->at += len + 2;
	return true;
}

/* Without a branch in the loop, as each line has some two hundred of these. */
static inline bool
all_hex(const char *at, size_t len)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)at[i];

		wrong |= ((unsigned char)(byte - '0') > 9) & ((unsigned char)(byte - 'a') > 5);
	}
	return wrong == 0;
}

static inline bool
all_digits(const char *at, size_t len)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < len; i++)
		wrong |= (unsigned char)(at[i] - '0') > 9;
	return wrong == 0;
}

static bool
uuid_text(const char *at)
{
	return at[8] == '-' && at[13] == '-' && at[18] == '-' && at[23] == '-' && at[14] == '4' &&
	    (at[19] == '8' || at[19] == '9' || at[19] == 'a' || at[19] == 'b') &&
	    all_hex(at, 8) && all_hex(at + 9, 4) && all_hex(at + 14, 4) && all_hex(at + 19, 4) &&
	    all_hex(at + 24, 12);
}

static bool
is_uuid(struct cursor *c, const struct rule *rule, struct span *value)
{
	const char *text = token_of(c, ID_SIZE - 1);

	if (!text || !uuid_text(text))
		return refuse(c, rule, "a UUID, version 4, in lower case");
	return take_token(c, ID_SIZE - 1, value);
}

static bool
is_digest(struct cursor *c, const struct rule *rule, struct span *value)
{
	const char *text = token_of(c, DIGEST_SIZE - 1);

	if (!text || !all_hex(text, DIGEST_SIZE - 1))
		return refuse(c, rule, "a digest of 64 lower-case hex digits");
	return take_token(c, DIGEST_SIZE - 1, value);
}

static bool
is_signature(struct cursor *c, const struct rule *rule, struct span *value)
{
	const char *text = token_of(c, SEAL_SIGNATURE);

	if (!text || !all_hex(text, SEAL_SIGNATURE))
		return refuse(c, rule, "a signature of 128 lower-case hex digits");
	return take_token(c, SEAL_SIGNATURE, value);
}

static int
two_digits(const char *at)
{
	return (at[0] - '0') * 10 + (at[1] - '0');
}

/* 2026-11-21T08:15:30.123456Z; what separates is looked at, then the numbers. */
static bool
time_text(const char *at)
{
	int month, day;

	if (at[4] != '-' || at[7] != '-' || at[10] != 'T' || at[13] != ':' || at[16] != ':' ||
	    at[19] != '.' || at[26] != 'Z' || !all_digits(at, 4) || !all_digits(at + 5, 2) ||
	    !all_digits(at + 8, 2) || !all_digits(at + 11, 2) || !all_digits(at + 14, 2) ||
	    !all_digits(at + 17, 2) || !all_digits(at + 20, 6))
		return false;
	month = two_digits(at + 5);
	day = two_digits(at + 8);
	return month >= 1 && month <= 12 && day >= 1 && day <= 31 && two_digits(at + 11) <= 23 &&
	    two_digits(at + 14) <= 59 && two_digits(at + 17) <= 60;
}

static bool
is_time(struct cursor *c, const struct rule *rule, struct span *value)
{
	const char *text = token_of(c, CLOCK_TEXT_SIZE - 1);

	if (!text || !time_text(text))
		return refuse(c, rule, "a time as 2026-11-21T08:15:30.123456Z");
	return take_token(c, CLOCK_TEXT_SIZE - 1, value);
}

static inline bool
name_byte(char byte)
{
	unsigned char letter = (unsigned char)(byte | 0x20);

	return (letter >= 'a' && letter <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' ||
	    byte == '-';
}

static bool
is_path(struct cursor *c, const struct rule *rule, struct span *value)
{
	const char *at;

	if (!begins(c, '"'))
		return refuse(c, rule, "a string");
	at = c->at + 1;
	while (at < c->end && (name_byte(*at) ||
	    (*at == '.' && name_byte(at[-1]) && at + 1 < c->end && name_byte(at[1]))))
		at++;
	if (at == c->end || *at != '"')
		return refuse(c, rule, "names separated by dots");
	*value = span_of(c->at, (size_t)(at + 1 - c->at));
	c->at = at + 1;
	return true;
}

static bool
is_word(struct cursor *c, const struct rule *rule, struct span *value)
{
	for (const char *const *word = rule->words; *word != NULL; word++) {
		const char *text = token_of(c, strlen(*word));

		if (text && memcmp(text, *word, strlen(*word)) == 0)
			return take_token(c, strlen(*word), value);
	}
	return refuse(c, rule, "one of the words that awf-transcript(5) lists");
}

static bool
is_type(struct cursor *c, const struct rule *rule, struct span *value)
{
	if (!is_text(c, rule, value))
		return false;
	c->form->type = event_type_from_name(value->at + 1, value->len - 2);
	return true;
}

static bool check_object(struct cursor *c, const struct shape *shape);

/* An array, each of whose elements passes check. */
static bool
check_array(struct cursor *c, const struct rule *rule, struct span *value,
    bool (*check)(struct cursor *c, const struct rule *rule))
{
	const char *start = c->at;

	if (!begins(c, '['))
		return refuse(c, rule, "an array");
	c->at++;
	skip_space(c);
	if (!begins(c, ']')) {
		do {
			if (!check(c, rule))
				return false;
		} while (take(c, ','));
	}
	skip_space(c);
	if (!begins(c, ']'))
		return fault(c, FORM_JSON, c->at, "expected ',' or ']'");
	c->at++;
	*value = span_of(start, (size_t)(c->at - start));
	return true;
}

static bool
not_empty(struct cursor *c, const struct rule *rule, struct span array)
{
	struct span inside = span_trim(span_of(array.at + 1, array.len - 2));

	if (inside.len > 0)
		return true;
	c->at = array.at;
	return refuse(c, rule, "an array of one or more");
}

#define RULE(key, check, flags, into) { key, sizeof key - 1, check, flags, into, NULL }
#define WORD(key, list, flags) { key, sizeof key - 1, is_word, flags, 0, list }
#define KEPT(member) offsetof(struct form, member)
#define COUNT(list) (sizeof (list) / sizeof *(list))

static const char *const outcome_words[] = { "success", "failure", NULL };
static const char *const fidelity_words[] = { "router", "agent_emitted", NULL };
static const char *const encoding_words[] = { "json", "raw", NULL };
static const char *const seal_algorithms[] = { SEAL_ALGORITHM, NULL };
static const char *const role_user[] = { "user", NULL };
static const char *const role_assistant[] = { "assistant", NULL };
static const char *const status_words[] = { "success", "failed", "cancelled", "timeout",
	"waiting", NULL };

static const struct rule error_rules[] = {
	RULE("code", is_text, REQUIRED, 0),
	RULE("message", is_text, REQUIRED | NULLABLE, 0),
};
static const struct shape error_shape = { "an error", error_rules, COUNT(error_rules), false };

static bool
is_error(struct cursor *c, const struct rule *rule, struct span *value)
{
	(void)rule;
	*value = span_of(c->at, 0);
	return check_object(c, &error_shape);
}

/* What was asked, and the answer. */
static const struct rule condition_rules[] = {
	RULE("when", is_text, NULLABLE, 0),
	RULE("while", is_text, NULLABLE, 0),
	RULE("until", is_text, NULLABLE, 0),
	RULE("outcome", is_bool, NULLABLE, 0),
};
static const struct shape condition_shape = { "a condition", condition_rules,
	COUNT(condition_rules), false };

static bool
is_condition(struct cursor *c, const struct rule *rule, struct span *value)
{
	(void)rule;
	*value = span_of(c->at, 0);
	return check_object(c, &condition_shape);
}

static const struct rule loop_rules[] = {
	RULE("while", is_text, NULLABLE, 0),
	RULE("until", is_text, NULLABLE, 0),
	RULE("max", is_positive, REQUIRED, 0),
};
static const struct shape loop_shape = { "a loop", loop_rules, COUNT(loop_rules), false };

static bool
is_loop(struct cursor *c, const struct rule *rule, struct span *value)
{
	(void)rule;
	*value = span_of(c->at, 0);
	return check_object(c, &loop_shape);
}

static const struct rule stdin_rules[] = {
	RULE("sha256", is_digest, REQUIRED, 0),
	RULE("bytes", is_count, REQUIRED, 0),
};
static const struct shape stdin_shape = { "stdin", stdin_rules, COUNT(stdin_rules), false };

static bool
is_stdin(struct cursor *c, const struct rule *rule, struct span *value)
{
	const char *start = c->at;

	(void)rule;
	*value = span_of(start, 0);
	if (!check_object(c, &stdin_shape))
		return false;
	value->len = (size_t)(c->at - start);
	return true;
}

static const struct rule seal_rules[] = {
	WORD("algorithm", seal_algorithms, REQUIRED),
	RULE("public_key", is_digest, REQUIRED, KEPT(public_key)),
	RULE("signature", is_signature, REQUIRED, KEPT(signature)),
};
static const struct shape seal_shape = { "a seal", seal_rules, COUNT(seal_rules), false };

static bool
is_seal(struct cursor *c, const struct rule *rule, struct span *value)
{
	(void)rule;
	*value = span_of(c->at, 0);
	return check_object(c, &seal_shape);
}

static const struct rule approval_rules[] = {
	RULE("asks", is_text, 0, KEPT(asks)),
	RULE("form", is_text, NULLABLE, 0),
	RULE("timeout_ms", is_count, NULLABLE, 0),
	RULE("deadline", is_time, NULLABLE, 0),
	RULE("decision", is_text, NULLABLE, 0),
	RULE("by", is_text, NULLABLE, 0),
	RULE("reason", is_text, NULLABLE, 0),
	RULE("decides", is_uuid, 0, KEPT(decides)),
};
static const struct shape approval_shape = { "an approval", approval_rules,
	COUNT(approval_rules), false };

static bool
is_approval(struct cursor *c, const struct rule *rule, struct span *value)
{
	(void)rule;
	*value = span_of(c->at, 0);
	return check_object(c, &approval_shape);
}

static const struct rule block_rules[] = {
	RULE("type", is_text, REQUIRED, 0),
	RULE("text", is_text, NULLABLE, 0),
	RULE("thinking", is_text, NULLABLE, 0),
	RULE("signature", is_text, NULLABLE, 0),
	RULE("tool_id", is_text, NULLABLE, 0),
	RULE("tool_name", is_text, NULLABLE, 0),
	RULE("tool_input", is_any, 0, 0),
	RULE("tool_content", is_any, 0, 0),
	RULE("is_error", is_bool, NULLABLE, 0),
	RULE("command", is_any, 0, 0),
	RULE("media_type", is_text, NULLABLE, 0),
	RULE("name", is_text, NULLABLE, 0),
	RULE("bytes", is_count, NULLABLE, 0),
	RULE("sha256", is_digest, NULLABLE, 0),
	RULE("data", is_text, NULLABLE, 0),
	RULE("api", is_text, NULLABLE, 0),
	RULE("field", is_text, NULLABLE, 0),
	RULE("raw", is_any, 0, 0),
	WORD("fidelity", fidelity_words, NULLABLE),
};
static const struct shape block_shape = { "a block", block_rules, COUNT(block_rules), false };

static bool
check_block(struct cursor *c, const struct rule *rule)
{
	(void)rule;
	return check_object(c, &block_shape);
}

static bool
is_blocks(struct cursor *c, const struct rule *rule, struct span *value)
{
	return check_array(c, rule, value, check_block);
}

static const struct rule file_rules[] = {
	RULE("path", is_text, REQUIRED, 0),
	RULE("config", is_text, NULLABLE, 0),
	RULE("sha256", is_digest, NULLABLE, 0),
	RULE("bytes", is_count, NULLABLE, 0),
	RULE("kept", is_bool, NULLABLE, 0),
	RULE("executable", is_bool, NULLABLE, 0),
};
static const struct shape file_shape = { "a file", file_rules, COUNT(file_rules), false };

/* A path alone is what older versions wrote. */
static bool
check_file(struct cursor *c, const struct rule *rule)
{
	struct span path;

	return begins(c, '"') ? is_text(c, rule, &path) : check_object(c, &file_shape);
}

static bool
is_files(struct cursor *c, const struct rule *rule, struct span *value)
{
	return check_array(c, rule, value, check_file);
}

static const struct rule link_rules[] = {
	RULE("run_id", is_uuid, REQUIRED, 0),
	RULE("event_id", is_uuid, REQUIRED, 0),
};
static const struct shape link_shape = { "a link", link_rules, COUNT(link_rules), false };

/* An event of this run, or of another. */
static bool
is_link(struct cursor *c, const struct rule *rule, struct span *value)
{
	return begins(c, '"') ? is_uuid(c, rule, value) : check_object(c, &link_shape);
}

static bool
check_link(struct cursor *c, const struct rule *rule)
{
	struct span id;

	return is_link(c, rule, &id);
}

static bool
is_links(struct cursor *c, const struct rule *rule, struct span *value)
{
	return check_array(c, rule, value, check_link) && not_empty(c, rule, *value);
}

static bool
is_pointer(struct cursor *c, const struct rule *rule, struct span *value)
{
	if (!begins(c, '"') || c->end - c->at < 2 || c->at[1] != '/')
		return refuse(c, rule, "a JSON pointer");
	return is_any(c, rule, value);
}

static const struct rule ref_rules[] = {
	RULE("at", is_pointer, REQUIRED, 0),
	RULE("sha256", is_digest, REQUIRED, 0),
	RULE("bytes", is_count, REQUIRED, 0),
	WORD("encoding", encoding_words, REQUIRED),
};
static const struct shape ref_shape = { "a ref", ref_rules, COUNT(ref_rules), false };

static bool
check_ref(struct cursor *c, const struct rule *rule)
{
	(void)rule;
	return check_object(c, &ref_shape);
}

static bool
is_refs(struct cursor *c, const struct rule *rule, struct span *value)
{
	return check_array(c, rule, value, check_ref) && not_empty(c, rule, *value);
}

static const struct rule phase_rules[] = {
	RULE("number", is_positive, REQUIRED, 0),
	RULE("of", is_positive, REQUIRED, 0),
	RULE("token", is_text, NULLABLE, 0),
};
static const struct shape phase_shape = { "a phase", phase_rules, COUNT(phase_rules), false };

static bool
is_phase(struct cursor *c, const struct rule *rule, struct span *value)
{
	(void)rule;
	*value = span_of(c->at, 0);
	return check_object(c, &phase_shape);
}

static const struct rule run_started_rules[] = {
	RULE("name", is_text, REQUIRED, 0),
	RULE("kind", is_text, REQUIRED, 0),
	RULE("argv", is_array, NULLABLE, 0),
	RULE("cwd", is_text, NULLABLE, 0),
	RULE("workspace", is_text, NULLABLE, 0),
	RULE("snapshot", is_bool, NULLABLE, 0),
	RULE("no_input", is_bool, NULLABLE, 0),
	RULE("directory", is_text, NULLABLE, 0),
	RULE("inputs", is_object, NULLABLE, 0),
	RULE("env", is_object, NULLABLE, 0),
	RULE("workflow_sha256", is_digest, NULLABLE, 0),
	RULE("files", is_files, NULLABLE, KEPT(files)),
	RULE("awf_version", is_text, REQUIRED, 0),
	RULE("format", is_positive, REQUIRED, 0),
	RULE("attempt", is_positive, REQUIRED, KEPT(attempt)),
	RULE("forked_from", is_uuid, NULLABLE, 0),
	RULE("forked_at", is_text, NULLABLE, 0),
	RULE("masked", is_bool, NULLABLE, 0),
};

static const struct rule run_completed_rules[] = {
	WORD("status", status_words, REQUIRED),
	RULE("exit_code", is_integer, NULLABLE, 0),
	RULE("error", is_error, NULLABLE, 0),
	RULE("duration_ms", is_count, NULLABLE, 0),
	RULE("stdin", is_stdin, NULLABLE, 0),
	RULE("stdout", is_stdin, NULLABLE, KEPT(output)),
	RULE("usage", is_object, NULLABLE, 0),
	RULE("interrupted", is_bool, NULLABLE, 0),
	RULE("seal", is_seal, NULLABLE, 0),
};

static const struct rule step_started_rules[] = {
	RULE("name", is_text, REQUIRED, 0),
	RULE("kind", is_text, REQUIRED, 0),
	RULE("call", is_text, REQUIRED, KEPT(call)),
	RULE("attempt", is_positive, NULLABLE, 0),
	RULE("input_sha256", is_digest, NULLABLE, 0),
	RULE("input", is_any, 0, 0),
	RULE("no_newline", is_bool, NULLABLE, 0),
	RULE("attachments", is_array, NULLABLE, 0),
	RULE("definition_sha256", is_digest, NULLABLE, 0),
	RULE("workflow_sha256", is_digest, NULLABLE, 0),
	RULE("files", is_files, NULLABLE, KEPT(files)),
	RULE("inputs", is_object, NULLABLE, 0),
	RULE("effects", is_text, NULLABLE, 0),
	RULE("idempotent", is_bool, NULLABLE, 0),
	RULE("blocks", is_blocks, NULLABLE, 0),
	RULE("agent", is_any, 0, 0),
	RULE("provider", is_text, NULLABLE, 0),
	RULE("model", is_text, NULLABLE, 0),
	RULE("tool", is_text, NULLABLE, 0),
	RULE("phase", is_phase, NULLABLE, 0),
	RULE("strategy", is_text, NULLABLE, 0),
	RULE("timeout_ms", is_count, NULLABLE, 0),
	RULE("detached", is_bool, NULLABLE, 0),
	RULE("condition", is_condition, NULLABLE, 0),
	RULE("loop", is_loop, NULLABLE, 0),
	RULE("require", is_array, NULLABLE, 0),
	RULE("sandbox", is_text, NULLABLE, 0),
	RULE("network", is_bool, NULLABLE, 0),
	RULE("mode", is_text, NULLABLE, 0),
	RULE("try", is_count, NULLABLE, 0),
	RULE("claims", is_link, NULLABLE, 0),
};

static const struct rule step_completed_rules[] = {
	RULE("name", is_text, REQUIRED, 0),
	RULE("kind", is_text, REQUIRED, 0),
	RULE("call", is_text, REQUIRED, KEPT(call)),
	RULE("agent", is_text, NULLABLE, 0),
	RULE("result", is_any, 0, 0),
	RULE("no_newline", is_any, 0, 0),
	RULE("error", is_error, NULLABLE, 0),
	RULE("duration_ms", is_count, NULLABLE, 0),
	RULE("exit_code", is_integer, NULLABLE, 0),
	RULE("retries", is_array, NULLABLE, 0),
	RULE("stderr", is_text, NULLABLE, 0),
	RULE("stderr_bytes", is_count, NULLABLE, 0),
	RULE("stdout_bytes", is_count, NULLABLE, 0),
	RULE("stdin", is_stdin, NULLABLE, 0),
	RULE("changed", is_array, NULLABLE, 0),
	RULE("changed_more", is_count, NULLABLE, 0),
	RULE("commit", is_text, NULLABLE, 0),
	RULE("skipped", is_any, 0, 0),
	RULE("phase", is_phase, NULLABLE, 0),
	RULE("reused_from", is_link, NULLABLE, 0),
	RULE("count", is_count, NULLABLE, 0),
	RULE("parts", is_count, NULLABLE, 0),
	RULE("winner", is_count, NULLABLE, 0),
	RULE("condition", is_condition, NULLABLE, 0),
	WORD("outcome", outcome_words, NULLABLE),
	RULE("reason", is_text, NULLABLE, 0),
	RULE("approval", is_approval, NULLABLE, 0),
	RULE("seal", is_seal, NULLABLE, 0),
};

static const struct rule message_user_rules[] = {
	WORD("role", role_user, REQUIRED),
	RULE("blocks", is_blocks, REQUIRED, 0),
	RULE("system_prompt", is_text, NULLABLE, 0),
	RULE("tools", is_array, NULLABLE, 0),
	RULE("mcp", is_array, NULLABLE, 0),
	RULE("params", is_object, NULLABLE, 0),
	RULE("turn", is_count, NULLABLE, 0),
	RULE("agent", is_text, NULLABLE, 0),
	RULE("handoff", is_object, NULLABLE, 0),
	RULE("before_turn", is_object, NULLABLE, 0),
	RULE("provider", is_text, NULLABLE, 0),
	RULE("model", is_text, NULLABLE, 0),
};

static const struct rule message_assistant_rules[] = {
	WORD("role", role_assistant, REQUIRED),
	RULE("agent", is_text, NULLABLE, 0),
	RULE("blocks", is_blocks, REQUIRED, 0),
	RULE("model", is_text, NULLABLE, 0),
	RULE("stop_reason", is_text, NULLABLE, 0),
	RULE("usage", is_object, NULLABLE, 0),
	RULE("duration_ms", is_count, NULLABLE, 0),
	RULE("turn", is_count, NULLABLE, 0),
	RULE("request_sha256", is_digest, NULLABLE, 0),
	RULE("provider", is_text, NULLABLE, 0),
	RULE("fallback", is_count, NULLABLE, 0),
	RULE("request_id", is_text, NULLABLE, 0),
	RULE("partial", is_bool, NULLABLE, 0),
	RULE("retry", is_object, NULLABLE, 0),
	RULE("delay_ms", is_count, NULLABLE, 0),
	RULE("session_id", is_text, NULLABLE, 0),
};

static const struct rule tool_rules[] = {
	RULE("name", is_text, REQUIRED, 0),
	RULE("call_id", is_text, REQUIRED, KEPT(call_id)),
	RULE("input", is_any, 0, 0),
	RULE("output", is_any, 0, 0),
	RULE("error", is_error, NULLABLE, 0),
	RULE("effects", is_text, NULLABLE, 0),
	RULE("idempotent", is_bool, NULLABLE, 0),
	RULE("sandbox", is_text, NULLABLE, 0),
	RULE("network", is_bool, NULLABLE, 0),
	RULE("warning", is_text, NULLABLE, 0),
	RULE("duration_ms", is_count, NULLABLE, 0),
	RULE("exit_code", is_integer, NULLABLE, 0),
	RULE("changed", is_array, NULLABLE, 0),
	RULE("changed_more", is_count, NULLABLE, 0),
	RULE("commit", is_text, NULLABLE, 0),
	RULE("stderr", is_text, NULLABLE, 0),
	WORD("fidelity", fidelity_words, NULLABLE),
};

static const struct rule answer_rules[] = {
	RULE("blocks", is_blocks, REQUIRED, 0),
	RULE("model", is_text, NULLABLE, 0),
	RULE("stop_reason", is_text, NULLABLE, 0),
	RULE("usage", is_object, NULLABLE, 0),
	RULE("request_id", is_text, NULLABLE, 0),
	RULE("session_id", is_text, NULLABLE, 0),
};

static const struct shape payload_shapes[EVENT_TYPES] = {
#define PAYLOAD(type, rules) [type] = { "its payload", rules, COUNT(rules), false }
	PAYLOAD(EVENT_RUN_STARTED, run_started_rules),
	PAYLOAD(EVENT_RUN_COMPLETED, run_completed_rules),
	PAYLOAD(EVENT_STEP_STARTED, step_started_rules),
	PAYLOAD(EVENT_STEP_COMPLETED, step_completed_rules),
	PAYLOAD(EVENT_CALL_WORKFLOW_STARTED, step_started_rules),
	PAYLOAD(EVENT_CALL_WORKFLOW_COMPLETED, step_completed_rules),
	PAYLOAD(EVENT_MESSAGE_USER, message_user_rules),
	PAYLOAD(EVENT_MESSAGE_ASSISTANT, message_assistant_rules),
	PAYLOAD(EVENT_TOOL_CALL, tool_rules),
	PAYLOAD(EVENT_TOOL_RESULT, tool_rules),
};

static bool
is_payload(struct cursor *c, const struct rule *rule, struct span *value)
{
	enum event_type type = c->form->type;

	if (type == EVENT_TYPES)
		return begins(c, 'n') ? is_any(c, rule, value) : is_object(c, rule, value);
	*value = span_of(c->at, 0);
	return check_object(c, &payload_shapes[type]);
}

static const struct rule line_rules[] = {
	RULE("seq", is_seq, REQUIRED, 0),
	RULE("timestamp", is_time, REQUIRED, KEPT(timestamp)),
	RULE("event_id", is_uuid, REQUIRED, KEPT(event_id)),
	RULE("run_id", is_uuid, REQUIRED, KEPT(run_id)),
	RULE("parent_run_id", is_uuid, 0, KEPT(parent_run_id)),
	RULE("child_run_id", is_uuid, 0, KEPT(child_run_id)),
	RULE("parent_event_id", is_uuid, REQUIRED | NULLABLE, KEPT(parent_event_id)),
	RULE("links", is_links, 0, KEPT(links)),
	RULE("type", is_type, REQUIRED, KEPT(type_name)),
	RULE("path", is_path, REQUIRED, KEPT(path)),
	RULE("iteration", is_count, REQUIRED, 0),
	RULE("payload", is_payload, REQUIRED, 0),
	RULE("refs", is_refs, 0, KEPT(refs)),
	RULE("prev", is_digest, REQUIRED, 0),
};
static const struct shape line_shape = { "the line", line_rules, COUNT(line_rules), true };

/* The rule of a key, looked for from *next on, as writers keep the order. */
static const struct rule *
find_rule(const struct shape *shape, struct span key, size_t *next)
{
	for (size_t i = 0; i < shape->count; i++) {
		size_t at = *next + i < shape->count ? *next + i : *next + i - shape->count;
		const struct rule *rule = &shape->rules[at];

		if (rule->len == key.len - 2 && memcmp(rule->key, key.at + 1, rule->len) == 0) {
			*next = at + 1;
			return rule;
		}
	}
	return NULL;
}

static bool
check_key(struct cursor *c, struct span *key)
{
	const char *at;

	if (!begins(c, '"'))
		return fault(c, FORM_JSON, c->at, "expected a key");
	at = c->at + 1;
	while (at < c->end && (name_byte(*at) || *at == '.'))
		at++;
	if (at < c->end && *at == '"') {
		*key = span_of(c->at, (size_t)(at + 1 - c->at));
		c->at = at + 1;
	} else if (!is_any(c, NULL, key))
		return false;
	if (!take(c, ':'))
		return fault(c, FORM_JSON, c->at, "expected ':'");
	return true;
}

static bool
check_place(struct cursor *c, const struct shape *shape, const struct rule *rule,
    struct span key, uint64_t members_seen)
{
	size_t index = (size_t)(rule - shape->rules);

	if (members_seen >> index & 1)
		return fault(c, FORM_NOTATION, key.at, "\"%s\" stands twice in %s", rule->key,
		    shape->name);
	if (shape->ordered && members_seen >> index != 0)
		return fault(c, FORM_NOTATION, key.at, "\"%s\" is out of order", rule->key);
	return true;
}

/* One member; *members_seen has a bit for each rule that was met. */
static bool
check_member(struct cursor *c, const struct shape *shape, size_t *next,
    uint64_t *members_seen)
{
	struct span key = { "", 0 }, value;
	const struct rule *rule;

	if (!check_key(c, &key))
		return false;
	rule = find_rule(shape, key, next);
	if (rule == NULL) {
		if (c->form->unknown_key.at == NULL)
			c->form->unknown_key = key;
		return is_any(c, NULL, &value);
	}
	if (!check_place(c, shape, rule, key, *members_seen))
		return false;
	*members_seen |= UINT64_C(1) << (rule - shape->rules);
	if ((rule->flags & NULLABLE) && begins(c, 'n')) {
		if (!is_any(c, rule, &value))
			return false;
	} else if (!rule->check(c, rule, &value))
		return false;
	*(struct span *)(void *)((char *)c->form + rule->into) = value;
	return true;
}

static bool
check_required(struct cursor *c, const struct shape *shape, const char *at,
    uint64_t members_seen)
{
	for (size_t i = 0; i < shape->count; i++) {
		if ((shape->rules[i].flags & REQUIRED) && !(members_seen >> i & 1))
			return fault(c, FORM_SCHEMA, at, "\"%s\" is missing in %s",
			    shape->rules[i].key, shape->name);
	}
	return true;
}

static bool
check_object(struct cursor *c, const struct shape *shape)
{
	const char *start = c->at;
	uint64_t members_seen = 0;
	size_t next = 0;

	if (!begins(c, '{'))
		return fault(c, FORM_SCHEMA, c->at, "%s is not an object", shape->name);
	c->at++;
	skip_space(c);
	if (!begins(c, '}')) {
		do {
			if (!check_member(c, shape, &next, &members_seen))
				return false;
		} while (take(c, ','));
	}
	skip_space(c);
	if (!begins(c, '}'))
		return fault(c, FORM_JSON, c->at, "expected ',' or '}'");
	c->at++;
	return check_required(c, shape, start, members_seen);
}

/* A line that is no JSON is that before all else. */
static int
blame(struct cursor *c)
{
	size_t len = (size_t)(c->end - c->line), bad;
	const char *why = scan_within(c->line, len, SCAN_LINE_DEPTH, &bad);

	if (why != NULL)
		fault(c, FORM_JSON, c->line + bad, "%s", why);
	return -1;
}

int
form_check(const char *line, size_t len, struct form *form, struct form_fault *found)
{
	static const char first[] = "{\"seq\":", last[] = "\"prev\":\"";
	struct cursor c = { line, line, line + len, form, found };

	memset(form, 0, sizeof *form);
	form->type = EVENT_TYPES;
	skip_space(&c);
	if (!check_object(&c, &line_shape))
		return blame(&c);
	skip_space(&c);
	if (c.at != c.end) {
		fault(&c, FORM_JSON, c.at, "something follows the object");
		return blame(&c);
	}
	if (memcmp(line, first, sizeof first - 1) != 0) {
		fault(&c, FORM_NOTATION, line, "\"seq\" is not the first key");
		return -1;
	}
	if (memcmp(line + len - 64 - 2 - (sizeof last - 1), last, sizeof last - 1) != 0) {
		fault(&c, FORM_NOTATION, line, "\"prev\" is not the last key");
		return -1;
	}
	return 0;
}

/* One object of a shape, and nothing behind it. */
static int
check_alone(const char *text, size_t len, const struct shape *shape, struct form_fault *found)
{
	struct form form;
	struct cursor c = { text, text, text + len, &form, found };

	memset(&form, 0, sizeof form);
	skip_space(&c);
	if (!check_object(&c, shape))
		return blame(&c);
	skip_space(&c);
	if (c.at == c.end)
		return 0;
	fault(&c, FORM_JSON, c.at, "something follows the object");
	return -1;
}

int
form_check_answer(const char *line, size_t len, struct form_fault *found)
{
	static const struct shape shape = { "the answer", answer_rules, COUNT(answer_rules), false };

	return check_alone(line, len, &shape, found);
}

int
form_check_tool(const char *payload, size_t len, struct form_fault *found)
{
	static const struct shape shape = { "the tool's payload", tool_rules, COUNT(tool_rules),
		false };

	return check_alone(payload, len, &shape, found);
}

int
form_check_payload(enum event_type type, const char *payload, size_t len,
    struct form_fault *found)
{
	return check_alone(payload, len, &payload_shapes[type], found);
}

void
form_link(struct span link, struct span *event_id, struct span *run_id)
{
	struct span none = { NULL, 0 };

	*event_id = link.at[0] == '"' ? link : span_member(link, "event_id");
	*run_id = link.at[0] == '"' ? none : span_member(link, "run_id");
}
