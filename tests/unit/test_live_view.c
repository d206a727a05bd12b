/* run/live_view: what is shown of runs that go on, in terminals of several sizes, and what is told
 * of what has ended. */
#include "record.h"

#include "base/clock.h"
#include "base/text.h"
#include "unit.h"
#include "view/live_view.h"

#define BEGIN INT64_C(1795420800000000) /* 2026-11-23T08:00:00Z */

static struct model model, child;
static struct live_view view;

/* An event of a run, so many ms after its begin; id, parent: numbers of events, 0: none. */
static void
happens(struct model *m, int64_t ms, unsigned id, unsigned parent, const char *type,
    const char *path, int iteration, const char *payload)
{
	struct buffer line = BUFFER_INIT, members = BUFFER_INIT;
	struct event_view event;
	struct placed placed;
	char time[CLOCK_TEXT_SIZE];

	buffer_format(&members, "\"timestamp\":\"%s\",\"event_id\":\"00000000-0000-4000-8000-%012u\","
	    "\"run_id\":\"%s\",", clock_text(BEGIN + ms * 1000, time), id,
	    m == &model ? RUN_ID : OTHER_ID);
	if (m == &child)
		buffer_text(&members, "\"parent_run_id\":\"" RUN_ID "\",");
	if (strcmp(type, "step.call_workflow.started") == 0)
		buffer_text(&members, "\"child_run_id\":\"" OTHER_ID "\",");
	if (parent > 0)
		buffer_format(&members, "\"parent_event_id\":\"00000000-0000-4000-8000-%012u\",", parent);
	buffer_format(&members, "\"type\":\"%s\",\"path\":\"%s\",\"iteration\":%d,\"payload\":%s", type,
	    path, iteration, payload);
	record_line(&line, 1, members.data);
	if (model_line(m, line.data, line.len - 1, (struct event_place){ 0, 0 }, &event, &placed))
		live_view_take(&view, &placed);
	buffer_free(&members);
	buffer_free(&line);
}

static void
writes(unsigned call, int64_t turn, enum live_kind kind, const char *text)
{
	char id[ID_SIZE];

	snprintf(id, sizeof id, "00000000-0000-4000-8000-%012u", call);
	live_view_write(&view, &(struct live_news){ .event = LIVE_APPENDED, .call = id, .turn = turn,
	    .kind = kind, .text = span_of(text, strlen(text)) });
}

static void
begin(size_t width, size_t height)
{
	model_begin(&model, MODEL_INSIDE);
	model_begin(&child, MODEL_INSIDE);
	live_view_begin(&view);
	view.width = width;
	view.height = height;
	view.utf8 = view.ends = true;
	happens(&model, 0, 1, 0, "run.started", "", 0, "{\"name\":\"slow.awf\",\"attempt\":1}");
}

static void
end(void)
{
	live_view_free(&view);
	model_free(&model);
	model_free(&child);
}

/* What is told since the last look, at so many ms. */
static void
told_by(int64_t ms, const char *expected)
{
	struct buffer out = BUFFER_INIT;

	live_view_told(&view, BEGIN + ms * 1000, &out);
	assert_string_equal(buffer_string(&out), expected);
	buffer_free(&out);
}

/* The same, whatever the clock says. */
static void
told(const char *expected)
{
	told_by(0, expected);
}

static void
shows(int64_t ms, const char *expected)
{
	struct buffer out = BUFFER_INIT;
	size_t rows = live_view_draw(&view, BEGIN + ms * 1000, &out), lines = 0;

	for (size_t i = 0; i < out.len; i++)
		lines += out.data[i] == '\n';
	assert_string_equal(buffer_string(&out), expected);
	assert_int_equal(lines, rows);
	assert_true(rows < view.height);
	buffer_free(&out);
}

#define AGENT(name) "{\"name\":\"" name "\",\"kind\":\"agent\",\"call\":\"" name ":0:0\"," \
    "\"agent\":\"" name "\",\"provider\":\"openai\",\"model\":\"mock\"}"
#define ANSWER(text) "{\"role\":\"assistant\",\"turn\":0,\"blocks\":[{\"type\":\"text\",\"text\":\"" \
    text "\"}],\"usage\":{\"input_tokens\":1700,\"output_tokens\":320},\"stop_reason\":\"end_turn\"}"

/* A run with all that there is: an agent that has ended, a panel of which a branch has failed,
 * a child run, and items. */
