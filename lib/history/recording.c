/*
 * Identifies calls, matches the calls that the user names, and finds effects.
 *
 * An enclosing call stands before the calls in it, and a root before its chain, so one pass from
 * the last call to the first passes what is known of each call up to all that enclose it.
 */
#include "history/recording.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/item_name.h"
#include "storage/call_marks.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"

/* ---- what identifies a call ---- */

static void
sha256_bytes(struct buffer *text, unsigned char out[DIGEST_BYTES])
{
	crypto_hash_sha256(out, (const unsigned char *)buffer_string(text), text->len);
	buffer_free(text);
}

void
index_key(const char *root, const char *name, int64_t item, unsigned char key[DIGEST_BYTES])
{
	struct buffer text = BUFFER_INIT;

	buffer_format(&text, "%s\n%s\n%lld", root, name, (long long)item);
	sha256_bytes(&text, key);
}

uint64_t
index_digest(const char *sha256)
{
	uint64_t part = 0;

	if (strlen(sha256) >= sizeof part)
		memcpy(&part, sha256, sizeof part);
	return part;
}

void
index_guard(const char *input_sha256, const char *definition_sha256,
    unsigned char guard[DIGEST_BYTES])
{
	struct buffer text = BUFFER_INIT;

	buffer_format(&text, "%s\n%s", input_sha256, definition_sha256);
	sha256_bytes(&text, guard);
}

/* ---- what the user names ---- */

size_t
history_source_count(const struct history_spec *spec)
{
	return spec->other_count + (spec->own.path != NULL ? 1 : 0);
}

const struct history_source *
history_source(const struct history_spec *spec, size_t index)
{
	return index < spec->other_count ? &spec->others[index] : &spec->own;
}

uint32_t
recording_find_call(const struct recording *rec, struct uuid id, bool *start)
{
	const struct indexed_event *event = event_index_find(&rec->model.index.events, id);
	/* The call that a line begins is not there before the next line, but the line may name
	 * it. */
	uint32_t call = event != NULL && event->call != NULL &&
	    event->call->number < rec->number_capacity ?
	    rec->by_number[event->call->number] : NO_CALL;

	if (start != NULL)
		*start = call != NO_CALL &&
		    event_type_starts_call(event_index_type(&rec->model.index.events, event)) &&
		    event->call == rec->calls[call].call;
	return call;
}

uint32_t
recording_latest(const struct recording *rec, uint32_t call)
{
	while (rec->calls[call].links.claimed_by != NO_CALL)
		call = rec->calls[call].links.claimed_by;
	return call;
}

bool
recorded_call_went_on(const struct recorded_call *c, const struct recorded_call *earlier)
{
	return memcmp(c->key.guard, earlier->key.guard, sizeof c->key.guard) == 0 &&
	    c->source == earlier->source && !c->status.made_again;
}

/* For a replay, what the last attempt did; otherwise, what was done last. */
bool
recording_counts(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	if (rec->spec->mode == RECALL_REPLAY)
		return c->attempt == rec->now.attempt;
	/* A call that waits in another run is decided about there. */
	if (c->status.state == RECALL_WAITING && c->source < rec->spec->other_count)
		return false;
	return c->links.claimed_by == NO_CALL && !c->status.idle && c->links.left_by == 0;
}

bool
path_names(const char *path, const struct model_call *call)
{
	return strcmp(path, strchr(path, ':') != NULL ? call->id : call->step->path) == 0;
}

const char *
path_inside(const char *path, const char *call, const char *call_path)
{
	bool one = strchr(path, ':') != NULL;
	const char *prefix = one ? call : call_path;
	size_t len = strlen(prefix);

	return strncmp(path, prefix, len) == 0 && path[len] == (one ? '/' : '.') ?
	    path + len + 1 : NULL;
}

static bool
recording_call_is_unfinished(const struct recorded_call *c)
{
	return c->status.reopened || c->status.state == RECALL_OPEN || c->status.state == RECALL_FAILED;
}

/* Why it is unknown whether the call had its effect; NULL if that is known, or if repeating it
 * does no harm. */
static const char *
call_doubt(const struct recorded_call *c)
{
	if (!c->kind.effects || c->kind.idempotent || !recording_call_is_unfinished(c) ||
	    c->status.reopened)
		return NULL;
	return c->status.state == RECALL_OPEN ? "cut off" : c->failure.cut;
}

/* Whether the call is in doubt, and calls of several attempts of its name were: what the user has said of it
 * without an attempt was perhaps said of another, or of it before it was made again. */
static bool
needs_attempt(const struct recording *rec, uint32_t call)
{
	const char *id = rec->calls[call].call->id;
	size_t count = 0;

	if (!recording_doubtful(rec, call))
		return false;
	for (uint32_t i = 0; count < 2 && i < rec->call_count; i++) {
		const struct recorded_call *c = &rec->calls[i];

		count += !c->status.asked && !c->status.idle && call_doubt(c) != NULL && strcmp(c->call->id, id) == 0;
	}
	return count > 1;
}

char *
recording_call_label(const struct recording *rec, uint32_t call)
{
	const char *id = rec->calls[call].call->id;
	const size_t *count = map_get(&rec->calls_by_id, id, strlen(id));

	return (count != NULL && *count > 1) || needs_attempt(rec, call) ?
	    memory_format("%s@%lu", id, (unsigned long)rec->calls[call].attempt) : memory_text(id);
}

/* Whether no later call that counts has its id. */
static bool
is_last_named(const struct recording *rec, uint32_t call)
{
	const char *id = rec->calls[call].call->id;
	const size_t *count = map_get(&rec->calls_by_id, id, strlen(id));

	if (count == NULL || *count <= 1)
		return true;
	for (uint32_t other = call + 1; other < rec->call_count; other++)
		if (recording_counts(rec, other) && strcmp(rec->calls[other].call->id, id) == 0)
			return false;
	return true;
}

