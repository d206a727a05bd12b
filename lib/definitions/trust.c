/*
 * To whom a definition belongs, its repository, and what the user has allowed. trust_items.c
 * describes what would run.
 */
#include "definitions/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/dialect.h"
#include "definitions/trust_files.h"
#include "definitions/trust_project.h"
#include "definitions/trust_text.h"
#include "io/beneath.h"
#include "io/config.h"
#include "io/file.h"
#include "io/installation.h"
#include "io/terminal.h"
#include "limits/trust_option.h"
#include "proc/libexec.h"
#include "workspace/sandboxed_times.h"

#define TRUST_FILE "trust"
#define FILE_LIMIT ((size_t)4 << 20)
#define ALLOW "allow "
#define EDITS "edits "

/* ---- the file ---- */

/* The lines of the user's file; if it does not exist there are none. */
struct trusted {
	char **allowed;     /* "DIGEST REPOSITORY" */
	char **edits;       /* directories */
	struct error error; /* why the file could not be read */
};

static void
trusted_add_line(struct trusted *t, const char *line, size_t len)
{
	char *text = memory_copy(line, len);

	if (strncmp(text, ALLOW, strlen(ALLOW)) == 0)
		list_add(&t->allowed, text + strlen(ALLOW));
	else if (strncmp(text, EDITS, strlen(EDITS)) == 0)
		list_add(&t->edits, text + strlen(EDITS));
	free(text);
}

static struct trusted trusted;
static bool trusted_is_read;

/* Reads the file, only once. Nobody else may be able to write it. */
static const struct trusted *
trusted_read(void)
{
	struct buffer text = BUFFER_INIT;
	char *path = trusted_is_read ? NULL : path_data(TRUST_FILE);
	const char *rest, *line;
	size_t len;
	int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	trusted_is_read = true;
	if (path != NULL && fd == -1 && errno != ENOENT)
		error_errno(&trusted.error, ERROR_SYSTEM, path, "unable to open");
	if (fd != -1 && file_check_private(fd, path, &trusted.error) == 0) {
		if (file_read(fd, &text, FILE_LIMIT) != 0)
			error_errno(&trusted.error, ERROR_SYSTEM, path, "unable to read");
		rest = buffer_string(&text);
		while (trusted.error.code == ERROR_NONE && (line = text_part(&rest, '\n', &len)) != NULL)
			trusted_add_line(&trusted, line, len);
	}
	file_close(&fd);
	buffer_free(&text);
	free(path);
	return &trusted;
}

const struct error *
trust_file_error(void)
{
	return trusted_read()->error.code == ERROR_NONE ? NULL : &trusted.error;
}

/* Makes an absolute directory with its parents, accessible only to this user. */
static int
directories_make(const char *directory, struct error *err)
{
	char *path = memory_text(directory);
	int failed = 0;

	for (char *slash = path; failed == 0 && slash != NULL;) {
		slash = strchr(slash + 1, '/');
		if (slash != NULL)
			*slash = '\0';
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to make the directory");
		if (slash != NULL)
			*slash = '/';
	}
	free(path);
	return failed;
}

char *
trust_directory(struct error *err)
{
	char *path = path_data(TRUST_FILE), *directory = path == NULL ? NULL : path_directory(path);

	if (path == NULL)
		error_set(err, ERROR_SYSTEM, "HOME", "not set: there is no place to store what "
		    "is allowed");
	if (directory != NULL && directories_make(directory, err) != 0) {
		free(directory);
		directory = NULL;
	}
	free(path);
	return directory;
}

void
trust_forget(void)
{
	list_free(trusted.allowed);
	list_free(trusted.edits);
	trusted = (struct trusted){ .allowed = NULL };
	trusted_is_read = false;
}

