/* What awf-models-proxy makes of requests and streams, and what a request is known by. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cmd/models/apis.c"
#include "../../cmd/models/asked.c"
#include "../../cmd/models/spent.c"
#include "step_kinds/traffic.h"

static struct span
text(const char *at)
{
	return span_of(at, strlen(at));
}

static void
read_head(struct head *h, const char *line, const char *fields)
{
	static char bytes[2048];

	snprintf(bytes, sizeof bytes, "%s HTTP/1.1\r\nHost: a\r\n%s\r\n", line, fields);
	assert_null(head_read(h, bytes, strlen(bytes)));
}

static void
who_is_asked_for_what(void **state)
{
	static const struct {
		const char *line, *fields;
		enum family family;
		const char *generation;
		bool reads;
	} cases[] = {
		{ "POST /v1/messages", "", FAMILY_ANTHROPIC, "anthropic", true },
		{ "POST /messages?beta=true", "", FAMILY_ANTHROPIC, "anthropic", true },
		{ "POST /v1/messages/count_tokens", "", FAMILY_ANTHROPIC, NULL, true },
		{ "POST /v1/messages/batches", "", FAMILY_ANTHROPIC, NULL, false },
		{ "GET /v1/models", "anthropic-version: 1\r\n", FAMILY_ANTHROPIC, NULL, true },
		{ "GET /v1/models", "", FAMILY_OPENAI, NULL, true },
		{ "GET /v1/models?key=x", "", FAMILY_GOOGLE, NULL, true },
		{ "POST /v1/chat/completions", "", FAMILY_OPENAI, "openai", true },
		{ "POST /v1/responses", "", FAMILY_OPENAI, "openai-responses", true },
		{ "POST /v1/responses/r/cancel", "", FAMILY_OPENAI, NULL, false },
		{ "POST /v1/embeddings", "", FAMILY_OPENAI, NULL, true },
		{ "POST /v1/files", "", FAMILY_OPENAI, NULL, false },
		{ "DELETE /v1/files/1", "", FAMILY_OPENAI, NULL, false },
		{ "PUT /v1/chat/completions", "", FAMILY_OPENAI, NULL, false },
		{ "POST /v1beta/models/m:streamGenerateContent?alt=sse", "", FAMILY_GOOGLE, "google", true },
		{ "POST /v1/models/m:generateContent", "x-goog-api-key: k\r\n", FAMILY_GOOGLE, "google", true },
		{ "POST /v1beta/models/m:countTokens", "", FAMILY_GOOGLE, NULL, true },
		{ "POST /v1beta/cachedContents", "", FAMILY_GOOGLE, NULL, false },
		{ "POST /v1/projects/p/locations/l/publishers/google/models/m:generateContent", "",
		    FAMILY_VERTEX, "google", true }
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct head h;
		struct meaning m;

		read_head(&h, cases[i].line, cases[i].fields);
		m = apis_meaning(&h);
		assert_int_equal(m.family, cases[i].family);
		assert_int_equal(m.reads, cases[i].reads);
		if (cases[i].generation == NULL)
			assert_null(m.generation);
		else
			assert_string_equal(m.generation->name, cases[i].generation);
	}
}

static void
where_it_goes(void **state)
{
	static const struct {
		enum family family;
		const char *base, *target, *key, *url, *bare;
	} cases[] = {
		{ FAMILY_OPENAI, "https://a/v1", "/v1/chat/completions", "k", "https://a/v1/chat/completions",
		    "/v1/chat/completions" },
		{ FAMILY_OPENAI, "https://a/v1/", "/models", NULL, "https://a/v1/models", "/models" },
		{ FAMILY_OPENAI, "http://b:1/api", "/v1/models?x=1", NULL, "http://b:1/api/models?x=1",
		    "/v1/models?x=1" },
		{ FAMILY_OPENAI, "https://a/v1", "/v1beta", NULL, "https://a/v1/v1beta", "/v1beta" },
		{ FAMILY_ANTHROPIC, "https://a", "/v1/messages", NULL, "https://a/v1/messages", "/v1/messages" },
		{ FAMILY_ANTHROPIC, "https://a/v1", "/messages", NULL, "https://a/v1/messages", "/messages" },
		{ FAMILY_GOOGLE, "https://a/", "/v1beta/m?key=t&alt=sse", "k+/", "https://a/v1beta/m?key=k%2B%2F&alt=sse",
		    "/v1beta/m?alt=sse" },
		{ FAMILY_GOOGLE, "https://a", "/v1beta/m?alt=sse&key=t", NULL, "https://a/v1beta/m?alt=sse",
		    "/v1beta/m?alt=sse" },
		{ FAMILY_GOOGLE, "https://a", "/v1beta/m?key=t", "k", "https://a/v1beta/m?key=k", "/v1beta/m" },
		{ FAMILY_GOOGLE, "https://a", "/v1beta/m?monkey=t", "k", "https://a/v1beta/m?monkey=t",
		    "/v1beta/m?monkey=t" }
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer url = BUFFER_INIT, bare_target = BUFFER_INIT;

		apis_url(&url, cases[i].family, cases[i].base, text(cases[i].target), cases[i].key);
		apis_bare_target(&bare_target, text(cases[i].target));
		assert_string_equal(url.data, cases[i].url);
		assert_string_equal(bare_target.data, cases[i].bare);
		buffer_free(&url);
		buffer_free(&bare_target);
	}
}

static void
all_credentials_are_the_token(void **state)
{
	static const struct { const char *line, *fields; bool admitted; } cases[] = {
		{ "GET /v1/models", "", false },
		{ "GET /v1/models", "Authorization: Bearer t\r\n", true },
		{ "GET /v1/models", "authorization: bearer t\r\n", true },
		{ "GET /v1/models", "Authorization: Bearer tt\r\n", false },
		{ "GET /v1/models", "Authorization: Basic t\r\n", false },
		{ "GET /v1/models", "X-Api-Key: t\r\n", true },
		{ "GET /v1/models", "x-api-key: t\r\napi-key: u\r\n", false },
		{ "GET /v1/models?key=t", "", true },
		{ "GET /v1/models?key=t", "x-goog-api-key: u\r\n", false },
		{ "GET /v1/models?key=u", "x-goog-api-key: t\r\n", false },
		{ "GET /v1/models?a=key=t", "", false }
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct head h;

		read_head(&h, cases[i].line, cases[i].fields);
		assert_int_equal(apis_admit(&h, "t"), cases[i].admitted);
	}
}

static void
a_stream_is_asked_what_it_costs(void **state)
{
	static const struct { const char *body, *asked; } cases[] = {
		{ "{\"stream\":true}", "{\"stream_options\":{\"include_usage\":true},\"stream\":true}" },
		{ " { \"stream\" : true } ", " {\"stream_options\":{\"include_usage\":true}, \"stream\" : true } " },
		{ "{\"stream\":true,\"stream_options\":{}}", "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}" },
		{ "{\"stream\":true,\"stream_options\":{\"a\":1}}",
		    "{\"stream\":true,\"stream_options\":{\"include_usage\":true,\"a\":1}}" },
		{ "{\"stream\":true,\"stream_options\":null}", "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}" },
		{ "{\"stream\":true,\"stream_options\":{\"include_usage\":false}}", NULL },
		{ "{\"stream\":true,\"stream_options\":7}", NULL },
		{ "{\"stream\":false}", NULL },
		{ "{}", NULL },
		{ "[]", NULL }
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer out = BUFFER_INIT;

		assert_int_equal(spent_ask(text(cases[i].body), &out), cases[i].asked != NULL);
		assert_string_equal(buffer_string(&out), cases[i].asked != NULL ? cases[i].asked : "");
		buffer_free(&out);
	}
}

/* A text whose lines all end so; NULL: as they do. */
static void
with_line_ends(const char *text, const char *end, struct buffer *out)
{
	for (; *text != '\0'; text++)
		if (end == NULL || (*text != '\r' && *text != '\n'))
			buffer_byte(out, *text);
		else if (*text == '\n')
			buffer_text(out, end);
}

