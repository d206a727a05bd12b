/* What a wait status says. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "proc/process.h"

int
process_exit_code(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}

const char *
process_status_text(int wait_status, char *buf, size_t size)
{
	if (WIFSIGNALED(wait_status))
		snprintf(buf, size, "killed by signal %d (%s)", WTERMSIG(wait_status),
		    strsignal(WTERMSIG(wait_status)));
	else
		snprintf(buf, size, "exit status %d", WEXITSTATUS(wait_status));
	return buf;
}
