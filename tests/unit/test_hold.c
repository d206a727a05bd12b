/* limits/hold: when calls are sent after a server has refused some of them, in simulated time. */
#include "unit.h"

#include "limits/hold.h"

#define MOST 2000
#define TIMED_OUT_MS 1000
#define REFUSED_MS 30   /* until it is known that a request was refused, or reset */

/* Allows so many in any window of this length (0: all), and tells the others how long to wait. Whatever the
 * calls do, it refuses, resets and forgets a part of the requests: in a thousand. */
struct server {
	int allowed, window_ms, retry_after_ms;
	int refuses, resets, hangs;
	int64_t sent[1 << 16]; /* when it allowed each */
	int count;
};

enum outcome { ANSWERED, REFUSED, LOST, HUNG };

/* A number from 0 to most - 1. */
static int
draw(unsigned long *random, int most)
{
	*random = *random * 6364136223846793005UL + 1442695040888963407UL;
	return (int)((*random >> 33) % (unsigned long)most);
}

static enum outcome
server_decide(struct server *s, int64_t now, unsigned long *random)
{
	const int chance = draw(random, 1000);
	int within = 0;

	if (chance < s->refuses + s->resets + s->hangs)
		return chance < s->refuses ? REFUSED : chance < s->refuses + s->resets ? LOST : HUNG;
	if (s->allowed == 0)
		return ANSWERED;
	for (int i = s->count; i-- > 0 && s->sent[i] > now - s->window_ms;)
		within++;
	if (within >= s->allowed)
		return REFUSED;
	s->sent[s->count++] = now;
	return ANSWERED;
}

/* What asks it: so many calls, at most so many at once, in answers that take so long. */
struct load {
	int calls, at_once, tries, latency;
	int die;       /* every so manieth is killed while it waits; 0: none */
	unsigned long random;
};

struct result {
	int answered, failed, requests, refused;
	int most;      /* requests in any second that began after the first wait */
	int64_t took;  /* ms */
};

/* Of each call at a time: it waits for its number's turn, or for its answer, or sleeps. */
struct client {
	enum { SLEEPS, WAITS, ASKS, IS_GONE } does;
	int64_t until, sent;
	struct hold_place place;
	int tries;
	enum outcome outcome;
};

static struct result
simulate(struct server *server, const struct load *load)
{
	static struct client clients[MOST];
	static int sent_at[1 << 20];
	struct hold h = { .until = 0 };
	struct result r = { .answered = 0 };
	int open = load->calls, first_wait = 0, begun = 0, under_way = 0;
	unsigned long random = load->random + 1;

	memset(sent_at, 0, sizeof sent_at);
	memset(clients, 0, sizeof clients);
	for (int64_t now = 1; open > 0 && now < (int64_t)COUNT(sent_at); now++) {
		/* Two begin in a millisecond. */
		for (int i = 0; i < 2 && begun < load->calls && under_way < load->at_once; i++) {
			clients[begun++].until = now;
			under_way++;
		}
		for (int i = 0; i < begun; i++) {
			struct client *c = &clients[i];
			int64_t again;

			if (c->does == IS_GONE || now < c->until)
				continue;
			if (c->does == SLEEPS) {
				c->place = hold_draw(&h, c->tries == load->tries - 1);
				c->does = WAITS;
			}
			if (c->does == WAITS && load->die > 0 && c->place.number > 0 &&
			    c->place.number % load->die == 0 && c->until < now) {
				c->does = IS_GONE;
			} else if (c->does == WAITS && !hold_pass(&h, &c->place, now, &again)) {
				assert_true(again > now);
				c->until = again;
			} else if (c->does == WAITS) {
				c->tries++;
				c->sent = now;
				c->outcome = server_decide(server, now, &random);
				c->until = now + (c->outcome == ANSWERED ? load->latency :
				    c->outcome == HUNG ? TIMED_OUT_MS : REFUSED_MS);
				c->does = ASKS;
				r.requests++;
				sent_at[now]++;
			} else if (c->outcome == ANSWERED) {
				hold_answered(&h, c->sent, now);
				r.answered++;
				c->does = IS_GONE;
				r.took = now;
			} else {
				c->until = now + 10 + draw(&random, 200);
				if (c->outcome == REFUSED) {
					hold_refused(&h, c->sent, server->retry_after_ms, now);
					first_wait = first_wait > 0 ? first_wait : (int)now;
					r.refused++;
					c->until = now + server->retry_after_ms + draw(&random, 1000);
				}
				c->does = c->tries < load->tries ? SLEEPS : IS_GONE;
				r.failed += c->does == IS_GONE;
			}
			under_way -= c->does == IS_GONE;
			open -= c->does == IS_GONE;
		}
	}
	for (int at = first_wait + server->retry_after_ms; first_wait > 0 && at < (1 << 20) - 1000; at += 10) {
		int sum = 0;

		for (int ms = 0; ms < 1000; ms++)
			sum += sent_at[at + ms];
		r.most = sum > r.most ? sum : r.most;
	}
	assert_int_equal(open, 0);
	return r;
}