static void
story(void)
{
	happens(&model, 10, 2, 1, "step.started", "research", 0, AGENT("research"));
	happens(&model, 20, 3, 2, "message.user", "research", 0, "{\"role\":\"user\"}");
	happens(&model, 900, 4, 3, "message.assistant", "research", 0,
	    "{\"role\":\"assistant\",\"turn\":0,\"stop_reason\":\"tool_use\"}");
	happens(&model, 910, 5, 4, "tool.call", "research", 0, "{\"name\":\"slow_search\"}");
	happens(&model, 911, 6, 4, "tool.call", "research", 0, "{\"name\":\"slow_search\"}");
	happens(&model, 2000, 7, 5, "tool.result", "research", 0, "{\"name\":\"slow_search\"}");
	happens(&model, 2001, 8, 6, "tool.result", "research", 0, "{\"name\":\"slow_search\"}");
	happens(&model, 8000, 9, 7, "message.assistant", "research", 0, ANSWER("A solid"));
	happens(&model, 8510, 10, 9, "step.completed", "research", 0,
	    "{\"call\":\"research:0:0\",\"result\":\"A solid electrolyte\\nseparates …\"}");

	happens(&model, 8600, 20, 10, "step.started", "panel", 0,
	    "{\"name\":\"panel\",\"kind\":\"parallel\",\"call\":\"panel:0:0\",\"strategy\":\"best-effort\","
	    "\"blocks\":[{\"command\":\"a\"},{\"command\":\"b\"},{\"command\":\"c\"}]}");
	happens(&model, 8610, 21, 20, "step.started", "panel", 0,
	    "{\"name\":\"panel\",\"kind\":\"branch\",\"call\":\"panel:0:0/panel:0:0\"}");
	happens(&model, 8620, 22, 20, "step.started", "panel", 1,
	    "{\"name\":\"panel\",\"kind\":\"branch\",\"call\":\"panel:0:0/panel:0:1\"}");
	happens(&model, 8630, 23, 20, "step.started", "panel", 2,
	    "{\"name\":\"panel\",\"kind\":\"branch\",\"call\":\"panel:0:0/panel:0:2\"}");
	happens(&model, 8700, 24, 21, "step.started", "panel.pro", 0,
	    "{\"name\":\"pro\",\"kind\":\"agent\",\"call\":\"panel:0:0/panel:0:0/pro:0:0\",\"agent\":\"pro\","
	    "\"provider\":\"openai\",\"model\":\"mock\"}");
	happens(&model, 8710, 25, 24, "message.user", "panel.pro", 0, "{\"role\":\"user\"}");
	happens(&model, 8720, 26, 22, "step.started", "panel.con", 0,
	    "{\"name\":\"con\",\"kind\":\"command\",\"call\":\"panel:0:0/panel:0:1/con:0:0\","
	    "\"blocks\":[{\"command\":\"look up\"}]}");
	happens(&model, 9000, 27, 23, "step.call_workflow.started", "panel.child", 0,
	    "{\"name\":\"child\",\"kind\":\"workflow\",\"call\":\"panel:0:0/panel:0:2/child:0:0\"}");
	happens(&child, 9100, 101, 0, "run.started", "", 0, "{\"name\":\"child\",\"attempt\":1}");
	happens(&child, 9200, 102, 101, "step.started", "critique", 0, AGENT("critique"));
	happens(&child, 9210, 103, 102, "message.user", "critique", 0, "{\"role\":\"user\"}");
	happens(&model, 11720, 28, 26, "step.completed", "panel.con", 0,
	    "{\"call\":\"panel:0:0/panel:0:1/con:0:0\",\"error\":{\"code\":\"exit_status\","
	    "\"message\":\"look: exit status 4: could not reach \\u001b[31mdatabase\"},\"stderr\":\"trying\\ncould not reach \\u001b[31mdatabase\\n\"}");
	happens(&model, 11730, 29, 22, "step.completed", "panel", 1,
	    "{\"call\":\"panel:0:0/panel:0:1\",\"error\":{\"code\":\"exit_status\",\"message\":\"sh: exit status 3\"}}");
	writes(24, 0, LIVE_TEXT, "Against it speaks\nthe price of lithium");

	for (int i = 0; i < 8; i++) {
		char payload[256];

		snprintf(payload, sizeof payload, "{\"name\":\"crunch\",\"kind\":\"command\",\"call\":"
		    "\"crunch:0:%d\",\"input\":\"item %d\",\"blocks\":[{\"command\":\"bc\"}]}", i, i);
		happens(&model, 9300 + i * 10, 40 + (unsigned)i, 1, "step.started", "crunch", i, payload);
	}
	for (int i = 0; i < 5; i++) {
		char payload[256];

		snprintf(payload, sizeof payload, "{\"call\":\"crunch:0:%d\",%s}", i, i == 3 ?
		    "\"error\":{\"code\":\"exit_status\",\"message\":\"bc: exit status 1\"}" :
		    "\"result\":1");
		happens(&model, 11800 + i, 50 + (unsigned)i, 40 + (unsigned)i, "step.completed", "crunch", i,
		    payload);
	}
}

