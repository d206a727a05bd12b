/*
 * The numbers were chosen by simulating servers with limits per second and per minute, as windows
 * and as buckets: a tenth of the requests or less is refused, and nine tenths of what the server
 * allows are used. Time bounds how fast the interval gets shorter, since many answers can come
 * before the first refusal does.
 */
#include "limits/hold.h"

#include "base/invariant.h"

#define FEW 8               /* calls between two refusals that were too many for the server */
#define FAR_PART 8          /* the part by which an interval gets shorter, at most each */
#define NEAR_PART 128       /* STEP_MS; near the one at which a call was refused, and */
#define STEP_MS 100         /* more with each second since */
#define LONGEST_MS 2000     /* no interval is longer, unless the server's wait is */
#define CALLS_MOST 100000   /* that wait at the same time */
#define LOOK_MS 1000        /* others may have gone before their turn */

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
greatest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Sets a number to a value that is greater; if it is already, nothing changes. */
static void
hold_raise(_Atomic int64_t *number, int64_t value)
{
	int64_t is = atomic_load(number);

	while (is < value && !atomic_compare_exchange_weak(number, &is, value))
		;
}

int64_t
hold_left(const struct hold *h, int64_t now)
{
	const int64_t left = atomic_load(&h->until) - now;

	return left < 0 || left > HOLD_MOST_MS ? 0 : left;
}

int64_t
hold_draw(struct hold *h)
{
	return atomic_fetch_add(&h->drawn, 1);
}

bool
hold_pass(struct hold *h, int64_t number, int64_t now, int64_t *again)
{
	const int64_t interval = atomic_load(&h->interval), held = hold_left(h, now);
	const int64_t until = atomic_load(&h->until), time = now * 1000;
	int64_t before = number - atomic_load(&h->passed);
	int64_t next = atomic_load(&h->next), due, expected;

	if (held == 0 && interval == 0) {
		hold_raise(&h->passed, number + 1);
		return true;
	}
	if (before < 0 || before > CALLS_MOST)
		before = 0;
	due = next - time > HOLD_MOST_MS * 1000 ? 0 : next;
	if (until - now <= HOLD_MOST_MS)
		due = greatest(due, until * 1000);
	if (time >= due + before * HOLD_PASS_MS * 1000) {
		/* Who wakes up a little late does not make the next one late. */
		const int64_t from = due > time - interval ? due : time;

		if (atomic_compare_exchange_strong(&h->next, &next, from + interval)) {
			hold_raise(&h->passed, number + 1);
			return true;
		}
		due = next;
	}
	expected = greatest(0, due + before * interval - time) / 1000;
	/* The interval may get shorter meanwhile. */
	if (before > 0 && expected > 20)
		expected -= expected / 4;
	*again = now + greatest(1, held > 0 ? greatest(held, least(expected, held + LOOK_MS)) :
	    least(expected + 1, LOOK_MS));
	INVARIANT(*again > now);
	return false;
}

void
hold_refused(struct hold *h, int64_t sent, int64_t wait_ms, int64_t now)
{
	const int64_t passed = atomic_load(&h->passed);
	int64_t changed = atomic_load(&h->changed), interval, longer;

	wait_ms = least(greatest(wait_ms, 0), HOLD_MOST_MS);
	hold_raise(&h->until, now + wait_ms);
	interval = longer = atomic_load(&h->interval);
	if ((interval > 0 && sent <= changed) ||
	    !atomic_compare_exchange_strong(&h->changed, &changed, now))
		return;
	if (interval == 0)
		longer = HOLD_FIRST_MS * 1000;
	else if (passed - atomic_load(&h->passed_then) < FEW)
		longer = greatest(interval, least(2 * interval, greatest(wait_ms, LONGEST_MS) * 1000));
	else
		longer += interval / 8;
	atomic_store(&h->refused_at, interval);
	atomic_store(&h->passed_then, passed);
	atomic_store(&h->interval, longer);
}

void
hold_answered(struct hold *h, int64_t sent, int64_t now)
{
	const int64_t changed = atomic_load(&h->changed), until = atomic_load(&h->until);
	int64_t interval = atomic_load(&h->interval), shortened = atomic_load(&h->shortened), part;
	const int64_t refused_at = atomic_load(&h->refused_at);

	if (interval == 0 || sent <= changed || now < until ||
	    now < greatest(shortened, greatest(changed, until)) + STEP_MS ||
	    !atomic_compare_exchange_strong(&h->shortened, &shortened, now))
		return;
	part = FAR_PART;
	if (refused_at > 0 && interval < refused_at + refused_at / 4)
		part = greatest(part, NEAR_PART / (1 + (now - greatest(changed, until)) / 1000));
	part = interval - interval / part;
	atomic_compare_exchange_strong(&h->interval, &interval, part < HOLD_LEAST_US ? 0 : part);
}