static void
nothing_is_held_before_a_refusal(void **state)
{
	struct hold h = { .until = 0 };
	int64_t again;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct hold_place place = hold_draw(&h, false);

		assert_true(hold_pass(&h, &place, 5, &again));
	}
	hold_answered(&h, 5, 6);
	assert_int_equal(h.interval, 0);
}

static void
a_refusal_holds_all_for_its_time_and_then_they_go_one_by_one(void **state)
{
	struct hold h = { .until = 0 };
	struct hold_place place[3];
	int64_t again;

	(void)state;
	hold_refused(&h, 90, 3000, 100);
	for (int i = 0; i < 3; i++)
		place[i] = hold_draw(&h, false);
	for (int64_t now = 100; now < 3100; now++)
		assert_false(hold_pass(&h, &place[0], now, &again));
	assert_int_equal(again, 3100);
	assert_int_equal(hold_left(&h, 2100), 1000);
	assert_true(hold_pass(&h, &place[0], 3100, &again));
	assert_false(hold_pass(&h, &place[1], 3100, &again));
	assert_int_equal(again, 3151);
	assert_false(hold_pass(&h, &place[1], 3149, &again));
	assert_true(hold_pass(&h, &place[1], 3150, &again));
	assert_true(hold_pass(&h, &place[2], 3200, &again));
}

static void
who_is_gone_does_not_stop_the_others(void **state)
{
	struct hold h = { .until = 0 };
	struct hold_place place[3];
	int64_t again;

	(void)state;
	hold_refused(&h, 90, 1000, 100);
	for (int i = 0; i < 3; i++)
		place[i] = hold_draw(&h, false);
	assert_false(hold_pass(&h, &place[2], 1100, &again));
	assert_true(hold_pass(&h, &place[2], 1100 + 2 * HOLD_PASS_MS, &again));
	/* The one that was late goes next. */
	assert_true(hold_pass(&h, &place[0], 1150 + 2 * HOLD_PASS_MS, &again));
}

static void
refusals_of_one_wait_slow_it_down_once(void **state)
{
	struct hold h = { .until = 0 };
	struct hold_place place;
	int64_t again;

	(void)state;
	for (int i = 0; i < 400; i++)
		hold_refused(&h, i, 1000, 1000 + i);
	assert_int_equal(h.interval, HOLD_FIRST_MS * 1000);
	assert_int_equal(h.until, 2399);
	place = hold_draw(&h, false);
	assert_true(hold_pass(&h, &place, 2399, &again));
	hold_refused(&h, 2399, 1000, 2410);
	hold_refused(&h, 2399, 1000, 2411);
	assert_int_equal(h.interval, 2 * HOLD_FIRST_MS * 1000);
	/* Then one call a wait is enough. */
	for (int64_t now = 10000; now < 1000000; now += 10000)
		hold_refused(&h, now, 1500, now + 10);
	assert_int_equal(h.interval, 1500 * 1000);
}

/* Servers that share what they have refuse some calls, however seldom they are asked. */
static void
few_refusals_among_many_calls_hold_nobody(void **state)
{
	struct hold h = { .until = 0 };
	int64_t now = 1000, again;

	(void)state;
	hold_refused(&h, 999, 1000, now);
	for (int i = 0; i < 3000; i++) {
		struct hold_place place = hold_draw(&h, false);

		while (!hold_pass(&h, &place, now, &again))
			now = again;
		if (i % 20 == 19)
			hold_refused(&h, now, 1000, now);
		else
			hold_answered(&h, now, now);
	}
	assert_true(now < 60000);
	/* But all at once do. */
	for (int i = 1; i <= 12; i++)
		hold_refused(&h, now + i, 1000, now + i);
	assert_int_equal(hold_left(&h, now + 12), 1000);
}

