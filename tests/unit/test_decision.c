/* run/waiting, run/decision: what waits in a transcript, and what ends it. */
#include "unit.h"

#include "record.h"
#include "decide/decision.h"

/*
 * Transcripts in short: words separated by blanks; an id is a letter.
 *   R             run.started
 *   <I,CALL       step.started; <I,CALL,C: it claims C
 *   ?I,CALL,P     step.completed, parent P, that waits for a decision
 *   >I,CALL,P     step.completed, parent P
 *   !I,CALL,P     a decision about P, "approved" by ann
 *   ~I,CALL,P     a heartbeat about P
 *   S F           run.completed, success or waiting
 */
static const char *
uuid(char letter)
{
	static char texts[4][ID_SIZE];
	static unsigned next;
	char *text = texts[next++ % 4];

	snprintf(text, ID_SIZE, "%08x-0000-4000-8000-000000000000", (unsigned)(unsigned char)letter);
	return text;
}

static void
add_line(struct buffer *out, long seq, char id, char parent, const char *type, const char *payload)
{
	char *members = memory_format("\"timestamp\":\"2026-11-21T08:15:30.123456Z\","
	    "\"event_id\":\"%s\",\"run_id\":\"" RUN_ID "\",\"parent_event_id\":\"%s\",\"type\":\"%s\","
	    "\"path\":\"p\",\"iteration\":0,\"payload\":%s", uuid(id), uuid(parent), type, payload);

	record_line(out, seq, members);
	free(members);
}

static void
add_word(struct buffer *out, long seq, char *word)
{
	char *call = strchr(word, ','), *other = call != NULL ? strchr(call + 1, ',') : NULL;
	char parent = 'R', payload[512], more[256] = "";

	if (call != NULL)
		*call++ = '\0';
	if (other != NULL) {
		*other++ = '\0';
		parent = *other;
	}
	switch (word[0]) {
	case 'R':
		add_line(out, seq, 'R', 'R', "run.started", "{}");
		return;
	case 'S': case 'F':
		add_line(out, seq, word[0], 'R', "run.completed",
		    word[0] == 'S' ? "{\"status\":\"success\"}" : "{\"status\":\"waiting\"}");
		return;
	case '<':
		if (other != NULL)
			snprintf(more, sizeof more, ",\"claims\":\"%s\"", uuid(*other));
		break;
	case '?':
		snprintf(more, sizeof more, ",\"approval\":{\"asks\":\"approval\"}");
		break;
	case '!':
		snprintf(more, sizeof more, ",\"approval\":{\"decision\":\"approved\",\"by\":\"ann\","
		    "\"decides\":\"%s\"}", uuid(parent));
		break;
	case '~':
		snprintf(more, sizeof more, ",\"approval\":{\"decision\":\"heartbeat\",\"by\":\"ann\","
		    "\"decides\":\"%s\",\"asks\":\"approval\"}", uuid(parent));
		break;
	}
	snprintf(payload, sizeof payload, "{\"name\":\"n\",\"kind\":\"k\",\"call\":\"%s\"%s}", call, more);
	add_line(out, seq, word[1], parent, word[0] == '<' ? "step.started" : "step.completed", payload);
}

static void
read_story(const char *story, struct model *m)
{
	char *copy = memory_text(story), *rest = copy, *word;
	const char *path = record_path("story.jsonl");
	struct buffer lines = BUFFER_INIT;
	long seq = 0;

	while ((word = strtok_r(rest, " ", &rest)) != NULL)
		add_word(&lines, ++seq, word);
	record_put(path, buffer_string(&lines), lines.len);
	model_begin(m, MODEL_LIVE);
	assert_int_equal(model_read_file(m, path, NULL), 0);
	buffer_free(&lines);
	free(copy);
}

/* "CALL/TASK END" of what waits, "CALL: HOW" of what does no more. */
static void
describe(const struct waitings *w, struct buffer *out)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct waiting *at = &w->list[i];

		buffer_format(out, "%s%s", i > 0 ? "; " : "", at->call);
		if (at->over)
			buffer_format(out, ": %s", at->how != NULL ? at->how : "anew");
		else
			buffer_format(out, "/%s %c", at->task, (int)strtol(at->end, NULL, 16));
	}
}