/* Whether a call had a name in an earlier attempt that no call has now, and no later one had. */
static bool
is_former_name(const struct recording *rec, uint32_t call)
{
	const char *id = rec->calls[call].call->id;

	if (map_get(&rec->calls_by_id, id, strlen(id)) != NULL)
		return false;
	for (uint32_t other = call + 1; other < rec->call_count; other++)
		if (!rec->calls[other].status.idle && strcmp(rec->calls[other].call->id, id) == 0)
			return false;
	return true;
}

char *
recording_child_names(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];
	struct buffer names = BUFFER_INIT;

	buffer_format(&names, "%s@%lu\n", c->call->id, (unsigned long)c->attempt);
	if (is_last_named(rec, call))
		buffer_format(&names, "%s\n", c->call->id);
	for (uint32_t i = c->links.claims; i != NO_CALL; i = rec->calls[i].links.claims)
		if (is_former_name(rec, i))
			buffer_format(&names, "%s\n", rec->calls[i].call->id);
	return buffer_take(&names);
}

/* ---- what of a call is in doubt ---- */

/* The next tool call in doubt among those of a call's chain, from i on. */
static uint32_t
next_doubt(const struct recording *rec, uint32_t i)
{
	for (; i != NO_TOOL; i = rec->tool_uses.tools[i].before) {
		const struct recorded_tool *t = &rec->tool_uses.tools[i];

		if (t->cut != NULL && !t->idempotent && !t->repeated && !t->answered)
			break;
	}
	return i;
}

static uint32_t
first_doubt(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	return recording_call_is_unfinished(c) ? next_doubt(rec,
	    rec->calls[c->links.root].chain.last_tool) : NO_TOOL;
}

/* Whether a tool call of a call in doubt is decided about separately. Not so for an operation,
 * whose tool call is the whole call; nor where the call begins from the start, as in a fork; nor
 * for a request that a command made. */
static bool
answers_by_tool(const struct recording *rec, uint32_t call, const struct recorded_tool *t)
{
	return !rec->calls[call].kind.operation && rec->calls[call].source >= rec->spec->other_count &&
	    name_valid(t->name);
}

/* The name that the user gives such a tool call: CALL/TOOL#NUMBER. */
static char *
tool_label(const struct recording *rec, uint32_t call, const struct recorded_tool *t)
{
	char *in = recording_call_label(rec, call), *label;

	label = memory_format("%s/%s#%lu", in, t->name, (unsigned long)t->number);
	free(in);
	return label;
}

/* ---- which call is named ---- */

/* Whether a PATH that the user gave names the call; it may be ID@ATTEMPT too. */
static bool
names_call(const char *path, const struct recorded_call *c)
{
	const char *at = strrchr(path, '@');
	char *end, *id;
	unsigned long attempt;
	bool same;

	if (at == NULL || strchr(path, ':') == NULL || at[1] < '0' || at[1] > '9')
		return path_names(path, c->call);
	attempt = strtoul(at + 1, &end, 10);
	id = memory_copy(path, (size_t)(at - path));
	same = *end == '\0' && attempt == c->attempt && path_names(id, c->call);
	free(id);
	return same;
}

static bool
any_names(char *const *paths, const struct recorded_call *c)
{
	for (; paths != NULL && *paths != NULL; paths++)
		if (names_call(*paths, c))
			return true;
	return false;
}

/* Whether one of the PATHs, when they were last given, named a call that this call has taken
 * over. */
static bool
any_named_before(const uint32_t *named, char *const *paths, uint32_t call)
{
	for (size_t i = 0; named != NULL && paths[i] != NULL; i++)
		if (named[i] == call)
			return true;
	return false;
}

bool
recording_child_answered(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];
	char root[ID_SIZE];

	if (!c->kind.child || c->links.claims == NO_CALL)
		return false;
	model_call_event_id(rec->calls[c->links.root].call, root);
	for (uint32_t i = c->links.root + 1; i < call; i++)
		if (rec->calls[i].status.asked && strcmp(rec->marks.data + rec->calls[i].key.compared, root) == 0)
			return true;
	return false;
}

/* Whether a PATH is about the call. */
static bool
is_answer(const struct recording *rec, const char *path, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	return names_call(path, c) && !(strcmp(path, c->call->id) == 0 && needs_attempt(rec, call));
}

static bool
any_answers(const struct recording *rec, char *const *paths, uint32_t call)
{
	for (; paths != NULL && *paths != NULL; paths++)
		if (is_answer(rec, *paths, call))
			return true;
	return false;
}

/* A call that a PATH names now comes first. */
enum recall_decision
recording_decision(const struct recording *rec, uint32_t call)
{
	const struct history_answers *answers = &rec->spec->answers;

	if (any_answers(rec, answers->redo, call))
		return RECALL_REDO;
	if (any_answers(rec, answers->skip, call))
		return RECALL_SKIP;
	/* A call that was made again since, under another name, is done, or is in doubt once more. */
	if (recording_doubtful(rec, call))
		return RECALL_UNDECIDED;
	if (any_named_before(rec->redo_before, answers->redo, call) &&
	    (rec->calls[call].status.state != RECALL_SUCCEEDED || rec->calls[call].links.result_from != NO_CALL))
		return RECALL_REDO;
	return any_named_before(rec->skip_before, answers->skip, call) ? RECALL_SKIP : RECALL_UNDECIDED;
}

/* Where TOOL begins in a PATH of the form CALL/TOOL#NUMBER; NULL: it has another form. */
static const char *
tool_in_path(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && strchr(slash, '#') != NULL ? slash + 1 : NULL;
}

/* The call that a PATH names, or the call of the tool call that it names. */
static char *
call_in_path(const char *path)
{
	const char *tool = tool_in_path(path);

	return memory_copy(path, tool != NULL ? (size_t)(tool - path) - 1 : strlen(path));
}

