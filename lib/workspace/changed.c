/*
 * What a call changed: the file that it names, read before and after; or the difference between two
 * looks at the workspace, each a list of its files sorted by path.
 */
#define _GNU_SOURCE /* O_PATH, in system/descriptor.h */
#include "workspace/changed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/line_diff.h"
#include "base/memory.h"
#include "io/beneath.h"
#include "io/file.h"
#include "io/lock.h"
#include "system/descriptor.h"
#include "transcript/event_keys.h"

#define LOOKED_DEPTH 64
#define HEAD_LIMIT ((size_t)1 << 20)

struct looked {
	size_t path;              /* offset in names */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;  /* ctime, which programs cannot set */
};

struct changed_look {
	struct buffer names;      /* paths, each with its NUL */
	struct looked *files;
	size_t count, capacity;
	size_t seen;              /* number of files and directories seen */
};

/* Lists everything below an open directory, which it closes; path: of that directory, with a slash,
 * or empty. -1: there are too many files. */
static int
changed_scan_directory(struct changed_look *look, int fd, struct buffer *path, dev_t device,
    const struct stat *storage, int depth)
{
	DIR *directory = fdopendir(fd);
	size_t len = path->len;
	struct dirent *entry;
	struct stat status;
	int below, result = 0;

	if (directory == NULL) {
		close(fd);
		return 0; /* the call can most likely not open it either */
	}
	while (result == 0 && (entry = readdir(directory)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (++look->seen > CHANGED_LOOKED || depth > LOOKED_DEPTH) {
			result = -1;
			break;
		}
		buffer_text(path, entry->d_name);
		if (S_ISREG(status.st_mode)) {
			if (look->count == look->capacity) {
				look->capacity = look->capacity == 0 ? 256 : 2 * look->capacity;
				look->files = memory_array(look->files, look->capacity,
				    sizeof *look->files);
			}
			look->files[look->count++] = (struct looked){ look->names.len,
			    status.st_dev, status.st_ino, status.st_size, status.st_ctim };
			buffer_append(&look->names, path->data, path->len + 1);
		} else if (S_ISDIR(status.st_mode) && status.st_dev == device &&
		    strcmp(entry->d_name, ".git") != 0 && (status.st_dev != storage->st_dev ||
		    status.st_ino != storage->st_ino)) {
			below = openat(fd, entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			buffer_byte(path, '/');
			if (below != -1)
				result = changed_scan_directory(look, below, path, device, storage,
				    depth + 1);
		}
		path->len = len;
		if (path->data != NULL)
			path->data[len] = '\0';
	}
	closedir(directory);
	return result;
}

static void
changed_scan_free(struct changed_look *look)
{
	if (look == NULL)
		return;
	buffer_free(&look->names);
	free(look->files);
	free(look);
}

/* Of what is being sorted: qsort_r() has its parameters in another order on other systems. */
static const char *sorted_names;

static int
compare_paths(const void *a, const void *b)
{
	return strcmp(sorted_names + ((const struct looked *)a)->path,
	    sorted_names + ((const struct looked *)b)->path);
}

/* Lists the files of the workspace. NULL: there are too many. */
static struct changed_look *
changed_scan_workspace(int root, const struct stat *storage)
{
	struct changed_look *look = memory_zero(1, sizeof *look);
	struct buffer path = BUFFER_INIT;
	struct stat status;
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1 || fstat(fd, &status) != 0 ||
	    changed_scan_directory(look, fd, &path, status.st_dev, storage, 0) != 0) {
		changed_scan_free(look);
		look = NULL;
	} else if (look->count > 0) {
		sorted_names = look->names.data;
		qsort(look->files, look->count, sizeof *look->files, compare_paths);
	}
	buffer_free(&path);
	return look;
}

/* Reads which branch HEAD in the workspace's .git names, and the commit of that; NULL if there is
 * none. The commit is in the file of the branch, or else in packed-refs. */
static void
read_head(int root, char **branch, char **commit)
{
	struct buffer text = BUFFER_INIT, path = BUFFER_INIT;
	int fd = beneath_open(root, ".git/HEAD");
	char *found, *line;

	*branch = *commit = NULL;
	if (fd == -1)
		return;
	if (file_read(fd, &text, HEAD_LIMIT) == 0 && strncmp(buffer_string(&text), "ref: ", 5) == 0)
		*branch = memory_copy(text.data + 5, strcspn(text.data + 5, "\n"));
	close(fd);
	if (*branch == NULL) {
		buffer_free(&text); /* HEAD is detached: no commit can move a branch */
		return;
	}
	buffer_format(&path, ".git/%s", *branch);
	buffer_clear(&text);
	if ((fd = beneath_open(root, buffer_string(&path))) != -1) {
		if (file_read(fd, &text, HEAD_LIMIT) == 0)
			*commit = memory_copy(buffer_string(&text), strcspn(buffer_string(&text), "\n"));
		close(fd);
	} else if ((fd = beneath_open(root, ".git/packed-refs")) != -1) {
		buffer_clear(&path);
		buffer_format(&path, " %s\n", *branch);
		if (file_read(fd, &text, HEAD_LIMIT) == 0 &&
		    (found = strstr(buffer_string(&text), buffer_string(&path))) != NULL) {
			for (line = found; line > text.data && line[-1] != '\n';)
				line--;
			*commit = memory_copy(line, (size_t)(found - line));
		}
		close(fd);
	}
	buffer_free(&text);
	buffer_free(&path);
}

static int
open_workspace(struct changed *c)
{
	c->root = open(".", DESCRIPTOR_PLACE | O_DIRECTORY | O_CLOEXEC);
	return c->root == -1 ? -1 : 0;
}

/* Reads a file; *exists: whether it exists. -1: it cannot be read. */
static int
changed_read_file(const struct changed *c, struct buffer *bytes, bool *exists)
{
	int fd = beneath_open(c->root, c->path), result;

	*exists = fd != -1;
	if (fd == -1)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	result = file_read(fd, bytes, (size_t)CHANGED_BYTES);
	close(fd);
	return result;
}

static bool
goes_up(const char *path)
{
	const char *at = path;

	while ((at = strstr(at, "..")) != NULL) {
		if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
			return true;
		at += 2;
	}
	return false;
}

/* The path as the tool uses it, with "..": only the system can resolve that, since a directory may
 * be a link. */
static char *
plain_path(const char *here, const char *path)
{
	char *whole = *path == '/' ? memory_text(path) : path_join(here, path);
	char *plain = path_normal(whole), *directory, *real;

	if (goes_up(path)) {
		directory = path_directory(whole);
		real = realpath(directory, NULL);
		free(directory);
		if (real != NULL && strcmp(path_base(whole), "..") != 0) {
			free(plain);
			plain = path_join(real, path_base(whole));
		}
		free(real);
	}
	free(whole);
	return plain;
}

void
changed_begin_file(struct changed *c, const char *path)
{
	char here[PATH_MAX], *normal;
	const char *part;

	if (getcwd(here, sizeof here) == NULL || open_workspace(c) == -1)
		return;
	normal = plain_path(here, path);
	part = beneath_part(here, normal);
	if (part != NULL) {
		c->path = memory_text(part);
		if (changed_read_file(c, &c->before, &c->existed) == -1)
			changed_free(c);
	}
	free(normal);
}

void
changed_begin_all(struct changed *c, const char *run_directory)
{
	char *storage = memory_format("%s/../..", run_directory);
	struct stat status;

	if (open_workspace(c) == 0 && stat(storage, &c->storage) == 0) {
		char *path = path_join(run_directory, "changing");

		/* Register this call among those of the run that watch the workspace, and find out
		 * whether others do at the same time. Later calls find this one by the lock on its
		 * byte. */
		c->overlap = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
		free(path);
		if (c->overlap != -1) {
			lock_file_wait(c->overlap);
			if (fstat(c->overlap, &status) == 0 && write(c->overlap, "", 1) == 1) {
				c->place = status.st_size;
				lock_file_take_range(c->overlap, (struct lock_range){ c->place, 1 });
				c->shared = c->place > 0 && lock_file_look_range(c->overlap,
				    (struct lock_range){ 0, c->place }) == 1;
			}
			lock_file_release(c->overlap);
		}
		read_head(c->root, &c->branch, &c->head);
		c->look = changed_scan_workspace(c->root, &c->storage);
	}
	free(storage);
}

void
changed_share(struct changed *c)
{
	c->shared = true;
}

/* Appends an element about a changed file; sha256 NULL: not known. */
static void
add_file(struct changed *c, const char *path, const char *change, const char *sha256,
    bool observed)
{
	struct writer w;

	if (c->told++ == CHANGED_TOLD) {
		c->told--;
		c->more++;
		return;
	}
	if (c->files.len > 0)
		buffer_byte(&c->files, ',');
	writer_begin(&w, &c->files);
	writer_object(&w);
	writer_member_string(&w, KEY_PATH, path);
	writer_key(&w, KEY_SHA256);
	if (sha256 != NULL)
		writer_string(&w, sha256);
	else
		writer_null(&w);
	writer_member_string(&w, KEY_CHANGE, change);
	if (c->path != NULL) {
		writer_member_integer(&w, KEY_ADDED, c->added);
		writer_member_integer(&w, KEY_REMOVED, c->removed);
	}
	if (observed)
		writer_member_bool(&w, KEY_OBSERVED, true);
	if (observed && c->shared)
		writer_member_bool(&w, KEY_SHARED, true);
	writer_object_end(&w);
}

static void
end_file(struct changed *c)
{
	struct buffer after = BUFFER_INIT;
	struct line_diff lines;
	char sha256[DIGEST_SIZE];
	bool exists;

	if (changed_read_file(c, &after, &exists) == 0 && (exists || c->existed) &&
	    (exists != c->existed || after.len != c->before.len ||
	    memcmp(buffer_string(&after), buffer_string(&c->before), after.len) != 0)) {
		line_diff_begin(&lines, buffer_string(&c->before), c->before.len, buffer_string(&after), after.len,
		    true);
		c->added = (int64_t)lines.added;
		c->removed = (int64_t)lines.removed;
		line_diff_free(&lines);
		add_file(c, c->path, !exists ? "deleted" : c->existed ? NULL : "created", !exists ? NULL :
		    digest_sha256(buffer_string(&after), after.len, sha256), false);
	}
	buffer_free(&after);
}

/* The digest of a file as it is now; NULL if it is too long, or cannot be read. */
static const char *
digest_file(const struct changed *c, const char *path, off_t size, char sha256[DIGEST_SIZE])
{
	char bytes[16384];
	struct digest digest;
	ssize_t n = -1;
	int fd = size > CHANGED_BYTES ? -1 : beneath_open(c->root, path);

	if (fd == -1)
		return NULL;
	digest_begin(&digest);
	for (int64_t left = CHANGED_BYTES; left > 0; left -= n) {
		while ((n = read(fd, bytes, sizeof bytes)) == -1 && errno == EINTR)
			;
		if (n <= 0)
			break;
		digest_add(&digest, bytes, (size_t)n);
	}
	close(fd);
	digest_end(&digest, sha256);
	return n == 0 ? sha256 : NULL;
}

/* Compares the two lists, which are sorted by path. */
static void
end_look(struct changed *c)
{
	struct changed_look *was = c->look, *is = changed_scan_workspace(c->root, &c->storage);
	char sha256[DIGEST_SIZE];
	size_t i = 0, k = 0;

	while (is != NULL && (i < was->count || k < is->count)) {
		const struct looked *a = &was->files[i], *b = &is->files[k];
		const char *before = i == was->count ? NULL : was->names.data + a->path;
		const char *now = k == is->count ? NULL : is->names.data + b->path;
		int order = before == NULL ? 1 : now == NULL ? -1 : strcmp(before, now);

		if (order < 0)
			add_file(c, before, "deleted", NULL, true);
		else if (order > 0 || a->device != b->device || a->inode != b->inode ||
		    a->size != b->size || a->changed.tv_sec != b->changed.tv_sec ||
		    a->changed.tv_nsec != b->changed.tv_nsec)
			add_file(c, now, order > 0 ? "created" : NULL, c->told == CHANGED_TOLD ? NULL :
			    digest_file(c, now, b->size, sha256), true);
		i += order <= 0;
		k += order >= 0;
	}
	changed_scan_free(is);
}

void
changed_end(struct changed *c)
{
	struct stat status;
	char *branch, *head;

	if (c->path != NULL)
		end_file(c);
	if (c->overlap != -1) {
		c->shared = c->shared ||
		    (fstat(c->overlap, &status) == 0 && status.st_size > c->place + 1);
		file_close(&c->overlap);
	}
	if (c->look != NULL)
		end_look(c);
	if (c->root != -1 && c->path == NULL) {
		/* If HEAD names the same branch as before, and that has another commit, a commit
		 * was made; if HEAD names another branch, that was a checkout. */
		read_head(c->root, &branch, &head);
		if (branch != NULL && c->branch != NULL && strcmp(branch, c->branch) == 0 &&
		    head != NULL && (c->head == NULL || strcmp(head, c->head) != 0)) {
			c->commit = head;
			head = NULL;
		}
		free(branch);
		free(head);
	}
	file_close(&c->root);
	changed_scan_free(c->look);
	c->look = NULL;
	buffer_free(&c->before);
}

void
changed_told(struct changed *c, const char *path)
{
	char here[PATH_MAX], sha256[DIGEST_SIZE], *normal;
	const char *part, *digest = NULL;
	struct stat status;
	int fd;

	if (getcwd(here, sizeof here) == NULL || (c->root == -1 && open_workspace(c) == -1))
		return;
	normal = plain_path(here, path);
	part = beneath_part(here, normal);
	fd = part == NULL ? -1 : beneath_open(c->root, part);
	if (fd != -1 && fstat(fd, &status) == 0)
		digest = digest_file(c, part, status.st_size, sha256);
	add_file(c, part == NULL ? normal : part, NULL, digest, false);
	file_close(&fd);
	free(normal);
}

void
changed_take(struct changed *c, struct span payload)
{
	struct span files = span_member(payload, KEY_CHANGED), commit = span_member(payload, KEY_COMMIT);
	long long more;

	if (span_type(files) == 'a' && files.len > 2)
		buffer_append(&c->files, files.at + 1, files.len - 2);
	if (span_integer(span_member(payload, KEY_CHANGED_MORE), &more))
		c->more = more;
	c->commit = span_text(commit);
}

void
changed_write(const struct changed *c, struct writer *w)
{
	if (c->files.len > 0) {
		writer_member_array(w, KEY_CHANGED);
		writer_raw(w, c->files.data, c->files.len);
		writer_array_end(w);
	}
	if (c->more > 0)
		writer_member_integer(w, KEY_CHANGED_MORE, c->more);
	writer_member_string(w, KEY_COMMIT, c->commit);
}

void
changed_free(struct changed *c)
{
	file_close(&c->root);
	file_close(&c->overlap);
	free(c->path);
	free(c->branch);
	free(c->head);
	free(c->commit);
	changed_scan_free(c->look);
	buffer_free(&c->before);
	buffer_free(&c->files);
	*c = (struct changed)CHANGED_INIT;
}
