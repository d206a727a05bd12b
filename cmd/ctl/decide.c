/*
 * The run and the call are looked up first, then the key, and then stdin is read: after a spelling
 * mistake the user has not typed the data in vain.
 */
#include "ctl/decide.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decide/deciding.h"
#include "decide/telling.h"
#include "io/file.h"
#include "model/summary.h"
#include "proc/message.h"
#include "storage/mailbox.h"
#include "storage/storage.h"

static int
open_run(struct deciding *d, const struct storage *storage, const char *run,
    enum decision_verdict verdict, struct error *err)
{
	struct run_ref ref;
	int failed;

	if (storage_resolve(storage, run, &ref, err) != 0)
		return -1;
	if (!ref.in_storage)
		failed = error_set(err, ERROR_USAGE, ref.path, "is not a transcript of the storage %s",
		    storage->root);
	else if ((failed = deciding_allowed(storage, ref.run_id, verdict, getpid(), err)) == 0)
		failed = deciding_open(d, storage, ref.run_id, verdict, err);
	run_ref_free(&ref);
	return failed;
}

/* Reads what is to be approved, or with --edit its replacement on stdin; otherwise stdin is not
 * read, as it may belong to a loop in a script. */
static int
read_approved(struct deciding *d, const struct decide_spec *spec, struct error *err)
{
	struct buffer bytes = BUFFER_INIT;
	int failed = deciding_approve(d, err);

	if (failed == 0 && spec->edit && file_read(STDIN_FILENO, &bytes, DATA_LIMIT) != 0)
		failed = error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
	else if (failed == 0 && spec->edit && bytes.len == 0)
		failed = error_set(err, ERROR_USAGE, "--edit", "there is no data on stdin");
	else if (failed == 0 && spec->edit)
		failed = deciding_edit(d, bytes.data, bytes.len, err);
	if (failed == 0 && spec->always)
		failed = deciding_always(d, err);
	buffer_free(&bytes);
	return failed;
}

static int
read_result(struct deciding *d, const struct decide_spec *spec, struct error *err)
{
	struct state_reader reader;
	int failed;

	if (spec->no_input)
		return deciding_complete(d, NULL, err);
	state_reader_begin(&reader, STDIN_FILENO, deciding_form(d), "");
	failed = deciding_complete(d, &reader, err);
	state_reader_free(&reader);
	return failed;
}

/* Whether the run is a single step, which does not store its input as a workflow's run does. */
static bool
is_lone_step(const struct storage *storage, const char *run_id)
{
	char *path = storage_transcript(storage, run_id);
	struct error ignored = ERROR_INIT;
	struct summary summary;
	bool step = false;

	if (summary_read_ends(&summary, path, &ignored) == 0) {
		step = summary.step;
		summary_free(&summary);
	}
	free(path);
	return step;
}

/* Prints what was decided and how to resume the run. Not for a question whose process lives, which
 * shows that itself; nor for completions and heartbeats, which are sent by programs. */
static void
decide_print_decision(const struct deciding *d, const struct storage *storage)
{
	char id[ID_SIZE], more[64] = "";
	const struct waitings *w = &d->undecided.model.waits;
	enum deciding_next next;
	size_t others = 0;

	if (decision_about(d->decision.verdict) != WAITING_APPROVAL && (!d->asked || d->question != -1))
		return;
	for (size_t i = 0; i < w->count; i++)
		others += !w->list[i].over && &w->list[i] != d->at;
	if (others > 0)
		snprintf(more, sizeof more, " (%zu more wait%s)", others, others == 1 ? "s" : "");
	next = deciding_next(d);
	if (next != NEXT_BY_RESUME) {
		message_print("awf-ctl", "%s: %s; the run goes on%s%s", d->at->call,
		    decision_word(d->decision.verdict), next == NEXT_BY_ITSELF ? " by itself" : "", more);
		return;
	}
	message_print("awf-ctl", "%s: %s; the run goes on with: awf-run --resume %s%s%s",
	    d->at->call, decision_word(d->decision.verdict),
	    storage_short_id(storage, d->undecided.run_id, id),
	    is_lone_step(storage, d->undecided.run_id) ?
	    " (a step without a workflow keeps no input: give it again, if it had any)" : "", more);
}

