/* Copies a megabyte at a time. The target may be a new file, so its name is synced, too. */
#include "transcript/torn.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"

#define TORN_CHUNK ((int64_t)1 << 20)

char *
torn_path(const char *path)
{
	static const char suffix[] = ".jsonl";
	size_t len = strlen(path);

	if (len >= sizeof suffix && strcmp(path + len - (sizeof suffix - 1), suffix) == 0)
		len -= sizeof suffix - 1;
	return memory_format("%.*s.torn", (int)len, path);
}

int
torn_keep(const char *path, struct window *w, int64_t from, int64_t to, struct error *err)
{
	char *torn = torn_path(path);
	int fd = file_open_plain(torn, O_WRONLY | O_APPEND | O_CREAT, 0600);
	bool kept = fd != -1;
	int result;

	INVARIANT(from >= 0 && from <= to);
	while (kept && from < to) {
		int64_t upto = to - from > TORN_CHUNK ? from + TORN_CHUNK : to;
		const char *bytes = window_bytes(w, from, upto);

		kept = bytes != NULL && file_write(fd, bytes, (size_t)(upto - from)) != -1;
		from = upto;
	}
	if (!kept || fsync(fd) == -1)
		result = error_errno(err, ERROR_SYSTEM, torn, "unable to keep a torn line");
	else
		result = file_sync_name(torn, err); /* the file may be new */
	if (fd != -1)
		close(fd);
	free(torn);
	return result;
}
