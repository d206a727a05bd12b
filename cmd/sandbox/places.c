/*
 * The order matters: home directories, the workspace, hidden paths, readable ones, kept ones. A new
 * place is dropped if a place that contains it allows as much. A place that the user did not name
 * must not contain a home directory, must not touch a secret, and must not be reached by a link
 * that sandboxed programs may have made.
 */
#define _GNU_SOURCE /* O_PATH */
#include "sandbox/places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/installation.h"
#include "proc/project_files.h"
#include "sandbox/account.h"
#include "sandbox/grounds.h"
#include "sandbox/examine.h"
#include "sandbox/resolve.h"
#include "sandbox/scripts.h"

/* Directories that programs on any system expect to read. */
static const char *const system_places[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/snap",
	"/nix/store", "/gnu/store", "/proc", "/sys/devices/system/cpu", "/sys/fs/cgroup",
	"/etc/resolv.conf", NULL /* usually a link to elsewhere */
};

/* Some of root's files in it must not be read by others (public.h). */
const char places_configuration[] = "/etc";

static const char *const devices[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", NULL
};

/* Directories beside PREFIX/bin that belong to its programs. */
static const char *const beside_programs[] = {
	"lib", "lib32", "lib64", "libexec", "include", "share", "version", "versions", "plugins", NULL
};

/* Parts of a home directory that no program should read. */
static const char *const secrets[] = {
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker/config.json", ".password-store",
	".mozilla", ".netrc", ".pki", ".git-credentials", ".npmrc", ".pypirc", ".config/awf",
	".config/gcloud", ".config/gh", ".config/git", ".local/share/awf",
	".local/share/keyrings", NULL
};

/* The place that contains the path and allows as much, or NULL. */
static const struct place *
allowed_by(const struct places *p, const char *path, enum place_access access)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].access >= access && p->list[i].access != PLACE_DEVICE &&
		    path_within(path, p->list[i].path))
			return &p->list[i];
	return NULL;
}

/* Takes over path and fd. */
static void
add_found(struct places *p, char *path, int fd, enum place_access access)
{
	if (allowed_by(p, path, access) != NULL) {
		free(path);
		if (fd != -1)
			close(fd);
		return;
	}
	p->list = memory_array(p->list, p->count + 1, sizeof *p->list);
	p->list[p->count++] = (struct place){ path, access, fd };
}

void
places_add(struct places *p, const char *path, enum place_access access)
{
	char *real = realpath(path, NULL);

	if (real != NULL)
		add_found(p, real, -1, access);
}

/* Takes over what was resolved. */
static void
add_resolved(struct places *p, struct resolved *r)
{
	add_found(p, r->path, r->fd, PLACE_READ);
	*r = (struct resolved){ -1, NULL, false, false };
}

/* Whether the path is or contains a home directory, which must not be readable as a whole. */
static bool
holds_home(const struct places *p, const char *path)
{
	for (char **home = p->homes; home != NULL && *home != NULL; home++)
		if (path_within(*home, path))
			return true;
	return false;
}

/* The hidden path that is or contains this one; NULL: none. Home directories are not included: they
 * are hidden except for the places in them. */
static const char *
hidden_by_name(const struct places *p, const char *path)
{
	for (char **hidden = p->hidden; hidden != NULL && *hidden != NULL; hidden++)
		if (path_within(path, *hidden) && !path_within(p->workspace, *hidden) &&
		    !list_has(p->homes, *hidden))
			return *hidden;
	return NULL;
}

/* Whether it is, contains, or is inside of a secret. */
static bool
touches_secret(const struct places *p, const char *path)
{
	bool touches = holds_home(p, path);

	for (char **home = p->homes; !touches && home != NULL && *home != NULL; home++) {
		const char *below = path + strlen(*home) + 1;

		for (size_t i = 0; path_within(path, *home) && !touches && secrets[i] != NULL; i++)
			touches = path_within(below, secrets[i]) || path_within(secrets[i], below);
	}
	return touches || hidden_by_name(p, path) != NULL;
}

/* Adds a place that the user did not name, unless a link that sandboxed programs may have made
 * leads to it. */
static void
add_unasked(struct places *p, const char *path)
{
	struct resolved r;

	if (*path != '/')
		return;
	if (resolve_path(&r, path, p->workspace_fd) == -1) {
		examine_note_error(AT_FDCWD, path);
		return;
	}
	/* The readable part of the configuration is already a place. */
	if (!r.strayed && !touches_secret(p, r.path) &&
	    !path_within(places_configuration, r.path) && !path_within(r.path, places_configuration))
		add_resolved(p, &r);
	resolved_free(&r);
}