static const struct {
	size_t width, height;
	bool utf8, colour;
	const char *told, *shown;
} sizes[] = {
	{ 80, 24, true, false,
	  "✓ research        8.5s  2 turns, slow_search ×2  \"A solid electrolyte separate…\n"
	    "✗ panel ▸ con     3.0s  look: exit status 4: could not reach \\x1b[31mdatabase   (best-effort)\n"
	    "✗ crunch[3] (\"item 3\")    2.4s  bc: exit status 1\n",
	  "slow.awf 0b7a1c52   12.4s   5 running, 2 failed   1.7k in 320 out\n"
	  "⠼ panel                 3.8s  1 of 3\n"
	  "  ⠼ pro                 3.7s  writing, 7 words  \"… speaks the price of lithium\"\n"
	  "  ⠼ child ▸ critique    3.4s  waiting for openai/mock\n"
	  "⠼ crunch                3.1s  4 done, 1 failed, 3 running\n"
	  "  ⠼ [5] \"item 5\"        3.0s  bc\n"
	  "  ⠼ [6] \"item 6\"        3.0s  bc\n"
	  "  ⠼ [7] \"item 7\"        3.0s  bc\n" },
	{ 40, 12, true, false,
	  "✓ research        8.5s  2 turns, slow_…\n"
	    "✗ panel ▸ con     3.0s  look: exit status 4: could not reach \\x1b[31mdatabase   (best-effort)\n"
	    "✗ crunch[3] (\"item 3\")    2.4s  bc: exit status 1\n",
	  "slow.awf   12.4s   5 running, 2 failed\n"
	  "⠼ panel            3.8s  1 of 3\n"
	  "  ⠼ pro            3.7s  writing, 7 wo…\n"
	  "  ⠼ child ▸ cr…    3.4s  waiting for o…\n"
	  "⠼ crunch           3.1s  4 done\n"
	  "  ⠼ [5] \"item …    3.0s  bc\n"
	  "  ⠼ [6] \"item …    3.0s  bc\n"
	  "  ⠼ [7] \"item …    3.0s  bc\n" },
	{ 200, 50, true, false,
	  "✓ research        8.5s  2 turns, slow_search ×2  \"A solid electrolyte separates …\"\n"
	    "✗ panel ▸ con     3.0s  look: exit status 4: could not reach \\x1b[31mdatabase   (best-effort)\n"
	    "✗ crunch[3] (\"item 3\")    2.4s  bc: exit status 1\n",
	  "slow.awf 0b7a1c52   12.4s   5 running, 2 failed   1.7k in 320 out\n"
	  "⠼ panel                 3.8s  1 of 3\n"
	  "  ⠼ pro                 3.7s  openai/mock: writing, 7 words  \"Against it speaks the price of lithium\"\n"
	  "  ⠼ child ▸ critique    3.4s  waiting for openai/mock\n"
	  "⠼ crunch                3.1s  4 done, 1 failed, 3 running\n"
	  "  ⠼ [5] \"item 5\"        3.0s  bc\n"
	  "  ⠼ [6] \"item 6\"        3.0s  bc\n"
	  "  ⠼ [7] \"item 7\"        3.0s  bc\n" },
	{ 80, 24, false, false,
	  "+ research        8.5s  2 turns, slow_search x2  \"A solid electrolyte separate.\n"
	    "x panel > con     3.0s  look: exit status 4: could not reach \\x1b[31mdatabase   (best-effort)\n"
	    "x crunch[3] (\"item 3\")    2.4s  bc: exit status 1\n",
	  "slow.awf 0b7a1c52   12.4s   5 running, 2 failed   1.7k in 320 out\n"
	  "| panel                 3.8s  1 of 3\n"
	  "  | pro                 3.7s  writing, 7 words  \". speaks the price of lithium\"\n"
	  "  | child > critique    3.4s  waiting for openai/mock\n"
	  "| crunch                3.1s  4 done, 1 failed, 3 running\n"
	  "  | [5] \"item 5\"        3.0s  bc\n"
	  "  | [6] \"item 6\"        3.0s  bc\n"
	  "  | [7] \"item 7\"        3.0s  bc\n" },
	{ 80, 5, true, true,
	  "\033[32m✓\033[0m research        8.5s  2 turns, slow_search ×2  \"A solid electrolyte separate…\n"
	    "\033[31m✗\033[0m panel ▸ con     3.0s  look: exit status 4: could not reach \\x1b[31mdatabase   (best-effort)\n"
	    "\033[31m✗\033[0m crunch[3] (\"item 3\")    2.4s  bc: exit status 1\n",
	  "\033[1mslow.awf 0b7a1c52   12.4s   5 running, 2 failed   1.7k in 320 out\033[0m\n"
	  "\033[1m⠼\033[0m panel             3.8s  1 of 3\n"
	  "  … 2 more\n"
	  "\033[1m⠼\033[0m crunch            3.1s  4 done, 1 failed, 3 running   oldest crunch[5] 3.0s\n" },
};

static void
test_a_run_in_terminals_of_several_sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		begin(sizes[i].width, sizes[i].height);
		view.utf8 = sizes[i].utf8;
		view.colour = sizes[i].colour;
		story();
		told(sizes[i].told);
		shows(12400, sizes[i].shown);
		told("");
		end();
	}
}

/* Steps that follow each other are told when they have been over for a second; what is in one
 * that ends, before it. */
static void
test_what_has_ended_is_told_once(void **state)
{
	(void)state;
	begin(80, 24);
	happens(&model, 100, 2, 1, "step.started", "a", 0,
	    "{\"name\":\"a\",\"kind\":\"command\",\"call\":\"a:0:0\",\"blocks\":[{\"command\":\"make  -j2\"}]}");
	shows(400, "slow.awf 0b7a1c52   400ms   1 running\n"
	    "⠼ a              300ms  make -j2\n");
	happens(&model, 500, 3, 2, "step.completed", "a", 0, "{\"call\":\"a:0:0\",\"result\":[1,2],\"count\":2}");
	shows(600, "slow.awf 0b7a1c52   600ms   0 running\n"
	    "✓ a              400ms  2 lines\n");
	told("");
	told_by(1499, "");
	told_by(1500, "✓ a              400ms  2 lines\n");
	shows(1500, "slow.awf 0b7a1c52   1.5s   0 running\n");
	/* The time of what comes is as good as the clock. */
	happens(&model, 2000, 4, 3, "step.started", "b", 0, "{\"name\":\"b\",\"call\":\"b:0:0\"}");
	happens(&model, 2100, 5, 4, "step.completed", "b", 0, "{\"call\":\"b:0:0\",\"skipped\":\"upstream_failed\"}");
	happens(&model, 3200, 6, 5, "step.started", "g", 0, "{\"name\":\"g\",\"kind\":\"loop\",\"call\":\"g:0:0\"}");
	told("– b              100ms  upstream_failed\n");
	happens(&model, 3300, 7, 6, "step.started", "g", 0, "{\"name\":\"g\",\"call\":\"g:0:0/g:0:0\"}");
	happens(&model, 3400, 8, 7, "step.started", "g.d", 0, "{\"name\":\"d\",\"call\":\"g:0:0/g:0:0/d:0:0\"}");
	happens(&model, 3500, 9, 8, "step.completed", "g.d", 0, "{\"call\":\"g:0:0/g:0:0/d:0:0\",\"result\":\"x\"}");
	shows(3600, "slow.awf 0b7a1c52   3.6s   1 running\n"
	    "⠦ g              400ms  round 1\n"
	    "  ✓ d            100ms  \"x\"\n");
	happens(&model, 3700, 10, 9, "step.completed", "g", 0, "{\"call\":\"g:0:0/g:0:0\"}");
	told("✓ g[0] ▸ d       100ms  \"x\"\n");
	happens(&model, 3800, 11, 6, "step.started", "g", 1, "{\"name\":\"g\",\"call\":\"g:0:0/g:0:1\"}");
	shows(3900, "slow.awf 0b7a1c52   3.9s   1 running\n"
	    "⠏ g              700ms  round 2\n"
	    "  ⠏ g[1]         100ms\n");
	/* One that never ends is dropped with what it is in. */
	happens(&model, 4000, 12, 6, "step.completed", "g", 0, "{\"call\":\"g:0:0\",\"result\":\"y\"}");
	happens(&model, 4100, 13, 1, "run.completed", "", 0, "{\"status\":\"success\"}");
	told("✓ g              800ms  2 rounds  \"y\"\n"
	    "✓ slow.awf 0b7a1c52 success   4.1s\n");
	shows(4200, "");
	end();
}