uint32_t *
recording_named_before(const struct recording *rec, char *const *paths)
{
	uint32_t *named = NULL;

	for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
		char *call = call_in_path(paths[i]);

		named = memory_array(named, i + 1, sizeof *named);
		named[i] = NO_CALL;
		if (strchr(call, ':') != NULL && map_get(&rec->calls_by_id, call, strlen(call)) == NULL)
			for (uint32_t c = rec->call_count; named[i] == NO_CALL && c-- > 0;)
				if (!rec->calls[c].status.idle && names_call(call, &rec->calls[c]))
					named[i] = recording_latest(rec, c);
		free(call);
	}
	return named;
}

static bool
names_tool(const char *path, const struct recorded_tool *t)
{
	const char *tool = tool_in_path(path);
	size_t len = strlen(t->name);
	char number[16];

	snprintf(number, sizeof number, "%lu", (unsigned long)t->number);
	return tool != NULL && strncmp(tool, t->name, len) == 0 && tool[len] == '#' &&
	    strcmp(tool + len + 1, number) == 0;
}

/* Whether one of the PATHs names a tool call in the call, by the call's present or former name. */
static bool
any_names_tool(char *const *paths, const uint32_t *before, const struct recording *rec, uint32_t call,
    const struct recorded_tool *t)
{
	for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
		char *in = call_in_path(paths[i]);
		bool named = names_tool(paths[i], t) && (names_call(in, &rec->calls[call]) ||
		    (before != NULL && before[i] == call));

		free(in);
		if (named)
			return true;
	}
	return false;
}

/* The decision about a tool call that was named itself. */
static enum recall_decision
tool_decision(const struct recording *rec, uint32_t call, const struct recorded_tool *t)
{
	const struct history_answers *answers = &rec->spec->answers;

	if (!answers_by_tool(rec, call, t))
		return RECALL_UNDECIDED;
	if (any_names_tool(answers->redo, rec->redo_before, rec, call, t))
		return RECALL_REDO;
	return any_names_tool(answers->skip, rec->skip_before, rec, call, t) ? RECALL_SKIP : RECALL_UNDECIDED;
}

bool
recording_skipped_twice(const struct recording *rec, uint32_t call)
{
	char *const *paths = rec->spec->answers.skip;
	size_t count = 0;

	for (size_t i = 0; paths != NULL && paths[i] != NULL; i++)
		count += is_answer(rec, paths[i], call) || (rec->skip_before != NULL && rec->skip_before[i] == call);
	return count > 1;
}

bool
recording_step_skipped(const struct recording *rec, uint32_t call)
{
	for (char *const *path = rec->spec->answers.skip; path != NULL && *path != NULL; path++)
		if (strchr(*path, ':') == NULL && path_names(*path, rec->calls[call].call))
			return true;
	return false;
}

bool
recording_skipped_itself(const struct recording *rec, uint32_t call)
{
	for (char *const *path = rec->spec->answers.skip; path != NULL && *path != NULL; path++)
		if (strchr(*path, ':') != NULL && is_answer(rec, *path, call))
			return true;
	return false;
}

/* No call has the name: suggests the step or the call that was perhaps meant. */
static int
refuse_path(const struct recording *rec, const char *option, const char *path, struct error *err)
{
	const char **names = memory_zero(2 * (size_t)rec->call_count + 1, sizeof *names);
	size_t len = rec->spec->prefix != NULL ? strlen(rec->spec->prefix) : 0;
	char *hint;

	for (size_t i = 0; i < rec->call_count; i++) {
		names[2 * i] = rec->calls[i].call->step->path;
		names[2 * i + 1] = rec->calls[i].call->id;
	}
	hint = text_hint(path, names);
	error_set(err, ERROR_USAGE, option, "no recorded call%s%.*s is, or is of, '%s'%s", len > 0 ? " in " : "",
	    len > 0 ? (int)len - 1 : 0, len > 0 ? rec->spec->prefix : "", path, hint);
	free(hint);
	free(names);
	return -1;
}

/* Refuses CALL/TOOL#NUMBER unless the tool call is in doubt and decided about separately. */
static int
check_tool_path(const struct recording *rec, const char *option, const char *path, struct error *err)
{
	char *in = call_in_path(path), *labels = NULL;
	uint32_t last = NO_CALL;
	bool named = false;

	for (uint32_t i = 0; i < rec->call_count; i++) {
		uint32_t call = recording_latest(rec, i);

		if (!names_call(in, &rec->calls[i]) || call == last)
			continue;
		last = call;
		for (uint32_t t = first_doubt(rec, call); t != NO_TOOL;
		     t = next_doubt(rec, rec->tool_uses.tools[t].before)) {
			char *label, *rest = labels;

			if (!answers_by_tool(rec, call, &rec->tool_uses.tools[t]))
				continue;
			label = tool_label(rec, call, &rec->tool_uses.tools[t]);
			named |= names_tool(path, &rec->tool_uses.tools[t]);
			labels = memory_format("%s%s%s", label, rest != NULL ? " or " : "", rest != NULL ? rest : "");
			free(label);
			free(rest);
		}
	}
	if (last == NO_CALL)
		refuse_path(rec, option, in, err);
	else if (!named)
		error_set(err, ERROR_USAGE, option, "'%s' is no call of a tool that is in doubt: say which call, %s",
		    path, labels != NULL ? labels : in);
	free(labels);
	free(in);
	return named ? 0 : -1;
}

/* Whether the call has answers of models, or had them before another call took it over. */
static bool
recording_paid(const struct recording *rec, uint32_t call)
{
	for (; call != NO_CALL; call = rec->calls[call].links.claims)
		if (rec->calls[call].last_event != NO_EVENT)
			return true;
	return false;
}

/* Whether there is something to decide about the call: it has an effect, or answers that were paid
 * for, or it failed and the run continued after that, or another run left it unfinished and it is
 * not continued. */
