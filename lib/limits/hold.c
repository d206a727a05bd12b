/*
 * The numbers were chosen by simulating servers with limits per second and per minute, as windows
 * and as buckets, and servers that refuse by chance: of a server with a limit a tenth of the requests
 * or less is refused, and nine tenths of what it allows are used. Time bounds how fast the interval
 * gets shorter, since many answers can come before the first refusal does.
 */
#include "limits/hold.h"

#include <stddef.h>

#include "base/invariant.h"

#define FEW 8               /* calls after which a refusal shows that the interval is far too short */
#define STRAIN_CALM 5       /* up to which a last try is made, */
#define STRAIN_SLOWS 20     /* from which on the interval gets longer, */
#define STRAIN_HOLDS 30     /* and all calls wait */
#define STRAIN_MOST 40
#define STRAIN_HELD 28      /* with which it begins when they have waited, */
#define STRAIN_TRIAL 15     /* and a trial */
#define PER 1000            /* parts of the calls are in thousandths */
#define PART_LEAST 100      /* whose refusal changes nothing, */
#define PART_MOST 500       /* and if they are refused whatever the interval is */
#define TRIAL_CALLS 24      /* that are looked at in a trial, */
#define TRIAL_LONG_MS 2000  /* and after this time FEW */
#define TRIAL_NEXT_MS 5000  /* between two trials, if the first has shown that the interval was too short */
#define WINDOW_MOST_MS 60000 /* for which what was sent before may count for the server */
#define NO_INTERVAL 1       /* to go back to: the trial of the first one, or of one that held all */
#define LOOKED_CALLS 200    /* after which the part is looked at again */
#define FAR_PART 16         /* the part by which an interval gets shorter, at most each */
#define CHANCE_PART 8       /* where nothing but chance has refused calls, */
#define CHANCE_STEPS 4
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
hold_note_passed(struct hold *h, int64_t number, int64_t now)
{
	int64_t strain = atomic_load(&h->strain);

	hold_raise(&h->passed, number + 1);
	if (now <= atomic_load(&h->counted_at))
		atomic_store(&h->counted, number + 1);
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
		hold_note_passed(h, place->number, now);
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
			hold_note_passed(h, place->number, now);
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
	INVARIANT(*again > now && *again <= now + HOLD_MOST_MS + LOOK_MS);
	return false;
}

/* The part of the calls whose refusal changes nothing. */
static int64_t
hold_part(const struct hold *h)
{
	return least(greatest(atomic_load(&h->part), PART_LEAST), PART_MOST);
}

/* The same if so many of a thousand calls are refused at every interval: half as many more, since chance varies. */
static int64_t
hold_part_for(int64_t refused)
{
	return refused <= PART_LEAST ? PART_LEAST : least(PART_MOST, PART_LEAST + refused + refused / 2);
}

/* Adds a refusal to the strain; returns what it is then. A call that passes takes away 1. */
static int64_t
hold_strain(struct hold *h)
{
	const int64_t weighs = PER / (atomic_load(&h->trial) != 0 ? PART_MOST : hold_part(h));
	int64_t strain = atomic_load(&h->strain), more;

	do {
		more = least(greatest(strain, 0) + weighs, STRAIN_MOST);
	} while (!atomic_compare_exchange_weak(&h->strain, &strain, more));
	INVARIANT(more > 0 && more <= STRAIN_MOST);
	return more;
}

/* Counts the calls that are sent after this time, and those of them that are refused. */
static void
hold_count_after(struct hold *h, int64_t time)
{
	atomic_store(&h->counted_at, time);
	atomic_store(&h->counted, atomic_load(&h->passed));
	atomic_store(&h->refused, 0);
}

/* How many of a thousand of them were refused; -1: they are fewer than this. */
static int64_t
hold_refused_part(const struct hold *h, int64_t calls)
{
	const int64_t passed = atomic_load(&h->passed) - atomic_load(&h->counted);

	if (passed < calls)
		return -1;
	return least(PER, greatest(0, atomic_load(&h->refused)) * PER / passed);
}

