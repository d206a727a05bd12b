/*
 * awf-worker: executes the jobs in a directory, each as a run of awf-run, several at a time. How a
 * job is stored, taken and ended is in worker/job.
 *
 * What the code relies on:
 *   - A worker has nothing in memory that another one needs: all workers are alike, and any can
 *     replace one that was killed.
 *   - Jobs are looked for when the directory has changed; and, while other workers have jobs, from
 *     time to time, since their death changes nothing in the directory.
 *   - A job whose run could not begin (a full disk) is released, and taken again after a while,
 *     after jobs that have not been tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "io/installation.h"
#include "io/open_files.h"
#include "io/terminal.h"
#include "model/watch.h"
#include "proc/environment.h"
#include "proc/interrupts.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "proc/wait.h"
#include "program.h"
#include "storage/resumes.h"
#include "storage/run.h"
#include "storage/storage.h"
#include "worker/job.h"
#include "worker/resumer.h"
#include "worker/waker.h"
#include "workspace/workflow_file.h"

#define PROGRAM "awf-worker"
#define JOBS_MOST 1000
#define RESUMED_AT_ONCE 16 /* runs that the resumer goes on with at a time, without -j */
#define RUN_FAILED_ITSELF 125 /* exit status of awf-run */

/* Output of a job, and the descriptor that reports its end; starting one needs more
 * for a moment. */
static const struct open_files job_files = { .each = 2, .beside = 32 };

static const char usage[] =
    "awf-worker [options] DIR [WORKFLOW [ARG...]]\n"
    "awf-worker [options] DIR -- [awf-run] OPTION... [WORKFLOW [ARG...]]\n"
    "awf-worker [-1] [-j N] --resumer\n";

enum { OPT_ONCE = 1, OPT_JOBS, OPT_TIMEOUT, OPT_RESUMER, WITH_JOBS /* not an option */ };

struct started {
	struct job job;
	pid_t pid;
	int ended_fd;            /* becomes readable when it has ended; -1: not available */
};

struct worker {
	struct spool spool;
	struct storage storage;
	const char *directory, *timeout;
	char *const *words;      /* for awf-run; empty: each job is a workflow */
	long long most;
	bool once;
	bool resumer;            /* --resumer: no jobs */
	int parent;              /* its value; -1: none */
	struct started *list;
	size_t count;
	char **put_off;          /* names of jobs whose runs could not begin */
	int64_t pause_until;     /* monotonic ms before which nothing is taken; 0: none */
	struct waker waker;
	int64_t wake_at;         /* monotonic ms when the waiting jobs are examined next; 0: there are none */
	bool others;             /* other workers have jobs, or one is still being written */
	bool stopping;
	int status;
	struct watch watch;
};

/* Reports an error of the machine, and pauses: it may be gone after a while. */
static void
note_trouble(struct worker *w, const struct error *err)
{
	w->status = program_fail(PROGRAM, err);
	w->pause_until = clock_monotonic() + JOB_PAUSE_MS;
}

/* ---- starting ---- */

/* The input `job`: the job's name, with U+FFFD for invalid UTF-8, which inputs cannot contain. */
static char *
job_input(const char *name)
{
	struct buffer out = BUFFER_INIT;

	buffer_text(&out, "job=");
	utf8_mend(name, strlen(name), &out);
	return buffer_take(&out);
}

/* Makes the awf-run command line for a job. Options in the #! line of a workflow are used, as if it
 * were executed. */
static int
write_command(const struct worker *w, const struct job *j, char ***argv, struct environment *e,
    struct error *err)
{
	char *job = job_file(j, "job");
	const char *workflow = *w->words == NULL ? job : **w->words != '-' ? *w->words : NULL;
	size_t len = strcspn(j->name, ".");
	int failed = 0;

	list_take(argv, libexec_sibling("awf-run"));
	if (w->timeout != NULL) {
		list_add(argv, "--timeout");
		list_add(argv, w->timeout);
	}
	if (j->next == JOB_GOES_ON) {
		if (j->woken)
			list_add(argv, "--auto-resume");
		list_add(argv, "--resume");
		list_add(argv, j->run_id);
	} else {
		list_add(argv, "--auto-resume");
		list_add(argv, "--id");
		list_add(argv, j->run_id);
		list_add(argv, "--input");
		list_take(argv, job_input(j->name));
		if (workflow == job) {
			char *name = memory_copy(j->name, len);

			list_add(argv, "-n");
			if (name_valid(name)) {
				list_add(argv, "--name");
				list_add(argv, name);
			}
			free(name);
		}
		if (workflow != NULL && strchr(workflow, '/') != NULL && access(workflow, R_OK) == 0)
			failed = workflow_file_options(workflow, argv, e, err);
		if (workflow != NULL)
			list_add(argv, "--");
		if (workflow == job)
			list_add(argv, job);
		for (char *const *word = w->words; *word != NULL; word++)
			list_add(argv, *word);
	}
	free(job);
	return failed;
}

