/*
 * Bytes are relayed in both directions, through one buffer for each. If a reader is slow, no more
 * is read from the other side until its bytes were written. For the view, the transcript is read
 * ten times a second, as any other program would read it; so the number of events does not matter.
 */
#define _GNU_SOURCE /* TIOCGWINSZ, memmem() */
#include "run/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/locale.h"
#include "io/file.h"
#include "io/polling.h"

#define REST_MS 50             /* the view is drawn when there was no output for this long */
#define WRITER_MS 50           /* how long to wait whether the writer of stdin closes it */
#define LEFT_MS 1000           /* most time to read what is left in the pseudo-terminal */
#define FLUSH_MS 10000         /* most time without progress when the remaining output is written */
#define PIECE ((size_t)65536)
#define TYPED ((size_t)4096)   /* bytes read before the workflow reads them */

/* ---- may this process use the terminal ---- */

/* Whether a descriptor is the terminal itself, or leads to something that does not use it. */
static bool
leaves_terminal(int fd, dev_t terminal)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return false;
	if (S_ISCHR(status.st_mode))
		return status.st_rdev == terminal || !isatty(fd);
	if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))
		/* The process at the other end may read from the terminal, as cat, ssh and pagers
		 * do; so the pipe must have no writer any more. */
		return fd == STDIN_FILENO && (poll_one(fd, 0, clock_monotonic() + WRITER_MS) & POLLHUP) != 0;
	return S_ISREG(status.st_mode);
}

/* Opens the terminal again, so that its file status flags are not shared, and locks it. -1:
 * not possible. */
static int
open_terminal(dev_t *device)
{
	struct stat status, opened;
	char name[64];
	int fd;

	if (!terminal_moves(STDERR_FILENO) || tcgetpgrp(STDERR_FILENO) != getpgrp() ||
	    fstat(STDERR_FILENO, &status) != 0 || ttyname_r(STDERR_FILENO, name, sizeof name) != 0 ||
	    !leaves_terminal(STDOUT_FILENO, status.st_rdev) ||
	    !leaves_terminal(STDIN_FILENO, status.st_rdev))
		return -1;
	*device = status.st_rdev;
	fd = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd != -1 && fstat(fd, &opened) == 0 && opened.st_rdev == *device &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	file_close(&fd);
	return -1;
}

