/* agent/agentloom: hashes as Python makes them, and the words for ends. */
#include "unit.h"

#include <stdlib.h>

#include "base/memory.h"
#include "rerun/agentloom.h"

/* The hashes are those of AgentLoom's prompt_hash(), in its two forms. */
static const struct {
	const char *request, *hash, *old;
} requests[] = {
	{ "{\"model\": \"gpt-4o-mini\", \"messages\": [{\"role\": \"user\", \"blocks\": ["
	    "{\"type\": \"text\", \"text\": \"hi\"}]}]}",
	    "28d912be25f4f93a8318038d3a477092ecd9cd513f9e10f2f3467f610b278ae9",
	    "5aced9397fc4a6ba78e47d642ce4949bc9ba17f05868fe28454432d93889f6e6" },
	{ "{\"model\": \"gpt-4o-mini\", \"system\": \"Be brief.\", \"messages\": [{\"role"
	    "\": \"user\", \"blocks\": [{\"type\": \"text\", \"text\": \"hi\"}]}], \"tools\""
	    ": [],\"params\":{}}",
	    "24455e552e5ab078521be9058e049484c7e4254fde59aaa1d9d715d8880c02e6",
	    "e5d3ef1d61e637b5a218b852d5d67eb9b9929d521314c5fcde6276f2d8262039" },
	{ "{\"model\": \"m\", \"system\": \"\", \"messages\": [{\"role\": \"user\", \"blo"
	    "cks\": [{\"type\": \"text\", \"text\": \"hi\"}]}],\"params\":{\"temperature\":"
	    "0.69999999999999996,\"max_tokens\":100}}",
	    "dce1010fc5f29429be6e7c39c9dd2208b3ffa34fd60f0509b469fce3e86f4466",
	    "5aced9397fc4a6ba78e47d642ce4949bc9ba17f05868fe28454432d93889f6e6" },
	{ "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"blocks\": [{\"type\":"
	    " \"text\", \"text\": \"hi\"}]}],\"params\":{\"temperature\":1,\"max_tokens\":n"
	    "ull}}",
	    "ea3f03b8cda3805274194c637d4a3ab9185d05026323a7a941ce52a1156af7e8",
	    "5aced9397fc4a6ba78e47d642ce4949bc9ba17f05868fe28454432d93889f6e6" },
	{ "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"blocks\": [{\"type\":"
	    " \"text\", \"text\": \"hi\"}]}],\"params\":{\"temperature\":1e-5}}",
	    "f970823b909a224cd4b1e70a0d513fa46653b44e2ac8e8806fbafdc354c246ac",
	    "5aced9397fc4a6ba78e47d642ce4949bc9ba17f05868fe28454432d93889f6e6" },
	{ "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"blocks\": [{\"type\":"
	    " \"text\", \"text\": \"hi\"}]}],\"params\":{\"temperature\":0.3000000000000000"
	    "4}}",
	    "3f5d5ce6f30bfa1ea94c1b40b597a269156488943821997d088d96c5e4a03e21",
	    "5aced9397fc4a6ba78e47d642ce4949bc9ba17f05868fe28454432d93889f6e6" },
	{ "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"blocks\": [{\"type\":"
	    " \"text\", \"text\": \"hi\"}]}],\"params\":{\"temperature\":0}}",
	    "5cd4b3ea6497f332912c9eee75658e75c265bfeac7f105c265a3ac68fdf159e2",
	    "5aced9397fc4a6ba78e47d642ce4949bc9ba17f05868fe28454432d93889f6e6" },
	{ "{\"model\": \"m/é\", \"messages\": [{\"role\": \"user\", \"blocks\": [{\"type\""
	    ": \"text\", \"text\": \"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f é   ￿ 😀\"}]}]}",
	    "15439b7463dc321e755dd02702f978e6e560e07256ead4522a8c6c61dc0c0f7b",
	    "70cc222a07c6bc9962d13f8ba0cf7362d1a8eb2f407c05d537d30095b3722100" },
	{ "{\"model\": \"m\", \"system\": \"s\", \"messages\": [{\"role\": \"user\", \"bl"
	    "ocks\": [{\"type\": \"text\", \"text\": \"a\"}]}, {\"role\": \"assistant\", \""
	    "blocks\": [{\"type\": \"text\", \"text\": \"b\"}, {\"type\": \"text\", \"text\""
	    ": \"c\"}]}, {\"role\": \"user\", \"blocks\": [{\"type\": \"text\", \"text\": \""
	    "\"}]}]}",
	    "dbbc9f84969f14721c3b201361c3720c20ed314a634681c9c0824550e1c9e6d1",
	    "3afb123e8407523a1a8223b5a91f1f9b943c8ad3fa04aba455b2638575e56efa" },
	{ "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"blocks\":[{\"type\":\"text"
	    "\",\"text\":\"q\"}]}],\"tools\":[{\"name\":\"t\"}]}", NULL, NULL },
	{ "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"blocks\":[{\"type\":\"text"
	    "\",\"text\":\"q\"}]}],\"params\":{\"top_p\":1}}", NULL, NULL },
	{ "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"blocks\":[{\"type\":\"text"
	    "\",\"text\":\"q\"}]}],\"params\":{\"temperature\":\"0\"}}", NULL, NULL },
	{ "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"blocks\":[{\"type\":\"text"
	    "\",\"text\":\"q\"}]}],\"params\":{\"temperature\":10}}", NULL, NULL },
	{ "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"blocks\":[{\"type\":\"text"
	    "\",\"text\":\"q\"}]}],\"params\":{\"max_tokens\":1.5}}", NULL, NULL },
	{ "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"blocks\":[{\"type\":\"thin"
	    "king\",\"thinking\":\"q\"}]}]}", NULL, NULL },
	{ "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"blocks\":[{\"type\":\"text"
	    "\",\"text\":\"q\",\"raw\":{}}]}]}", NULL, NULL },
};