/* ERROR_BLOCKED if a sandboxed program may have written the workflow that all jobs use. After
 * options of awf-run, which may have values, any word may be that workflow. */
static int
check_workflow(const struct worker *w, struct error *err)
{
	char *const *word = w->words;
	int failed = 0;

	if (*word != NULL && **word != '-')
		return access(*word, F_OK) == 0 ? workflow_file_check(*word, err) : 0;
	for (; failed == 0 && *word != NULL; word++)
		failed = **word != '-' && workflow_file_is(*word) ? workflow_file_check(*word, err) : 0;
	return failed;
}

/* Writes why a job has no run to its file `err`, like a message of awf-run. */
static void
write_reason(int fd, const struct error *err)
{
	char text[sizeof err->place + sizeof err->message + 4];

	dprintf(fd, PROGRAM ": %s\n", error_text(err, text, sizeof text));
}

/* Starts the run of a job, and adds it to the list. ERROR_DEFINITION: it cannot have one. */
static int
worker_start_job(struct worker *w, struct job *j, struct error *err)
{
	char **argv = NULL, *errors = job_file(j, "err"), *job = job_file(j, "job");
	struct environment environment;
	struct process process;
	struct process_spec spec = { .out = j->out, .in = PROCESS_NULL, .group = true };
	int failed;

	workflow_file_environment(&environment);
	environment_set(&environment, "AWF_STORAGE", w->storage.root);
	failed = check_workflow(w, err);
	if (failed == 0)
		failed = write_command(w, j, &argv, &environment, err);
	if (failed == 0 && *w->words != NULL && (spec.in = open(job, O_RDONLY | O_CLOEXEC)) == -1)
		failed = error_errno(err, ERROR_DEFINITION, job, "unable to open");
	spec.err = open(errors, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (failed == 0 && (spec.err == -1 || ftruncate(j->out, 0) == -1))
		failed = error_errno(err, ERROR_SYSTEM, errors, "unable to open");
	spec.argv = argv;
	spec.environment = environment.list;
	if (failed == 0) {
		failed = process_start(&process, &spec, NULL, err);
		if (failed != 0)
			err->code = ERROR_SYSTEM;
	} else if (spec.err != -1) {
		write_reason(spec.err, err);
	}
	if (failed == 0) {
		w->list = memory_array(w->list, w->count + 1, sizeof *w->list);
		w->list[w->count++] = (struct started){ *j, process.pid, wait_descriptor(process.pid) };
	}
	file_close(&spec.err);
	if (spec.in >= 0)
		file_close(&spec.in);
	environment_free(&environment);
	list_free(argv);
	free(errors);
	free(job);
	return failed;
}

/* ---- the end of jobs ---- */

/* Prints "NAME STATUS RUN-ID" with tabs; the name is that of its directory. */
static void
worker_finish_job(struct worker *w, struct job *j, const char *status, int exit_code)
{
	struct buffer name = BUFFER_INIT;
	struct error err;

	/* This worker resumes the run itself, since it has the job's output files. */
	if (strcmp(status, "waiting") == 0) {
		resumes_remove(&w->storage, j->run_id);
		w->wake_at = clock_monotonic();
	}
	if (job_finish(&w->spool, j, status, exit_code, &err) == -1) {
		note_trouble(w, &err);
	} else {
		const char *called = path_base(j->directory);

		text_visible(&name, called, strlen(called), 0);
		terminal_printf("%s\t%s\t%s\n", buffer_string(&name), status, j->run_id);
		fflush(stdout);
		if (strcmp(status, "success") != 0 && strcmp(status, "waiting") != 0 &&
		    w->status == STATUS_OK)
			w->status = STATUS_WORK;
		buffer_free(&name);
	}
	job_let_go(j);
}

/* awf-run has ended. If there is no run, it has printed why. */
static void
worker_record_run_end(struct worker *w, struct job *j, int wait_status)
{
	const int exit_code = process_exit_code(wait_status);
	char *status = job_status(j, &w->storage, NULL);
	struct error err;

	if (*status == '\0' && exit_code == RUN_FAILED_ITSELF) {
		char *errors = job_file(j, "err");

		error_set(&err, ERROR_SYSTEM, j->name, "has no run yet; see %s", errors);
		note_trouble(w, &err);
		if (!list_has(w->put_off, j->name))
			list_add(&w->put_off, j->name);
		free(errors);
		job_let_go(j);
	} else if (w->stopping && (*status == '\0' || strcmp(status, "cancelled") == 0 ||
	    strcmp(status, "died") == 0)) {
		/* Whichever worker takes it next resumes it. */
		job_let_go(j);
	} else {
		worker_finish_job(w, j, *status != '\0' ? status : exit_code == 0 ? "skipped" :
		    "failed", exit_code);
	}
	free(status);
}

static void
worker_reap_runs(struct worker *w)
{
	for (size_t i = 0; i < w->count;) {
		struct started *s = &w->list[i];
		int wait_status;
		struct job job;

		if (waitpid(s->pid, &wait_status, WNOHANG) != s->pid) {
			i++;
			continue;
		}
		file_close(&s->ended_fd);
		job = s->job;
		*s = w->list[--w->count];
		worker_record_run_end(w, &job, wait_status);
	}
}

/* ---- taking ---- */

/* Fails a job that is a workflow and may have been written by a sandboxed program; after reading
 * it, the user can move it back. */
static void
worker_refuse_job(struct worker *w, struct job *j, const struct error *why)
{
	char *path = job_file(j, "err");
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd != -1)
		write_reason(fd, why);
	file_close(&fd);
	free(path);
	worker_finish_job(w, j, "failed", -1);
}