static void
test_an_agent(void **state)
{
	(void)state;
	begin(60, 9);
	happens(&model, 0, 2, 1, "step.started", "talk", 0, AGENT("talk"));
	happens(&model, 1, 3, 2, "message.user", "talk", 0, "{\"role\":\"user\"}");
	shows(100, "slow.awf 0b7a1c52   100ms   1 running\n"
	    "⠙ talk           100ms  waiting for openai/mock\n");
	happens(&model, 200, 4, 3, "message.assistant", "talk", 0, "{\"role\":\"assistant\",\"retry\":"
	    "{\"code\":\"overloaded\",\"message\":\"HTTP 429\",\"try\":2,\"of\":3},\"delay_ms\":2000,"
	    "\"partial\":true,\"turn\":0}");
	shows(300, "slow.awf 0b7a1c52   300ms   1 running\n"
	    "↻ talk           300ms  HTTP 429, try 2 of 3 in 2 s\n");
	shows(2300, "slow.awf 0b7a1c52   2.3s   1 running\n"
	    "↻ talk            2.3s  HTTP 429, try 2 of 3\n");
	/* A wait for the provider's limits, and when it is over. */
	happens(&model, 2310, 5, 3, "message.assistant", "talk", 0, "{\"role\":\"assistant\",\"wait\":"
	    "{\"provider\":\"openai\",\"reason\":\"down since 14:02:11 UTC\"},\"delay_ms\":4000,"
	    "\"partial\":true}");
	shows(2320, "slow.awf 0b7a1c52   2.3s   1 running\n"
	    "↻ talk            2.3s  waiting for openai: down since 14:…\n");
	happens(&model, 2330, 6, 3, "message.assistant", "talk", 0, "{\"role\":\"assistant\",\"wait\":"
	    "{\"provider\":\"openai\"},\"duration_ms\":20,\"partial\":true}");
	shows(2340, "slow.awf 0b7a1c52   2.3s   1 running\n"
	    "⠸ talk            2.3s  waiting for openai/mock\n");
	writes(2, 0, LIVE_THINKING, "Let me see");
	shows(2400, "slow.awf 0b7a1c52   2.4s   1 running\n"
	    "⠼ talk            2.4s  thinking, 3 words  \"Let me see\"\n");
	/* Of one agent alone all of the text that there is room for, in its lines. */
	writes(2, 0, LIVE_TEXT, "Once upon a time there was a cat that could read.\nIt did so every day of the ");
	shows(2500, "slow.awf 0b7a1c52   2.5s   1 running\n"
	    "⠴ talk            2.5s  writing, 18 words\n"
	    "  Once upon a time there was a cat that could read.\n"
	    "  It did so every day of the\n");
	writes(2, 0, LIVE_TEXT, "week, but for those on which \033[2Jit \tsle");
	shows(2600, "slow.awf 0b7a1c52   2.6s   1 running\n"
	    "⠦ talk            2.6s  writing, 26 words\n"
	    "  It did so every day of the week, but for those on which\n"
	    "  \\x1b[2Jit sle\n");
	happens(&model, 2700, 5, 3, "message.assistant", "talk", 0, ANSWER("done"));
	writes(2, 0, LIVE_TEXT, "what comes late"); /* is no news */
	happens(&model, 2710, 6, 5, "tool.call", "talk", 0, "{\"name\":\"read\"}");
	happens(&model, 2720, 7, 5, "tool.call", "talk", 0, "{\"name\":\"grep\"}");
	shows(2800, "slow.awf 0b7a1c52   2.8s   1 running   1.7k in 320 out\n"
	    "⠇ talk            2.8s  grep and 1 more\n");
	happens(&model, 2900, 8, 6, "tool.result", "talk", 0, "{}");
	happens(&model, 2900, 9, 7, "tool.result", "talk", 0, "{}");
	writes(2, 1, LIVE_TEXT, "second");
	live_view_write(&view, &(struct live_news){ .event = LIVE_RESTARTED, .turn = 1,
	    .call = "00000000-0000-4000-8000-000000000002" });
	writes(2, 1, LIVE_TEXT, "anew");
	shows(3000, "slow.awf 0b7a1c52   3.0s   1 running   1.7k in 320 out\n"
	    "⠋ talk            3.0s  writing, 1 word\n"
	    "  anew\n");
	live_view_died(&view, RUN_ID);
	told("? slow.awf 0b7a1c52 died   1.7k in 320 out\n");
	live_view_died(&view, OTHER_ID);
	shows(3100, "");
	end();
}

