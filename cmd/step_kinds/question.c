/*
 * An editor is started in a process group of its own, which becomes the foreground group of the
 * terminal. To take the terminal back, SIGTTOU must be blocked, as in any background process. If
 * the editor stops, it is continued, since there is no shell that could do that.
 */
#include "step_kinds/question.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/locale.h"
#include "base/lookalikes.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "proc/process.h"
#include "proc/wait.h"
#include "view/terminal_question.h"

#define SHOWN ((size_t)64 << 10)        /* bytes of the text that are displayed */
#define EDITED ((size_t)64 << 20)
#define NAP_MS 100
/* of a text, without its size being told: less than the smallest window shows */
#define LINES_SEEN 12
#define BYTES_SEEN 1000
#define WORDS_TOLD 8

/* Asks until the answer begins with the first letter of one of the words, and returns that letter;
 * 0: no answer; -1. */
static int
ask_word(const struct question *q, bool always, struct terminal_question *terminal, struct error *err)
{
	static const char *const words[] = { "yes", "no", "edit", "always" };
	struct buffer out = BUFFER_INIT, line = BUFFER_INIT;
	int answered = 1, word = 0;

	while (word == 0 && answered == 1) {
		buffer_format(&out, "Approve %s%s? (yes, no%s%s) ", q->about, q->edited ? " as edited" : "",
		    q->file != NULL ? ", edit" : "", always ? ", always for this run" : "");
		terminal_question_forget_typed(terminal);
		answered = terminal_question_ask(terminal, &out, &line, err);
		for (size_t i = 0; answered == 1 && i < sizeof words / sizeof *words; i++)
			if (line.len > 0 && strncasecmp(buffer_string(&line), words[i], line.len) == 0 &&
			    (words[i][0] != 'e' || q->file != NULL) && (words[i][0] != 'a' || always))
				word = (unsigned char)words[i][0];
	}
	buffer_free(&out);
	buffer_free(&line);
	return answered == 1 ? word : answered;
}

/* ---- the editor ---- */

/* Makes a process group the foreground group of the terminal, even from the background. */
static void
give_terminal(int terminal, pid_t group)
{
	sigset_t stop, before;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &stop, &before);
	tcsetpgrp(terminal, group);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Runs the editor on a file. 1: it exited with 0; 0: it did not, or there is none; -1. */