/* Makes a pseudo-terminal with the modes and the size of the terminal. */
static bool
open_pseudo_terminal(struct terminal *t)
{
	struct winsize size;

	t->master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (t->master == -1 || grantpt(t->master) != 0 || unlockpt(t->master) != 0 ||
	    ptsname_r(t->master, t->name, sizeof t->name) != 0)
		return false;
	t->guardian.slave = open(t->name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return t->guardian.slave > STDERR_FILENO &&
	    tcsetattr(t->guardian.slave, TCSANOW, &t->guardian.modes->own) == 0 &&
	    ioctl(t->fd, TIOCGWINSZ, &size) == 0 && ioctl(t->master, TIOCSWINSZ, &size) == 0;
}

/* ---- taking the terminal, and giving it back ---- */

static void
terminal_set_raw(struct terminal *t)
{
	struct guardian_modes *m = t->guardian.modes;
	struct termios raw = m->own;

	if (t->fd == -1 || tcgetpgrp(t->fd) != getpgrp())
		return;
	cfmakeraw(&raw);
	m->taken = true;
	if (tcsetattr(t->fd, TCSADRAIN, &raw) != 0 || tcgetattr(t->fd, &m->others) != 0) {
		m->taken = false;
		return;
	}
	t->taken = true;
}

/* Writes as much as the terminal accepts without waiting. */
static void
flush_out(struct terminal *t)
{
	ssize_t put;

	while (t->fd != -1 && t->out.len > 0) {
		put = write(t->fd, t->out.data, t->out.len);
		if (put <= 0) {
			if (put == -1 && errno != EAGAIN && errno != EINTR)
				file_close(&t->fd);
			break;
		}
		buffer_drop(&t->out, (size_t)put);
	}
	if (t->fd == -1)
		buffer_clear(&t->out);
}

/* Writes everything, unless the terminal accepts nothing for FLUSH_MS. */
static void
flush_all(struct terminal *t)
{
	flush_out(t);
	while (t->out.len > 0 && poll_one(t->fd, POLLOUT, clock_monotonic() + FLUSH_MS) != 0)
		flush_out(t);
	buffer_clear(&t->out);
}

static void
erase_view(struct terminal *t)
{
	screen_erase(&t->screen, &t->out);
	t->guardian.modes->drawn = false;
}

static void
give_back(struct terminal *t)
{
	erase_view(t);
	flush_all(t);
	if (t->fd != -1 && t->taken)
		tcsetattr(t->fd, TCSADRAIN, &t->guardian.modes->own);
	t->guardian.modes->taken = t->taken = false;
}

/* This process was stopped and continued. The shell has used the terminal meanwhile, so what was
 * drawn has scrolled up. If this process is in the background now, the terminal still belongs to
 * the shell. */
static void
go_on(struct terminal *t)
{
	t->guardian.modes->taken = t->taken = false;
	t->guardian.modes->drawn = false;
	screen_forget(&t->screen);
	terminal_output_resume(&t->output);
	t->begun = false;
	terminal_set_raw(t);
}

static void
terminal_resize(struct terminal *t)
{
	struct winsize size;

	if (t->fd != -1 && ioctl(t->fd, TIOCGWINSZ, &size) == 0)
		ioctl(t->master, TIOCSWINSZ, &size);
	t->feed.view.width = terminal_width(t->fd);
	screen_resized(&t->screen, t->feed.view.width);
	t->output.height = t->feed.view.height = terminal_height(t->fd);
	t->look_at = 0;
}

/* ---- the view ---- */

static int
on_line(void *context, struct followed *run, const char *line, size_t len, struct error *err)
{
	struct terminal *t = context;
	const struct event_place place = { run->reader.line_start, (uint32_t)len };
	struct event_view event;
	struct placed placed;

	(void)err;
	if (model_line(&run->model, line, len, place, &event, &placed))
		live_feed_take(&t->feed, &placed);
	return 0;
}

/* A child run has died: the outer run itself will report what follows from that. */
static void
on_warning(void *context, const struct error *warning)
{
	struct terminal *t = context;

	if (warning->code == ERROR_INTERRUPTED)
		live_feed_died(&t->feed, warning->place);
}

static bool
begin_view(struct terminal *t, const struct run *run)
{
	struct followed *followed;
	struct error none;

	t->callbacks = (struct follow_callbacks){ on_line, on_warning, t };
	follow_begin(&t->follow, &t->callbacks, true);
	t->follow.live = true; /* live: read by polling, without inotify */
	t->follow.level = MODEL_INSIDE;
	live_feed_begin(&t->feed, &run->storage);
	t->feed.view.colour = terminal_colour(t->fd, "auto");
	t->feed.view.utf8 = locale_is_utf8();
	if (cost_begin(&t->cost, &none) == 0)
		t->feed.view.cost = &t->cost;
	followed = follow_add(&t->follow, run->transcript.path, run->id, &none);
	if (followed == NULL)
		return false;
	reader_seek(&followed->reader, run->attempt_from);
	return true;
}

/* Prints lines above the view; in raw mode each LF needs a CR. */
static void
print_told(struct terminal *t)
{
	for (const char *at = buffer_string(&t->told), *lf; (lf = strchr(at, '\n')) != NULL; at = lf + 1) {
		buffer_append(&t->out, at, (size_t)(lf - at));
		buffer_text(&t->out, "\r\n");
	}
	buffer_clear(&t->told);
}

/* Moves to the start of an empty line. If other output has left the cursor within a line, writing
 * width - 1 blanks wraps into the next line; if it is in column 0, it stays in the same line. */
static void
begin_line(struct terminal *t)
{
	if (t->begun)
		return;
	for (size_t i = 1; i < t->screen.width; i++)
		buffer_byte(&t->out, ' ');
	buffer_text(&t->out, "\r");
	t->begun = true;
}

/* Whether the workflow reads in canonical mode with echo. */
static bool
reads_lines(const struct terminal *t)
{
	struct termios modes;

	return tcgetattr(t->master, &modes) == 0 && (modes.c_lflag & ICANON) != 0 &&
	    (modes.c_lflag & ECHO) != 0;
}

static void
terminal_update_view(struct terminal *t, int64_t now)
{
	struct buffer lines = BUFFER_INIT, told = BUFFER_INIT;
	struct error none;
	size_t count;

	t->look_at = now + SCREEN_INTERVAL;
	follow_read(&t->follow, &none); /* after an error the view just shows less */
	if (!t->taken || t->out.len > 0 || now - t->printed_at < REST_MS ||
	    !terminal_output_rests(&t->output) || !reads_lines(t))
		return;
	count = live_feed_draw(&t->feed, clock_wall(), &t->told, &lines);
	/* A run without steps has no view. */
	if (t->follow.runs[0]->model.begun == 0)
		count = 0;
	if (count > 0 || t->told.len > 0)
		begin_line(t);
	if (t->told.len > 0)
		erase_view(t);
	print_told(t);
	screen_block(&t->screen, &told, &lines, count, now, &t->out);
	t->guardian.modes->drawn = t->screen.drawn;
	flush_out(t);
	buffer_free(&lines);
}

/* ---- keyboard input ---- */

/* Reads what the user typed. After the end of the workflow its pseudo-terminal does not turn keys
 * into signals any more; so this function returns the signal, for processes that the workflow has
 * left. */
static int
relay_input(struct terminal *t)
{
	const struct termios *own = &t->guardian.modes->own;
	unsigned char bytes[TYPED];
	ssize_t got = read(t->fd, bytes, sizeof bytes);

	if (got == 0 || (got == -1 && errno != EAGAIN && errno != EINTR))
		file_close(&t->fd); /* the terminal is gone; SIGHUP follows */
	if (got <= 0)
		return 0;
	buffer_append(&t->in, bytes, (size_t)got);
	for (ssize_t i = 0; t->ended && (own->c_lflag & ISIG) != 0 && i < got; i++) {
		if (bytes[i] == own->c_cc[VINTR])
			return SIGINT;
		if (bytes[i] == own->c_cc[VQUIT])
			return SIGQUIT;
	}
	return 0;
}

static void
pass_input(struct terminal *t)
{
	ssize_t put = t->in.len > 0 ? write(t->master, t->in.data, t->in.len) : 0;

	if (put > 0)
		buffer_drop(&t->in, (size_t)put);
}

/* ---- callbacks for supervise_workflow() ---- */

static bool
is_terminal(const void *context, int fd)
{
	const struct terminal *t = context;
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
	    status.st_rdev == t->device;
}

static void
on_started(void *context, pid_t group)
{
	struct terminal *t = context;

	t->group = group;
}

static nfds_t
on_poll(void *context, struct pollfd fds[TERMINAL_POLLS], int64_t *deadline)
{
	const struct terminal *t = context;
	int user = 0, workflow = 0;

	if (t->taken && t->in.len < TYPED)
		user |= POLLIN;
	if (t->out.len > 0)
		user |= POLLOUT;
	if (t->out.len < PIECE)
		workflow |= POLLIN;
	if (t->in.len > 0)
		workflow |= POLLOUT;
	fds[0] = (struct pollfd){ user != 0 ? t->fd : -1, (short)user, 0 };
	fds[1] = (struct pollfd){ workflow != 0 ? t->master : -1, (short)workflow, 0 };
	if (*deadline == 0 || t->look_at < *deadline)
		*deadline = t->look_at > 0 ? t->look_at : 1;
	return TERMINAL_POLLS;
}

/* Writes the workflow's output to the terminal, after erasing the view. Returns false if there is
 * no more for now. */
static bool
relay_output(struct terminal *t)
{
	char bytes[PIECE / 4];
	ssize_t got = read(t->master, bytes, sizeof bytes);

	if (got <= 0)
		return false;
	erase_view(t);
	terminal_output_take(&t->output, bytes, (size_t)got);
	buffer_append(&t->out, bytes, (size_t)got);
	t->printed_at = clock_monotonic();
	t->begun = true;
	return true;
}

static int
on_step(void *context, const struct pollfd *fds, nfds_t count)
{
	struct terminal *t = context;
	const int64_t now = clock_monotonic();
	int number = 0;

	(void)count;
	if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		number = relay_input(t);
	pass_input(t);
	if (fds[1].revents & POLLIN)
		relay_output(t);
	flush_out(t);
	if (now >= t->look_at)
		terminal_update_view(t, now);
	return number;
}

/* The workflow was stopped. Stops this process's group too, so that the shell notices and later
 * continues both. If there is no such shell, SIGTSTP does nothing, and the workflow is continued at
 * once. */
static void
on_stopped(void *context, int signal_number)
{
	struct terminal *t = context;
	struct sigaction usual = { .sa_handler = SIG_DFL }, before;

	(void)signal_number;
	while (relay_output(t))
		flush_out(t);
	give_back(t);
	sigemptyset(&usual.sa_mask);
	sigaction(SIGTSTP, &usual, &before);
	kill(0, SIGTSTP);
	sigaction(SIGTSTP, &before, NULL);
	go_on(t);
	terminal_resize(t);
	kill(-t->group, SIGCONT);
}

static void
on_signalled(void *context, int signal_number)
{
	struct terminal *t = context;

	if (signal_number == SIGTSTP) {
		kill(-t->group, SIGTSTP);
		return;
	}
	if (signal_number == SIGCONT) {
		go_on(t);
		kill(-t->group, SIGCONT);
	}
	terminal_resize(t);
}

static void
on_ended(void *context)
{
	struct terminal *t = context;

	t->ended = true;
}

static void
on_finish(void *context)
{
	struct terminal *t = context;
	const int64_t deadline = clock_monotonic() + LEFT_MS;
	struct error none;

	/* The workflow has closed the pseudo-terminal; or only processes have it that are not
	 * waited for. Read what is left in it, but for LEFT_MS at most: a program may go on
	 * writing. */
	file_close(&t->guardian.slave);
	while (clock_monotonic() < deadline && (relay_output(t) ||
	    (poll_one(t->master, POLLIN, clock_monotonic() + REST_MS) & POLLIN) != 0))
		flush_out(t);
	flush_all(t);
	erase_view(t);
	follow_read(&t->follow, &none);
	live_view_told(&t->feed.view, LIVE_VIEW_OVER, &t->told);
	if (t->told.len > 0 && t->taken && !t->output.alternate && !t->output.region) {
		begin_line(t);
		if (!t->output.cursor.at_start)
			buffer_text(&t->out, "\r\n");
		print_told(t);
	}
	give_back(t);
}

/* ---- opening and closing ---- */

bool
terminal_open(struct terminal *t, const struct run *run)
{
	t->fd = open_terminal(&t->device);
	if (t->fd == -1)
		return false;
	t->guardian.modes = mmap(NULL, sizeof *t->guardian.modes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t->guardian.modes == MAP_FAILED)
		t->guardian.modes = NULL;
	t->guardian.terminal = t->fd;
	if (t->guardian.modes == NULL || tcgetattr(t->fd, &t->guardian.modes->own) != 0 ||
	    !open_pseudo_terminal(t) || !begin_view(t, run)) {
		terminal_close(t);
		return false;
	}
	terminal_output_begin(&t->output, SCREEN_HEIGHT);
	terminal_resize(t);
	/* Input that was typed before is passed to the workflow; programs that prompt may discard
	 * it. */
	terminal_set_raw(t);
	relay_input(t);
	pass_input(t);
	t->relay = (struct supervision_terminal){ &t->guardian, is_terminal, on_started, on_poll,
		on_step, on_stopped, on_signalled, on_ended, on_finish, t };
	return true;
}

void
terminal_export(const struct terminal *t, struct environment *e)
{
	environment_set(e, "AWF_VIEW", "off");
	environment_set(e, "GPG_TTY", t->name);
}

void
terminal_close(struct terminal *t)
{
	if (t->callbacks.line != NULL) {
		follow_end(&t->follow);
		live_feed_free(&t->feed);
		cost_free(&t->cost);
	}
	if (t->taken)
		give_back(t);
	if (t->guardian.modes != NULL)
		munmap(t->guardian.modes, sizeof *t->guardian.modes);
	file_close(&t->guardian.slave);
	file_close(&t->master);
	file_close(&t->fd);
	buffer_free(&t->in);
	buffer_free(&t->out);
	buffer_free(&t->told);
	*t = (struct terminal)TERMINAL_INIT;
}