/* Adds a directory of programs, and if it is part of an installation, the directories beside it. */
static void
add_programs(struct places *p, const char *directory)
{
	static const char *const names[] = { "bin", "sbin", "shims" };
	char *prefix = path_directory(directory), *parent = path_directory(prefix);
	const bool in_home = list_has(p->homes, parent);
	bool more = false;
	int fd;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		more = more || strcmp(path_base(directory), names[i]) == 0;
	more = more && !holds_home(p, prefix) && allowed_by(p, directory, PLACE_READ) == NULL;
	add_unasked(p, directory);
	fd = more ? open(prefix, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (more && fd == -1)
		examine_note_error(AT_FDCWD, prefix);
	for (size_t i = 0; fd != -1 && beside_programs[i] != NULL; i++) {
		char *path;

		/* PREFIX/share of a prefix in HOME (~/.local/share) does not belong to programs.
		 * Most of the others do not exist. */
		if ((in_home && strcmp(beside_programs[i], "share") == 0) ||
		    faccessat(fd, beside_programs[i], F_OK, 0) != 0)
			continue;
		path = path_join(prefix, beside_programs[i]);
		add_unasked(p, path);
		free(path);
	}
	if (fd != -1)
		close(fd);
	free(parent);
	free(prefix);
}

static void
add_each(struct places *p, const char *list, void (*add)(struct places *, const char *))
{
	for (size_t len; list != NULL && *list != '\0'; list += len + (list[len] == ':')) {
		char *path;

		len = strcspn(list, ":");
		path = memory_copy(list, len);
		if (*path == '/')
			add(p, path);
		free(path);
	}
}

/* Adds a path of the system, where nobody changes names. A path that is hidden itself gets an empty
 * mount; one inside of a hidden path, or a hidden device, is no place. The readable part of the
 * configuration is already one. */
static void
add_of_system(struct places *p, const char *path, enum place_access access)
{
	char *real = realpath(path, NULL);
	const char *hidden = real == NULL ? NULL : hidden_by_name(p, real);

	if (real == NULL || (hidden != NULL && (access == PLACE_DEVICE || strcmp(hidden, real) != 0)) ||
	    (access == PLACE_READ && allowed_by(p, real, PLACE_PUBLIC) != NULL))
		free(real);
	else
		add_found(p, real, -1, access);
}

static int
add_readable(struct places *p, const struct settings *s, struct error *err)
{
	const char *first = getenv("AWF_WORKFLOW_DIR");
	char *own = installation_program(), *directory;
	struct resolved r;
	int failed = 0;

	add_of_system(p, places_configuration, geteuid() == 0 ? PLACE_PUBLIC : PLACE_READ);
	for (size_t i = 0; system_places[i] != NULL; i++)
		add_of_system(p, system_places[i], PLACE_READ);
	for (size_t i = 0; devices[i] != NULL; i++)
		add_of_system(p, devices[i], PLACE_DEVICE);
	add_each(p, getenv("PATH"), add_programs);
	if (own != NULL) {
		directory = path_directory(own);
		add_unasked(p, directory);
		free(directory);
	}
	free(own);
	/* The program itself, if it is given as a path. */
	if (strchr(s->command[0], '/') != NULL && resolve_path(&r, s->command[0],
	    p->workspace_fd) == 0) {
		if (!r.strayed)
			add_resolved(p, &r);
		resolved_free(&r);
	}
	if (first != NULL)
		add_unasked(p, first);
	add_each(p, getenv("AWF_SANDBOX_PATH"), add_unasked);
	for (char **path = s->readable; path != NULL && *path != NULL && failed == 0; path++) {
		if (resolve_path(&r, *path, p->workspace_fd) == -1)
			return error_errno(err, ERROR_BLOCKED, *path, "unable to let it be read");
		if (holds_home(p, r.path))
			failed = error_set(err, ERROR_BLOCKED, *path,
			    "holds the home directory, which is not for all to read");
		else if (list_has(p->hidden, r.path))
			failed = error_set(err, ERROR_BLOCKED, *path,
			    "is to be read, and to be hidden: it cannot be both");
		else if (r.strayed && allowed_by(p, r.path, PLACE_READ) == NULL)
			failed = error_set(err, ERROR_BLOCKED, *path, "leads to %s by a symbolic link in "
			    "a directory that sandboxed programs can write to, and may be theirs: name "
			    "%s itself", r.path, r.path);
		else
			add_resolved(p, &r);
		resolved_free(&r);
	}
	return failed;
}

/* A path that does not exist cannot be hidden, and need not be. */
static void
places_hide_path(struct places *p, const char *path)
{
	char *real = path == NULL ? NULL : realpath(path, NULL);

	if (real != NULL && strcmp(real, "/") != 0 && !list_has(p->hidden, real))
		list_take(&p->hidden, real);
	else
		free(real);
}

static void
hide_below(struct places *p, const char *parent, const char *name)
{
	char *path = parent == NULL ? NULL : path_join(parent, name);

	places_hide_path(p, path);
	free(path);
}

/* Whether it is in a directory of the system, which everybody reads and no sandboxed program
 * changes. */
static bool
is_of_system(const struct places *p, const char *path)
{
	bool is = false;

	for (size_t i = 0; !is && system_places[i] != NULL; i++)
		is = path_within(path, system_places[i]);
	return is && !path_within(path, p->workspace);
}

/* Handles what a link in the user's configuration leads to: it is hidden like the configuration
 * itself, except for definitions and instructions, which are kept. */
static int
hide_link(struct places *p, const char *path, bool definition, bool read_only, struct error *err)
{
	struct resolved r;
	int failed = 0;

	if (resolve_path(&r, path, p->workspace_fd) == -1) {
		examine_note_error(AT_FDCWD, path);
		return 0;
	}
	if (r.here && !read_only)
		failed = error_set(err, ERROR_BLOCKED, path, "leads to %s by another link in the workspace, which a "
		    "sandboxed program could replace: link to %s itself", r.path, r.path);
	else if (definition)
		list_add(&p->linked, r.path);
	else if (!is_of_system(p, r.path))
		places_hide_path(p, r.path);
	resolved_free(&r);
	return failed;
}

/* Does so for all links in a directory of the configuration, and in the directories in it. */
static int
hide_links(struct places *p, const char *directory, bool top, bool definitions, bool read_only, struct error *err)
{
	static const char *const defined[] = { "agents", "tools", "skills", "AGENTS.md", NULL };
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	struct stat st;
	int failed = 0;

	if (dir == NULL)
		examine_note_error(AT_FDCWD, directory);
	while (dir != NULL && failed == 0 && (entry = readdir(dir)) != NULL) {
		const bool definition = definitions || (top && text_index(entry->d_name, defined) != -1);
		char *path;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    examine_status(dirfd(dir), entry->d_name, &st) != 0)
			continue;
		path = path_join(directory, entry->d_name);
		if (S_ISLNK(st.st_mode))
			failed = hide_link(p, path, definition, read_only, err);
		if (failed == 0 && top && !S_ISREG(st.st_mode) && path_is_directory(path))
			failed = hide_links(p, path, false, definition, read_only, err);
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
	return failed;
}

/* Hides a directory of the configuration, and what its links lead to. */
static int
hide_configuration(struct places *p, const char *parent, const char *name, bool read_only, struct error *err)
{
	char *path = parent == NULL ? NULL : path_join(parent, name);
	const bool there = path != NULL && path_is_directory(path);
	int failed = there ? hide_link(p, path, false, read_only, err) : 0;

	if (there && failed == 0)
		failed = hide_links(p, path, true, false, read_only, err);
	free(path);
	return failed;
}

/* Finds the directory that the command starts in; one given by the user must be in the workspace
 * after following links. */
static int
find_start(struct places *p, const struct settings *s, struct error *err)
{
	char path[PATH_MAX];

	if (s->directory == NULL) {
		p->start = memory_text(getcwd(path, sizeof path) != NULL && path_within(path, p->workspace) ?
		    path : p->workspace);
		return 0;
	}
	p->start = realpath(s->directory, NULL);
	if (p->start == NULL)
		return error_errno(err, ERROR_BLOCKED, s->directory, "unable to start in it");
	return path_within(p->start, p->workspace) ? 0 : error_set(err, ERROR_BLOCKED, s->directory,
	    "is no directory of the workspace %s: a program in a sandbox starts nowhere else", p->workspace);
}

static int
find_workspace(struct places *p, const struct settings *s, struct error *err)
{
	const char *storage = getenv("AWF_STORAGE");
	char path[PATH_MAX], *link, *copy, *real, **kept;
	struct stat st;
	ssize_t len;

	p->workspace_fd = open(s->workspace, O_PATH | O_CLOEXEC);
	if (p->workspace_fd == -1)
		return error_errno(err, ERROR_BLOCKED, s->workspace, "unable to use it as the workspace");
	/* Read the path from the open directory: meanwhile its name may have been given to
	 * another one. */
	link = memory_format("/proc/self/fd/%d", p->workspace_fd);
	len = readlink(link, path, sizeof path - 1);
	free(link);
	if (len <= 0)
		return error_errno(err, ERROR_BLOCKED, s->workspace, "unable to tell where it lies");
	p->workspace = memory_copy(path, (size_t)len);

	/* AWF's own directories are hidden, and those that the user names. */
	places_hide_path(p, storage);
	places_hide_path(p, getenv("AWF_AUDIT_LOG"));
	if (hide_configuration(p, getenv("XDG_CONFIG_HOME"), "awf", s->read_only, err) == -1)
		return -1;
	hide_below(p, getenv("XDG_DATA_HOME"), "awf");
	for (char **home = p->homes; home != NULL && *home != NULL; home++) {
		if (hide_configuration(p, *home, ".config/awf", s->read_only, err) == -1)
			return -1;
		hide_below(p, *home, ".local/share/awf");
	}
	for (char **hidden = s->hidden; hidden != NULL && *hidden != NULL; hidden++)
		places_hide_path(p, *hidden);

	/* The copy that a replay works in is in the replay's storage, of which only the copy is
	 * visible: so the directories that contain it cannot be hidden. */
	copy = storage == NULL ? NULL : path_join(storage, "workspace");
	real = copy == NULL ? NULL : realpath(copy, NULL);
	if (real != NULL && strcmp(p->workspace, real) == 0 && p->hidden != NULL) {
		kept = p->hidden;
		for (char **hidden = p->hidden; *hidden != NULL; hidden++)
			if (path_within(p->workspace, *hidden))
				free(*hidden);
			else
				*kept++ = *hidden;
		*kept = NULL;
	}
	free(real);
	free(copy);

	if (fstat(p->workspace_fd, &st) != 0 || !S_ISDIR(st.st_mode))
		return error_set(err, ERROR_BLOCKED, p->workspace, "is no directory, and no workspace");
	if (strcmp(p->workspace, "/") == 0 || list_has(p->homes, p->workspace))
		return error_set(err, ERROR_BLOCKED, p->workspace, "can be no workspace: a sandbox "
		    "opens no whole home directory or machine (start in a directory below it, or "
		    "say --sandbox none)");
	for (char **hidden = p->hidden; hidden != NULL && *hidden != NULL; hidden++)
		if (path_within(p->workspace, *hidden))
			return error_set(err, ERROR_BLOCKED, p->workspace,
			    "can be no workspace: it lies in %s, which is to be hidden", *hidden);
	if (!s->read_only && grounds_keep(p->workspace, err) == -1)
		return -1;
	for (char **home = p->homes; home != NULL && *home != NULL; home++)
		places_hide_path(p, *home);
	if (find_start(p, s, err) == -1)
		return -1;
	add_found(p, memory_text(p->workspace), fcntl(p->workspace_fd, F_DUPFD_CLOEXEC, 0),
	    s->read_only ? PLACE_READ : PLACE_WRITE);
	return 0;
}

/* Whether a containing directory hides it too: no place inside of that directory, which would be
 * visible, has it. */
static bool
hidden_within(const struct places *p, const char *path)
{
	for (char **other = p->hidden; *other != NULL; other++) {
		bool within = strcmp(*other, path) != 0 && path_within(path, *other);

		for (size_t i = 0; within && i < p->count; i++)
			within = !path_within(p->list[i].path, *other) ||
			    strcmp(p->list[i].path, *other) == 0 || !path_within(path, p->list[i].path);
		if (within)
			return true;
	}
	return false;
}

static void
add_home(struct places *p, const char *home)
{
	char *real = home == NULL || *home != '/' ? NULL : realpath(home, NULL);

	if (real != NULL && strcmp(real, "/") != 0 && !list_has(p->homes, real))
		list_take(&p->homes, real);
	else
		free(real);
}

/* Paths in a workspace that AWF, git or editors use outside of any sandbox, in addition to project
 * files of other programs (proc/project_files.h). */
static const char *const trusted[] = { "tools", "agents", "skills", ".awf/skills", ".git/hooks",
	".git/config", ".git/config.worktree", ".husky", ".idea", ".vscode", NULL };

/* In a work tree whose repository is elsewhere: the file that says where. */
static const char repository[] = ".git";

/* The absolute path of something in the workspace; NULL if it is not there. To be freed by
 * the caller. */
static char *
path_in_workspace(const struct places *p, const char *path)
{
	char *joined = *path == '/' ? memory_text(path) : path_join(p->workspace, path);
	char *normal = path_normal(joined);

	free(joined);
	if (path_within(normal, p->workspace) && strcmp(normal, p->workspace) != 0)
		return normal;
	free(normal);
	return NULL;
}

void
places_keep(struct places *p, const char *path)
{
	char *whole = path_in_workspace(p, path);
	bool open = whole == NULL || list_has(p->kept, whole);

	for (char **opened = p->opened; !open && opened != NULL && *opened != NULL; opened++)
		open = path_within(whole, *opened);
	if (open)
		free(whole);
	else
		list_take(&p->kept, whole);
}

/* Keeps the trusted paths below the directory that are in the workspace. */
static void
keep_trusted(struct places *p, const char *directory)
{
	struct stat st;
	char *path;

	for (size_t i = 0; trusted[i] != NULL; i++) {
		path = path_join(directory, trusted[i]);
		places_keep(p, path);
		free(path);
	}
	for (const struct project_file *file = project_files; file->program != NULL; file++) {
		path = file->use == PROJECT_FILE_RUNS ? path_join(directory, file->name) : NULL;
		if (path != NULL)
			places_keep(p, path);
		free(path);
	}
	path = path_join(directory, repository);
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		places_keep(p, path);
	free(path);
}

/* Keeps the directories of an environment variable that is a list like PATH. Those that do not
 * exist are kept only if AWF uses them (taken_up), so that it is noted when one is made. */
static void
keep_listed(struct places *p, const char *name, bool taken_up)
{
	char **list = list_split(getenv(name), ':');

	for (char **directory = list; directory != NULL && *directory != NULL; directory++) {
		char *path = **directory == '/' ? memory_text(*directory) : path_join(p->start, *directory);

		if (**directory != '\0' && (taken_up || path_is_directory(path)))
			places_keep(p, path);
		free(path);
	}
	list_free(list);
}

bool
places_taken_up(const char *name)
{
	return strncmp(name, ".git/", 5) != 0 && strstr(name, "/.git/") == NULL;
}

int
places_find(struct places *p, const struct settings *s, struct error *err)
{
	const char *script = getenv("AWF_WORKFLOW_FILE"), *first = getenv("AWF_WORKFLOW_DIR");
	char **seen = NULL, **scripts, *home;

	*p = (struct places){ .workspace_fd = -1 };
	examine_begin();
	if (account_home(&home, err) == -1)
		return -1;
	/* HOME may be another directory than the user's, or not set. */
	add_home(p, getenv("HOME"));
	add_home(p, home);
	free(home);
	if (find_workspace(p, s, err) == -1 || add_readable(p, s, err) == -1 || examine_check(err) == -1)
		return -1;

	/* What no place shows need not be hidden. */
	for (char **path = p->hidden; path != NULL && *path != NULL; path++)
		if (allowed_by(p, *path, PLACE_PUBLIC) != NULL && !hidden_within(p, *path))
			list_add(&seen, *path);
	list_free(p->hidden);
	p->hidden = seen;

	if (s->read_only)
		return 0;
	for (char **path = s->opened; path != NULL && *path != NULL; path++) {
		char *whole = path_in_workspace(p, *path);

		if (whole != NULL)
			list_take(&p->opened, whole);
	}
	keep_trusted(p, p->workspace);
	keep_trusted(p, p->start);
	if (first != NULL && *first == '/')
		keep_trusted(p, first);
	if (script != NULL && *script == '/')
		places_keep(p, script);
	scripts = scripts_below(p->workspace);
	for (char **path = scripts; path != NULL && *path != NULL; path++)
		places_keep(p, *path);
	list_free(scripts);
	for (char **path = p->linked; path != NULL && *path != NULL; path++)
		places_keep(p, *path);
	keep_listed(p, "AWF_TOOL_PATH", true);
	keep_listed(p, "AWF_PROVIDER_PATH", false);
	keep_listed(p, "PATH", false);
	for (char **path = s->kept; path != NULL && *path != NULL; path++)
		places_keep(p, *path);
	return 0;
}

void
places_free(struct places *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->list[i].path);
		if (p->list[i].fd != -1)
			close(p->list[i].fd);
	}
	free(p->list);
	list_free(p->hidden);
	list_free(p->homes);
	list_free(p->linked);
	list_free(p->kept);
	list_free(p->opened);
	if (p->workspace_fd != -1)
		close(p->workspace_fd);
	free(p->workspace);
	free(p->start);
	free(p->temporary);
}
