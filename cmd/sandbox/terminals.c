/* Settings that have not changed are not set again. Whether output was stopped cannot be asked; to
 * start it changes nothing if it was not, nor if somebody has typed Ctrl-S. */
#include "sandbox/terminals.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void
terminals_save(struct terminal_state states[TERMINALS])
{
	for (int fd = 0; fd < TERMINALS; fd++) {
		struct terminal_state *s = &states[fd];

		s->flags = fcntl(fd, F_GETFL);
		s->known = tcgetattr(fd, &s->settings) == 0 && ioctl(fd, TIOCGWINSZ, &s->size) == 0;
	}
}

static bool
same_settings(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
	    a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof a->c_cc) == 0;
}

void
terminals_restore(const struct terminal_state states[TERMINALS])
{
	struct terminal_state now[TERMINALS];

	terminals_save(now);
	for (int fd = 0; fd < TERMINALS; fd++) {
		if (states[fd].flags != -1 && now[fd].flags != -1 && states[fd].flags != now[fd].flags)
			fcntl(fd, F_SETFL, states[fd].flags);
		if (!states[fd].known || !now[fd].known)
			continue;
		tcflow(fd, TCOON);
		if (!same_settings(&states[fd].settings, &now[fd].settings))
			tcsetattr(fd, TCSANOW, &states[fd].settings);
		if (states[fd].size.ws_row != now[fd].size.ws_row || states[fd].size.ws_col != now[fd].size.ws_col)
			ioctl(fd, TIOCSWINSZ, &states[fd].size);
	}
}