static void
test_hashes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(requests); i++) {
		struct span line = span_of(requests[i].request, strlen(requests[i].request));
		const struct agentloom_request r = { span_member(line, "model"),
			span_member(line, "system"), span_member(line, "messages"),
			span_member(line, "tools"), span_member(line, "params") };
		char hash[DIGEST_SIZE];

		assert_int_equal(agentloom_hash(&r, hash), requests[i].hash != NULL);
		if (requests[i].hash == NULL)
			continue;
		assert_string_equal(hash, requests[i].hash);
		assert_true(agentloom_hash_old(&r, hash));
		assert_string_equal(hash, requests[i].old);
	}
}

static void
test_reasons(void **state)
{
	static const char *const stops[] = { "end_turn", "tool_use", "max_tokens", "stop_sequence",
		"refusal", "pause", "other" };
	static const struct { const char *finish, *stop; } read[] = {
		{ "\"stop\"", "end_turn" },
		{ "\"end_turn\"", "end_turn" },
		{ "\"function_call\"", "tool_use" },
		{ "\"MAX_TOKENS\"", "max_tokens" },
		{ "\"max_tool_iterations\"", "other" },
		{ "null", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(stops); i++) {
		char *stop = memory_format("\"%s\"", stops[i]);
		char *finish = memory_format("\"%s\"",
		    agentloom_finish_reason(span_of(stop, strlen(stop))));

		assert_string_equal(agentloom_stop_reason(span_of(finish, strlen(finish))), stops[i]);
		free(stop);
		free(finish);
	}
	for (size_t i = 0; i < COUNT(read); i++) {
		const char *stop = agentloom_stop_reason(span_of(read[i].finish, strlen(read[i].finish)));

		assert_int_equal(stop == NULL, read[i].stop == NULL);
		if (stop != NULL)
			assert_string_equal(stop, read[i].stop);
	}
	assert_string_equal(agentloom_finish_reason(span_of("\"?\"", 3)), "other");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hashes),
		cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