static void
test_what_waits_and_what_asks(void **state)
{
	(void)state;
	begin(80, 24);
	happens(&model, 0, 2, 1, "step.started", "check", 0, "{\"name\":\"check\",\"kind\":\"approval\",\"call\":\"check:0:0\"}");
	shows(100, "slow.awf 0b7a1c52   100ms   1 running\n"
	    "… check          100ms  asks at its terminal\n");
	happens(&model, 200, 3, 2, "step.completed", "check", 0, "{\"call\":\"check:0:0\",\"error\":"
	    "{\"code\":\"waiting\",\"message\":\"waits\"},\"approval\":{\"asks\":\"approval\"}}");
	told("… check          200ms  waits: awf-ctl approve check:0:0 0b7a1c52\n");
	/* It stands there until it was decided about. */
	shows(300, "slow.awf 0b7a1c52   300ms   0 running, 1 waiting\n"
	    "… check          100ms  waits: awf-ctl approve check:0:0 0b7a1c52\n");
	/* One behind it says no more than that. */
	happens(&model, 300, 10, 3, "step.started", "go", 0, "{\"name\":\"go\",\"call\":\"go:0:0\"}");
	happens(&model, 310, 11, 10, "step.completed", "go", 0, "{\"call\":\"go:0:0\",\"skipped\":\"upstream_waiting\"}");
	told_by(2000, "");
	/* What was ended, or whose output nobody read any more, has neither failed nor been skipped. */
	happens(&model, 320, 12, 1, "step.started", "b", 0, "{\"name\":\"b\",\"call\":\"b:0:0\"}");
	happens(&model, 330, 13, 12, "step.completed", "b", 0, "{\"call\":\"b:0:0\",\"error\":"
	    "{\"code\":\"cancelled\",\"message\":\"by signal 2\"}}");
	happens(&model, 320, 14, 1, "step.started", "c", 0, "{\"name\":\"c\",\"call\":\"c:0:0\"}");
	happens(&model, 330, 15, 14, "step.completed", "c", 0, "{\"call\":\"c:0:0\",\"error\":"
	    "{\"code\":\"downstream_closed\",\"message\":\"nobody reads it\"}}");
	told_by(2000, "■ b               10ms  by signal 2\n"
	    "– c               10ms  nobody reads it\n");
	/* Decided about meanwhile: that is for the next attempt. */
	happens(&model, 400, 4, 3, "step.completed", "check", 0,
	    "{\"call\":\"check:0:0\",\"approval\":{\"decision\":\"approved\",\"by\":\"alice\","
	    "\"decides\":\"00000000-0000-4000-8000-000000000003\"}}");
	happens(&model, 500, 6, 1, "step.started", "price", 0, "{\"name\":\"price\",\"kind\":\"question\",\"call\":\"price:0:0\"}");
	shows(600, "slow.awf 0b7a1c52   600ms   1 running\n"
	    "… price          100ms  asks: awf-ctl complete price:0:0 0b7a1c52\n");
	/* Another attempt begins anew. */
	happens(&model, 5000, 5, 1, "run.started", "", 0, "{\"name\":\"slow.awf\",\"attempt\":2}");
	told("");
	shows(5100, "slow.awf 0b7a1c52   100ms   0 running\n");
	end();
}

/* Ten thousand items, and a hundred branches, in the rows that there are. */
static void
test_many(void **state)
{
	struct buffer out = BUFFER_INIT;
	char payload[256];

	(void)state;
	begin(80, 24);
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(payload, sizeof payload, "{\"name\":\"map\",\"call\":\"map:0:%u\"}", i);
		happens(&model, i / 10, i + 10, 1, "step.started", "map", (int)i, payload);
	}
	shows(2000, "slow.awf 0b7a1c52   2.0s   10000 running\n"
	    "⠋ map             2.0s  10000 running\n"
	    "  ⠋ [0]           2.0s\n"
	    "  ⠋ [1]           2.0s\n"
	    "  ⠋ [2]           2.0s\n"
	    "  ⠋ [3]           2.0s\n"
	    "  ⠋ [4]           2.0s\n"
	    "  ⠋ [5]           2.0s\n"
	    "  ⠋ [6]           2.0s\n"
	    "  ⠋ [7]           2.0s\n"
	    "  ⠋ [8]           2.0s\n"
	    "  ⠋ [9]           2.0s\n"
	    "  ⠋ [10]          1.9s\n"
	    "  ⠋ [11]          1.9s\n"
	    "  ⠋ [12]          1.9s\n"
	    "  ⠋ [13]          1.9s\n"
	    "  ⠋ [14]          1.9s\n"
	    "  ⠋ [15]          1.9s\n"
	    "  ⠋ [16]          1.9s\n"
	    "  ⠋ [17]          1.9s\n"
	    "  ⠋ [18]          1.9s\n"
	    "  ⠋ [19]          1.9s\n"
	    "  … 9980 more\n");
	for (unsigned i = 0; i < 9999; i++) {
		snprintf(payload, sizeof payload, "{\"call\":\"map:0:%u\",\"result\":1}", i);
		happens(&model, 2000, i + 20000, i + 10, "step.completed", "map", (int)i, payload);
	}
	shows(2000, "slow.awf 0b7a1c52   2.0s   1 running\n"
	    "⠋ map             2.0s  9999 done, 1 running\n"
	    "  ⠋ [9999]        1.0s\n");
	happens(&model, 2100, 40000, 1, "step.completed", "map", 9999, "{\"call\":\"map:0:9999\",\"result\":1}");
	told("");
	told_by(3100, "✓ map             2.1s  10000 done\n");

	happens(&model, 4000, 50000, 1, "step.started", "wide", 0, "{\"name\":\"wide\",\"kind\":\"parallel\","
	    "\"call\":\"wide:0:0\",\"strategy\":\"all\",\"blocks\":[{},{}]}");
	for (unsigned i = 0; i < 100; i++) {
		snprintf(payload, sizeof payload, "{\"name\":\"wide\",\"call\":\"wide:0:0/wide:0:%u\"}", i);
		happens(&model, 4000, i + 50001, 50000, "step.started", "wide", (int)i, payload);
	}
	buffer_clear(&out);
	assert_int_equal(live_view_draw(&view, BEGIN + 5000000, &out), 23);
	assert_non_null(strstr(out.data, "\n  … 80 more\n"));
	buffer_free(&out);
	end();
}

/* Starts item i of a step. */
static void
item_starts(const char *step, unsigned i, int64_t ms)
{
	char payload[256];

	snprintf(payload, sizeof payload, "{\"name\":\"%s\",\"kind\":\"command\",\"call\":\"%s:0:%u\",\"input\":\"item %u\","
	    "\"blocks\":[{\"command\":\"bc -l\"}]}", step, step, i, i);
	happens(&model, ms, 100 + i, 1, "step.started", step, (int)i, payload);
}

static void
item_ends(const char *step, unsigned i, int64_t ms, const char *how)
{
	char payload[256];

	snprintf(payload, sizeof payload, "{\"call\":\"%s:0:%u\",%s}", step, i, how);
	happens(&model, ms, 500 + i, 100 + i, "step.completed", step, (int)i, payload);
}

