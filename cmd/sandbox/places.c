#include "sandbox/places.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "sandbox/public.h"

/* What programs of any system expect to read. */
static const char *const system_places[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/snap",
	"/nix/store", "/gnu/store", "/proc", "/sys/devices/system/cpu", "/sys/fs/cgroup",
	"/etc/resolv.conf", NULL
};

/* Of root's files in there some are for nobody else. */
static const char configuration[] = "/etc";

static const char *const devices[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", NULL
};

/* What belongs to the programs of PREFIX/bin. */
static const char *const beside_programs[] = {
	"lib", "lib32", "lib64", "libexec", "include", "share", "version", "versions", "plugins", NULL
};

bool
places_within(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return true;
	return strncmp(path, directory, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* The place that the path lies in, if it allows as much. */
static const struct place *
allowed_by(const struct places *p, const char *path, enum place_access access)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].access >= access && p->list[i].access != PLACE_DEVICE &&
		    places_within(path, p->list[i].path))
			return &p->list[i];
	return NULL;
}

static void
add_resolved(struct places *p, char *path, enum place_access access)
{
	if (allowed_by(p, path, access) != NULL) {
		free(path);
		return;
	}
	p->list = memory_array(p->list, p->count + 1, sizeof *p->list);
	p->list[p->count++] = (struct place){ path, access };
}

void
places_add(struct places *p, const char *path, enum place_access access)
{
	char *real = realpath(path, NULL);

	if (real != NULL)
		add_resolved(p, real, access);
}

/* The home directory as a whole is nobody's to read. */
static bool
holds_home(const struct places *p, const char *path)
{
	return p->home != NULL && places_within(p->home, path);
}

/* What nobody asked for by name. */
static void
add_unasked(struct places *p, const char *path)
{
	char *real = *path == '/' ? realpath(path, NULL) : NULL;

	if (real != NULL && !holds_home(p, real))
		add_resolved(p, real, PLACE_READ);
	else
		free(real);
}

/* PREFIX/share of a prefix that lies in HOME is no program's: ~/.local/share. */
static bool
shares_data(const struct places *p, const char *prefix, const char *name)
{
	char *parent = path_directory(prefix);
	bool shares = strcmp(name, "share") == 0 && p->home != NULL &&
	    strcmp(parent, p->home) == 0;

	free(parent);
	return shares;
}

/* Whether a directory of programs is a part of something bigger. */
static bool
has_prefix(const struct places *p, const char *directory, const char *prefix)
{
	static const char *const names[] = { "bin", "sbin", "shims" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(path_base(directory), names[i]) == 0)
			return !holds_home(p, prefix);
	return false;
}

/* A directory of programs, and what they need beside it. */
static void
add_programs(struct places *p, const char *directory)
{
	char *prefix = path_directory(directory);
	bool more = allowed_by(p, directory, PLACE_READ) == NULL && has_prefix(p, directory, prefix);

	add_unasked(p, directory);
	for (size_t i = 0; more && beside_programs[i] != NULL; i++) {
		char *path = path_join(prefix, beside_programs[i]);

		if (!shares_data(p, prefix, beside_programs[i]))
			add_unasked(p, path);
		free(path);
	}
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

static void
add_own_directory(struct places *p)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
	char *directory;

	if (len <= 0)
		return;
	path[len] = '\0';
	directory = path_directory(path);
	add_unasked(p, directory);
	free(directory);
}

/* The program itself, if it is named by its path. */
static void
add_command(struct places *p, const char *name)
{
	if (strchr(name, '/') != NULL)
		places_add(p, name, PLACE_READ);
}

static int
add_asked(struct places *p, const char *path, struct error *err)
{
	char *real = realpath(path, NULL);

	if (real == NULL)
		return error_errno(err, ERROR_BLOCKED, path, "unable to let it be read");
	if (holds_home(p, real)) {
		free(real);
		return error_set(err, ERROR_BLOCKED, path,
		    "holds the home directory, which is not for all to read");
	}
	add_resolved(p, real, PLACE_READ);
	return 0;
}

static int
add_readable(struct places *p, const struct settings *s, struct error *err)
{
	const char *first = getenv("AWF_WORKFLOW_DIR");

	for (size_t i = 0; system_places[i] != NULL; i++)
		places_add(p, system_places[i], PLACE_READ);
	if (geteuid() == 0)
		public_add(p, configuration);
	else
		places_add(p, configuration, PLACE_READ);
	for (size_t i = 0; devices[i] != NULL; i++)
		places_add(p, devices[i], PLACE_DEVICE);
	add_each(p, getenv("PATH"), add_programs);
	add_own_directory(p);
	add_command(p, s->command[0]);
	if (first != NULL)
		add_unasked(p, first);
	add_each(p, getenv("AWF_SANDBOX_PATH"), add_unasked);
	for (char **path = s->readable; path != NULL && *path != NULL; path++)
		if (add_asked(p, *path, err) == -1)
			return -1;
	return 0;
}

