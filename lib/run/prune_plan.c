/*
 * The first and last lines of all transcripts say what there is, newest first. Parents lead
 * from each run to its root, and a list goes from the root to all inside of it, linked by
 * their numbers. Only roots are weighed against the rule; sizes are added up only where it,
 * or whoever is told, asks for them.
 */
#include "run/pruner.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/copytree.h"
#include "base/count.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "run/run_lock.h"
#include "transcript/torn.h"

#define NESTING_LIMIT 64 /* of runs inside of runs */

void
pruner_fail(struct pruner *p, const struct error *error)
{
	if (p->failed)
		p->spec->warn(error);
	else
		*p->err = *error;
	p->failed = true;
}

int
pruner_each(struct pruner *p, const char *directory,
    void (*take)(struct pruner *p, const char *directory, const char *name), struct error *err)
{
	char *path = path_join(p->storage->root, directory);
	DIR *names = storage_opendir(path);
	struct dirent *found;
	int failed = 0;

	if (names == NULL && errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to read the directory");
	free(path);
	if (names == NULL)
		return failed;
	while ((found = readdir(names)) != NULL)
		take(p, directory, found->d_name);
	closedir(names);
	return 0;
}

int64_t
pruner_changed(const struct stat *status)
{
	return (int64_t)status->st_mtim.tv_sec * 1000000 + status->st_mtim.tv_nsec / 1000;
}

/* What says nothing is as old as its file; where the system does not let it be read, it
 * may wait, or live. False: somebody has removed it just now. */
static bool
summarize(struct found *run, const char *path)
{
	struct error error;
	struct stat status;

	if (lstat(path, &status) != 0)
		return false;
	run->size = status.st_size;
	if (summary_read_ends(&run->summary, path, &error) == 0)
		return true;
	run->summary = (struct summary){ .name = memory_text(""), .status = "died",
		.started = pruner_changed(&status), .ended = pruner_changed(&status) };
	run->protected = error.code == ERROR_SYSTEM;
	return true;
}

static void
take_transcript(struct pruner *p, const char *directory, const char *name)
{
	const char *suffix = strlen(name) > ID_SIZE - 1 ? name + ID_SIZE - 1 : "";
	struct found *run;
	char *path;

	(void)directory;
	if ((strcmp(suffix, ".jsonl") != 0 && strcmp(suffix, ".pruned") != 0) ||
	    !id_valid(name, ID_SIZE - 1))
		return;
	p->runs = memory_array(p->runs, p->count + 1, sizeof *p->runs);
	run = &p->runs[p->count];
	memset(run, 0, sizeof *run);
	memcpy(run->run_id, name, ID_SIZE - 1);
	run->pruned = strcmp(suffix, ".pruned") == 0;
	path = run->pruned ? storage_pruned(p->storage, run->run_id) :
	    storage_transcript(p->storage, run->run_id);
	p->count += summarize(run, path);
	free(path);
	run->protected |= storage_run_alive(p->storage, run->run_id) ||
	    strcmp(run->summary.status, "waiting") == 0 ||
	    (p->spec->spared != NULL && strcmp(p->spec->spared, run->run_id) == 0);
}

static int
newest_first(const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	if (left->summary.started != right->summary.started)
		return left->summary.started < right->summary.started ? 1 : -1;
	return strcmp(left->run_id, right->run_id);
}

size_t
pruner_find(const struct pruner *p, const char *run_id)
{
	const size_t *at = map_get(&p->index, run_id, strlen(run_id));

	return at != NULL ? *at : PRUNER_NONE;
}

/* A place holds one run. */
static void
take_replayed(struct pruner *p, const char *directory, const char *name)
{
	struct replay *replay;

	if (strlen(name) < ID_SIZE || !id_valid(name, ID_SIZE - 1) ||
	    strcmp(name + ID_SIZE - 1, ".jsonl") != 0)
		return;
	p->replays = memory_array(p->replays, p->replay_count + 1, sizeof *p->replays);
	replay = &p->replays[p->replay_count++];
	memset(replay, 0, sizeof *replay);
	memcpy(replay->run_id, name, ID_SIZE - 1);
	replay->place = memory_format("%s/%.*s", p->storage->root,
	    (int)(strlen(directory) - strlen("/transcripts")), directory);
}

static void
take_place(struct pruner *p, const char *directory, const char *name)
{
	char *transcripts;
	struct error none;

	if (!id_valid(name, strlen(name)))
		return;
	transcripts = memory_format("%s/%s/transcripts", directory, name);
	pruner_each(p, transcripts, take_replayed, &none);
	free(transcripts);
}

/* Of a run that is being replayed nothing may go. */
static void
protect_replayed(struct pruner *p)
{
	for (size_t i = 0; i < p->replay_count; i++) {
		const struct storage place = { .root = p->replays[i].place };
		size_t at = pruner_find(p, p->replays[i].run_id);

		if (at != PRUNER_NONE && storage_run_alive(&place, p->replays[i].run_id))
			p->runs[at].protected = true;
	}
}

static void
find_roots(struct pruner *p)
{
	for (size_t i = 0; i < p->count; i++) {
		size_t at = i, parent;

		for (int depth = 0; depth < NESTING_LIMIT &&
		    (parent = pruner_find(p, p->runs[at].summary.parent)) != PRUNER_NONE; depth++)
			at = parent;
		p->runs[i].root = at;
		p->runs[i].next = PRUNER_NONE;
	}
	for (size_t i = 0; i < p->count; i++) {
		struct found *root = &p->runs[p->runs[i].root];

		if (p->runs[i].root == i)
			continue;
		p->runs[i].next = root->next;
		root->next = i;
	}
}

int
pruner_load(struct pruner *p, struct error *err)
{
	if (pruner_each(p, "transcripts", take_transcript, err) != 0 ||
	    pruner_each(p, "replays", take_place, err) != 0)
		return -1;
	if (p->count > 0)
		qsort(p->runs, p->count, sizeof *p->runs, newest_first);
	for (size_t i = 0; i < p->count; i++)
		map_put(&p->index, p->runs[i].run_id, ID_SIZE - 1, i);
	protect_replayed(p);
	find_roots(p);
	return 0;
}

char **
pruner_parts(const struct pruner *p, const char *run_id)
{
	char *transcript = storage_transcript(p->storage, run_id);
	char *input = storage_input(p->storage, run_id), **parts = NULL;

	list_take(&parts, torn_path(transcript));
	list_take(&parts, storage_blobs(p->storage, run_id));
	list_take(&parts, memory_format("%s.part", input));
	list_take(&parts, input);
	list_take(&parts, storage_snapshot(p->storage, run_id));
	free(transcript);
	return parts;
}

static int64_t
weigh(const struct pruner *p, const struct found *run)
{
	int64_t bytes = run->size > 0 ? run->size : 0;
	char **parts = pruner_parts(p, run->run_id);

	for (size_t i = 0; parts[i] != NULL; i++)
		bytes = count_add(bytes, copytree_bytes(parts[i]));
	for (size_t i = 0; i < p->replay_count; i++)
		if (strcmp(p->replays[i].run_id, run->run_id) == 0)
			bytes = count_add(bytes, copytree_bytes(p->replays[i].place));
	list_free(parts);
	return bytes;
}

/* Notes what a run of this root was forked from. */
static void
add_origin(struct pruner *p, size_t root, const char *forked_from)
{
	struct retention_item *item = &p->items[root];
	size_t origin = pruner_find(p, forked_from);

	if (origin == PRUNER_NONE || p->runs[origin].root == root)
		return;
	p->origins[root] = memory_array(p->origins[root], item->origin_count + 1,
	    sizeof *p->origins[root]);
	p->origins[root][item->origin_count++] = p->runs[origin].root;
	item->origins = p->origins[root];
}

void
pruner_plan(struct pruner *p)
{
	const struct prune_spec *spec = p->spec;
	bool weighs = spec->rule.max_bytes != INT64_MAX || spec->told != NULL;

	p->items = memory_zero(p->count + 1, sizeof *p->items);
	p->origins = memory_zero(p->count + 1, sizeof *p->origins);
	for (size_t i = 0; i < p->count; i++)
		p->items[i].ended = INT64_MIN;
	for (size_t i = 0; i < p->count; i++) {
		struct found *run = &p->runs[i];
		struct retention_item *item = &p->items[run->root];

		run->bytes = weighs ? weigh(p, run) : 0;
		item->bytes = count_add(item->bytes, run->bytes);
		item->ended = run->summary.ended > item->ended ? run->summary.ended : item->ended;
		item->protected |= run->protected;
		item->selected = !p->runs[run->root].pruned && (spec->name == NULL ||
		    strcmp(p->runs[run->root].summary.name, spec->name) == 0);
		add_origin(p, run->root, run->summary.forked_from);
	}
	retention_plan(p->items, p->count, &spec->rule);
}

bool
pruner_goes(const struct pruner *p, size_t at)
{
	size_t root = p->runs[at].root;

	return p->items[root].goes || p->runs[at].pruned ||
	    (p->runs[root].pruned && !p->items[root].protected);
}

void
pruner_free(struct pruner *p)
{
	for (size_t i = 0; i < p->count; i++) {
		summary_free(&p->runs[i].summary);
		if (p->origins != NULL)
			free(p->origins[i]);
	}
	for (size_t i = 0; i < p->replay_count; i++)
		free(p->replays[i].place);
	free(p->replays);
	free(p->runs);
	free(p->items);
	free(p->origins);
	map_free(&p->index);
}