/* As many as there is room for; each stays where it is, and those that begin come where others have ended. */
static void
test_items_have_lines(void **state)
{
	(void)state;
	begin(60, 9);
	for (unsigned i = 0; i < 12; i++)
		item_starts("map", i, 100 * i);
	writes(104, 0, LIVE_OUTPUT, "one\n\033[32m17 of 40\033[0m\n\n");
	shows(2000, "slow.awf 0b7a1c52   2.0s   12 running\n"
	    "⠋ map               2.0s  12 running\n"
	    "  ⠋ [0] \"item 0\"    2.0s  bc -l\n"
	    "  ⠋ [1] \"item 1\"    1.9s  bc -l\n"
	    "  ⠋ [2] \"item 2\"    1.8s  bc -l\n"
	    "  ⠋ [3] \"item 3\"    1.7s  bc -l\n"
	    "  ⠋ [4] \"item 4\"    1.6s  bc -l  17 of 40\n"
	    "  … 7 more\n");
	/* One that ends, and one that begins; of those that are shown the others stay. */
	item_ends("map", 1, 1500, "\"result\":1");
	item_starts("map", 12, 1501);
	shows(2000, "slow.awf 0b7a1c52   2.0s   12 running\n"
	    "⠋ map               2.0s  1 done, 12 running\n"
	    "  ⠋ [0] \"item 0\"    2.0s  bc -l\n"
	    "  ⠋ [5] \"item 5\"    1.5s  bc -l\n"
	    "  ⠋ [2] \"item 2\"    1.8s  bc -l\n"
	    "  ⠋ [3] \"item 3\"    1.7s  bc -l\n"
	    "  ⠋ [4] \"item 4\"    1.6s  bc -l  17 of 40\n"
	    "  … 7 more\n");
	/* The end of the input: how many there are, and how long they take. */
	live_view_note_items(&view, RUN_ID, "map:0", 20);
	for (unsigned i = 2; i < 8; i++)
		item_ends("map", i, 1600 + i, i == 3 ? "\"error\":{\"code\":\"exit_status\",\"message\":\"bc: exit status 1\"}" : "\"result\":1");
	shows(3000, "slow.awf 0b7a1c52   3.0s   6 running, 1 failed\n"
	    "⠋ map                 3.0s  7 of 20, 1 failed, 6 running\n"
	    "  ⠋ [0] \"item 0\"      3.0s  bc -l\n"
	    "  ⠋ [8] \"item 8\"      2.2s  bc -l\n"
	    "  ⠋ [9] \"item 9\"      2.1s  bc -l\n"
	    "  ⠋ [10] \"item 10\"    2.0s  bc -l\n"
	    "  ⠋ [11] \"item 11\"    1.9s  bc -l\n"
	    "  ⠋ [12] \"item 12\"    1.4s  bc -l\n");
	/* Nobody knows any more: it counts again what there is. */
	live_view_note_items(&view, RUN_ID, "map:0", -1);
	shows(3000, "slow.awf 0b7a1c52   3.0s   6 running, 1 failed\n"
	    "⠋ map                 3.0s  6 done, 1 failed, 6 running\n"
	    "  ⠋ [0] \"item 0\"      3.0s  bc -l\n"
	    "  ⠋ [8] \"item 8\"      2.2s  bc -l\n"
	    "  ⠋ [9] \"item 9\"      2.1s  bc -l\n"
	    "  ⠋ [10] \"item 10\"    2.0s  bc -l\n"
	    "  ⠋ [11] \"item 11\"    1.9s  bc -l\n"
	    "  ⠋ [12] \"item 12\"    1.4s  bc -l\n");
	end();
}

/* The share, and how long the others take, once it is known how many there are; parts that do not fit are left out. */
static void
test_what_is_left(void **state)
{
	static const struct { size_t width; const char *step; } widths[] = {
		{ 90, "⠋ map               4.0s  6 of 20, 30 %, 1 failed, 2 running, about 6s left\n" },
		{ 60, "⠋ map               4.0s  6 of 20, 1 failed, 2 running\n" },
		{ 50, "⠋ map               4.0s  6 of 20, 1 failed\n" },
		{ 40, "⠋ map              4.0s  6 of 20\n" },
	};
	struct buffer out = BUFFER_INIT;

	(void)state;
	begin(90, 24);
	for (unsigned i = 0; i < 8; i++)
		item_starts("map", i, 0);
	for (unsigned i = 0; i < 6; i++)
		item_ends("map", i, 500 * i + 500, i == 3 ? "\"error\":{\"code\":\"exit_status\",\"message\":\"bc: exit status 1\"}" : "\"result\":1");
	live_view_note_items(&view, RUN_ID, "map:0", 20);
	live_view_note_items(&view, OTHER_ID, "map:0", 7); /* is no run that is shown */
	for (size_t i = 0; i < COUNT(widths); i++) {
		view.width = widths[i].width;
		buffer_clear(&out);
		live_view_draw(&view, BEGIN + 4000000, &out);
		if (strstr(buffer_string(&out), widths[i].step) == NULL)
			fail_msg("%zu: %s", widths[i].width, buffer_string(&out));
	}
	/* As long as some are to come, it is not over, however long none goes on. */
	for (unsigned i = 6; i < 8; i++)
		item_ends("map", i, 4000, "\"result\":1");
	buffer_clear(&out);
	told_by(4000, "✗ map[3] (\"item 3\")    2.0s  bc: exit status 1\n");
	told_by(60000, "");
	live_view_note_items(&view, RUN_ID, "map:0", -1);
	told_by(60000, "✗ map              4.0s  7 done, 1 failed\n");
	view.width = 80;
	/* Two processes of one step: both must be known. */
	happens(&model, 61000, 900, 1, "step.started", "two", 0, "{\"name\":\"two\",\"call\":\"two:0:0\"}");
	happens(&model, 61000, 901, 1, "step.started", "two", 0, "{\"name\":\"two\",\"call\":\"two:1:0\"}");
	live_view_note_items(&view, RUN_ID, "two:0", 5);
	live_view_draw(&view, BEGIN + 62000000, &out);
	assert_null(strstr(out.data, " of "));
	live_view_note_items(&view, RUN_ID, "two:1", 6);
	buffer_clear(&out);
	live_view_draw(&view, BEGIN + 62000000, &out);
	assert_non_null(strstr(out.data, "0 of 11, 0 %, 2 running\n"));
	buffer_free(&out);
	end();
}