/* However it is split. */
static void
what_it_costs_is_taken_out(void **state)
{
	static const char *const ends[] = { NULL, "\n", "\r", "\r\n" };
	static const char said[] =
	    "\xef\xbb\xbf" "data: {\"choices\":[],\"usage\":null}\n\n"
	    ": hello\n\n"
	    "data: {\"choices\":[{\"delta\":{}}],\"usage\":null}\n\n"
	    "data: {\"usage\":null, \"choices\":[{\"delta\":{\"usage\":null}}]}\r\n\r\n"
	    "event: x\ndata:{\"usage\": null}\n\n"
	    "data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1}}\n\n"
	    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n"
	    "data: {\"choices\":[]}\n\n"
	    "data: [DONE]\n\n"
	    "data: cut";
	static const char passed[] =
	    "\xef\xbb\xbf" "data: {\"choices\":[]}\n\n"
	    ": hello\n\n"
	    "data: {\"choices\":[{\"delta\":{}}]}\n\n"
	    "data: { \"choices\":[{\"delta\":{\"usage\":null}}]}\r\n\r\n"
	    "event: x\ndata:{}\n\n"
	    "data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1}}\n\n"
	    "data: {\"choices\":[]}\n\n"
	    "data: [DONE]\n\n"
	    "data: cut";

	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct buffer in = BUFFER_INIT, wanted = BUFFER_INIT;

		with_line_ends(said, ends[i], &in);
		with_line_ends(passed, ends[i], &wanted);
		for (size_t piece = 1; piece <= in.len; piece++) {
			struct buffer out = BUFFER_INIT;
			struct spent s = { .searched = 0 };

			for (size_t at = 0; at < in.len; at += piece)
				spent_take(&s, in.data + at, in.len - at < piece ? in.len - at : piece, &out);
			spent_end(&s, &out);
			assert_string_equal(out.data, wanted.data);
			spent_free(&s);
			buffer_free(&out);
		}
		buffer_free(&in);
		buffer_free(&wanted);
	}
}