static void
what_waits(void **state)
{
	static const struct { const char *story, *waits; } table[] = {
		{ "R <a,x:0:0 >b,x:0:0,a S", "" },
		{ "R <a,x:0:0 ?b,x:0:0,a F", "x:0:0/x:0:0 b" },
		{ "R <a,x:0:0 ?b,x:0:0,a F !c,x:0:0,b", "x:0:0: approved by ann" },
		/* the first decision counts, and one about nothing does not */
		{ "R <a,x:0:0 ?b,x:0:0,a F !c,x:0:0,z", "x:0:0/x:0:0 b" },
		{ "R <a,x:0:0 ?b,x:0:0,a F ~c,x:0:0,b", "x:0:0/x:0:0 c" },
		{ "R <a,x:0:0 ?b,x:0:0,a F ~c,x:0:0,b !d,x:0:0,b", "x:0:0/x:0:0 c" },
		{ "R <a,x:0:0 ?b,x:0:0,a F ~c,x:0:0,b !d,x:0:0,c", "x:0:0: approved by ann" },
		/* a further attempt: taken over, under another name too, or made anew */
		{ "R <a,x:0:0 ?b,x:0:0,a F R <c,x:1:0,a ?d,x:1:0,c F", "x:1:0/x:0:0 d" },
		{ "R <a,x:0:0 ?b,x:0:0,a F R <c,x:0:0,a", "x:0:0/x:0:0 b" },
		{ "R <a,x:0:0 ?b,x:0:0,a F R <c,x:0:0,a !d,x:0:0,b", "x:0:0: approved by ann" },
		{ "R <a,x:0:0 ?b,x:0:0,a F R <c,x:0:0,a >d,x:0:0,c F",
		    "x:0:0: ended in a further attempt of the run" },
		{ "R <a,x:0:0 ?b,x:0:0,a F !e,x:0:0,b R <c,x:0:0,a >d,x:0:0,c F",
		    "x:0:0: approved by ann" },
		{ "R <a,x:0:0 ?b,x:0:0,a F R <c,x:0:0", "x:0:0: anew" },
		{ "R <a,x:0:0 ?b,x:0:0,a F R <c,x:0:0 ?d,x:0:0,c F", "x:0:0: anew; x:0:0/x:0:0 d" },
		{ "R <a,x:0:0 ?b,x:0:0,a F R <c,x:0:0 <d,x:1:0,a ?e,x:1:0,d F", "x:1:0/x:0:0 e" },
		/* its work was done again, and waits again */
		{ "R <a,x:0:0 ?b,x:0:0,a F R <c,x:0:0,a >d,x:0:0,c F R <e,x:2:0,c ?f,x:2:0,e F",
		    "x:2:0/x:2:0 f" },
		{ "R <a,x:0:0 ?b,x:0:0,a F R F", "x:0:0/x:0:0 b" },
		{ "R <a,x:0:0 ?b,x:0:0,a F R S", "x:0:0: left behind, as the run has succeeded" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct buffer text = BUFFER_INIT;
		struct model m;

		read_story(table[i].story, &m);
		describe(&m.waits, &text);
		if (!buffer_equal(&text, table[i].waits))
			fail_msg("%s: %s, not %s", table[i].story, buffer_string(&text), table[i].waits);
		buffer_free(&text);
		model_free(&m);
	}
}

static void
the_end_is_found_behind_any_number_of_decisions(void **state)
{
	const char *path = record_path("end.jsonl");
	struct buffer lines = BUFFER_INIT;
	struct reader reader;
	const char *line;
	size_t len;

	(void)state;
	for (long decisions = 0; decisions < 70; decisions += 23) {
		char start[] = "R", wait[] = "?b,x:0:0,a", end[] = "F";

		buffer_clear(&lines);
		add_word(&lines, 1, start);
		add_word(&lines, 2, wait);
		add_word(&lines, 3, end);
		for (long i = 0; i < decisions; i++) {
			char beat[] = "~c,x:0:0,b";

			add_word(&lines, 4 + i, beat);
		}
		record_put(path, lines.data, lines.len);
		assert_int_equal(reader_open(&reader, path, NULL), 0);
		assert_int_equal(waiting_seek_end(&reader, NULL), 0);
		assert_int_equal(reader_next(&reader, &line, &len, NULL), 1);
		assert_int_equal(strncmp(line, "{\"seq\":3,", 9), 0);
		reader_close(&reader);
	}
	buffer_free(&lines);
}

static void
edits_keep_the_form(void **state)
{
	static const struct { const char *json; bool base64; const char *edit; int differs;
		const char *result; } table[] = {
		{ "{\"a\":1.50}", false, " {\"a\": 1.50}\n", 0, "{\"a\":1.50}" },
		{ "{\"a\":1.50}", false, "{\"a\": 1.5}", 1, "{\"a\":1.5}" },
		{ "{\"a\":1}", false, "a", -1, NULL },
		{ "[]", false, "\"a\"", 1, "\"a\"" },
		{ "7", false, "", -1, NULL },
		{ "\"a\"", false, "a\n", 0, "\"a\"" },
		{ "\"a\"", false, "a", 0, "\"a\"" },
		{ "\"a\"", false, "{\"a\":1}\n", 1, "\"{\\\"a\\\":1}\"" },
		{ "\"//4=\"", true, "\xff\xfe", 0, "\"//4=\"" },
		{ "\"//4=\"", true, "//4=", 1, "\"//4=\"" },
		{ "null", false, "{}", 1, "{}" },
		{ "null", false, "yes", 1, "\"yes\"" },
		{ "null", false, "null\n", 0, "null" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct data original = { BUFFER_INIT, false, table[i].base64 }, edited;
		struct error err = ERROR_INIT;

		buffer_text(&original.json, table[i].json);
		assert_int_equal(decision_edit(&original, table[i].edit, strlen(table[i].edit), &edited,
		    &err), table[i].differs);
		if (table[i].differs == -1)
			assert_int_equal(err.code, ERROR_INVALID_INPUT);
		else
			assert_string_equal(edited.json.data, table[i].result);
		data_free(&original);
		data_free(&edited);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits),
		cmocka_unit_test(the_end_is_found_behind_any_number_of_decisions),
		cmocka_unit_test(edits_keep_the_form),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