static bool
is_decidable(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	if (!recording_counts(rec, call))
		return false;
	if (c->kind.child || recording_began(rec, call) || recording_own_doubt(rec, call) || recording_paid(rec, call))
		return true;
	return (c->status.state == RECALL_FAILED && (c->call->tried || c->call->allowed ||
	    rec->calls[c->failure.first].failure.caught)) ||
	    (c->source < rec->spec->other_count && recording_call_is_unfinished(c));
}

/* The call has only asked whether it is a recorded one: the text of its question tells which. */
static void
refuse_asked(const struct recording *rec, const char *option, const char *path, uint32_t call,
    struct error *err)
{
	const struct recorded_call *c = &rec->calls[call];
	const char *prefix = rec->spec->prefix != NULL ? rec->spec->prefix : "";
	struct buffer line = BUFFER_INIT;
	char *question = NULL;

	if (event_load(history_source(rec->spec, c->end.source)->path,
	    (struct event_place){ c->end.offset, c->end.len }, &line, NULL) == 0)
		question = span_text(span_path(span_of(line.data, line.len), KEY_PAYLOAD, KEY_ERROR,
		    KEY_MESSAGE, NULL));
	error_set(err, ERROR_USAGE, option, "%s%s has done nothing but ask about a recorded call%s%s", prefix,
	    path, question != NULL ? ": " : "", question != NULL ? question : "");
	buffer_free(&line);
	free(question);
}

void
recording_refuse_kept(const struct recording *rec, uint32_t call, uint32_t by, enum kept_by why, struct error *err)
{
	static const char *const before[] = { [KEPT_BY_TOOL] = "was made by a tool of ",
		[KEPT_BY_EFFECT] = "is in ", [KEPT_BY_RACE] = "is in " };
	static const char *const behind[] = { [KEPT_BY_TOOL] = ", whose result is used",
		[KEPT_BY_EFFECT] = ", which succeeded and has --effects of its own",
		[KEPT_BY_RACE] = ", where another branch has succeeded (--strategy any)" };
	const char *prefix = rec->spec->prefix != NULL ? rec->spec->prefix : "";
	char *label = recording_call_label(rec, call), *kept = recording_call_label(rec, by);

	error_set(err, ERROR_USAGE, "--redo", "%s%s cannot be made again: it %s%s%s%s", prefix, label, before[why],
	    prefix, kept, behind[why]);
	free(label);
	free(kept);
}

/* Whether another call has asked whether it is this one, in any attempt: an answer may be for that one. */
static bool
was_asked_about(const struct recording *rec, uint32_t call)
{
	char root[ID_SIZE];

	model_call_event_id(rec->calls[rec->calls[call].links.root].call, root);
	for (uint32_t i = 0; rec->seen.asked && i < rec->call_count; i++)
		if (strcmp(rec->marks.data + rec->calls[i].key.compared, root) == 0)
			return true;
	return false;
}

/* Whether it succeeded, and no call has asked whether it is this one: if a call has its words, the result is used. */
static bool
is_used_whatever(const struct recording *rec, uint32_t call)
{
	return rec->calls[call].status.state == RECALL_SUCCEEDED && !recording_doubtful(rec, call) &&
	    !recording_tools_doubtful(rec, call) && !was_asked_about(rec, call) && !recording_dropped(rec, call, true);
}

/* Whether a PATH of --redo, --skip or --new names a call to which the option applies; 2: one that is to be made
 * again in a call that had ended; 3: the calls of a PATH of --redo have succeeded. -1: the PATH is wrong, whatever
 * child runs have. */
static int
check_path(const struct recording *rec, const char *option, const char *path, struct error *err)
{
	const char *prefix = rec->spec->prefix != NULL ? rec->spec->prefix : "";
	bool found = false, decidable = false, kept = false, redone = false, used = strcmp(option, "--redo") == 0;
	uint32_t asked = NO_CALL, by;
	enum kept_by why;

	if (strcmp(option, "--new") == 0 && strchr(path, ':') != NULL) {
		error_set(err, ERROR_USAGE, option, "'%s' is one call: name its step", path);
		return -1;
	}
	for (uint32_t i = 0; i < rec->call_count; i++) {
		uint32_t call = recording_latest(rec, i);

		if (!names_call(path, &rec->calls[i]))
			continue;
		if (strcmp(option, "--skip") == 0 && any_names(rec->spec->answers.redo, &rec->calls[i])) {
			error_set(err, ERROR_USAGE, option, "%s%s is named by --redo too", prefix, rec->calls[i].call->id);
			return -1;
		}
		if (strcmp(option, "--redo") == 0 && recording_redone(rec, call)) {
			by = recording_kept_by(rec, call, &why);
			/* What is in doubt is asked about, and needs an answer. */
			if (by != NO_CALL && !recording_doubtful(rec, call)) {
				recording_refuse_kept(rec, call, by, why, err);
				kept = true;
				continue;
			}
			redone = true;
		}
		found = true;
		used = used && is_used_whatever(rec, call);
		decidable |= strcmp(option, "--new") == 0 || is_decidable(rec, call);
		if (rec->calls[call].status.asked)
			asked = call;
	}
	if (decidable || (found && asked == NO_CALL))
		return redone ? 2 : used ? 3 : 1;
	if (asked != NO_CALL)
		refuse_asked(rec, option, path, asked, err);
	else if (kept)
		return 0;
	else if (tool_in_path(path) != NULL && list_has(rec->spec->answers.redo, path) &&
	    list_has(rec->spec->answers.skip, path))
		return error_set(err, ERROR_USAGE, "--skip", "%s%s is named by --redo too", prefix, path);
	else
		return tool_in_path(path) != NULL && check_tool_path(rec, option, path, err) == 0;
	return 0;
}

void
history_refuse(struct history_summary *summary, const char *path, const struct error *why)
{
	for (size_t i = 0; i < summary->refused_count; i++)
		if (strcmp(summary->refused[i].path, path) == 0) {
			summary->refused[i].why = *why;
			return;
		}
	summary->refused = memory_array(summary->refused, summary->refused_count + 1,
	    sizeof *summary->refused);
	summary->refused[summary->refused_count++] = (struct history_refusal){ memory_text(path), *why };
}

