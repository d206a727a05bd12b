/*
 * Runs that may need somebody's attention: those that go on only if a person does something, those
 * that failed, those that wait for something else, those that run.
 */
#ifndef AWF_SETUP_ATTENTION_H
#define AWF_SETUP_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "storage/storage.h"

/* The most urgent first. */
enum attention_section { ATTENTION_NEEDED, ATTENTION_FAILED, ATTENTION_WAITING, ATTENTION_RUNNING,
	ATTENTION_SECTIONS };

struct attention_item {
	enum attention_section section;
	char run_id[ID_SIZE];
	char *name;           /* of the workflow */
	char status[16];      /* as in lists of runs */
	int64_t since;        /* since when it waits or runs, or when it failed, µs since 1970 */
	char *message;        /* what it waits for, why it failed, what it does */
	char *command;        /* what to type; NULL: nothing */
};

struct attention {
	const struct storage *storage;
	int64_t now, failed_since;  /* earlier failures are left out; µs since 1970 */
	void (*warn)(const struct error *warning);
	struct attention_run { char run_id[ID_SIZE]; bool looked_at; } *runs;
	size_t run_count;
	struct attention_item *list;
	size_t count;
	size_t counts[ATTENTION_SECTIONS];
};

/* Adds a run of the storage. look: it has not ended for good, or has failed not long ago. */
void attention_add_run(struct attention *a, const char *run_id, bool look);
/* After all runs were added: reads those, adds the queued ones, and sorts the list. Reports runs that
 * cannot be read. */
int attention_read(struct attention *a, struct error *err);
/* The shortest prefix of a run's id that no other run of the storage has. Returns out. */
const char *attention_short_id(const struct attention *a, const char *run_id, char out[ID_SIZE]);
void attention_free(struct attention *a);

#endif