/* Rewrites the file: its lines except those for which drop() is true, then `more`. */
static int
trusted_write(bool (*drop)(const char *line, const char *directory), const char *directory,
    const struct buffer *more, size_t *dropped, struct error *err)
{
	char *place = trust_directory(err), *path, *lock;
	struct buffer text = BUFFER_INIT, out = BUFFER_INIT;
	struct replacement file;
	const char *rest, *line;
	size_t len;
	int failed = 0, lock_fd = -1, locked = 0;

	if (place == NULL)
		return -1;
	path = path_join(place, TRUST_FILE);
	/* Lock it, so that two processes do not overwrite each other's lines. */
	lock = memory_format("%s.lock", path);
	if (failed == 0) {
		lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		while (lock_fd != -1 && (locked = flock(lock_fd, LOCK_EX)) == -1 && errno == EINTR)
			;
		if (lock_fd == -1 || locked == -1)
			failed = error_errno(err, ERROR_SYSTEM, lock, "unable to lock");
	}
	if (failed == 0 && access(path, F_OK) == 0)
		failed = file_load(path, FILE_LIMIT, &text, err);
	rest = buffer_string(&text);
	while (failed == 0 && (line = text_part(&rest, '\n', &len)) != NULL) {
		char *copy = memory_copy(line, len);

		if (drop != NULL && drop(copy, directory))
			*dropped += 1;
		else if (len > 0)
			buffer_format(&out, "%s\n", copy);
		free(copy);
	}
	if (failed == 0 && more != NULL)
		buffer_append(&out, more->data, more->len);
	if (failed == 0)
		failed = replacement_open(&file, path, 0600, err);
	if (failed == 0 && file_write(file.fd, out.data, out.len) != 0) {
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
		replacement_abandon(&file);
	} else if (failed == 0) {
		failed = replacement_commit(&file, true, err);
	}
	trust_forget();
	file_close(&lock_fd);
	free(lock);
	buffer_free(&text);
	buffer_free(&out);
	free(place);
	free(path);
	return failed;
}

/* ---- whose a definition is ---- */

/* Whether only this user and root can replace the directory or its contents: it belongs to this
 * user and others may not write to it, and the same holds for its parents, up to the root. In a
 * directory for all users, such as /tmp, others cannot rename this user's files (the sticky
 * bit). */
static bool
directory_is_own(const char *directory)
{
	char *path = memory_text(directory);
	struct stat status;
	bool own = stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();

	while (own) {
		own = stat(path, &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0) &&
		    ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0 ||
		    ((status.st_mode & S_ISVTX) != 0 && strcmp(path, directory) != 0) ||
		    ((status.st_mode & S_IWOTH) == 0 && status.st_gid == getegid() && status.st_uid != 0));
		if (!path_climb(&path))
			break;
	}
	free(path);
	return own;
}

/* Whether a path is where the user's own definitions are searched for: in AWF's configuration, or
 * where other programs keep them. Other directories next to these, such as ~/.config/nvim, may be
 * repositories of others. */
static bool
is_users_place(const char *path)
{
	char *config = path_config(""), *real = config == NULL ? NULL : realpath(config, NULL);
	char *others = dialect_user_directories();
	const char *directories = others, *directory;
	bool is = (real != NULL && path_within(path, real)) || (config != NULL && path_within(path, config));
	size_t len;

	free(real);
	free(config);
	while (!is && (directory = text_part(&directories, ':', &len)) != NULL) {
		char *place = memory_copy(directory, len);

		real = realpath(place, NULL);
		is = (real != NULL && path_within(path, real)) || path_within(path, place);
		free(real);
		free(place);
	}
	free(others);
	return is;
}

/* Whether a path belongs to AWF: to the share, documentation and programs of an installation, or to
 * the source tree. */
static bool
is_systems_place(const char *path)
{
	char *share = realpath(installation_share(), NULL), *above, *place, *libexec = libexec_path();
	const char *directories = libexec, *directory;
	bool is = false;
	size_t len;

	if (share != NULL) {
		above = path_directory(share);
		place = strcmp(path_base(share), "awf") == 0 ? path_join(above, "doc/awf") : memory_text(above);
		is = path_within(path, share) || path_within(path, place);
		free(above);
		free(place);
	}
	while (!is && (directory = text_part(&directories, ':', &len)) != NULL) {
		char *given = memory_copy(directory, len), *real = realpath(given, NULL);

		is = real != NULL && path_within(path, real);
		free(real);
		free(given);
	}
	free(libexec);
	free(share);
	return is;
}

/* Whether a directory has a `.git` of any kind. */
static bool
has_git(const char *directory, struct stat *status)
{
	char *git = path_join(directory, ".git");
	const bool has = lstat(git, status) == 0;

	free(git);
	return has;
}