static int
check_paths(const struct recording *rec, const char *option, char *const *paths,
    struct history_summary *summary, struct error *err)
{
	for (; paths != NULL && *paths != NULL; paths++) {
		struct history_refusal refusal = { .why = ERROR_INIT };
		int named = check_path(rec, option, *paths, &refusal.why);

		if (named == -1) {
			*err = refusal.why;
			return -1;
		}
		if (named == 2)
			list_add(&summary->redone, *paths);
		if (named == 3)
			list_add(&summary->used, *paths);
		if (named > 0) {
			list_add(&summary->named, *paths);
			continue;
		}
		if (refusal.why.code == ERROR_NONE)
			refuse_path(rec, option, *paths, &refusal.why);
		history_refuse(summary, *paths, &refusal.why);
	}
	return 0;
}

/* Checks the PATH of --at: it must be a call, and not one in a child run. */
static int
check_left_out(const struct recording *rec, const char *path, struct error *err)
{
	for (uint32_t i = 0; i < rec->call_count; i++) {
		const struct model_call *call = rec->calls[i].call;

		if (rec->calls[i].kind.child && path_inside(path, call->id, call->step->path) != NULL)
			return error_set(err, ERROR_USAGE, "--at",
			    "'%s' is in a child run: name the call of that, %s", path, call->id);
		if (names_call(path, &rec->calls[i]))
			return 0;
	}
	return refuse_path(rec, "--at", path, err);
}

int
recording_check_paths(const struct recording *rec, struct history_summary *summary, struct error *err)
{
	const struct history_spec *spec = rec->spec;

	if (check_paths(rec, "--redo", spec->answers.redo, summary, err) != 0 ||
	    check_paths(rec, "--skip", spec->answers.skip, summary, err) != 0 ||
	    check_paths(rec, "--new", spec->answers.new_steps, summary, err) != 0)
		return -1;
	for (size_t i = 0; i < spec->other_count; i++)
		if (spec->others[i].left_out != NULL && check_left_out(rec, spec->others[i].left_out, err) != 0)
			return -1;
	return 0;
}

/* ---- calls that are made again although what they are in has ended ---- */

bool
recording_redone(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	if (c->links.claimed_by != NO_CALL || c->links.left_by > 0 || c->status.asked ||
	    recording_decision(rec, call) != RECALL_REDO)
		return false;
	if (c->status.state == RECALL_SKIPPED ? c->status.by_user || c->status.idle :
	    c->status.state != RECALL_FAILED && c->status.state != RECALL_OPEN)
		return false;
	/* What a failed try did is not made again: another try has succeeded. */
	return (c->links.enclosing == NO_CALL ||
	    c->call->rare->try_number >= rec->calls[c->links.enclosing].last_try) && !was_asked_about(rec, call);
}

uint32_t
recording_kept_by(const struct recording *rec, uint32_t call, enum kept_by *why)
{
	for (uint32_t i = call; i != NO_CALL; i = rec->calls[i].links.enclosing) {
		const uint32_t at = recording_latest(rec, i);
		const struct recorded_call *c = &rec->calls[at];

		*why = KEPT_BY_TOOL;
		if (recording_used_up(rec, i))
			return c->links.enclosing;
		if (i == call || c->status.state != RECALL_SUCCEEDED)
			continue;
		*why = c->call->race ? KEPT_BY_RACE : KEPT_BY_EFFECT;
		if (c->call->race || (c->kind.effects && !c->kind.idempotent))
			return at;
	}
	return NO_CALL;
}

void
recording_reopen_around(struct recording *rec, uint32_t call)
{
	for (uint32_t at = rec->calls[call].links.enclosing; at != NO_CALL; at = rec->calls[at].links.enclosing) {
		struct recorded_call *around = &rec->calls[recording_latest(rec, at)];

		rec->calls[around->links.root].chain.redone = true;
		if (around->status.state == RECALL_SUCCEEDED)
			around->status.reopened = true;
	}
}

void
recording_reopen_redone(struct recording *rec)
{
	for (uint32_t i = 0; i < rec->call_count; i++) {
		enum kept_by why;

		if (!recording_redone(rec, i) || recording_kept_by(rec, i, &why) != NO_CALL)
			continue;
		rec->calls[rec->calls[i].links.root].chain.redone = true;
		recording_reopen_around(rec, i);
	}
}

/* ---- effects in doubt ---- */

static bool
recording_call_succeeded(const struct recorded_call *c)
{
	return c->status.state == RECALL_SUCCEEDED && !c->status.reopened && c->links.left_by == 0;
}

/* Whether another branch of an enclosing group has won the race. */
static bool
lost_race(const struct recording *rec, uint32_t call)
{
	for (uint32_t i = rec->calls[call].links.enclosing; i != NO_CALL; i = rec->calls[i].links.enclosing) {
		uint32_t winner = rec->calls[rec->calls[i].links.root].chain.winner;

		if (winner != NO_CALL && recording_call_succeeded(&rec->calls[recording_latest(rec,
		    winner)]))
			return true;
	}
	return false;
}

/* Whether nothing of the call will be made again: an enclosing call succeeded or lost a race. */
static bool
recording_call_is_over(const struct recording *rec, uint32_t call)
{
	for (uint32_t i = rec->calls[call].links.enclosing; i != NO_CALL; i = rec->calls[i].links.enclosing) {
		uint32_t winner = rec->calls[rec->calls[i].links.root].chain.winner;

		if (recording_call_succeeded(&rec->calls[recording_latest(rec, i)]) ||
		    (winner != NO_CALL && recording_call_succeeded(&rec->calls[recording_latest(rec,
		    winner)])))
			return true;
	}
	return false;
}

bool
recording_own_doubt(const struct recording *rec, uint32_t call)
{
	return call_doubt(&rec->calls[call]) != NULL || first_doubt(rec, call) != NO_TOOL;
}