static int
run_editor(const struct question *q, int terminal, const char *path, struct error *err)
{
	const char *visual = environment_text("VISUAL"), *editor = environment_text("EDITOR");
	const char *command = visual != NULL ? visual : editor != NULL ? editor : "vi";
	char *script = memory_format("%s \"$1\"", command), *file = memory_text(path);
	char shell[] = "/bin/sh", option[] = "-c", name[] = "editor";
	char *argv[] = { shell, option, script, name, file, NULL };
	const struct process_spec spec = { .argv = argv, .environment = q->environment,
		.in = terminal, .out = terminal, .err = terminal, .group = true };
	struct termios modes;
	struct process process;
	bool known = tcgetattr(terminal, &modes) == 0;
	int status = 0, result = process_start(&process, &spec, NULL, err);

	if (result == 0) {
		give_terminal(terminal, process.pid);
		kill(-process.pid, SIGCONT); /* it may have stopped because it did not have the
		                                terminal yet */
		while (result == 0) {
			pid_t ended = waitpid(process.pid, &status, WNOHANG | WUNTRACED);

			/* If it stops, continue it: nobody else can. */
			if (ended == process.pid && WIFSTOPPED(status))
				kill(-process.pid, SIGCONT);
			else if (ended == process.pid || (ended == -1 && errno != EINTR))
				break;
			if (interrupts_sleep(q->interrupts, NAP_MS, err) != 0) {
				wait_end(process.pid, &status);
				result = -1;
			}
		}
		give_terminal(terminal, getpgrp());
		if (known)
			tcsetattr(terminal, TCSADRAIN, &modes);
	}
	free(script);
	free(file);
	return result != 0 ? -1 : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Lets the user edit the text, and keeps the new text if it is valid; if not, prints the reason on
 * the terminal. */
static int
question_edit_text(struct question *q, struct terminal_question *terminal, struct error *err)
{
	char *directory = memory_format("%s/edit-XXXXXX", q->directory), *path;
	struct buffer text = BUFFER_INIT, out = BUFFER_INIT;
	struct error why = ERROR_INIT;
	char reason[sizeof why.message];
	int result = 0, fd;

	if (mkdtemp(directory) == NULL) {
		error_errno(err, ERROR_SYSTEM, directory, "unable to make");
		free(directory);
		return -1;
	}
	path = path_join(directory, q->file);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to make");
	else if (file_write(fd, buffer_string(&q->text), q->text.len) != 0)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	if (fd >= 0)
		close(fd);
	if (result == 0)
		result = run_editor(q, terminal->terminal, path, err);

	if (result == 1 && file_load(path, EDITED, &text, &why) == 0 &&
	    q->check(q->context, &text, &why) == 0) {
		buffer_free(&q->text);
		q->text = text;
		text = (struct buffer)BUFFER_INIT;
		q->edited = true;
	} else if (result == 1) {
		buffer_format(&out, "Not taken: %s\n", error_text(&why, reason, sizeof reason));
		result = terminal_question_print(terminal, &out, err);
	}
	buffer_free(&out);
	buffer_free(&text);
	unlink(path);
	rmdir(directory);
	free(path);
	free(directory);
	return result == -1 ? -1 : 0;
}

/* ---- the question ---- */

/* Tells what the text that is displayed may hide: it may have pushed its beginning, and a line of
 * AWF's, out of the window, and write another such line itself; and letters may not be what they
 * look like. */
static void
warn_of_shown(struct buffer *out, const struct buffer *shown)
{
	struct buffer words = BUFFER_INIT;
	char size[32];
	size_t lines = shown->len > 0 && shown->data[shown->len - 1] != '\n', count;

	for (size_t i = 0; i < shown->len; i++)
		lines += shown->data[i] == '\n';
	if (lines > LINES_SEEN || shown->len > BYTES_SEEN)
		buffer_format(out, "(These are %zu line%s, %s.)\n", lines, lines == 1 ? "" : "s",
		    size_text((int64_t)shown->len, size, sizeof size));
	count = lookalikes_list(&words, buffer_string(shown), shown->len, WORDS_TOLD);
	if (count > 0)
		buffer_format(out, "(Letters that look like others: %s%s.)\n", buffer_string(&words),
		    count > WORDS_TOLD ? " and more" : "");
	buffer_free(&words);
}

static int
question_ask_on_terminal(struct question *q, struct terminal_question *terminal,
    enum question_answer *answer, struct error *err)
{
	struct buffer out = BUFFER_INIT, shown = BUFFER_INIT;
	int word = 'e', failed = 0;

	while (failed == 0 && word == 'e') {
		bool always = false;
		size_t len;

		buffer_clear(&shown);
		if (q->show != NULL)
			always = q->show(q->context, &q->text, &shown);
		else
			buffer_append(&shown, buffer_string(&q->text), q->text.len);
		len = shown.len < SHOWN ? shown.len : utf8_whole(shown.data, SHOWN);
		buffer_format(&out, "\n%s waits for a decision about:\n\n", q->about);
		buffer_append(&out, buffer_string(&shown), len);
		if (len > 0 && shown.data[len - 1] != '\n')
			buffer_byte(&out, '\n');
		if (len < shown.len)
			buffer_format(&out, "%s and %zu bytes more\n", locale_choose("…", "..."), shown.len - len);
		buffer_byte(&out, '\n');
		warn_of_shown(&out, &shown);
		failed = terminal_question_print(terminal, &out, err);
		if (failed == 0)
			failed = (word = ask_word(q, always, terminal, err)) == -1 ? -1 : 0;
		if (failed == 0 && word == 'e')
			failed = question_edit_text(q, terminal, err);
	}
	if (failed == 0 && word == 'n') {
		buffer_text(&out, "Why? (Enter: no reason) ");
		failed = terminal_question_ask(terminal, &out, &q->reason, err) == -1 ? -1 : 0;
	}
	buffer_free(&out);
	buffer_free(&shown);
	*answer = word == 'y' ? ANSWER_YES : word == 'n' ? ANSWER_NO : word == 'a' ? ANSWER_ALWAYS : ANSWER_NONE;
	return failed;
}

int
question_ask(struct question *q, enum question_answer *answer, struct error *err)
{
	char *path = path_join(q->directory, TERMINAL_QUESTION_FILE);
	struct terminal_question terminal;
	int failed = terminal_question_open(&terminal, path, q->interrupts, err);

	*answer = ANSWER_NONE;
	if (failed == 1)
		failed = question_ask_on_terminal(q, &terminal, answer, err);
	terminal_question_close(&terminal);
	free(path);
	return failed;
}

void
question_free(struct question *q)
{
	buffer_free(&q->text);
	buffer_free(&q->reason);
}
