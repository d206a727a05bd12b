/*
 * Making a storage, and checking that it is safe. A storage on a network file system is refused, as
 * its locks cannot be trusted; so is one that another user could replace, or write into, because of
 * the owner or the permissions of its directory or of one above it.
 */
#include "storage/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "transcript/sync_mode.h"

static const char *const directories[] = { "transcripts", "blobs", "inputs", "runs",
	"snapshots" };

static int
refuse_remote(const char *root, struct error *err)
{
	const char *kind = NULL;
	int remote = file_is_remote(root, &kind, err);

	if (remote <= 0)
		return remote;
	return error_set(err, ERROR_SYSTEM, root,
	    "on a network file system (%s), whose locks cannot be trusted: "
	    "set AWF_STORAGE to a local directory (awf-record(1) brings the runs of several "
	    "machines together)", kind);
}

int
storage_make_directory(const char *path, bool sync, struct error *err)
{
	struct stat status;

	/* A directory that exists may be gone when it is opened, as queues come and go: try
	 * again. */
	do {
		if (mkdir(path, 0700) == 0)
			return sync ? file_sync_name(path, err) : 0;
		if (errno != EEXIST)
			return error_errno(err, ERROR_SYSTEM, path, "unable to make the directory");
		errno = 0;
	} while (lstat(path, &status) != 0 && errno == ENOENT);
	if (errno != 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to look at it");
	if (!S_ISDIR(status.st_mode))
		return error_set(err, ERROR_SYSTEM, path, "not a directory: move it away");
	return 0;
}

int
storage_open_file(const struct storage *s, const char *path, int flags, struct error *err)
{
	char *directory = path_directory(path);
	int fd = -1;

	if (storage_make_directory(directory, !s->disposable, err) == 0 &&
	    (fd = file_open_plain(path, flags | O_CREAT, 0600)) == -1)
		error_errno(err, ERROR_SYSTEM, path, "unable to open");
	free(directory);
	return fd;
}

/* In a user namespace, root and all owners outside of it are shown as this user. */
#define UNKNOWN_USER 65534

/* A user who may rename entries of a directory above the storage could replace the storage: refuse
 * it. */
static int
refuse_foreign_parent(const char *root, const char *parent, struct error *err)
{
	struct stat status;

	if (stat(parent, &status) != 0)
		return error_errno(err, ERROR_SYSTEM, parent, "unable to look at it");
	if (status.st_uid != 0 && status.st_uid != geteuid() && status.st_uid != UNKNOWN_USER)
		return error_set(err, ERROR_SYSTEM, root, "the storage lies in %s, which belongs to "
		    "another user: set AWF_STORAGE to a directory of your own", parent);
	if ((status.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH)
		return error_set(err, ERROR_SYSTEM, root, "the storage lies in %s, which may be written "
		    "by everybody: chmod o-w %s", parent, parent);
	return 0;
}

/* Checks all directories above one that exists; root: the storage's, or where it would be made. */
static int
refuse_foreign_parents(const char *root, const char *directory, struct error *err)
{
	char *path = realpath(directory, NULL), *end;
	int failed = path == NULL ?
	    error_errno(err, ERROR_SYSTEM, root, "unable to look at the storage") : 0;

	while (failed == 0 && (end = strrchr(path, '/')) != NULL && end > path) {
		*end = '\0';
		failed = refuse_foreign_parent(root, path, err);
	}
	free(path);
	return failed;
}

/* Users who may write into the storage could replace runs: refuse it. */
static int
refuse_foreign(const char *root, struct error *err)
{
	struct stat status;

	if (stat(root, &status) != 0)
		return error_errno(err, ERROR_SYSTEM, root, "unable to look at the storage");
	if (status.st_uid != geteuid())
		return error_set(err, ERROR_SYSTEM, root,
		    "the storage belongs to another user: set AWF_STORAGE to a directory of your own");
	if (status.st_mode & S_IWOTH)
		return error_set(err, ERROR_SYSTEM, root,
		    "the storage may be written by everybody: chmod o-w %s", root);
	return refuse_foreign_parents(root, root, err);
}

int
storage_check(const struct storage *s, bool *there, struct error *err)
{
	char *nearest = path_normal(s->root);
	struct stat status;
	enum sync_mode mode;
	int failed = sync_mode_from_environment(&mode, err);

	/* Find the directory itself, or its nearest ancestor that exists. */
	while (lstat(nearest, &status) != 0 && (errno == ENOENT || errno == ENOTDIR) &&
	    path_climb(&nearest))
		;
	*there = access(s->root, F_OK) == 0;
	if (failed == 0 && !path_is_directory(nearest))
		failed = error_set(err, ERROR_SYSTEM, nearest, "not a directory: move it away");
	if (failed == 0)
		failed = refuse_remote(nearest, err);
	if (failed == 0 && *there)
		failed = refuse_foreign(s->root, err);
	else if (failed == 0 && (failed = refuse_foreign_parent(s->root, nearest, err)) == 0)
		failed = refuse_foreign_parents(s->root, nearest, err);
	if (failed == 0 && access(nearest, R_OK | W_OK | X_OK) != 0)
		failed = error_errno(err, ERROR_SYSTEM, nearest, *there ? "unable to write in it" :
		    "unable to make the storage in it (AWF_STORAGE names another place)");

	/* Check what storage_make_directory() would check: each directory can be written to, or
	 * does not exist yet. */
	for (size_t i = 0; failed == 0 && i < sizeof directories / sizeof directories[0]; i++) {
		char *path = path_join(s->root, directories[i]);

		if (lstat(path, &status) != 0) {
			if (errno != ENOENT)
				failed = error_errno(err, ERROR_SYSTEM, path,
				    "unable to look at it");
		} else if (!S_ISDIR(status.st_mode)) {
			failed = error_set(err, ERROR_SYSTEM, path,
			    "not a directory: move it away");
		} else if (access(path, R_OK | W_OK | X_OK) != 0) {
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to write in it");
		}
		free(path);
	}
	free(nearest);
	return failed;
}

static int
make_all(struct storage *s, struct error *err)
{
	enum sync_mode mode;
	int failed = sync_mode_from_environment(&mode, err) != 0 ||
	    (mode == SYNC_NONE ? directory_make : directory_make_synced)(s->root, 0700, err) != 0 ||
	    refuse_remote(s->root, err) != 0 || refuse_foreign(s->root, err) != 0;
	for (size_t i = 0; !failed && i < sizeof directories / sizeof directories[0]; i++) {
		char *path = path_join(s->root, directories[i]);

		failed = storage_make_directory(path, mode != SYNC_NONE, err) != 0;
		free(path);
	}
	if (failed)
		storage_close(s);
	return failed ? -1 : 0;
}

int
storage_prepare(struct storage *s, struct error *err)
{
	return storage_locate(s, err) == 0 ? make_all(s, err) : -1;
}

int
storage_prepare_for(struct storage *s, const char *const *names, struct error *err)
{
	struct run_ref ref;

	if (storage_locate(s, err) != 0)
		return -1;
	for (; *names != NULL; names++) {
		if (storage_resolve(s, *names, &ref, err) != 0)
			return -1;
		run_ref_free(&ref);
	}
	return make_all(s, err);
}

int
storage_prepare_at(struct storage *s, const char *root, struct error *err)
{
	*s = (struct storage){ .root = memory_text(root) };
	return make_all(s, err);
}