bool
recording_doubtful(const struct recording *rec, uint32_t call)
{
	return recording_own_doubt(rec, call) && !recording_call_is_over(rec, call);
}

bool
recording_tool_answers(const struct recording *rec, uint32_t call, struct buffer *out)
{
	bool all = call_doubt(&rec->calls[call]) == NULL && first_doubt(rec, call) != NO_TOOL;

	for (uint32_t t = first_doubt(rec, call); t != NO_TOOL;
	    t = next_doubt(rec, rec->tool_uses.tools[t].before)) {
		enum recall_decision decided = tool_decision(rec, call, &rec->tool_uses.tools[t]);

		all = all && decided != RECALL_UNDECIDED;
		if (decided != RECALL_UNDECIDED)
			buffer_format(out, "%s %s\n", decided == RECALL_REDO ? "redo" : "skip", rec->tool_uses.tools[t].id);
	}
	return all;
}

bool
recording_tools_doubtful(const struct recording *rec, uint32_t call)
{
	return !rec->calls[call].kind.operation && recording_doubtful(rec, call) &&
	    call_doubt(&rec->calls[call]) == NULL;
}

/* ---- effects that were begun, and those that happened ---- */

/* Whether a tool of the call, in any attempt, began to change something; or, if `twice` is set,
 * began something that must not be done twice. */
static bool
tool_began(const struct recording *rec, uint32_t call, bool twice)
{
	uint32_t i = rec->calls[rec->calls[call].links.root].chain.last_tool;

	while (i != NO_TOOL && (rec->tool_uses.tools[i].blocked ||
	    (twice && rec->tool_uses.tools[i].idempotent)))
		i = rec->tool_uses.tools[i].before;
	return i != NO_TOOL;
}

static bool
attempt_began(const struct recorded_call *c)
{
	return c->kind.effects && !c->status.idle && c->status.state != RECALL_SKIPPED;
}

/* Whether a call's own work has changed something, or may have. A call that failed by itself has
 * not. For a child run that ended well it is not known here. */
static bool
attempt_changed(const struct recorded_call *c)
{
	if (c->status.idle || c->status.state == RECALL_SKIPPED)
		return false;
	if (c->kind.child)
		return c->status.state == RECALL_SUCCEEDED;
	return c->kind.effects && !c->kind.idempotent && (c->status.state != RECALL_FAILED || c->failure.cut != NULL);
}

bool
recording_began(const struct recording *rec, uint32_t call)
{
	if (rec->calls[rec->calls[call].links.root].chain.began_inside || tool_began(rec, call, false))
		return true;
	for (; call != NO_CALL; call = rec->calls[call].links.claims)
		if (attempt_began(&rec->calls[call]))
			return true;
	return false;
}

bool
recording_changed(const struct recording *rec, uint32_t call)
{
	if (tool_began(rec, call, true))
		return true;
	for (; call != NO_CALL; call = rec->calls[call].links.claims)
		if (!rec->calls[call].kind.child && attempt_changed(&rec->calls[call]))
			return true;
	return false;
}

bool
recording_used_up(const struct recording *rec, uint32_t call)
{
	uint32_t use = rec->calls[call].key.use;

	return rec->spec->mode != RECALL_REPLAY && use != NO_USE && rec->tool_uses.uses[use].ended;
}

/* The attempt that has made the calls in a call, as far as this attempt's results are known to be of them: the
 * last one, or the one that made the result with which the call, or one around it, was taken over whole. 0: that
 * attempt has not come to the call. */
static uint32_t
attempt_inside(const struct recording *rec, uint32_t call)
{
	const uint32_t attempt = call != NO_CALL ? attempt_inside(rec, rec->calls[call].links.enclosing) :
	    rec->now.attempt;

	if (call == NO_CALL)
		return attempt;
	call = recording_latest(rec, call);
	while (call != NO_CALL && rec->calls[call].attempt > attempt)
		call = rec->calls[call].links.claims;
	if (call == NO_CALL || rec->calls[call].attempt != attempt)
		return 0;
	return rec->calls[call].links.result_from != NO_CALL ?
	    rec->calls[rec->calls[call].links.result_from].attempt : attempt;
}

bool
recording_unclaimed(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];
	uint32_t attempt;

	if (!recording_counts(rec, call) || c->attempt == rec->now.attempt || (!c->kind.child &&
	    !recording_changed(rec, call) && rec->calls[c->links.root].chain.changed_inside == NO_CALL))
		return false;
	if (c->links.enclosing == NO_CALL)
		return true;
	if (lost_race(rec, call) || recording_used_up(rec, call))
		return false;
	/* What is inside a call that is reported, or that was taken over whole, or inside an
	 * earlier try, is not reported separately. */
	attempt = attempt_inside(rec, c->links.enclosing);
	return attempt == rec->now.attempt ? c->call->rare->try_number >= rec->calls[c->links.enclosing].last_try :
	    c->attempt < attempt;
}

bool
recording_only_begun(const struct recording *rec, uint32_t call)
{
	if (rec->calls[rec->calls[call].links.root].chain.began_inside || tool_began(rec, call, false))
		return false;
	for (; call != NO_CALL; call = rec->calls[call].links.claims)
		if (rec->calls[call].status.state != RECALL_OPEN && !rec->calls[call].status.idle)
			return false;
	return true;
}