static void
what_is_new_in_a_request(void **state)
{
	static const struct {
		const struct stream_api *api;
		const char *body, *said;
	} cases[] = {
		{ &anthropic_stream,
		    "{\"model\":\"m\",\"system\":[{\"type\":\"text\",\"text\":\"s\"}],\"messages\":["
		    "{\"role\":\"user\",\"content\":\"old\"},{\"role\":\"assistant\",\"content\":\"x\"},"
		    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\": [1]},"
		    "{\"type\":\"image\",\"source\":{}},{\"type\":\"text\",\"text\":\"new\"}]}]}",
		    "{\"model\":\"m\",\"system_prompt\":\"s\",\"blocks\":["
		    "{\"type\":\"tool_result\",\"tool_id\":\"t\",\"tool_content\":[1],\"fidelity\":\"router\"},"
		    "{\"type\":\"image\",\"fidelity\":\"router\"},"
		    "{\"type\":\"text\",\"text\":\"new\",\"fidelity\":\"router\"}]}" },
		{ &openai_stream,
		    "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},"
		    "{\"role\":\"assistant\",\"content\":null},{\"role\":\"tool\",\"tool_call_id\":\"t\",\"content\":\"r\"}]}",
		    "{\"model\":\"m\",\"system_prompt\":\"s\",\"blocks\":["
		    "{\"type\":\"tool_result\",\"tool_id\":\"t\",\"tool_content\":\"r\",\"fidelity\":\"router\"}]}" },
		{ &openai_responses_stream,
		    "{\"model\":\"m\",\"instructions\":\"s\",\"input\":[{\"type\":\"function_call\"},"
		    "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"r\"},"
		    "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"new\"}]}]}",
		    "{\"model\":\"m\",\"system_prompt\":\"s\",\"blocks\":["
		    "{\"type\":\"tool_result\",\"tool_id\":\"c\",\"tool_content\":\"r\",\"fidelity\":\"router\"},"
		    "{\"type\":\"text\",\"text\":\"new\",\"fidelity\":\"router\"}]}" },
		{ &openai_responses_stream, "{\"input\":\"x\"}",
		    "{\"blocks\":[{\"type\":\"text\",\"text\":\"x\",\"fidelity\":\"router\"}]}" },
		{ &google_stream,
		    "{\"systemInstruction\":{\"parts\":[{\"text\":\"s\"}]},\"contents\":[{\"role\":\"model\",\"parts\":[]},"
		    "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"f\",\"response\":{}}},{\"text\":\"new\"}]}]}",
		    "{\"model\":\"g\",\"system_prompt\":\"s\",\"blocks\":["
		    "{\"type\":\"tool_result\",\"tool_id\":\"f\",\"tool_content\":{},\"fidelity\":\"router\"},"
		    "{\"type\":\"text\",\"text\":\"new\",\"fidelity\":\"router\"}]}" },
		{ &anthropic_stream, "7", "{\"blocks\":[]}" },
		{ &anthropic_stream, "{\"messages\":{\"a\":[3]},\"system\":7,\"model\":null}", "{\"blocks\":[]}" }
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer out = BUFFER_INIT;
		struct writer w;

		writer_begin(&w, &out);
		writer_object(&w);
		asked_write(&w, cases[i].api, text(cases[i].body), text("/v1beta/models/g:generateContent"));
		writer_object_end(&w);
		assert_string_equal(out.data, cases[i].said);
		buffer_free(&out);
	}
}