/* Reads the text that is told: standard input, without its last LF. */
static int
read_text(struct buffer *text, struct error *err)
{
	if (file_read(STDIN_FILENO, text, MAILBOX_WORD_MOST + 1) != 0)
		return errno == EFBIG ? error_set(err, ERROR_USAGE, "tell", "the text is longer than 1 MiB") :
		    error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
	if (text->len > 0 && text->data[text->len - 1] == '\n')
		text->len--;
	return 0;
}

int
decide_tell_call(const struct decide_spec *spec, struct error *err)
{
	struct telling t = { .call = spec->path, .asker = getpid() };
	struct telling_outcome o = { .call = NULL };
	struct buffer text = BUFFER_INIT;
	struct storage storage;
	struct run_ref ref;
	char id[ID_SIZE], *by;
	int failed;

	if (storage_locate(&storage, err) != 0)
		return -1;
	if (storage_resolve(&storage, spec->run, &ref, err) != 0) {
		storage_close(&storage);
		return -1;
	}
	failed = !ref.in_storage ? error_set(err, ERROR_USAGE, ref.path,
	    "is not a transcript of the storage %s", storage.root) : read_text(&text, err);
	if (failed == 0) {
		t.run_id = ref.run_id;
		t.text = span_of(buffer_string(&text), text.len);
		t.by = by = decision_maker();
		failed = telling_send(&storage, &t, &o, err);
		free(by);
	}
	if (failed == 0 && o.next == NEXT_AT_ONCE)
		message_print("awf-ctl", "%s: told; it reads this before its next turn", o.call);
	else if (failed == 0)
		message_print("awf-ctl", "%s: kept; it reads this when the run goes on%s%s", o.call,
		    o.next == NEXT_BY_ITSELF ? " by itself" : ": awf-run --resume ",
		    o.next == NEXT_BY_ITSELF ? "" : storage_short_id(&storage, ref.run_id, id));
	free(o.call);
	buffer_free(&text);
	run_ref_free(&ref);
	storage_close(&storage);
	return failed;
}

int
decide_waiting_call(const struct decide_spec *spec, struct error *err)
{
	struct deciding d = DECIDING_INIT;
	struct storage storage;
	char token[ID_SIZE], *by = NULL;
	const char *task = deciding_task(spec->path, token);
	int failed;

	/* A token names run and call. */
	if (task != NULL && spec->run != NULL)
		return error_set(err, ERROR_USAGE, spec->run,
		    "not with a task's token, which names the run");
	if (storage_locate(&storage, err) != 0)
		return -1;
	failed = open_run(&d, &storage, task != NULL ? token : spec->run, spec->verdict, err);
	/* The second argument may have been meant as the result. */
	if (failed != 0 && spec->verdict == DECISION_COMPLETED && spec->run != NULL && err != NULL &&
	    err->code == ERROR_USAGE) {
		char message[sizeof err->message];

		memcpy(message, err->message, sizeof message);
		snprintf(err->message, sizeof err->message, "%.*s (the result comes on standard input)",
		    (int)sizeof message - 48, message);
	}
	if (failed == 0)
		failed = deciding_find(&d, task != NULL ? task : spec->path, task != NULL, err);
	/* With a key the decision is signed; --seal requires a key. */
	if (failed == 0)
		failed = deciding_sign(&d, spec->seal_file, spec->seal, err);
	if (failed == 0)
		failed = spec->verdict == DECISION_APPROVED ? read_approved(&d, spec, err) :
		    spec->verdict == DECISION_COMPLETED ? read_result(&d, spec, err) : 0;
	if (failed == 0) {
		d.decision.by = by = decision_maker();
		d.decision.reason = spec->reason;
		failed = deciding_record(&d, err);
	}
	if (failed == 0)
		decide_print_decision(&d, &storage);
	deciding_close(&d);
	free(by);
	storage_close(&storage);
	return failed;
}