/* Takes a job and starts its run. */
static void
worker_claim_job(struct worker *w, const char *name)
{
	struct job j;
	struct error err, why;
	char *path = path_join(w->spool.root, name), *status;
	/* Check before taking it, which changes its ctime. */
	const bool blocked = *w->words == NULL && workflow_file_check(path, &why) != 0;
	int taken = job_take(&w->spool, &w->storage, name, &j, &err), exit_code;

	if (taken == -1) {
		note_trouble(w, &err);
	} else if (taken == 0) {
		w->others = true;
	} else if (j.next == JOB_HAS_ENDED) {
		status = job_status(&j, &w->storage, &exit_code);
		worker_finish_job(w, &j, status, exit_code);
		free(status);
	} else if (blocked && j.next == JOB_BEGINS) {
		worker_refuse_job(w, &j, &why);
	} else if (worker_start_job(w, &j, &err) == -1) {
		if (err.code == ERROR_DEFINITION) {
			worker_finish_job(w, &j, "failed", -1);
		} else {
			note_trouble(w, &err);
			job_let_go(&j);
		}
	}
	free(path);
}

static bool
is_ours(const struct worker *w, const char *name)
{
	for (size_t i = 0; i < w->count; i++)
		if (strcmp(w->list[i].job.name, name) == 0)
			return true;
	return false;
}

/* Moves jobs back to running/ whose runs go on. */
static void
worker_wake_jobs(struct worker *w)
{
	struct error err;
	int waiting;

	if (w->wake_at > clock_monotonic())
		return;
	waiting = waker_look(&w->waker, &w->spool, &w->storage, &err);
	if (waiting == -1)
		note_trouble(w, &err);
	w->wake_at = waiting == 0 ? 0 : clock_monotonic() + JOB_LOOK_MS;
}

/* Takes as many jobs as allowed. */
static void
worker_claim_new_jobs(struct worker *w)
{
	char **names = NULL;
	struct error err;

	w->others = false;
	if (w->count == (size_t)w->most || (w->pause_until != 0 && clock_monotonic() < w->pause_until))
		return;
	w->pause_until = 0;
	if (spool_names(&w->spool, &names, &err) == -1)
		note_trouble(w, &err);
	for (int put_off = 0; put_off <= 1; put_off++)
		for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
			if (w->pause_until != 0 || w->count >= (size_t)w->most)
				break;
			if (list_has(w->put_off, names[i]) == (put_off == 1) && !is_ours(w, names[i]))
				worker_claim_job(w, names[i]);
		}
	list_free(names);
}