/* Three of a kind are printed, and how many more there were at the end; kinds differ in what says what happened. */
static void
test_failures_that_are_alike(void **state)
{
	char how[128];

	(void)state;
	begin(80, 24);
	for (unsigned i = 0; i < 10; i++)
		item_starts("map", i, 0);
	for (unsigned i = 0; i < 9; i++) {
		snprintf(how, sizeof how, "\"error\":{\"code\":\"exit_status\",\"message\":\"sh: exit status %u: line %u\"}",
		    i % 5 == 0 ? 4U : 5U, i);
		item_ends("map", i, 100 + i, how);
	}
	told("✗ map            100ms  sh: exit status 4: line 0\n"
	    "✗ map[1] (\"item 1\")   101ms  sh: exit status 5: line 1\n"
	    "✗ map[2] (\"item 2\")   102ms  sh: exit status 5: line 2\n"
	    "✗ map[3] (\"item 3\")   103ms  sh: exit status 5: line 3\n"
	    "✗ map[5] (\"item 5\")   105ms  sh: exit status 4: line 5\n");
	shows(1000, "slow.awf 0b7a1c52   1.0s   1 running, 9 failed\n"
	    "✗ map: sh: exit status 5: line # … and 4 more like it\n"
	    "⠋ map               1.0s  9 failed, 1 running\n"
	    "  ⠋ [9] \"item 9\"    1.0s  bc -l\n");
	item_ends("map", 9, 1100, "\"result\":1");
	happens(&model, 1200, 990, 1, "run.completed", "", 0, "{\"status\":\"failed\"}");
	told("✗ map                  1.1s  1 done, 9 failed\n"
	    "✗ map: sh: exit status 5: line # … and 4 more like it\n"
	    "✗ slow.awf 0b7a1c52 failed   1.2s\n");
	end();
}

/* What is inside of items, as far as there is room: each below its item; only one, in the same line. */
static void
test_what_is_inside_of_items(void **state)
{
	char payload[256];

	(void)state;
	begin(80, 24);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(payload, sizeof payload, "{\"name\":\"g\",\"kind\":\"group\",\"call\":\"g:0:%u\",\"input\":%u}", i, i);
		happens(&model, 0, 10 + i, 1, "step.started", "g", (int)i, payload);
		snprintf(payload, sizeof payload, "{\"name\":\"a\",\"call\":\"g:0:%u/a:0:0\",\"blocks\":[{\"command\":\"look\"}]}", i);
		happens(&model, 0, 20 + i, 10 + i, "step.started", "g.a", 0, payload);
	}
	happens(&model, 0, 30, 11, "step.started", "g.b", 0, "{\"name\":\"b\",\"call\":\"g:0:1/b:0:0\"}");
	shows(1000, "slow.awf 0b7a1c52   1.0s   3 running\n"
	    "⠋ g               1.0s  2 running\n"
	    "  ⠋ [0] 0 ▸ a     1.0s  look\n"
	    "  ⠋ [1] 1         1.0s\n"
	    "    ⠋ a           1.0s  look\n"
	    "    ⠋ b           1.0s\n");
	view.height = 6;
	shows(1000, "slow.awf 0b7a1c52   1.0s   3 running\n"
	    "⠋ g               1.0s  2 running\n"
	    "  ⠋ [0] 0 ▸ a     1.0s  look\n"
	    "  ⠋ [1] 1         1.0s  2 running\n");
	happens(&model, 1500, 40, 20, "step.completed", "g.a", 0,
	    "{\"call\":\"g:0:0/a:0:0\",\"error\":{\"code\":\"exit_status\",\"message\":\"look: exit status 1\"}}");
	told("✗ g ▸ a           1.5s  look: exit status 1\n");
	end();
}

/* Above all others, however many they are, with the whole of what decides. */
static void
test_many_that_wait(void **state)
{
	char payload[256];

	(void)state;
	begin(64, 12);
	for (unsigned i = 0; i < 8; i++) {
		snprintf(payload, sizeof payload, "{\"name\":\"a-name-that-is-long\",\"kind\":\"approval\",\"call\":\"a:0:%u\"}", i);
		happens(&model, 0, 10 + i, 1, "step.started", "a-name-that-is-long", (int)i, payload);
		snprintf(payload, sizeof payload, "{\"call\":\"a:0:%u\",\"approval\":{\"asks\":\"approval\"}}", i);
		happens(&model, 100, 30 + i, 10 + i, "step.waiting", "a-name-that-is-long", (int)i, payload);
	}
	item_starts("map", 0, 0);
	view.colour = true;
	shows(1000, "\033[1mslow.awf 0b7a1c52   1.0s   1 running, 8 waiting\033[0m\n"
	    "\033[1m\033[33m… a-name-that-is-long  waits: awf-ctl approve a:0:0 0b7a1c52\033[0m\n"
	    "\033[1m\033[33m… a-name-that-is-long[1]  waits: awf-ctl approve a:0:1 0b7a1c52\033[0m\n"
	    "\033[1m\033[33m… a-name-that-is-long[2]  waits: awf-ctl approve a:0:2 0b7a1c52\033[0m\n"
	    "\033[1m\033[33m… a-name-that-is-long[3]  waits: awf-ctl approve a:0:3 0b7a1c52\033[0m\n"
	    "\033[1m\033[33m… 4 more wait: awf status\033[0m\n"
	    "\033[1m⠋\033[0m a-name-that-is-long      1.0s  8 waiting\n"
	    "\033[1m⠋\033[0m map                      1.0s  bc -l\n");
	view.colour = false;
	view.width = 56;
	view.height = 5;
	shows(1000, "slow.awf   1.0s   1 running, 8 waiting\n"
	    "… a-name-that-i…  waits: awf-ctl approve a:0:0 0b7a1c52\n"
	    "… 7 more wait: awf status\n"
	    "… 2 more\n");
	end();
}