/* Whether a repository begins between a directory and a path inside of it: what was cloned there
 * belongs to others. */
static bool
is_repository_between(const char *path, const char *directory)
{
	char *at = path_directory(path);
	struct stat status;
	bool found = false;

	for (; !found && path_within(at, directory) && strcmp(at, directory) != 0; path_climb(&at))
		found = has_git(at, &status);
	free(at);
	return found;
}

/* Whether the user has said about a directory that only the user edits it. */
static bool
is_edited(const char *path)
{
	const struct trusted *t = trusted_read();

	for (char **directory = t->edits; directory != NULL && *directory != NULL; directory++)
		if (path_within(path, *directory) && !is_repository_between(path, *directory) &&
		    directory_is_own(*directory))
			return true;
	return false;
}

static enum origin
origin_of_place(const char *real)
{
	if (is_systems_place(real))
		return ORIGIN_SYSTEM;
	if (is_users_place(real))
		return ORIGIN_USER;
	return is_edited(real) ? ORIGIN_EDITED : ORIGIN_PROJECT;
}

char *
trust_written(const char *path)
{
	char *real = realpath(path, NULL), *checkout = NULL, *written = NULL;
	struct trust_files found;

	if (real != NULL && is_edited(real)) {
		free(trust_project(path, &checkout));
		trust_files_find_one(&found, path, checkout);
		for (char **file = found.files; file != NULL && *file != NULL; file++)
			list_add(&found.links, *file);
		for (char **link = found.links; written == NULL && link != NULL && *link != NULL; link++)
			if (sandboxed_times_have(*link))
				written = memory_text(*link + strlen(checkout) + (strcmp(checkout, "/") != 0));
		list_free(found.files);
		list_free(found.links);
	}
	free(checkout);
	free(real);
	return written;
}

/* Whether the text of a path is in a project: a link on the way does not make the file the
 * user's. */
static bool
is_projects_name(const char *path)
{
	char here[PATH_MAX], *absolute = *path == '/' || getcwd(here, sizeof here) == NULL ? memory_text(path) :
	    path_join(here, path), *normal = path_normal(absolute);
	const bool is = origin_of_place(normal) == ORIGIN_PROJECT;

	free(normal);
	free(absolute);
	return is;
}

/* Both the place of the file and that of a link's target count: programs are searched for next to
 * the file. */
enum origin
trust_origin(const char *path)
{
	char *real = realpath(path, NULL), *above = path_directory(path), *stands = realpath(above, NULL);
	char *written = NULL;
	enum origin origin = ORIGIN_PROJECT, other;

	if (real != NULL && stands != NULL) {
		char *place = path_join(stands, path_base(path));

		origin = origin_of_place(real);
		other = strcmp(place, real) == 0 ? origin : origin_of_place(place);
		origin = other > origin ? other : origin;
		free(place);
	}
	if (origin == ORIGIN_USER && is_projects_name(path))
		origin = ORIGIN_PROJECT;
	if (origin == ORIGIN_EDITED && (written = trust_written(path)) != NULL)
		origin = ORIGIN_PROJECT;
	free(written);
	free(stands);
	free(above);
	free(real);
	return origin;
}

/* The text of a small file without its LF, to be freed by the caller; NULL: it cannot be read. */
static char *
read_line_of(const char *directory, const char *name)
{
	char *path = path_join(directory, name);
	struct buffer text = BUFFER_INIT;
	char *line = NULL;

	if (definition_exists(path) && file_load(path, PATH_MAX, &text, NULL) == 0 && text.len > 0)
		line = memory_copy(text.data, strcspn(text.data, "\r\n"));
	buffer_free(&text);
	free(path);
	return line;
}

/* The absolute path, with links resolved, of a text that is relative to a directory. NULL: it does
 * not exist. */
static char *
trust_resolve_path(const char *directory, const char *text)
{
	char *path = *text == '/' ? memory_text(text) : path_join(directory, text);
	char *real = realpath(path, NULL);

	free(path);
	return real;
}

/* The main checkout of a worktree, whose `.git` is a file. The checkout must name the worktree,
 * too: otherwise any repository could claim to be a worktree of another. NULL: it is not a
 * worktree. */
