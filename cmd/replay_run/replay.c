/*
 * The replaying process may be in other namespaces, so it reports its result in shared memory.
 * Recorded ids are used where there are any; a missing id of the end is derived from the run's id,
 * as the key is. The workflow is run and judged by the same code as in awf-run.
 */
#ifndef AWF_PORTABLE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "replay_run/replay.h"

#include <errno.h>
#include <fcntl.h>
#ifndef AWF_PORTABLE
#include <sched.h>
#endif
#include <signal.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "history/history.h"
#include "io/copytree.h"
#include "io/file.h"
#include "model/told_failures.h"
#include "proc/message.h"
#include "start/conclusion.h"
#include "start/supervise.h"
#include "storage/call_marks.h"
#include "storage/run.h"
#include "transcript/event_keys.h"

#define SECOND_UMASK 077

/* A replay, as seen by the process that makes it; result is shared with the one that
 * waits outside. */
struct performance {
	const struct replay_env_spec *spec;
	struct replay_env env;
	struct run run;
	struct input input;
	struct supervision supervision;
	struct outcome outcome;
	struct result {
		struct replay_end end;
		struct error error;    /* why it could not be made */
		bool done;
	} *result;
};

char *
replay_place_at(const char *path, struct error *err)
{
	char *place;

	/* rmdir() only removes an empty directory, so no files are lost. */
	if ((rmdir(path) != 0 && errno != ENOENT) || mkdir(path, 0700) != 0) {
		error_errno(err, ERROR_USAGE, path, "unable to make this directory for the replay");
		return NULL;
	}
	place = realpath(path, NULL);
	if (place == NULL)
		error_errno(err, ERROR_SYSTEM, path, "unable to find it");
	return place;
}

/* ---- inside of the isolation ---- */

/* Makes the run, with the files that the recorded run.started names. */
static int
make_run(struct performance *p, struct error *err)
{
	const struct source *s = p->spec->source;
	struct run_recorded recorded = {
		.root = p->spec->place,
		.id = s->run_id,
		.source = s->storage.root,
		.started = s->started,
		.name = s->name,
		.attempt = s->attempt,
		.payload = s->payload,
	};
	struct definition_files files = DEFINITION_FILES_INIT;
	char *text = memory_format("awf replay key %s", s->run_id);
	unsigned char marks[MARKS_KEY_BYTES];
	int failed;

	crypto_hash_sha256(recorded.key, (const unsigned char *)text, strlen(text));
	free(text);
	if (run_recreate(&p->run, &recorded, err) != 0)
		return -1;
	/* Lets calls that differ only in directory or variables find their own records. */
	failed = s->storage.root != NULL && span_member(s->payload, KEY_START).at != NULL ?
	    marks_key(s->storage.root, false, marks, err) : 0;
	if (failed == -1 || (failed == 1 && marks_start(p->run.directory, marks,
	    &(struct start_spec){ .environment = p->env.environment.list }, err) != 0))
		return -1;
	definition_files_add(&files, s->payload);
	failed = 0;
	for (size_t i = 0; failed == 0 && i < files.count; i++) {
		char *from = path_join(s->blobs, files.list[i].sha256);
		char *to = path_join(p->run.transcript.blobs, files.list[i].sha256);

		if (files.list[i].kept && access(from, F_OK) == 0)
			failed = directory_make(p->run.transcript.blobs, 0700, err) != 0 ||
			    copytree_file(from, to, err) != 0;
		free(from);
		free(to);
	}
	definition_files_free(&files);
	return failed ? -1 : 0;
}

/* Prints the failures that steps have counted instead of printing them. */
static void
replay_print_failures(void *context, const char *text, size_t more)
{
	struct buffer line = BUFFER_INIT;

	(void)context;
	told_failures_line(&line, text, more);
	message_print("awf-step", "%s", buffer_string(&line));
	buffer_free(&line);
}

/* Removes one processor from the affinity mask, if there are several. */
static void
replay_leave_processor(void)
{
#ifndef AWF_PORTABLE
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
		return;
	for (size_t i = CPU_SETSIZE; i-- > 0;)
		if (CPU_ISSET(i, &set)) {
			CPU_CLR(i, &set);
			break;
		}
	sched_setaffinity(0, sizeof set, &set);
#endif
}

