/*
 * No memory is allocated here: the heap may be what is broken.
 */
#include "base/invariant.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/* What AddressSanitizer asks for its options (sanitizer/asan_interface.h). Leaks are sought where a test asks
 * for it in ASAN_OPTIONS: a sandbox, which keeps no such variable, has no ptrace(2) for the search. */
__attribute__((weak, visibility("default"))) const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

static void
invariant_write_line(int fd, const char *line, size_t len)
{
	while (len > 0) {
		ssize_t written = write(fd, line, len);

		if (written <= 0)
			return;
		line += written;
		len -= (size_t)written;
	}
}

noreturn void
invariant_fail(const char *condition, const char *file, int line)
{
	const char *log = getenv("AWF_INVARIANT_LOG");
	char text[1024];
	int fd, len = snprintf(text, sizeof text, "%s:%d: %s does not hold\n", file, line, condition);

	if (len >= (int)sizeof text) {
		len = (int)sizeof text - 1;
		text[len - 1] = '\n';
	}
	invariant_write_line(STDERR_FILENO, text, (size_t)len);
	fd = log != NULL && *log != '\0' ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	if (fd >= 0)
		invariant_write_line(fd, text, (size_t)len);
	abort();
}