static char *
main_checkout(const char *worktree)
{
	static const char prefix[] = "gitdir: ";
	char *said = read_line_of(worktree, ".git"), *own = NULL, *back = NULL, *named = NULL;
	char *common = NULL, *git = NULL, *file = NULL, *found = NULL;

	if (said != NULL && strncmp(said, prefix, sizeof prefix - 1) == 0)
		own = trust_resolve_path(worktree, said + sizeof prefix - 1);
	back = own == NULL ? NULL : read_line_of(own, "gitdir");
	named = back == NULL ? NULL : trust_resolve_path(own, back);
	file = trust_resolve_path(worktree, ".git");
	if (named != NULL && file != NULL && strcmp(named, file) == 0)
		common = read_line_of(own, "commondir");
	git = common == NULL ? NULL : trust_resolve_path(own, common);
	/* Its git directory is among the worktrees of the repository. */
	if (git != NULL && strcmp(path_base(git), ".git") == 0) {
		char *worktrees = path_join(git, "worktrees");

		if (path_within(own, worktrees))
			found = path_directory(git);
		free(worktrees);
	}
	free(said);
	free(own);
	free(back);
	free(named);
	free(file);
	free(common);
	free(git);
	return found;
}

/* The repository of a directory. *checkout (may be NULL): the directory that contains `.git`, if
 * there is one; to be freed by the caller. */
static char *
repository_of(const char *directory, char **checkout)
{
	char *real = realpath(directory, NULL);
	char *at = real != NULL ? memory_text(real) : memory_text(directory), *main;
	struct stat status;

	while (!has_git(at, &status))
		if (*at != '/' || !path_climb(&at)) {
			free(at);
			at = real != NULL ? real : memory_text(directory);
			if (checkout != NULL)
				*checkout = memory_text(at);
			return at;
		}
	free(real);
	main = S_ISREG(status.st_mode) ? main_checkout(at) : NULL;
	if (checkout != NULL)
		*checkout = memory_text(at);
	if (main == NULL)
		return at;
	free(at);
	return main;
}

char *
trust_repository(const char *directory)
{
	return repository_of(directory, NULL);
}

/* Without git the project is the step's working directory, or that of its workflow, if the file
 * is below it; otherwise the directory of the file. */
char *
trust_project(const char *file, char **checkout)
{
	char here[PATH_MAX], *real = realpath(file, NULL), *directory, *repository;
	const char *const places[] = { getcwd(here, sizeof here), environment_text("AWF_WORKFLOW_DIR") };
	struct stat status;
	bool there;

	/* If a link leads to a file of the user, the place of the link counts. */
	if (real != NULL && origin_of_place(real) != ORIGIN_PROJECT) {
		free(real);
		real = NULL;
	}
	directory = path_directory(real != NULL ? real : file);
	repository = repository_of(directory, checkout);
	there = has_git(*checkout, &status);
	for (size_t i = 0; !there && i < sizeof places / sizeof *places; i++) {
		char *place = places[i] == NULL ? NULL : realpath(places[i], NULL);

		if (place != NULL && path_within(directory, place)) {
			free(repository);
			free(*checkout);
			repository = memory_text(place);
			*checkout = memory_text(place);
			there = true;
		}
		free(place);
	}
	free(directory);
	free(real);
	return repository;
}

/* The top of a definition's project, judged by the text of its path: a link on the way does not
 * count as a part of it. To be freed by the caller. */
static char *
project_by_name(const char *definition)
{
	char here[PATH_MAX], *absolute, *path, *at;
	struct stat status;

	if (getcwd(here, sizeof here) == NULL)
		memcpy(here, "/", 2);
	absolute = *definition == '/' ? memory_text(definition) : path_join(here, definition);
	path = path_normal(absolute);
	free(absolute);
	at = memory_text(path);
	while (path_climb(&at))
		if (has_git(at, &status)) {
			free(path);
			return at;
		}
	free(at);
	if (path_within(path, here)) {
		free(path);
		return memory_text(here);
	}
	/* agents/NAME.md belongs to the directory that contains agents/. */
	path_climb(&path);
	path_climb(&path);
	return path;
}

/* Opens a file inside a directory: by the text of its path, or with links resolved. -1 with
 * errno. */
