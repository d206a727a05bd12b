/*
 * What has not changed is not set again.
 */
#include "sandbox/terminals.h"

#include <string.h>
#include <unistd.h>

void
terminals_save(struct terminal_state states[TERMINALS])
{
	for (int fd = 0; fd < TERMINALS; fd++) {
		struct terminal_state *s = &states[fd];

		memset(s, 0, sizeof *s); /* padding is compared, too */
		s->known = tcgetattr(fd, &s->settings) == 0 && ioctl(fd, TIOCGWINSZ, &s->size) == 0;
	}
}

void
terminals_restore(const struct terminal_state states[TERMINALS])
{
	struct terminal_state now[TERMINALS];

	terminals_save(now);
	for (int fd = 0; fd < TERMINALS; fd++) {
		if (!states[fd].known || !now[fd].known)
			continue;
		if (memcmp(&states[fd].settings, &now[fd].settings, sizeof now[fd].settings) != 0)
			tcsetattr(fd, TCSANOW, &states[fd].settings);
		if (memcmp(&states[fd].size, &now[fd].size, sizeof now[fd].size) != 0)
			ioctl(fd, TIOCSWINSZ, &states[fd].size);
	}
}