void
recording_note_effects(struct recording *rec)
{
	for (uint32_t i = rec->call_count; i-- > 0;) {
		const struct recorded_call *c = &rec->calls[i];
		bool root = c->links.root == i;
		struct recorded_call *around;

		if (c->links.enclosing == NO_CALL)
			continue;
		around = &rec->calls[rec->calls[c->links.enclosing].links.root];
		if (c->links.left_by == 0) {
			around->chain.began_inside |= attempt_began(c) ||
			    (root && (c->chain.began_inside || tool_began(rec, i, false)));
			if (attempt_changed(c) || (root && tool_began(rec, i, true)))
				around->chain.changed_inside = i;
			else if (root && c->chain.changed_inside != NO_CALL)
				around->chain.changed_inside = c->chain.changed_inside;
		}
		around->chain.child_inside |= c->kind.child || (root && c->chain.child_inside);
		/* What the steps of a child run did is in the child's own transcript. */
		around->chain.doubt_inside |= rec->spec->mode == RECALL_RESUME &&
		    ((root && c->chain.doubt_inside) || (recording_counts(rec, i) &&
		    (recording_doubtful(rec, i) ||
		    (c->kind.child && (c->status.state == RECALL_OPEN || c->failure.cut != NULL)))));
	}
}

/* ---- what the user is told about calls in doubt ---- */

struct recorded_marks
recording_marks(const struct recording *rec, const struct recorded_call *c)
{
	const char *texts = rec->marks.data;

	return (struct recorded_marks){ texts + c->key.start, texts + c->key.directory, texts + c->key.variables };
}

/* Appends what distinguishes a call from others of its name: its directory, and the variables
 * that had another value in one of the others. */
static void
describe_marks(const struct recording *rec, uint32_t call, struct buffer *out)
{
	const struct recorded_call *c = &rec->calls[call];
	const struct recorded_marks own = recording_marks(rec, c);
	struct span variables = span_of(own.variables, strlen(own.variables));
	char *name = call_id_name(c->call->id), *other;
	struct recorded_marks marks;

	if (*own.directory != '\0')
		buffer_format(out, "in %s", own.directory);
	for (struct span_walk member = span_walk(variables); variables.len > 0 && span_next(&member);) {
		char *variable = span_text(member.key);
		bool differs = false;

		for (uint32_t i = 0; !differs && i < rec->call_count; i++) {
			if (rec->calls[i].key.start != c->key.start)
				continue;
			marks = recording_marks(rec, &rec->calls[i]);
			if (!marks_recorded_differ(&own, &marks, variable))
				continue;
			other = call_id_name(rec->calls[i].call->id);
			differs = strcmp(name, other) == 0;
			free(other);
		}
		if (differs)
			marks_describe(variable, member.value, out);
		free(variable);
	}
	free(name);
}

/* The beginning of the input of a call whose start event has this payload; or NULL. */
static char *
name_data(const struct recording *rec, const struct recorded_call *c, struct span payload)
{
	struct buffer line = BUFFER_INIT, name = BUFFER_INIT;
	struct span input = span_member(payload, KEY_INPUT);
	struct event_view view;

	if (input.at != NULL) {
		item_name(input, &name);
	} else if (c->links.input_from != NO_CALL) {
		struct place end = rec->calls[c->links.input_from].end;

		if (end.len > 0 && event_load(history_source(rec->spec, end.source)->path,
		    (struct event_place){ end.offset, end.len }, &line, NULL) == 0 &&
		    event_view(line.data, line.len, &view) == 0)
			item_name_result(&view, &name);
	}
	buffer_free(&line);
	return name.len > 0 ? buffer_take(&name) : NULL;
}

/* Appends to a list of doubts. */
static int
add_doubt(const struct recording *rec, struct history_doubt **list, size_t *count, uint32_t call,
    const struct recorded_tool *tool, struct error *err)
{
	const struct recorded_call *c = &rec->calls[call];
	struct event_place place = c->call->begin;
	uint32_t source = tool != NULL ? tool->place.source : c->source;
	struct buffer line = BUFFER_INIT, text = BUFFER_INIT;
	struct history_doubt *d;
	char *label;
	struct span event, payload, blocks, what;

	if (tool != NULL)
		place = (struct event_place){ tool->place.offset, tool->place.len };
	if (event_load(history_source(rec->spec, source)->path, place, &line, err) != 0) {
		buffer_free(&line);
		return -1;
	}
	event = span_of(line.data, line.len);
	payload = span_member(event, KEY_PAYLOAD);

	/* One line of text about what was done: a command, or the arguments of a tool. */
	blocks = span_member(payload, KEY_BLOCKS);
	if (tool == NULL && blocks.at != NULL)
		what = span_member(span_element(blocks, 0), KEY_COMMAND);
	else
		what = span_member(payload, tool != NULL ? KEY_INPUT :
		    span_member(payload, KEY_AGENT).at != NULL ? KEY_AGENT : KEY_TOOL);
	if (span_type(what) == 's')
		span_decode(what, &text);
	else
		buffer_append(&text, what.at, what.len);
	*list = memory_array(*list, *count + 1, sizeof **list);
	d = &(*list)[(*count)++];
	label = tool != NULL && answers_by_tool(rec, call, tool) ? tool_label(rec, call, tool) :
	    recording_call_label(rec, call);
	*d = (struct history_doubt){ .call = memory_format("%s%s",
		rec->spec->prefix != NULL ? rec->spec->prefix : "", label),
		.tool = tool != NULL ? span_text(span_member(payload, KEY_NAME)) : NULL,
		.what = memory_text(buffer_string(&text)),
		.why = tool != NULL ? tool->cut : call_doubt(c),
		.anew = tool != NULL && call_doubt(c) == NULL && c->source < rec->spec->other_count,
		.decided = tool != NULL ? tool_decision(rec, call, tool) : RECALL_UNDECIDED };
	if (d->decided == RECALL_UNDECIDED)
		d->decided = recording_decision(rec, call);
	free(label);
	span_copy(span_member(event, KEY_TIMESTAMP), d->timestamp, sizeof d->timestamp);
	buffer_clear(&text);
	if (tool == NULL)
		describe_marks(rec, call, &text);
	if (text.len > 0)
		d->marks = buffer_take(&text);
	if (tool == NULL && !c->kind.child && !c->kind.member)
		d->data = name_data(rec, c, payload);
	buffer_free(&text);
	buffer_free(&line);
	return 0;
}