static int
beneath_open_any(const char *root, const char *absolute)
{
	char *normal = path_normal(absolute);
	const char *part = beneath_part(root, absolute);
	int directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1, why;

	part = part != NULL ? part : beneath_part(root, normal);
	errno = part == NULL ? EXDEV : errno;
	if (part != NULL && directory != -1)
		fd = beneath_open(directory, part);
	why = errno;
	file_close(&directory);
	free(normal);
	errno = why;
	return fd;
}

/* Opens the target of a link, which must not be a link. -1 with errno: EXDEV if it must not be
 * read. */
static int
linked_file_open(const char *root, const char *file)
{
	char *real = realpath(file, NULL), *real_root = realpath(root, NULL);
	enum origin leads_to = real == NULL ? ORIGIN_PROJECT : origin_of_place(real);
	int fd = -1, why = EXDEV;

	/* Links may lead to the user's own agents, but not to other files next to them, such as
	 * keys. */
	if (real != NULL && (leads_to == ORIGIN_SYSTEM || (leads_to == ORIGIN_USER && text_ends(real, ".md")) ||
	    (real_root != NULL && path_within(real, real_root)))) {
		fd = open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		why = errno;
	}
	free(real);
	free(real_root);
	errno = why;
	return fd;
}

/* Opens a file. -1 with errno; for EXDEV, *root is the project outside of which the file is, to be
 * freed by the caller. */
static int
definition_file_open(const char *definition, const char *file, char **root)
{
	char here[PATH_MAX], *absolute;
	int fd, why;

	*root = NULL;
	/* Links in the user's configuration were made by the user. */
	if (trust_origin(definition) != ORIGIN_PROJECT || !is_projects_name(definition))
		return open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	*root = project_by_name(definition);
	absolute = *file == '/' || getcwd(here, sizeof here) == NULL ? memory_text(file) : path_join(here, file);
	fd = beneath_open_any(*root, absolute);
	/* On older kernels, links are not followed at all: check the target. */
	if (fd == -1 && (errno == EXDEV || errno == ELOOP))
		fd = linked_file_open(*root, file);
	why = errno;
	free(absolute);
	errno = why;
	return fd;
}

static int
refuse_outside(const char *file, const char *root, struct error *err)
{
	return error_set(err, ERROR_DEFINITION, file, "leads out of %s, and is not read for a "
	    "definition of that project: put a copy there", root);
}

int
trust_file_load(const char *definition, const char *file, size_t limit, struct buffer *text, struct error *err)
{
	char *root;
	int fd = definition_file_open(definition, file, &root), result;

	if (fd != -1)
		result = file_read_named(fd, file, limit, text, err);
	else
		result = errno == EXDEV && root != NULL ? refuse_outside(file, root, err) :
		    error_errno(err, ERROR_SYSTEM, file, "unable to open");
	file_close(&fd);
	free(root);
	return result;
}

int
trust_file_check(const char *definition, const char *file, struct error *err)
{
	char *root;
	int fd = definition_file_open(definition, file, &root), result = 0;

	if (fd == -1 && errno == EXDEV && root != NULL)
		result = refuse_outside(file, root, err);
	file_close(&fd);
	free(root);
	return result;
}

/* ---- what would run (trust_items.c) ---- */

void
trust_items_free(struct trust_items *items)
{
	for (size_t i = 0; i < items->count; i++) {
		free(items->list[i].file);
		free(items->list[i].what);
		free(items->list[i].files);
		free(items->list[i].repository);
	}
	free(items->list);
	*items = (struct trust_items){ NULL, 0 };
}

/* ---- whether it may ---- */

bool
trust_list_names(const char *list, const char *word)
{
	return text_has_part(list, ',', word, strlen(word));
}

/* The text of `allow` lines after that word. */
static char *
allowed_line(const struct trust_item *item)
{
	return memory_format("%s %s", item->digest, item->repository);
}

bool
trust_allows(const struct trust_item *item)
{
	char *line = allowed_line(item), *configured = NULL;
	bool allowed = !item->too_large && (list_has(trusted_read()->allowed, line) ||
	    trust_list_names(environment_text(TRUST_VARIABLE), item->digest));

	if (!allowed && !item->too_large && config_read(CONFIG_TRUST, &configured, NULL) == 0)
		allowed = trust_list_names(configured, item->digest);
	free(configured);
	free(line);
	return allowed;
}

