/* Copied a megabyte at a time. The file may be new, so its name is synced too. */
#include "transcript/torn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

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

/* Appends [from, to) to fd and syncs it. -1 with errno. */
static int
torn_copy(struct window *w, int64_t from, int64_t to, int fd)
{
	while (from < to) {
		int64_t upto = to - from > TORN_CHUNK ? from + TORN_CHUNK : to;
		const char *bytes = window_bytes(w, from, upto);
		if (bytes == NULL || file_write(fd, bytes, (size_t)(upto - from)) == -1)
			return -1;
		from = upto;
	}
	return fsync(fd);
}

int
torn_keep(const char *path, struct window *w, int64_t from, int64_t to, struct error *err)
{
	char *torn = torn_path(path);
	int fd = file_open_plain(torn, O_WRONLY | O_APPEND | O_CREAT, 0600);
	int result = fd == -1 ? -1 : torn_copy(w, from, to, fd);

	if (result == -1)
		error_errno(err, ERROR_SYSTEM, torn, "unable to keep a torn line");
	else
		result = file_sync_name(torn, err); /* it may be new */
	if (fd != -1)
		close(fd);
	free(torn);
	return result;
}