/* An answer that is no stream is read as one that is. */
static void
whole_answers_are_read(void **state)
{
	static const struct {
		const struct stream_api *api;
		const char *body, *said;
	} cases[] = {
		{ &anthropic_stream,
		    "{\"type\":\"message\",\"model\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
		    "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{\"x\":1}}],\"stop_reason\":\"tool_use\","
		    "\"usage\":{\"input_tokens\":1,\"cache_read_input_tokens\":2,\"output_tokens\":3}}",
		    "{\"blocks\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"tool_use\",\"tool_id\":\"t\",\"tool_name\":\"n\","
		    "\"tool_input\":{\"x\":1}}],\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":3,\"output_tokens\":3,"
		    "\"cache_read_tokens\":2},\"model\":\"m\"}" },
		{ &openai_stream,
		    "{\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],"
		    "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}",
		    "{\"blocks\":[{\"type\":\"text\",\"text\":\"a\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":1,"
		    "\"output_tokens\":2},\"model\":\"m\"}" },
		{ &google_stream,
		    "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]},{\"candidates\":[{\"content\":{\"parts\":"
		    "[{\"text\":\"b\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1}}]",
		    "{\"blocks\":[{\"type\":\"text\",\"text\":\"ab\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":1}}" }
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer out = BUFFER_INIT;
		struct stream s;
		struct writer w;

		stream_open(&s, cases[i].api);
		stream_body(&s, cases[i].body, strlen(cases[i].body));
		stream_finish(&s);
		assert_false(s.failed);
		assert_true(s.message.ended);
		writer_begin(&w, &out);
		writer_object(&w);
		message_write(&s.message, &w);
		writer_object_end(&w);
		assert_string_equal(out.data, cases[i].said);
		buffer_free(&out);
		stream_close(&s);
	}
}

static void
what_a_request_is_known_by(void **state)
{
	static char *ignored[] = { (char *)(uintptr_t)"/m/u~1v", (char *)(uintptr_t)"/l/1", NULL };
	static const struct { const char *a, *b; bool same; } cases[] = {
		{ "{\\\"a\\\":1,\\\"b\\\":[2]}", " {\\\"b\\\" : [ 2 ], \\\"a\\\":1}", true },
		{ "{\\\"a\\\":1}", "{\\\"a\\\":2}", false },
		{ "{\\\"l\\\":[1,2]}", "{\\\"l\\\":[2,1]}", false },
		{ "{\\\"m\\\":{\\\"u/v\\\":1,\\\"w\\\":1}}", "{\\\"m\\\":{\\\"u/v\\\":2,\\\"w\\\":1}}", true },
		{ "{\\\"m\\\":{\\\"u/v\\\":1}}", "{\\\"m\\\":{}}", true },
		{ "{\\\"l\\\":[1,2,3]}", "{\\\"l\\\":[1,7,3]}", true },
		{ "text", "text", true },
		{ "text", "text ", false },
		{ "{\\\"a\\\":1", "{\\\"a\\\": 1", false }
	};
	const struct traffic t = { .ignored = ignored };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const bodies[] = { cases[i].a, cases[i].b };
		char keys[2][DIGEST_SIZE];

		for (int j = 0; j < 2; j++) {
			struct buffer request = BUFFER_INIT;

			buffer_format(&request, "{\"method\":\"POST\",\"path\":\"/x\",\"body\":\"%s\"}", bodies[j]);
			traffic_key(&t, span_of(request.data, request.len), keys[j]);
			buffer_free(&request);
		}
		assert_int_equal(strcmp(keys[0], keys[1]) == 0, cases[i].same);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_asked_for_what),
		cmocka_unit_test(where_it_goes),
		cmocka_unit_test(all_credentials_are_the_token),
		cmocka_unit_test(a_stream_is_asked_what_it_costs),
		cmocka_unit_test(what_it_costs_is_taken_out),
		cmocka_unit_test(what_is_new_in_a_request),
		cmocka_unit_test(whole_answers_are_read),
		cmocka_unit_test(what_a_request_is_known_by)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