int
trust_refuse_too_large(const struct trust_item *item, enum error_code code, struct error *err)
{
	struct buffer what = BUFFER_INIT;

	trust_text_shorten(&what, item->what, TRUST_TEXT_IN_ERROR);
	error_set(err, code, item->file, "%s: may read any file of the project, and these are too many to "
	    "be looked at (%d files, %lld MiB): give it a sandbox, or say awf trust --edits %s if none but your own "
	    "edits reach it", buffer_string(&what), TRUST_PROJECT_FILES, TRUST_PROJECT_BYTES >> 20, item->repository);
	buffer_free(&what);
	return -1;
}

/* ---- the user's decisions ---- */

int
trust_record(const struct trust_items *items, struct error *err)
{
	struct buffer lines = BUFFER_INIT;
	int failed = 0;

	for (size_t i = 0; i < items->count; i++) {
		char *line = allowed_line(&items->list[i]);

		if (strchr(line, '\n') != NULL)
			failed = error_set(err, ERROR_USAGE, items->list[i].repository,
			    "a line feed in its name: it cannot be recorded");
		else if (items->list[i].too_large)
			failed = trust_refuse_too_large(&items->list[i], ERROR_USAGE, err);
		items->list[i].recorded = failed == 0 && !list_has(trusted_read()->allowed, line);
		if (items->list[i].recorded)
			buffer_format(&lines, ALLOW "%s\n", line);
		free(line);
	}
	if (failed == 0 && lines.len > 0)
		failed = trusted_write(NULL, NULL, &lines, NULL, err);
	buffer_free(&lines);
	return failed;
}

static bool
is_line_allowing(const char *line, const char *allowed)
{
	return strncmp(line, ALLOW, strlen(ALLOW)) == 0 && strcmp(line + strlen(ALLOW), allowed) == 0;
}

int
trust_unrecord(const struct trust_items *items, struct error *err)
{
	int failed = 0;

	for (size_t i = 0; failed == 0 && i < items->count; i++) {
		char *line = allowed_line(&items->list[i]);
		size_t dropped = 0;

		if (items->list[i].recorded)
			failed = trusted_write(is_line_allowing, line, NULL, &dropped, err);
		free(line);
	}
	return failed;
}

int
trust_record_edits(const char *directory, struct error *err)
{
	char *real = realpath(directory, NULL);
	struct buffer line = BUFFER_INIT;
	int failed = 0;

	if (real == NULL)
		return error_errno(err, ERROR_USAGE, directory, "unable to find it");
	if (strchr(real, '\n') != NULL)
		failed = error_set(err, ERROR_USAGE, directory, "a line feed in its name: it cannot be recorded");
	else if (!directory_is_own(real))
		failed = error_set(err, ERROR_USAGE, directory, "is not yours alone to write, or what it lies in "
		    "is not: others could edit there");
	buffer_format(&line, EDITS "%s\n", real);
	if (failed == 0 && !list_has(trusted_read()->edits, real))
		failed = trusted_write(NULL, NULL, &line, NULL, err);
	buffer_free(&line);
	free(real);
	return failed;
}

static bool
is_line_of(const char *line, const char *directory)
{
	if (strncmp(line, EDITS, strlen(EDITS)) == 0)
		return strcmp(line + strlen(EDITS), directory) == 0;
	return strncmp(line, ALLOW, strlen(ALLOW)) == 0 && strlen(line) > strlen(ALLOW) + DIGEST_SIZE &&
	    strcmp(line + strlen(ALLOW) + DIGEST_SIZE, directory) == 0;
}

int
trust_revoke(const char *directory, size_t *count, struct error *err)
{
	*count = 0;
	return trusted_write(is_line_of, directory, NULL, count, err);
}

int
trust_list(struct error *err)
{
	const struct trusted *t = trusted_read();

	if (t->error.code != ERROR_NONE) {
		*err = t->error;
		return -1;
	}
	for (char **line = t->edits; line != NULL && *line != NULL; line++)
		terminal_printf(EDITS "%s\n", *line);
	for (char **line = t->allowed; line != NULL && *line != NULL; line++)
		terminal_printf(ALLOW "%s\n", *line);
	return 0;
}