/* What is not there yet cannot be hidden, nor need it be. */
static void
hide(struct places *p, const char *path)
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

	hide(p, path);
	free(path);
}

/* What is of AWF, or was asked for. */
static void
hide_all(struct places *p, const struct settings *s)
{
	hide(p, getenv("AWF_STORAGE"));
	hide(p, getenv("AWF_AUDIT_LOG"));
	hide_below(p, getenv("XDG_CONFIG_HOME"), "awf");
	hide_below(p, getenv("XDG_DATA_HOME"), "awf");
	hide_below(p, p->home, ".config/awf");
	hide_below(p, p->home, ".local/share/awf");
	for (char **path = s->hidden; path != NULL && *path != NULL; path++)
		hide(p, *path);
}

/* Whether it is the copy that a replay works in, which lies in the replay's storage: of that
 * nothing else is seen. */
static bool
is_replays_copy(const struct places *p)
{
	const char *storage = getenv("AWF_STORAGE");
	char *path = storage == NULL ? NULL : path_join(storage, "workspace");
	char *copy = path == NULL ? NULL : realpath(path, NULL);
	bool is = copy != NULL && strcmp(p->workspace, copy) == 0;

	free(copy);
	free(path);
	return is;
}

/* What the workspace lies in cannot be hidden. */
static void
show_around(struct places *p)
{
	char **path = p->hidden, **kept = p->hidden;

	for (; path != NULL && *path != NULL; path++)
		if (places_within(p->workspace, *path))
			free(*path);
		else
			*kept++ = *path;
	if (kept != NULL)
		*kept = NULL;
}

static int
check_workspace(const struct places *p, struct error *err)
{
	if (!path_is_directory(p->workspace))
		return error_set(err, ERROR_BLOCKED, p->workspace, "is no directory, and no workspace");
	if (strcmp(p->workspace, "/") == 0 ||
	    (p->home != NULL && strcmp(p->workspace, p->home) == 0))
		return error_set(err, ERROR_BLOCKED, p->workspace, "can be no workspace: a sandbox "
		    "opens no whole home directory or machine (start in a directory below it, or "
		    "say --sandbox none)");
	for (char **path = p->hidden; path != NULL && *path != NULL; path++)
		if (places_within(p->workspace, *path))
			return error_set(err, ERROR_BLOCKED, p->workspace,
			    "can be no workspace: it lies in %s, which is to be hidden", *path);
	return 0;
}

static int
find_workspace(struct places *p, const struct settings *s, struct error *err)
{
	char here[PATH_MAX];

	p->workspace = realpath(s->workspace, NULL);
	if (p->workspace == NULL)
		return error_errno(err, ERROR_BLOCKED, s->workspace, "unable to use it as the workspace");
	hide_all(p, s);
	if (is_replays_copy(p))
		show_around(p);
	if (check_workspace(p, err) == -1)
		return -1;
	hide(p, p->home);
	p->start = memory_text(getcwd(here, sizeof here) != NULL &&
	    places_within(here, p->workspace) ? here : p->workspace);
	places_add(p, p->workspace, s->read_only ? PLACE_READ : PLACE_WRITE);
	return 0;
}

/* Whether a place lies in a directory and shows the path. */
static bool
shown_in(const struct places *p, const char *directory, const char *path)
{
	for (size_t i = 0; i < p->count; i++)
		if (places_within(p->list[i].path, directory) && places_within(path, p->list[i].path))
			return true;
	return false;
}

/* Whether it is hidden with what it lies in. */
static bool
hidden_within(const struct places *p, const char *path)
{
	for (char **other = p->hidden; *other != NULL; other++)
		if (strcmp(*other, path) != 0 && places_within(path, *other) &&
		    !shown_in(p, *other, path))
			return true;
	return false;
}

/* What no place shows need not be hidden. */
static void
forget_unseen(struct places *p)
{
	char **seen = NULL;

	for (char **path = p->hidden; path != NULL && *path != NULL; path++)
		if (allowed_by(p, *path, PLACE_READ) != NULL && !hidden_within(p, *path))
			list_add(&seen, *path);
	list_free(p->hidden);
	p->hidden = seen;
}

static char *
find_home(void)
{
	const char *home = getenv("HOME");
	char *real = home == NULL || *home != '/' ? NULL : realpath(home, NULL);

	if (real == NULL || strcmp(real, "/") != 0)
		return real;
	free(real);
	return NULL;
}

int
places_find(struct places *p, const struct settings *s, struct error *err)
{
	*p = (struct places){ .home = find_home() };
	if (find_workspace(p, s, err) == -1 || add_readable(p, s, err) == -1)
		return -1;
	forget_unseen(p);
	return 0;
}

void
places_free(struct places *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i].path);
	free(p->list);
	list_free(p->hidden);
	free(p->home);
	free(p->workspace);
	free(p->start);
	free(p->temporary);
}