/* ---- the loop ---- */

/* Waits until something has changed. -1: a signal arrived. */
static int
wait_for_news(struct worker *w, const struct interrupts *interrupts)
{
	struct pollfd *fds = memory_zero(w->count + 2, sizeof *fds);
	bool nobody_tells = w->others || w->watch.fd == -1;
	int64_t deadline = w->pause_until;
	struct error err;
	int result;

	fds[1] = (struct pollfd){ w->watch.fd, POLLIN, 0 };
	for (size_t i = 0; i < w->count; i++) {
		fds[i + 2] = (struct pollfd){ w->list[i].ended_fd, POLLIN, 0 };
		nobody_tells |= w->list[i].ended_fd == -1;
	}
	if (nobody_tells && (deadline == 0 || clock_monotonic() + JOB_LOOK_MS < deadline))
		deadline = clock_monotonic() + JOB_LOOK_MS;
	if (w->wake_at != 0 && (deadline == 0 || w->wake_at < deadline))
		deadline = w->wake_at;
	result = interrupts_wait(interrupts, fds, w->count + 2, deadline, &err);
	if (fds[1].revents != 0)
		watch_drain(&w->watch);
	free(fds);
	return result;
}

/* Returns the signal that ended it; 0: there was nothing more to do. */
static int
worker_run_jobs(struct worker *w, const struct interrupts *interrupts)
{
	int signal_number = 0;

	for (;;) {
		worker_reap_runs(w);
		if (!w->stopping) {
			worker_wake_jobs(w);
			worker_claim_new_jobs(w);
		}
		if (w->count == 0 && (w->stopping || w->once))
			return signal_number;
		/* What has failed once would fail again. */
		w->stopping |= w->once && w->pause_until != 0;
		if (wait_for_news(w, interrupts) == 0 || *interrupts->signal_number == 0)
			continue;
		signal_number = *interrupts->signal_number;
		*interrupts->signal_number = 0;
		w->stopping = true;
		for (size_t i = 0; i < w->count; i++)
			kill(w->list[i].pid, SIGTERM);
	}
}

static int
check_timeout(const char *duration, struct error *err)
{
	long long ms;

	return options_duration("--timeout", duration, &ms, err);
}

static const struct option_spec options_table[] = {
	{ OPT_ONCE, '1', "once", NULL, "exit when no job is left, instead of waiting",
	    OPTION_INTO_FLAG(struct worker, once) },
	{ OPT_JOBS, 'j', "jobs", "N", "up to N jobs at a time (1), or resumed runs (16)",
	    OPTION_INTO_NUMBER(struct worker, most, 1, JOBS_MOST) },
	{ OPT_TIMEOUT, 't', "timeout", "DURATION", "end a run, or what is left of it, after so long",
	    OPTION_INTO_TEXT_CHECKED(struct worker, timeout, check_timeout) },
	{ OPT_RESUMER, 0, "resumer", "[=FD]", "go on with runs that wait, when what they wait for has come" },
	OPTION_PSEUDO(WITH_JOBS, "DIR"),
	{ OPTION_END, 0, NULL, NULL, NULL },
};

static const struct option_rule rules[] = {
	{ OPTION_SAID(OPT_RESUMER), OPTION_SAID(WITH_JOBS) | OPTION_SAID(OPT_TIMEOUT), 0,
	    "not with %s: it resumes runs, and takes no jobs" },
};

static int
worker_read_options(struct worker *w, int argc, char **argv, struct error *err)
{
	long long parent = -1;
	struct options o;
	int id;

	options_begin(&o, options_table, argc, argv);
	o.stop_at_dashes = true;
	options_bind(&o, w);
	while ((id = options_next(&o, err)) == OPT_RESUMER || (id == OPTION_WORD && w->directory == NULL)) {
		if (id == OPT_RESUMER) {
			w->resumer = true;
			if (o.value != NULL && options_number("--resumer", o.value, 0, INT_MAX, &parent, err) == -1)
				return -1;
			w->parent = (int)parent;
			continue;
		}
		w->directory = o.value;
		o.said |= OPTION_SAID(WITH_JOBS);
		o.stop_at_word = true;
	}
	if (id != OPTION_END)
		return id;
	if (open_files_check(&job_files, "-j", w->most, err) == -1)
		return -1;
	w->words = argv + o.next;
	if (w->most == 0)
		w->most = w->resumer ? RESUMED_AT_ONCE : 1;
	if (*w->words != NULL)
		o.said |= OPTION_SAID(WITH_JOBS);
	if (options_check(&o, rules, sizeof rules / sizeof *rules, err) == -1)
		return -1;
	if (w->resumer)
		return OPTION_END;
	if (w->directory == NULL)
		return error_set(err, ERROR_USAGE, NULL, "no directory of jobs given (see --help)");
	/* After "--" a whole awf-run command may be given, as for other programs. */
	if (strcmp(w->words[-1], "--") == 0 && *w->words != NULL && strcmp(*w->words, "awf-run") == 0)
		w->words++;
	return OPTION_END;
}

