/*
 * Zip archives, which anybody may give as a log: whatever bytes come, each member is inside of them, and a name leads to a
 * member of that name. What is deflated is not read here, as that starts gzip.
 */
#define _GNU_SOURCE /* memfd_create() */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("archive", MFD_CLOEXEC);
	struct archive a;
	char path[64];

	assert(fd != -1 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (archive_open(&a, path, NULL) == 0)
		for (size_t i = 0; i < a.count; i++) {
			const struct archive_member *m = &a.members[i];
			struct buffer out = BUFFER_INIT;
			bool unknown;

			assert(m->at <= size && m->packed <= size - m->at);
			assert(archive_find(&a, m->name) == m);
			if (m->method == 0 && archive_read(&a, m, size, &out, &unknown, NULL) == 0)
				assert(out.len == m->size && out.len == m->packed);
			buffer_free(&out);
		}
	archive_close(&a);
	close(fd);
	return 0;
}
