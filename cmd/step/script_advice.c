/*
 * /proc/PPID/cmdline is `sh flow.awf`, `/bin/sh ./flow.awf` if the file has a #! line, or `bash -eu
 * flow.awf`. The file `advised` has one line, for one script, so two scripts at the same time may
 * each print the advice again.
 */
#include "step/script_advice.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "proc/process.h"

#define ADVISED "advised"
#define LINE_LIMIT 4096
#define LOCK_MS 200

/* The first argument of the shell that is not an option; NULL if it is not a workflow file, or if
 * the script is an argument (-c). */
static char *
script_of(pid_t pid)
{
	struct buffer words = BUFFER_INIT;
	const char *word, *end;
	char *script = NULL;

	if (process_read(pid, "cmdline", &words) && words.len > 0) {
		end = words.data + words.len;
		word = words.data + strlen(buffer_string(&words)) + 1;
		while (word < end && *word == '-' && (word[1] == '-' || strchr(word, 'c') == NULL))
			word += strlen(word) + 1;
		if (word < end && *word != '-' && text_ends(word, ".awf"))
			script = memory_text(word);
	}
	buffer_free(&words);
	return script;
}

/* Whether the file contains this line; if not, the line is written to it. False if the file cannot
 * be written. */
static bool
line_kept(const char *path, const char *line)
{
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct buffer text = BUFFER_INIT;
	bool kept = false;

	if (fd != -1 && lock_file_within(fd, LOCK_MS) == 0 && file_read(fd, &text, LINE_LIMIT) == 0) {
		kept = strcmp(buffer_string(&text), line) == 0;
		if (!kept && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
			(void)file_write(fd, line, strlen(line));
	}
	file_close(&fd);
	buffer_free(&text);
	return kept;
}

char *
script_advice_of(const struct storage *s, bool *first)
{
	pid_t parent = getppid();
	char *script = script_of(parent), *path, *line;

	*first = false;
	if (script == NULL)
		return NULL;
	path = path_join(s->root, ADVISED);
	line = memory_format("%ld %lld\n", (long)parent, (long long)process_birth(parent));
	*first = !line_kept(path, line);
	free(line);
	free(path);
	return script;
}
