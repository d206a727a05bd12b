/*
 * The numbers were chosen by simulating servers with limits per second and per minute, as windows
 * and as buckets: a tenth of the requests or less is refused, and nine tenths of what the server
 * allows are used. Time bounds how fast the interval gets shorter, since many answers can come
 * before the first refusal does.
 */
#include "limits/hold.h"

#define FEW 8               /* calls after which a refusal shows that the interval is far too short */
#define REFUSAL_WEIGHS 10   /* of the strain: what as many calls that pass take away again, */
#define STRAIN_CALM 5       /* up to which a last try is made, */
#define STRAIN_SLOWS 20     /* from which on the interval gets longer, */
#define STRAIN_HOLDS 30     /* and all calls wait */
#define STRAIN_MOST 40
#define FAR_PART 16         /* the part by which an interval gets shorter, at most each */
#define NEAR_PART 256       /* STEP_MS; near the one at which a call was refused, and */
#define STEP_MS 100         /* more with each second since */
#define CALLS_MOST 100000   /* that wait at the same time */
#define POSTPONED_MOST 5    /* times that a last try lets others go first */
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

struct hold_place
hold_draw(struct hold *h, bool last)
{
	return (struct hold_place){ atomic_fetch_add(&h->drawn, 1), last ? POSTPONED_MOST : 0 };
}

static void
hold_note_passed(struct hold *h, int64_t number)
{
	int64_t strain = atomic_load(&h->strain);

	hold_raise(&h->passed, number + 1);
	while (strain > 0 && !atomic_compare_exchange_weak(&h->strain, &strain, strain - 1))
		;
}

bool
hold_pass(struct hold *h, struct hold_place *place, int64_t now, int64_t *again)
{
	const int64_t interval = atomic_load(&h->interval), held = hold_left(h, now);
	const int64_t until = atomic_load(&h->until), time = now * 1000;
	const int64_t passed = atomic_load(&h->passed), strain = atomic_load(&h->strain);
	int64_t before = place->number - passed, next = atomic_load(&h->next), due, expected;

	if (held == 0 && interval == 0) {
		hold_note_passed(h, place->number);
		return true;
	}
	if (before < 0 || before > CALLS_MOST)
		before = 0;
	due = next - time > HOLD_MOST_MS * 1000 ? 0 : next;
	if (until - now <= HOLD_MOST_MS)
		due = greatest(due, until * 1000);
	/* So many others pass first: with each of them another refusal is less likely. */
	if (before == 0 && time >= due && place->postpone > 0 && strain > STRAIN_CALM && strain <= STRAIN_MOST) {
		place->postpone--;
		place->number = passed + strain;
		before = strain;
	}
	if (time >= due + before * HOLD_PASS_MS * 1000) {
		/* Who wakes up a little late does not make the next one late. */
		const int64_t from = due > time - interval ? due : time;

		if (atomic_compare_exchange_strong(&h->next, &next, from + interval)) {
			hold_note_passed(h, place->number);
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
	return false;
}

/* Adds a refusal to the strain; returns what it is then. */
static int64_t
hold_strain(struct hold *h, bool first)
{
	int64_t strain = atomic_load(&h->strain), more;

	do {
		more = first ? STRAIN_HOLDS : least(greatest(strain, 0) + REFUSAL_WEIGHS, STRAIN_MOST);
	} while (!atomic_compare_exchange_weak(&h->strain, &strain, more));
	return more;
}

void
hold_refused(struct hold *h, int64_t sent, int64_t wait_ms, int64_t now)
{
	const int64_t interval = atomic_load(&h->interval), passed = atomic_load(&h->passed);
	int64_t changed = atomic_load(&h->changed), longer = interval, strain;
	bool first = interval == 0, late = !first && sent <= changed;

	wait_ms = least(greatest(wait_ms, 0), HOLD_MOST_MS);
	strain = late ? atomic_load(&h->strain) : hold_strain(h, first);
	if (strain >= STRAIN_HOLDS || sent <= atomic_load(&h->held)) {
		if (!late)
			hold_raise(&h->held, now);
		hold_raise(&h->until, now + wait_ms);
	}
	if (late || strain < STRAIN_SLOWS || !atomic_compare_exchange_strong(&h->changed, &changed, now))
		return;
	if (first)
		longer = (int64_t)HOLD_FIRST_MS * 1000;
	else if (passed - atomic_load(&h->passed_then) < FEW)
		longer = greatest(interval, least(2 * interval, wait_ms * 1000));
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