static void
a_last_try_waits_until_others_are_not_refused(void **state)
{
	struct hold h = { .until = 0 };
	struct hold_place last, other;
	int64_t now = 1100, again, passed = 0;

	(void)state;
	hold_refused(&h, 90, 1000, 100);
	last = hold_draw(&h, true);
	assert_false(hold_pass(&h, &last, now, &again));
	while (!hold_pass(&h, &last, now, &again) && passed < 100) {
		other = hold_draw(&h, false);
		passed += hold_pass(&h, &other, now, &again);
		now += HOLD_FIRST_MS + HOLD_PASS_MS;
	}
	assert_in_range(passed, 10, 31);
	/* If there are none, it does not wait for them. */
	hold_refused(&h, now, 1000, now);
	last = hold_draw(&h, true);
	while (!hold_pass(&h, &last, now, &again))
		now = again;
	assert_true(now < again + 3000);
}

/* What another process has written half, or something else, delays nobody for ever. */
static void
senseless_numbers_hold_nobody_for_ever(void **state)
{
	static const int64_t values[] = { INT64_MAX / 1000, INT64_MIN / 1000, -1, 1, (int64_t)1 << 50 };

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++) {
		struct hold h = { .until = values[i], .next = values[i], .passed = values[i],
			.interval = HOLD_FIRST_MS * 1000 };
		struct hold_place place = hold_draw(&h, false);
		int64_t now = 1000, again;

		while (!hold_pass(&h, &place, now, &again) && now < 2000 + HOLD_MOST_MS)
			now = again;
		assert_true(now < 2000 + HOLD_MOST_MS);
	}
}