/* Checks that there is a workflow to start, before anything is made. After options of awf-run,
 * which may have values, any word may be the workflow. */
static bool
has_workflow(char *const *words, struct error *err)
{
	bool options = *words != NULL && **words == '-', found = *words == NULL;

	installation_join_path();
	error_set(err, ERROR_USAGE, NULL, "no workflow is given behind the options of awf-run");
	for (; *words != NULL && !found; words++) {
		const char *word = *words;

		if (*word != '-')
			found = workflow_file_found(word, err);
		else /* a pipeline: -c, -nc, --command */
			found = strncmp(word, "--command", strlen("--command")) == 0 ||
			    (word[1] != '-' && strchr(word, 'c') != NULL);
		if (!found && !options)
			break;
	}
	return found;
}

/* ---- the resumer ---- */

static void
print_resumed(const char *run_id, const char *status)
{
	struct buffer text = BUFFER_INIT;

	text_visible(&text, status, strlen(status), 0);
	terminal_printf("%s\t%s\n", run_id, buffer_string(&text));
	fflush(stdout);
	buffer_free(&text);
}

static void
warn_of(const struct error *err)
{
	program_fail(PROGRAM, err);
}

static int
run_resumer(struct worker *w, const struct interrupts *interrupts)
{
	const struct resumer_spec spec = { .storage = &w->storage, .most = (size_t)w->most, .once = w->once,
		.parent = w->parent, .interrupts = interrupts, .told = print_resumed, .warn = warn_of };
	struct error err;

	if (storage_prepare(&w->storage, &err) == -1 || resumer_run(&spec, &err) == -1)
		w->status = program_fail(PROGRAM, &err);
	storage_close(&w->storage);
	if (*interrupts->signal_number != 0) {
		fflush(stdout);
		signals_die(*interrupts->signal_number);
	}
	return program_end(PROGRAM, w->status);
}

int
main(int argc, char **argv)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGTERM, 0 };
	struct worker w = { .parent = -1 };
	const struct interrupts *interrupts;
	struct error err;
	int signal_number = 0;

	program_begin();
	switch (worker_read_options(&w, argc, argv, &err)) {
	case OPTION_END:
		if (!w.resumer && !has_workflow(w.words, &err))
			return program_fail(PROGRAM, &err);
		break;
	case OPTION_HELP:
		options_help(stdout, usage, options_table, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	default:
		return program_fail(PROGRAM, &err);
	}

	/* A job that is taken is run, and done with. */
	if (!run_in_environment() && environment_text(DRY_RUN_FILE) != NULL)
		return program_end(PROGRAM, STATUS_OK);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN); /* lock_written() */
	interrupts = interrupts_catch(ends);
	if (w.resumer)
		return run_resumer(&w, interrupts);
	open_files_raise(&job_files, (size_t)w.most, NULL);
	watch_open(&w.watch);
	w.put_off = memory_zero(1, sizeof *w.put_off);
	if (storage_prepare(&w.storage, &err) == -1 || spool_open(&w.spool, w.directory, &err) == -1 ||
	    watch_add(&w.watch, w.spool.root, &err) == -1 ||
	    watch_add(&w.watch, w.spool.running, &err) == -1)
		w.status = program_fail(PROGRAM, &err);
	else
		signal_number = worker_run_jobs(&w, interrupts);

	watch_close(&w.watch);
	spool_close(&w.spool);
	storage_close(&w.storage);
	list_free(w.put_off);
	waker_free(&w.waker);
	free(w.list);
	if (signal_number != 0) {
		fflush(stdout);
		signals_die(signal_number);
	}
	return program_end(PROGRAM, w.once ? w.status : STATUS_OK);
}
