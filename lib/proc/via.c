/*
 * Lines come through a peer that is not ours to end. What is sealed is looked at first, as before
 * the hello nothing else counts. The digests are over the bytes that the frames brought, in their
 * order, and are compared when the end says what they have to be.
 */
#include "proc/via.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/copytree.h"
#include "io/file.h"
#include "proc/process.h"

enum {
	BANNER_LIMIT = 64 << 10,
	BANNER_TOLD = 200,         /* bytes of it */
	QUEUE_LIMIT = 1 << 20      /* unsent bytes above which files are not read */
};

#define FAR_PROGRAM "awf-exec"

char *
via_command(const struct via *v)
{
	size_t len = strlen(v->launcher);

	/* Behind a line feed it would be a command of its own, here. */
	while (len > 0 && strchr(" \t\r\n", v->launcher[len - 1]) != NULL)
		len--;
	return memory_format("%.*s " FAR_PROGRAM, (int)len, v->launcher);
}

int
via_prepare(struct via *v, struct error *err)
{
	int directory = -1;

	files_in_begin(&v->fetched, -1, v->fetch);
	if (files_out_begin(&v->sent, v->send, err) == -1) {
		err->code = ERROR_CANNOT_LAUNCH;
		return -1;
	}
	if (v->fetch == NULL)
		return 0;
	/* On the same file system as their destination, so that they only need to be renamed. */
	v->kept = memory_text(".awf-fetch-XXXXXX");
	if (mkdtemp(v->kept) == NULL) {
		free(v->kept);
		v->kept = NULL;
	} else {
		directory = open(v->kept, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (directory == -1)
		return error_errno(err, ERROR_CANNOT_LAUNCH, "--fetch", "unable to make a directory here");
	v->fetched.directory = directory;
	return 0;
}

void
via_begin(struct via *v, int in, int out, const char *input, size_t input_len)
{
	char here[4096], **argv = (char **)(uintptr_t)v->argv;
	struct frame_request request = { .argv = argv,
		.environment = (char **)(uintptr_t)v->environment,
		.sandbox = (char **)(uintptr_t)v->sandbox, .own = v->own,
		.directory = getcwd(here, sizeof here), .apart = v->send != NULL || v->fetch != NULL,
		.fetch = (char **)(uintptr_t)v->fetch, .ping_ms = FAR_PING_MS,
		.silent_ms = FAR_SILENT_MS, .grace_ms = GRACE_MS, .lost_ms = FAR_LOST_MS };

	INVARIANT(argv != NULL && argv[0] != NULL && request.silent_ms > request.ping_ms);
	v->state = VIA_LAUNCHED;
	v->begun = false;
	v->dropped = 0;
	v->error = (struct error)ERROR_INIT;
	v->hello.host[0] = '\0';
	v->input = input;
	v->input_len = input_len;
	v->peer.process = (struct process){ .pid = PEER_CONNECTED, .in = in, .out = out, .err = -1 };
	v->peer.incoming.fd = out;
	v->heard = v->said = clock_monotonic();
	digest_begin(&v->output);
	digest_begin(&v->errors);
	frame_write_request(&v->peer.outgoing, &request, &v->key);
	via_send(v);
}

int
via_unsent(const struct via *v)
{
	return peer_unsent(&v->peer) > 0 ? v->peer.process.in : -1;
}

/* A piece of the files, or that there are no more and the command is to begin. */
static void
send_files(struct via *v)
{
	struct frame_go go;
	struct error err;
	int more = files_out_next(&v->sent, &v->peer.outgoing, &err);

	if (more == 1)
		return;
	v->sending = false;
	if (more == -1) {
		v->state = VIA_FAILED;
		v->error = err;
		v->error.code = ERROR_CANNOT_LAUNCH;
		return;
	}
	INVARIANT(v->state == VIA_CONNECTED && !v->begun);
	memcpy(go.id, v->hello.id, sizeof go.id);
	digest_sha256(v->input, v->input_len, go.input_sha256);
	digest_end(&v->sent.digest, go.files_sha256);
	frame_write_go(&v->peer.outgoing, &go, &v->key);
	v->begun = true;
}

void
via_send(struct via *v)
{
	/* If it reads no more, it has ended or will: what it sends tells. */
	if (v->peer.process.in == -1)
		return;
	v->said = clock_monotonic();
	peer_send(&v->peer);
	while (v->sending && v->peer.process.in != -1 && peer_unsent(&v->peer) < QUEUE_LIMIT) {
		send_files(v);
		peer_send(&v->peer);
	}
}

static void
via_set_failed(struct via *v, const char *message)
{
	v->state = VIA_FAILED;
	error_set(&v->error, v->begun ? ERROR_LOST : ERROR_CANNOT_LAUNCH, NULL, "%s", message);
}

/* ---- before the hello ---- */

static void
via_drop_bytes(struct via *v, const char *bytes, size_t len)
{
	if (v->banner.len < BANNER_TOLD)
		buffer_append(&v->banner, bytes, len < BANNER_TOLD - v->banner.len ? len :
		    BANNER_TOLD - v->banner.len);
	v->dropped += len;
	INVARIANT(v->banner.len <= BANNER_TOLD && v->banner.len <= v->dropped);
}

/* That something was dropped is the caller's to know: it may be what he looks for. */
static void
via_report_dropped(struct via *v, struct buffer *errors)
{
	struct buffer shown = BUFFER_INIT;
	size_t blank = strspn(buffer_string(&v->banner), "\r\n"), end = v->banner.len;

	while (end > blank && strchr("\r\n", v->banner.data[end - 1]) != NULL)
		end--;
	if (end == blank) /* the line feed that the far end begins with */
		return;
	text_visible(&shown, buffer_string(&v->banner) + blank, end - blank, BANNER_TOLD);
	buffer_format(errors, "dropped %zu bytes that came before " FAR_PROGRAM " answered: %s\n",
	    v->dropped, buffer_string(&shown));
	buffer_free(&shown);
}

/* A line before the command has begun. */
static void
via_read_answer(struct via *v, struct span line, struct buffer *errors)
{
	struct span json = frame_open(line, &v->key);

	if (json.at != NULL && frame_read_refused(json, &v->error)) {
		v->state = VIA_FAILED;
		return;
	}
	if (json.at == NULL || !frame_read_hello(json, &v->hello)) {
		via_drop_bytes(v, line.at, line.len + 1);
		return;
	}
	via_report_dropped(v, errors);
	frame_bytes(&v->peer.outgoing, "input", v->input, v->input_len);
	v->state = VIA_CONNECTED;
	v->sending = true;
	via_send(v);
}

/* ---- behind it ---- */

static void
via_read_sealed_frame(struct via *v, struct span json)
{
	char sha256[DIGEST_SIZE];
	bool whole;

	INVARIANT(v->state == VIA_CONNECTED && v->hello.id[0] != '\0');

	if (frame_is(json, "hello")) {
		via_set_failed(v,
		    "the launcher has started " FAR_PROGRAM " more than once: it is to start one "
		    "(srun -n1)");
	} else if (frame_read_refused(json, &v->error)) {
		v->state = VIA_FAILED;
		v->begun = false;
	} else if (frame_read_end(json, &v->end)) {
		whole = strcmp(digest_end(&v->output, sha256), v->end.output_sha256) == 0;
		whole = strcmp(digest_end(&v->errors, sha256), v->end.errors_sha256) == 0 && whole;
		whole = strcmp(digest_end(&v->fetched.digest, sha256), v->end.files_sha256) == 0 && whole;
		v->state = VIA_ENDED;
		if (!whole)
			via_set_failed(v, "what came is not what " FAR_PROGRAM " has sent");
	} else {
		via_set_failed(v, "the data from the other end is damaged");
	}
}

static void
via_read_frame(struct via *v, struct span line, struct buffer *output, struct buffer *errors)
{
	struct span json = line.len > 0 && line.at[0] == '{' ? SPAN_NONE : frame_open(line, &v->key);
	struct error why;
	struct buffer *to;
	struct digest *digest;
	int taken;
	size_t bad, before;

	if (json.at != NULL) {
		via_read_sealed_frame(v, json);
		return;
	}
	if (line.len == 0 || line.at[0] != '{' || scan_check(line.at, line.len, &bad) != NULL) {
		via_set_failed(v, "the data from the other end is damaged");
		return;
	}
	if (frame_is(line, "ping"))
		return;
	taken = files_in_take(&v->fetched, line, &why);
	if (taken == -1) {
		v->state = VIA_FAILED;
		v->error = why;
		v->error.code = ERROR_LOST;
	}
	if (taken != 0)
		return;
	to = frame_is(line, "output") ? output : errors;
	digest = to == output ? &v->output : &v->errors;
	before = to->len;
	if ((to == errors && !frame_is(line, "errors")) || frame_take_bytes(line, to) == -1)
		via_set_failed(v, "the data from the other end is damaged");
	else
		digest_add(digest, to->data + before, to->len - before);
}

int
via_receive(struct via *v, struct buffer *output, struct buffer *errors)
{
	int received = peer_receive(&v->peer), taken = 0;
	struct span line;

	if (received == 1)
		v->heard = clock_monotonic();
	while ((v->state == VIA_LAUNCHED || v->state == VIA_CONNECTED) &&
	    (taken = peer_line(&v->peer, &line)) == 1) {
		if (v->state == VIA_LAUNCHED)
			via_read_answer(v, line, errors);
		else
			via_read_frame(v, line, output, errors);
		if (v->state == VIA_LAUNCHED && v->dropped > BANNER_LIMIT)
			taken = -1;
		if (taken == -1)
			break;
	}
	if (v->state == VIA_LAUNCHED && (taken == -1 ||
	    v->dropped + peer_untaken(&v->peer) > BANNER_LIMIT))
		via_set_failed(v,
		    "the launcher has printed more than 64 KiB, and " FAR_PROGRAM " has not "
		    "answered");
	else if (taken == -1)
		via_set_failed(v, "the data from the other end is damaged");
	INVARIANT(v->state == VIA_FAILED ? v->error.code != ERROR_NONE : v->dropped <= BANNER_LIMIT);
	return received;
}

/* ---- time ---- */

int64_t
via_due(const struct via *v)
{
	int64_t ping = v->said + FAR_PING_MS, silent = v->heard + FAR_SILENT_MS;

	return v->state != VIA_CONNECTED ? 0 : ping < silent ? ping : silent;
}

void
via_tick(struct via *v)
{
	int64_t now = clock_monotonic();

	if (v->state != VIA_CONNECTED)
		return;
	if (now >= v->heard + FAR_SILENT_MS) {
		via_set_failed(v, "nothing has arrived from the far machine any more");
		return;
	}
	if (now < v->said + FAR_PING_MS)
		return;
	/* As long as there is something to send, that is the sign of life. */
	if (peer_unsent(&v->peer) == 0)
		frame_word(&v->peer.outgoing, "ping");
	via_send(v);
}

bool
via_cancel(struct via *v)
{
	if (v->state != VIA_CONNECTED || v->peer.process.in == -1)
		return false;
	frame_word(&v->peer.outgoing, "cancel");
	via_send(v);
	return true;
}

void
via_hang_up(struct via *v)
{
	if (v->peer.process.pid != 0) /* otherwise it was never started */
		file_close(&v->peer.process.in);
	buffer_clear(&v->peer.outgoing);
	v->peer.sent = 0;
}

/* Whether a launcher that ended with this status, before the far end answered, would fail again.
 * Other statuses may be temporary: srun(1) exits with 1 if the cluster's controller is missing,
 * with 0 if the machine has died. */
static bool
will_not_start(int status)
{
	enum { SRUN_NOT_FOUND = 2, FAR_REFUSED = STATUS_WORK };

	return status == PROCESS_NOT_FOUND || status == PROCESS_CANNOT_RUN || status == SRUN_NOT_FOUND ||
	    status == FAR_REFUSED;
}

void
via_conclude(struct via *v, int wait_status)
{
	int status = process_exit_code(wait_status);
	char text[64];

	if (v->state == VIA_ENDED || v->state == VIA_FAILED)
		return;
	process_status_text(wait_status, text, sizeof text);
	v->state = VIA_FAILED;
	if (v->begun)
		error_set(&v->error, ERROR_LOST, NULL,
		    "the launcher ended (%s) before the end of the command was reported", text);
	else if (!will_not_start(status))
		error_set(&v->error, ERROR_LOST, NULL,
		    "the launcher ended (%s) before " FAR_PROGRAM " answered: the command was "
		    "not started", text);
	else
		error_set(&v->error, ERROR_CANNOT_LAUNCH, NULL, "%s (the launcher: %s)",
		    status == PROCESS_NOT_FOUND ? FAR_PROGRAM ", or the launcher, was not found" :
		    FAR_PROGRAM " has not answered", text);
}

int
via_place(struct via *v, struct error *err)
{
	int here, placed;

	if (v->fetch == NULL)
		return 0;
	here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (here == -1)
		return error_errno(err, ERROR_EXIT_STATUS, "--fetch", "unable to open the directory");
	placed = files_in_place(&v->fetched, here, err);
	if (placed == -1)
		err->code = ERROR_EXIT_STATUS;
	close(here);
	return placed;
}

void
via_free(struct via *v)
{
	struct error err;

	via_hang_up(v);
	files_out_free(&v->sent);
	files_in_free(&v->fetched);
	if (v->kept != NULL)
		copytree_remove(v->kept, &err);
	free(v->kept);
	peer_free(&v->peer);
	buffer_free(&v->banner);
}