/* Sets the interval after refusals. */
static void
hold_change(struct hold *h, int64_t interval, int64_t refused_at, int64_t now)
{
	atomic_store(&h->refused_at, refused_at);
	atomic_store(&h->passed_then, atomic_load(&h->passed));
	atomic_store(&h->interval, interval);
	hold_count_after(h, now);
}

/* Twice an interval, but not more than the wait; of none the first. */
static int64_t
hold_double(int64_t interval, int64_t wait_ms)
{
	return interval == 0 ? (int64_t)HOLD_FIRST_MS * 1000 :
	    greatest(interval, least(2 * interval, wait_ms * 1000));
}

/* Begins a trial. refused: of a thousand calls at the interval before. Calls are counted from when the
 * server has had the time that it told: what was sent before may still count for it until then. */
static void
hold_begin_trial(struct hold *h, int64_t refused, int64_t wait_ms, int64_t now)
{
	const int64_t before = atomic_load(&h->interval);
	/* What helps if the server accepts so many in a time, whatever it is asked. */
	const int64_t after = before * PER / (PER - least(refused, PART_MOST));

	atomic_store(&h->strain, STRAIN_TRIAL);
	atomic_store(&h->trial, before);
	atomic_store(&h->refused_before, refused);
	hold_change(h, hold_double(before, wait_ms), greatest(after, before + before / 8), now);
	hold_count_after(h, now + least(wait_ms, WINDOW_MOST_MS));
}

/* Ends a trial of the first interval, or of the first one after all calls had to wait. */
static void
hold_end_first_trial(struct hold *h, int64_t refused, bool chance, int64_t wait_ms, int64_t now)
{
	if (chance) {
		hold_begin_trial(h, refused, wait_ms, now);
		return;
	}
	atomic_store(&h->strain, 0);
	atomic_store(&h->part, hold_part_for(refused));
	hold_change(h, atomic_load(&h->interval), 0, now);
}

/* Ends a trial if it shows something. That calls are still refused is shown by a refusal, that they are not
 * by an answer. */
static void
hold_judge_trial(struct hold *h, bool answered, int64_t wait_ms, int64_t now)
{
	const int64_t since = greatest(atomic_load(&h->changed), atomic_load(&h->counted_at));
	const int64_t refused = hold_refused_part(h, now - since > TRIAL_LONG_MS ? FEW : TRIAL_CALLS);
	/* Of a server with a limit that refuses the part r, half as many calls have 2r - 1 refused; by
	 * chance it is still r. */
	const int64_t between = (3 * atomic_load(&h->refused_before) - PER) / 2;
	const bool chance = hold_part_for(refused) > hold_part(h) && refused > between;
	int64_t before = atomic_load(&h->trial);

	if (before == 0 || refused == -1 || (chance ? answered && before == NO_INTERVAL : !answered) ||
	    !atomic_compare_exchange_strong(&h->trial, &before, 0))
		return;
	atomic_store(&h->changed, now);
	if (before == NO_INTERVAL) {
		hold_end_first_trial(h, refused, chance, wait_ms, now);
		return;
	}
	atomic_store(&h->strain, 0);
	atomic_store(&h->part, hold_part_for(refused));
	if (chance) {
		hold_change(h, before, 0, now);
	} else {
		hold_change(h, greatest(before, atomic_load(&h->refused_at)), before, now);
		atomic_store(&h->tried, now);
	}
}