/* Runs the workflow and judges its result, as awf-run does. */
static int
run_workflow(struct performance *p, struct error *err)
{
	const struct source *s = p->spec->source;
	struct supervision *su = &p->supervision;
	int fd = s->input != NULL ? file_open_plain(s->input, O_RDONLY, 0) : PROCESS_NULL, failed;
	char *text, id[ID_SIZE];
	struct conclusion c;
	struct run_end end;

	if (s->input != NULL && fd < 0)
		return error_errno(err, ERROR_SYSTEM, s->input, "unable to read the recorded input");
	input_pass(&p->input, fd);
	run_set_environment(&p->run, &p->env.environment, p->env.directory);
	su->argv = p->env.argv;
	su->environment = p->env.environment.list;
	su->run_directory = p->run.directory;
	su->input = &p->input;
	supervise_workflow(su);
	file_close(&p->input.stream);

	told_failures_read(p->run.directory, replay_print_failures, NULL);
	conclusion_draw(&c, su, &p->run, &p->outcome);
	text = memory_format("%s run.completed", s->run_id);
	end = (struct run_end){
		.event_id = s->completed[0] != '\0' ? s->completed : id_derive(text, id),
		.status = c.status,
		.exit_code = c.exit_code,
		.error = &c.error,
		.usage = span_of(p->outcome.usage.data, p->outcome.usage.len),
	};
	if (su->verdict == VERDICT_CANCELLED)
		p->result->end.signal_number = su->signal_number;
	failed = run_finish(&p->run, &end, err);
	free(text);
	if (failed == 0 && su->verdict == VERDICT_FAILED) {
		*err = su->error;
		failed = -1;
	}
	return failed;
}

static int
replay_run_performance(struct performance *p, struct error *err)
{
	const struct history_spec history = {
		.mode = RECALL_REPLAY,
		.own = { .path = p->spec->source->transcript, .blobs = p->spec->source->blobs },
	};
	struct history_summary summary;
	char *path;
	int failed;

	setenv("AWF_SYNC", "none", 1); /* of the replay's transcript */
	if (p->spec->second) {
		umask(SECOND_UMASK);
		replay_leave_processor();
	}
	signals_hold();
	if (replay_env_settle(&p->env, err) != 0)
		return -1;
	if (chdir(p->env.workspace) != 0)
		return error_errno(err, ERROR_SYSTEM, p->env.workspace, "unable to work there");
	if (make_run(p, err) != 0)
		return -1;
	path = path_join(p->run.directory, HISTORY_FILE);
	failed = history_build(path, &history, &summary, err);
	history_summary_free(&summary);
	free(path);
	if (failed == 0)
		failed = run_workflow(p, err);
	outcome_free(&p->outcome);
	run_close(&p->run);
	return failed != 0 ? -1 : 0;
}

static int
replay_run_in_namespace(void *context)
{
	struct performance *p = context;

	p->result->done = replay_run_performance(p, &p->result->error) == 0;
	return p->result->done ? STATUS_OK : STATUS_SYSTEM;
}

/* ---- outside of the isolation ---- */

static int
run_isolated(struct performance *p, struct error *err)
{
	const char *const writable[] = { p->spec->place, NULL };
	struct isolate_spec spec = replay_env_isolation(&p->env, writable);
	struct result *result = p->result;
	struct isolate_end end;
	char text[64];

	if (isolate_run(&spec, replay_run_in_namespace, p, &end, err) != 0)
		return -1;
	if (result->done || result->error.code != ERROR_NONE)
		return 0;
	if (end.signal_number == 0)
		return error_set(err, ERROR_SYSTEM, p->spec->source->run_id, "the replay was ended: %s",
		    process_status_text(end.wait_status, text, sizeof text));
	result->end.signal_number = end.signal_number;
	result->done = true;
	return 0;
}

int
replay_run(const struct replay_env_spec *spec, struct replay_end *end, struct error *err)
{
	struct performance p = { .spec = spec, .input = { .file = -1, .sink = -1, .source = -1 } };
	int failed;

	p.result = mmap(NULL, sizeof *p.result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	    -1, 0);
	if (p.result == MAP_FAILED)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to get memory");
	memset(p.result, 0, sizeof *p.result);
	failed = replay_env_open(&p.env, spec, err);
	if (failed == 0 && spec->isolation == ISOLATION_NAMESPACES)
		failed = run_isolated(&p, err);
	else if (failed == 0)
		replay_run_in_namespace(&p);
	if (failed == 0 && !p.result->done) {
		*err = p.result->error;
		failed = -1;
	}
	*end = p.result->end;
	replay_env_close(&p.env);
	munmap(p.result, sizeof *p.result);
	return failed;
}

char *
replay_transcript(const struct replay_env_spec *spec)
{
	return memory_format("%s/transcripts/%s.jsonl", spec->place, spec->source->run_id);
}