static void
servers_are_asked_about_as_much_as_they_allow(void **state)
{
	static const struct {
		struct server server;
		int calls, latency;
		int refused_most, failed_most, most_in_a_second;
		int64_t seconds_most;
	} rows[] = {
		/* In the first 30 ms, before the first refusal, about 80 more are sent than it allows. */
		{ { .allowed = 60, .window_ms = 1000, .retry_after_ms = 2000 }, 500, 100, 110, 0, 70, 30 },
		{ { .allowed = 60, .window_ms = 1000, .retry_after_ms = 1000 }, 500, 2000, 110, 0, 70, 25 },
		{ { .allowed = 20, .window_ms = 1000, .retry_after_ms = 1000 }, 500, 500, 110, 2, 26, 55 },
		{ { .allowed = 5, .window_ms = 1000, .retry_after_ms = 1000 }, 100, 100, 100, 3, 12, 40 },
		{ { .allowed = 300, .window_ms = 60000, .retry_after_ms = 20000 }, 500, 100, 90, 0, 150, 90 },
		/* The fewer it allows, the more tries it takes to find that out. */
		{ { .allowed = 1, .window_ms = 3000, .retry_after_ms = 3000 }, 30, 100, 60, 8, 4, 120 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct server server = rows[i].server;
		const struct load load = { .calls = rows[i].calls, .at_once = MOST, .tries = 3,
			.latency = rows[i].latency };
		const struct result r = simulate(&server, &load);

		if (r.answered + r.failed != rows[i].calls || r.failed > rows[i].failed_most ||
		    r.refused > rows[i].refused_most || r.most > rows[i].most_in_a_second ||
		    r.took > rows[i].seconds_most * 1000)
			fail_msg("row %zu: %d requests, %d refused, %d failed, %d most in a second, %lld ms", i,
			    r.requests, r.refused, r.failed, r.most, (long long)r.took);
	}
}

/* A part of the requests is refused, reset or forgotten whatever the calls do: that slows none down but those
 * who must wait. */
static void
what_is_refused_by_chance_slows_down_nobody_else(void **state)
{
	static const struct {
		struct server server;
		struct load load;
		int64_t seconds_most;
		int most_in_a_second; /* 0: any */
	} rows[] = {
		{ { .retry_after_ms = 1000, .refuses = 333, .resets = 100, .hangs = 20 },
			{ .calls = 2000, .at_once = 200, .tries = 26, .latency = 50 }, 60, 0 },
		{ { .retry_after_ms = 1000, .refuses = 333, .resets = 100, .hangs = 20 },
			{ .calls = 2000, .at_once = 200, .tries = 26, .latency = 2000 }, 65, 0 },
		{ { .retry_after_ms = 20, .refuses = 333, .resets = 100, .hangs = 20 },
			{ .calls = 2000, .at_once = 200, .tries = 26, .latency = 50 }, 25, 0 },
		{ { .retry_after_ms = 1000, .refuses = 333 },
			{ .calls = 400, .at_once = 200, .tries = 26, .latency = 50 }, 35, 0 },
		{ { .retry_after_ms = 1000, .refuses = 450 },
			{ .calls = 2000, .at_once = 200, .tries = 40, .latency = 50 }, 60, 0 },
		{ { .retry_after_ms = 1000, .refuses = 150 },
			{ .calls = 2000, .at_once = 200, .tries = 26, .latency = 50 }, 45, 0 },
		{ { .retry_after_ms = 1000, .refuses = 50 },
			{ .calls = 2000, .at_once = 200, .tries = 26, .latency = 50 }, 50, 0 },
		/* What is only lost is no reason to ask a server with a limit more. */
		{ { .allowed = 100, .window_ms = 1000, .retry_after_ms = 1000, .resets = 100, .hangs = 20 },
			{ .calls = 2000, .at_once = 200, .tries = 9, .latency = 50 }, 40, 150 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		for (unsigned long random = 0; random < 4; random++) {
			static struct server server;
			struct load load = rows[i].load;
			struct result r;

			server = rows[i].server;
			load.random = random * 77777;
			r = simulate(&server, &load);
			if (r.answered != load.calls || r.took > rows[i].seconds_most * 1000 ||
			    (rows[i].most_in_a_second > 0 && r.most > rows[i].most_in_a_second))
				fail_msg("row %zu: %d requests, %d refused, %d failed, %d most in a second, %lld ms",
				    i, r.requests, r.refused, r.failed, r.most, (long long)r.took);
		}
}

static void
a_hold_is_forgotten_by_one_rule(void **state)
{
	const int64_t now = 100 * HOLD_MOST_MS;
	static const struct {
		int64_t latest;      /* from now on */
		bool forgotten;
	} rows[] = {
		{ 0, false }, { -HOLD_FORGOTTEN_MS, false }, { -HOLD_FORGOTTEN_MS - 1, true }, { HOLD_MOST_MS, false },
		{ HOLD_MOST_MS + 1, true }, { -100 * HOLD_MOST_MS, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const int64_t at = now + rows[i].latest;
		const struct hold each[] = { { .until = at }, { .held = at }, { .changed = at }, { .shortened = at },
			{ .counted_at = at }, { .tried = at } };

		for (size_t n = 0; n < COUNT(each); n++)
			assert_int_equal(hold_is_forgotten(&each[n], now), rows[i].forgotten);
	}
}

/* One that was made, and not used yet, as its process was killed, is forgotten as well. */
static void
an_empty_hold_is_forgotten(void **state)
{
	const struct hold h = { .until = 0 };

	(void)state;
	assert_true(hold_is_forgotten(&h, HOLD_FORGOTTEN_MS + 1));
}

static void
calls_that_are_killed_leave_nothing_held(void **state)
{
	struct server server = { .allowed = 60, .window_ms = 1000, .retry_after_ms = 1000 };
	const struct load load = { .calls = 500, .at_once = MOST, .tries = 3, .latency = 100, .die = 2 };
	struct result r;

	(void)state;
	r = simulate(&server, &load);
	assert_int_equal(r.failed, 0);
	assert_true(r.answered > 200);
	assert_true(r.took < 25000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_held_before_a_refusal),
		cmocka_unit_test(a_refusal_holds_all_for_its_time_and_then_they_go_one_by_one),
		cmocka_unit_test(who_is_gone_does_not_stop_the_others),
		cmocka_unit_test(refusals_of_one_wait_slow_it_down_once),
		cmocka_unit_test(few_refusals_among_many_calls_hold_nobody),
		cmocka_unit_test(a_last_try_waits_until_others_are_not_refused),
		cmocka_unit_test(senseless_numbers_hold_nobody_for_ever),
		cmocka_unit_test(servers_are_asked_about_as_much_as_they_allow),
		cmocka_unit_test(what_is_refused_by_chance_slows_down_nobody_else),
		cmocka_unit_test(a_hold_is_forgotten_by_one_rule), cmocka_unit_test(an_empty_hold_is_forgotten),
		cmocka_unit_test(calls_that_are_killed_leave_nothing_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