/* No row is wider than the terminal less one, none has a control character but colours. */
static void
assert_harmless(const struct buffer *lines, size_t width, unsigned seed)
{
	size_t columns = 0;

	for (size_t i = 0; i < lines->len; i++) {
		const unsigned char c = (unsigned char)lines->data[i];

		if (c == '\033') {
			while (lines->data[i] != 'm')
				i++;
		} else if (c == '\n') {
			columns = 0;
		} else {
			uint32_t code;

			if (c < 0x20 || c == 0x7f)
				fail_msg("seed %u: control %u", seed, c);
			if ((c & 0xc0) != 0x80 && utf8_decode(lines->data + i, lines->len - i, &code) > 0) {
				if (text_is_hidden(code))
					fail_msg("seed %u: hidden %x", seed, (unsigned)code);
				columns += text_columns(code);
			}
			if (width > 0 && columns >= width)
				fail_msg("seed %u: wider than %zu: %.*s", seed, width, (int)lines->len, lines->data);
		}
	}
}

/* Whatever comes in whatever order: calls that never began, ends twice, runs in a circle. */
static void
test_records_that_are_not_what_they_should_be(void **state)
{
	static const char *const types[] = { "step.started", "step.started", "step.completed",
		"step.completed", "step.call_workflow.started", "step.call_workflow.completed", "message.user",
		"message.assistant", "tool.call", "tool.result", "run.started", "run.completed", "other" };
	static const char *const rests[] = { "", ",\"error\":{\"code\":\"exit_status\",\"message\":\"a\\u001bb\"}",
		",\"error\":{\"code\":\"waiting\",\"message\":\"\"},\"approval\":{\"asks\":\"approval\"}",
		",\"error\":{\"code\":\"cancelled\"}", ",\"skipped\":\"upstream_failed\"", ",\"result\":{\"x\":[\"\\n\\u009b\"]}",
		",\"strategy\":\"any\",\"blocks\":[{},{}]", ",\"provider\":\"p\",\"model\":\"\\u202em\"",
		",\"retry\":{\"message\":\"HTTP 429\",\"try\":2,\"of\":3},\"delay_ms\":5",
		",\"wait\":{\"provider\":\"p\",\"reason\":\"\\u001b[2J\"},\"delay_ms\":5", ",\"wait\":{}",
		",\"approval\":{\"decision\":\"approved\",\"by\":\"a\",\"decides\":\"b\"}", ",\"turn\":1" };
	static const char *const inputs[] = { "a", "中文字符中文字符中文字符", "o\u0308o\u0308o\u0308", "👩👍", "\\u001b[31m",
		"\\u202ex", "\\u0000", "עברית" };
	static const char *const paths[] = { "a", "a.b", "a.b", "g", "g", "\\u001b[2J" };

	(void)state;
	for (unsigned seed = 1; seed <= 150; seed++) {
		struct buffer out = BUFFER_INIT;
		size_t rows;

		srand(seed);
		begin((size_t)rand() % 90 + 1, (size_t)rand() % 30 + 1);
		view.colour = rand() % 2 == 0;
		view.utf8 = rand() % 2 == 0;
		for (unsigned i = 2; i < 300; i++) {
			const unsigned call = (unsigned)rand() % 6, around = (unsigned)rand() % 6;
			const char *type = types[(size_t)rand() % COUNT(types)];
			char payload[512], inside[32] = "";

			if (rand() % 2 == 0)
				snprintf(inside, sizeof inside, "g:0:%u/", around);
			snprintf(payload, sizeof payload, "{\"name\":\"n\\u0007\",\"kind\":\"%s\",\"input\":\"%s\",\"call\":\"%s%s:0:%u\"%s}",
			    rand() % 5 == 0 ? "approval" : "command", inputs[(size_t)rand() % COUNT(inputs)], inside, rand() % 2 == 0 ? "g" : "b", call,
			    rests[(size_t)rand() % COUNT(rests)]);
			happens(rand() % 3 == 0 ? &child : &model, i * 20, i, (unsigned)rand() % i, type,
			    paths[(size_t)rand() % COUNT(paths)], rand() % 4, payload);
			if (rand() % 4 == 0)
				writes((unsigned)rand() % i, rand() % 3, (enum live_kind)(rand() % LIVE_KINDS),
				    rand() % 2 == 0 ? "some \033[31mtext\n of \xff it" :
				    "中文字符中文字符中文字符中文字符\n中文 \u202e 👩👍");
			if (rand() % 10 != 0)
				continue;
			buffer_clear(&out);
			if (rand() % 3 == 0)
				live_view_note_items(&view, RUN_ID, rand() % 2 == 0 ? "b:0" : "g:0", rand() % 9 - 1);
			live_view_told(&view, BEGIN + i * 20000, &out);
			assert_harmless(&out, 0, seed);
			buffer_clear(&out);
			rows = live_view_draw(&view, BEGIN + i * 20000, &out);
			assert_harmless(&out, view.width > 8 ? view.width : 0, seed);
			assert_true(rows < view.height || rows == 1);
		}
		live_view_died(&view, RUN_ID);
		assert_true(view.run_count <= 1);
		buffer_free(&out);
		end();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_that_are_not_what_they_should_be),
		cmocka_unit_test(test_a_run_in_terminals_of_several_sizes),
		cmocka_unit_test(test_what_has_ended_is_told_once),
		cmocka_unit_test(test_an_agent),
		cmocka_unit_test(test_what_waits_and_what_asks),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_items_have_lines),
		cmocka_unit_test(test_what_is_left),
		cmocka_unit_test(test_failures_that_are_alike),
		cmocka_unit_test(test_what_is_inside_of_items),
		cmocka_unit_test(test_many_that_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