void
hold_refused(struct hold *h, int64_t sent, int64_t wait_ms, int64_t now)
{
	int64_t changed = atomic_load(&h->changed), strain;
	const int64_t interval = atomic_load(&h->interval), trial = atomic_load(&h->trial);
	const bool few = atomic_load(&h->passed) - atomic_load(&h->passed_then) < FEW;

	wait_ms = least(greatest(wait_ms, 0), HOLD_MOST_MS);
	if (interval > 0 && sent <= changed) {
		if (sent <= atomic_load(&h->held))
			hold_raise(&h->until, now + wait_ms);
		return;
	}
	if (sent > atomic_load(&h->counted_at))
		atomic_fetch_add(&h->refused, 1);
	strain = interval == 0 ? STRAIN_HOLDS : hold_strain(h);
	if (strain >= STRAIN_HOLDS) {
		hold_raise(&h->held, now);
		hold_raise(&h->until, now + wait_ms);
	} else if (trial != 0) {
		hold_judge_trial(h, false, wait_ms, now);
		return;
	}
	if (strain < STRAIN_SLOWS || !atomic_compare_exchange_strong(&h->changed, &changed, now))
		return;
	if (strain >= STRAIN_HOLDS) {
		atomic_store(&h->trial, NO_INTERVAL);
		atomic_store(&h->refused_before, 0);
		atomic_store(&h->strain, STRAIN_HELD);
		hold_change(h, interval == 0 || few || trial != 0 ? hold_double(interval, wait_ms) :
		    interval + interval / 8, interval, now);
	} else if (few || hold_part(h) > PART_LEAST || now - atomic_load(&h->tried) >= TRIAL_NEXT_MS) {
		hold_begin_trial(h, greatest(0, hold_refused_part(h, FEW)), wait_ms, now);
	} else {
		hold_change(h, interval + interval / 8, interval, now);
	}
}

/* Looks whether fewer calls are refused than before. */
static void
hold_look_at_part(struct hold *h, int64_t now)
{
	const int64_t refused = hold_refused_part(h, LOOKED_CALLS);

	if (refused == -1)
		return;
	if (hold_part_for(refused) < hold_part(h))
		atomic_store(&h->part, hold_part_for(refused));
	hold_count_after(h, now);
}

/* Shortens the interval, for the time since it was shortened last. */
static void
hold_go_faster(struct hold *h, int64_t since, int64_t shortened, int64_t now)
{
	const int64_t refused_at = atomic_load(&h->refused_at);
	const bool chance = hold_part(h) > PART_LEAST;
	int64_t interval = atomic_load(&h->interval), part = FAR_PART, shorter;
	/* Where calls are rare, so are answers. */
	int64_t steps = chance ? least(CHANCE_STEPS, (now - greatest(shortened, since)) / STEP_MS) : 1;

	if (refused_at == 0 && chance)
		part = CHANCE_PART;
	else if (refused_at > 0 && interval < refused_at + refused_at / 4)
		part = greatest(part, NEAR_PART / (1 + (now - since) / 1000));
	for (shorter = interval; steps > 0; steps--)
		shorter -= shorter / part;
	/* Without any, the next refusal would hold all calls. */
	if (shorter < HOLD_LEAST_US)
		shorter = chance ? HOLD_LEAST_US : 0;
	atomic_compare_exchange_strong(&h->interval, &interval, shorter);
}

void
hold_answered(struct hold *h, int64_t sent, int64_t now)
{
	const int64_t changed = atomic_load(&h->changed), until = atomic_load(&h->until);
	const int64_t since = greatest(changed, until);
	int64_t shortened = atomic_load(&h->shortened);
	const int64_t before = shortened;

	if (atomic_load(&h->interval) == 0 || sent <= changed || now < until)
		return;
	if (sent > atomic_load(&h->counted_at))
		hold_judge_trial(h, true, 0, now);
	if (atomic_load(&h->trial) > NO_INTERVAL ||
	    (atomic_load(&h->trial) == NO_INTERVAL && atomic_load(&h->refused) > 0))
		return;
	if (now < greatest(shortened, since) + STEP_MS ||
	    !atomic_compare_exchange_strong(&h->shortened, &shortened, now))
		return;
	hold_look_at_part(h, now);
	hold_go_faster(h, since, before, now);
}

bool
hold_is_forgotten(const struct hold *h, int64_t now)
{
	const int64_t times[] = { atomic_load(&h->until), atomic_load(&h->held), atomic_load(&h->changed),
		atomic_load(&h->shortened), atomic_load(&h->counted_at), atomic_load(&h->tried) };
	int64_t latest = 0;

	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		latest = greatest(latest, times[i]);
	return latest > now + HOLD_MOST_MS || latest + HOLD_FORGOTTEN_MS < now;
}