void
index_left_out(const char *name, const unsigned char guard[DIGEST_BYTES], char text[LEFT_OUT_SIZE])
{
	unsigned char key[DIGEST_BYTES];

	index_key("", name, ANY_ITEM, key);
	for (size_t i = 0; i < 8; i++)
		snprintf(text + 2 * i, 3, "%02x", (unsigned)(key[i] ^ guard[i]));
}

uint64_t
index_step(const char *chain)
{
	struct buffer names = BUFFER_INIT;
	unsigned char key[DIGEST_BYTES];
	uint64_t step;

	for (const char *at = chain; *at != '\0'; at += strcspn(at, "/"), at += *at == '/')
		buffer_format(&names, "%.*s/", (int)strcspn(at, ":/"), at);
	index_key("", buffer_string(&names), ANY_ITEM, key);
	memcpy(&step, key, sizeof step);
	buffer_free(&names);
	return step;
}

/* For the command of a child run, "/bin/sh -c TEXT NAME ...": whether the files of the run have it. */
static bool
text_is_written(const struct history_names *names, const char *command, const char *name)
{
	const char *begin = strstr(command, " -c ");

	return begin != NULL && names->written(names->context, begin + strlen(" -c "), name);
}

bool
recording_named(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];
	const struct history_names *names = rec->spec->names;
	struct buffer line = BUFFER_INIT, command = BUFFER_INIT;
	struct span what;
	bool named = false;

	/* One line may have all branches of a parallel group, among others or in another order. */
	if (names == NULL || !names->edited || c->kind.members || (!c->kind.child && !recording_began(rec, call)) ||
	    event_load(history_source(rec->spec, c->source)->path, c->call->begin, &line, NULL) != 0) {
		buffer_free(&line);
		return false;
	}
	what = span_path(span_of(line.data, line.len), KEY_PAYLOAD, KEY_BLOCKS, NULL);
	if (what.at != NULL)
		what = span_member(span_element(what, 0), KEY_COMMAND);
	if (span_type(what) == 's') {
		char *name = call_id_name(c->call->id);

		span_decode(what, &command);
		named = c->kind.child ? text_is_written(names, buffer_string(&command), name) :
		    names->calls(names->context, name, buffer_string(&command));
		free(name);
	}
	buffer_free(&command);
	buffer_free(&line);
	return named;
}

bool
recording_dropped(const struct recording *rec, uint32_t call, bool lately)
{
	const struct history_names *names = rec->spec->names;
	char *name;
	bool dropped;

	if (names == NULL || !names->edited || (!rec->calls[call].kind.child && !recording_changed(rec, call)))
		return false;
	name = call_id_name(rec->calls[call].call->id);
	dropped = names->dropped(names->context, name, lately);
	free(name);
	return dropped;
}

int
recording_doubts(const struct recording *rec, struct history_summary *summary,
    struct error *err)
{
	if (rec->spec->mode == RECALL_REPLAY)
		return 0;
	for (uint32_t i = 0; i < rec->call_count; i++) {
		bool doubtful = false;
		size_t first;

		if (!recording_counts(rec, i) || recording_call_is_over(rec, i))
			continue;
		if (call_doubt(&rec->calls[i]) != NULL) {
			doubtful = true;
			if (add_doubt(rec, &summary->doubts, &summary->doubt_count, i, NULL, err) != 0)
				return -1;
		}
		first = summary->doubt_count;
		for (uint32_t t = first_doubt(rec, i); t != NO_TOOL;
		     t = next_doubt(rec, rec->tool_uses.tools[t].before)) {
			doubtful = true;
			if (add_doubt(rec, &summary->doubts, &summary->doubt_count, i, &rec->tool_uses.tools[t], err) != 0)
				return -1;
		}
		/* They were found from the last to the first: reverse them. */
		for (size_t last = summary->doubt_count; last > first + 1; first++) {
			struct history_doubt doubt = summary->doubts[first];

			summary->doubts[first] = summary->doubts[--last];
			summary->doubts[last] = doubt;
		}
		if (doubtful || !recording_dropped(rec, i, true))
			continue;
		if (add_doubt(rec, &summary->doubts, &summary->doubt_count, i, NULL, err) != 0)
			return -1;
		summary->doubts[summary->doubt_count - 1].why = NULL;
		summary->doubts[summary->doubt_count - 1].waits = rec->calls[i].status.state == RECALL_WAITING;
	}
	return 0;
}

static bool
is_inside(const struct recording *rec, uint32_t call, uint32_t around)
{
	for (uint32_t i = rec->calls[call].links.enclosing; i != NO_CALL; i = rec->calls[i].links.enclosing)
		if (rec->calls[i].links.root == rec->calls[around].links.root)
			return true;
	return false;
}

/* Whether the call has changed something only by calls in it, and each of these has been taken over. */
static bool
is_taken_inside(const struct recording *rec, uint32_t call, bool (*taken)(void *, int64_t),
    void *context)
{
	bool any = false;

	if (rec->calls[call].kind.child || recording_changed(rec, call))
		return false;
	/* Of any attempt: one in which the call stood has none in it. */
	for (uint32_t i = 0; i < rec->call_count; i++) {
		if ((!rec->calls[i].kind.child && !recording_changed(rec, i)) || !is_inside(rec, i, call))
			continue;
		if (rec->calls[i].links.claimed_by == NO_CALL && recording_counts(rec, i) &&
		    !taken(context, rec->calls[i].call->begin.offset))
			return false;
		any = true;
	}
	return any;
}

int
recording_list_unclaimed(const struct recording *rec, bool (*taken)(void *, int64_t),
    void *context, struct history_summary *summary, struct error *err)
{
	for (uint32_t i = 0; i < rec->call_count; i++)
		if (recording_unclaimed(rec, i) && !taken(context, rec->calls[i].call->begin.offset) &&
		    !is_taken_inside(rec, i, taken, context) &&
		    add_doubt(rec, &summary->unclaimed, &summary->unclaimed_count, i, NULL, err) != 0)
			return -1;
	return 0;
}
