/* Each word of what was printed is taken for a path, a program in PATH, or a module of Node or
 * Python. Where it leads is followed link by link; each place on the way that lies in a private
 * place of the isolation (isolate/isolate.h), and is not in what the replay saw of those, needs a
 * directory: the tree of a program with what it needs beside it, of a module its package. */
#include "rerun/unseen.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/beneath.h"
#include "io/file.h"
#include "transcript/event_keys.h"

#define WORDS_MAX 256
#define LINKS_MAX 40
#define ENTRIES_MAX 4096
#define FILE_LIMIT ((size_t)1 << 20)
/* What ends a word of a message. */
#define ENDS " \t\r\n\"'`:;,()[]{}<>="

struct search {
	const struct replay_env_spec *spec;
	char *list;      /* the recorded PATH; NULL: none */
	char *home;      /* without links; NULL */
	char **seen;     /* directories, without links */
	char **missing;  /* those that --visible has to name */
	char **programs; /* files whose places were followed: each once */
};

static void unseen_follow_program(struct search *s, const char *path);

/* ---- which directory shows a place ---- */

static bool
unseen_directory_has(const char *directory, const char *name)
{
	char *path = path_join(directory, name);
	const bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

/* The private place that a path without links lies below, which itself is shown to nobody; NULL:
 * none. */
static const char *
private_place(const struct search *s, const char *path)
{
	if (s->home != NULL && strcmp(s->home, "/") != 0 && strcmp(s->home, path) != 0 &&
	    path_within(path, s->home))
		return s->home;
	for (const char *const *place = isolate_private; *place != NULL; place++)
		if (strcmp(*place, path) != 0 && path_within(path, *place))
			return *place;
	return NULL;
}

/* The highest directory up to below the place that is a package of Node or Python; NULL: none. */
static char *
package_of(const char *directory, const char *place)
{
	static const char *const marks[] = { "package.json", "node_modules", "pyproject.toml", "setup.py", NULL };
	char *at = memory_text(directory), *found = NULL;

	for (; path_within(at, place) && strcmp(at, place) != 0; path_climb(&at))
		for (size_t i = 0; marks[i] != NULL; i++)
			if (unseen_directory_has(at, marks[i])) {
				free(found);
				found = memory_text(at);
				break;
			}
	free(at);
	return found;
}

static void
unseen_add_missing(struct search *s, const char *directory, const char *place)
{
	if (strcmp(directory, place) != 0 && !list_has(s->missing, directory))
		list_add(&s->missing, directory);
}

/* A program in .../bin needs what lies beside that, unless everybody's is there. */
static void
miss_program(struct search *s, const char *directory, const char *place)
{
	static const char *const programs[] = { "bin", "sbin", "libexec", "shims", NULL };
	char *prefix = path_directory(directory), *lib = path_join(prefix, "lib");

	if (text_index(path_base(directory), programs) == -1) {
		unseen_add_missing(s, directory, place);
	} else if (strcmp(prefix, place) != 0 && strcmp(path_base(prefix), ".local") != 0) {
		unseen_add_missing(s, prefix, place);
	} else {
		unseen_add_missing(s, directory, place);
		if (access(lib, F_OK) == 0)
			unseen_add_missing(s, lib, place);
	}
	free(lib);
	free(prefix);
}

/* Whether names of what holds secrets are in it: they are not told. */
static bool
is_secret(const char *part)
{
	static const char *const secret[] = { ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker",
		".password-store", ".config", ".mozilla", NULL };
	char *first = memory_copy(part, strcspn(part, "/"));
	const bool is = text_index(first, secret) != -1;

	free(first);
	return is;
}

/* A place without links, of any kind. ~/.pyenv is of use as a whole only, while ~/.local is
 * everybody's. */
static void
place_needs(struct search *s, const char *path)
{
	static const char *const shared[] = { ".local", ".cache", ".awf", NULL };
	const char *place = private_place(s, path), *part;
	char *first, *directory, *package;
	const char *modules;

	for (char **seen = s->seen; place != NULL && seen != NULL && *seen != NULL; seen++)
		if (path_within(path, *seen))
			return;
	if (place == NULL)
		return;
	part = beneath_part(place, path);
	if (place == s->home && is_secret(part))
		return;
	first = memory_copy(part, strcspn(part, "/"));
	if (place == s->home && *first == '.' && text_index(first, shared) == -1 && strchr(part, '/') != NULL) {
		directory = path_join(place, first);
		unseen_add_missing(s, directory, place);
		free(directory);
		free(first);
		return;
	}
	free(first);
	directory = path_is_directory(path) ? memory_text(path) : path_directory(path);
	modules = strstr(directory, "/site-packages");
	package = modules != NULL ? memory_copy(directory, (size_t)(modules - directory) + strlen("/site-packages")) :
	    package_of(directory, place);
	if (package != NULL)
		unseen_add_missing(s, package, place);
	else
		miss_program(s, directory, place);
	free(package);
	free(directory);
}

/* ---- where a path leads ---- */

/* Whether something is there: each link on the way, and the end, is a place that is needed. */
static bool
unseen_resolve_path(struct search *s, const char *path, char out[PATH_MAX])
{
	char rest[PATH_MAX], next[PATH_MAX], link[PATH_MAX], joined[PATH_MAX];
	int links = 0;

	if (snprintf(rest, sizeof rest, "%s", path) >= (int)sizeof rest)
		return false;
	out[0] = '\0';
	for (;;) {
		size_t skip = strspn(rest, "/"), len = strcspn(rest + skip, "/");
		struct stat st;
		ssize_t got;

		if (len == 0)
			break;
		if (len == 1 && rest[skip] == '.') {
			memmove(rest, rest + skip + len, strlen(rest + skip + len) + 1);
			continue;
		}
		if (len == 2 && strncmp(rest + skip, "..", 2) == 0) {
			char *slash = strrchr(out, '/');

			if (slash != NULL)
				*slash = '\0';
			memmove(rest, rest + skip + len, strlen(rest + skip + len) + 1);
			continue;
		}
		if (snprintf(next, sizeof next, "%s/%.*s", out, (int)len, rest + skip) >= (int)sizeof next ||
		    lstat(next, &st) != 0)
			return false;
		memmove(rest, rest + skip + len, strlen(rest + skip + len) + 1);
		if (!S_ISLNK(st.st_mode)) {
			memcpy(out, next, strlen(next) + 1);
			continue;
		}
		if (++links > LINKS_MAX || (got = readlink(next, link, sizeof link - 1)) <= 0)
			return false;
		link[got] = '\0';
		place_needs(s, next);
		if (snprintf(joined, sizeof joined, "%s/%s", link, rest) >= (int)sizeof joined)
			return false;
		memcpy(rest, joined, strlen(joined) + 1);
		if (link[0] == '/')
			out[0] = '\0';
	}
	return true;
}

/* Each word of a file that is an absolute path. */
static void
follow_words_of(struct search *s, const char *file)
{
	struct buffer text = BUFFER_INIT;
	const char *at;

	if (file_load(file, FILE_LIMIT, &text, NULL) == 0)
		for (at = buffer_string(&text); *(at += strspn(at, ENDS)) != '\0'; at += strcspn(at, ENDS)) {
			char *word = memory_copy(at, strcspn(at, ENDS));

			if (*word == '/' && word[1] != '\0')
				unseen_follow_program(s, word);
			free(word);
		}
	buffer_free(&text);
}

/* What an environment, or a user's directory of modules, takes from elsewhere: .pth files, and those
 * by which setuptools finds what is edited. */
static void
follow_site(struct search *s, const char *site)
{
	DIR *dir = opendir(site);
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (text_ends(entry->d_name, ".pth") || strncmp(entry->d_name, "__editable__", 12) == 0) {
			char *file = path_join(site, entry->d_name);

			follow_words_of(s, file);
			free(file);
		}
	if (dir != NULL)
		closedir(dir);
}

/* PREFIX/lib/python3.N/site-packages; module NULL: none is looked for. */
static void
follow_prefix(struct search *s, const char *prefix, const char *module)
{
	char *lib = path_join(prefix, "lib"), *site, *path;
	DIR *dir = opendir(lib);
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "python", 6) != 0)
			continue;
		site = memory_format("%s/%s/site-packages", lib, entry->d_name);
		path = path_join(site, module != NULL ? module : ".");
		if (module != NULL && access(path, F_OK) == 0)
			unseen_follow_program(s, path);
		follow_site(s, site);
		free(path);
		free(site);
	}
	if (dir != NULL)
		closedir(dir);
	free(lib);
}

/* A virtual environment of Python: the interpreter that it was made of, and what it takes from
 * elsewhere. */
static void
follow_environment(struct search *s, const char *prefix)
{
	char *settings = path_join(prefix, "pyvenv.cfg"), *end, *home;
	struct buffer text = BUFFER_INIT;
	const char *line;

	if (access(settings, F_OK) == 0) {
		place_needs(s, settings);
		follow_prefix(s, prefix, NULL);
		if (file_load(settings, FILE_LIMIT, &text, NULL) == 0 &&
		    (line = strstr(buffer_string(&text), "home = ")) != NULL) {
			home = memory_copy(line + 7, strcspn(line + 7, "\r\n"));
			end = path_join(home, "python3");
			unseen_follow_program(s, end);
			free(end);
			free(home);
		}
	}
	buffer_free(&text);
	free(settings);
}

/* The interpreter of a script. */
static void
follow_script(struct search *s, const char *file)
{
	char *line = file_interpreter(file), *first = line == NULL ? NULL : line + strspn(line, " \t");

	if (first != NULL && *first == '/') {
		first[strcspn(first, " \t")] = '\0';
		unseen_follow_program(s, first);
	}
	free(line);
}

/* An absolute path. */
static void
unseen_follow_program(struct search *s, const char *path)
{
	char real[PATH_MAX], *directory;
	struct stat st;

	if (list_has(s->programs, path) || list_count(s->programs) > WORDS_MAX)
		return;
	list_add(&s->programs, path);
	if (!unseen_resolve_path(s, path, real) || real[0] == '\0')
		return;
	place_needs(s, real);
	if (stat(real, &st) != 0 || !S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0)
		return;
	follow_script(s, real);
	/* Of what a link stands for, and where that lies. */
	for (int i = 0; i < 2; i++) {
		char *bin = path_directory(i == 0 ? path : real);

		directory = path_directory(bin);
		follow_environment(s, directory);
		free(directory);
		free(bin);
	}
}

/* ---- modules ---- */

/* What lies elsewhere of a directory of modules, and of the scopes in it. */
static void
follow_links(struct search *s, const char *modules, bool scopes)
{
	DIR *dir = opendir(modules);
	const struct dirent *entry;
	int count = 0;

	while (dir != NULL && count++ < ENTRIES_MAX && (entry = readdir(dir)) != NULL) {
		char *path = path_join(modules, entry->d_name);

		if (entry->d_type == DT_LNK)
			unseen_follow_program(s, path);
		else if (scopes && entry->d_name[0] == '@')
			follow_links(s, path, false);
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
}

/* A module of Node, as it is looked for from a directory on. All others beside it that lie elsewhere
 * would be missed next. */
static void
follow_node(struct search *s, const char *from, const char *word)
{
	size_t len = strcspn(word, "/");
	char *at = memory_text(from), *modules, *path, *name;
	struct stat st;

	if (*word == '@' && word[len] == '/')
		len += 1 + strcspn(word + len + 1, "/");
	name = memory_copy(word, len);
	do {
		modules = path_join(at, "node_modules");
		path = path_join(modules, name);
		if (lstat(path, &st) == 0) {
			/* All of them may lie elsewhere. */
			unseen_follow_program(s, lstat(modules, &st) == 0 && S_ISLNK(st.st_mode) ?
			    modules : path);
			follow_links(s, modules, true);
		}
		free(path);
		free(modules);
	} while (path_climb(&at));
	free(at);
	free(name);
}

/* The environments of Python in the workspace, with a module (NULL: none). */
static void
follow_environments(struct search *s, const char *module)
{
	const char *workspace = s->spec->source->workspace;
	DIR *dir = opendir(workspace);
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char *prefix = path_join(workspace, entry->d_name);

		if (strcmp(entry->d_name, "..") != 0 &&
		    unseen_directory_has(prefix, "pyvenv.cfg")) {
			follow_environment(s, prefix);
			if (module != NULL)
				follow_prefix(s, prefix, module);
		}
		free(prefix);
	}
	if (dir != NULL)
		closedir(dir);
}

/* A module of Python: in those environments, in those of the programs that were followed, and the
 * user's. */
static void
follow_python(struct search *s, const char *word)
{
	char *module = memory_copy(word, strcspn(word, ".")), *user;

	follow_environments(s, module);
	for (size_t i = 0; i < list_count(s->programs); i++) {
		char *bin = path_directory(s->programs[i]), *prefix = path_directory(bin);

		if (unseen_directory_has(prefix, "pyvenv.cfg"))
			follow_prefix(s, prefix, module);
		free(prefix);
		free(bin);
	}
	if (s->home != NULL) {
		user = path_join(s->home, ".local");
		follow_prefix(s, user, module);
		free(user);
	}
	free(module);
}

/* ---- what was printed ---- */

/* A word of a message: whether it leads to what was not seen. before: what stands before it. */
static bool
follow_word(struct search *s, const char *word, const char *before, size_t len)
{
	static const char python[] = "No module named '";
	const struct source *source = s->spec->source;
	const size_t missing = list_count(s->missing);
	char *path = NULL;

	if (*word == '/')
		unseen_follow_program(s, word);
	else if (strchr(word, '/') == NULL && s->list != NULL && (path = path_search(s->list, word)) != NULL)
		unseen_follow_program(s, path);
	else if (strchr(word, '/') != NULL)
		unseen_follow_program(s, path = path_join(source->workspace, word));
	free(path);
	if (len >= strlen(python) && strncmp(before + (len - strlen(python)), python, strlen(python)) == 0)
		follow_python(s, word);
	if (*word != '/' && *word != '.') {
		follow_node(s, source->workspace, word);
		if (source->directory != NULL && strcmp(source->directory, source->workspace) != 0)
			follow_node(s, source->directory, word);
	}
	return list_count(s->missing) > missing;
}

/* The first word that leads there. */
static void
follow_text(struct search *s, const char *text)
{
	const char *at = text;
	bool found = false;

	for (size_t i = 0; !found && i < WORDS_MAX && *(at += strspn(at, ENDS)) != '\0'; i++) {
		size_t len = strcspn(at, ENDS);
		char *word = memory_copy(at, len);

		found = follow_word(s, word, text, (size_t)(at - text));
		free(word);
		at += len;
	}
}

static void
unseen_add_seen(struct search *s, const char *directory)
{
	char *real = directory != NULL && *directory == '/' ? realpath(directory, NULL) : NULL;

	if (real != NULL)
		list_take(&s->seen, real);
}

static void
search_begin(struct search *s, const struct replay_env_spec *spec)
{
	const char *home = path_home();

	*s = (struct search){ .spec = spec };
	s->list = span_text(span_path(spec->source->payload, KEY_ENV, "PATH", NULL));
	s->home = home != NULL ? realpath(home, NULL) : NULL;
	unseen_add_seen(s, spec->source->workspace);
	unseen_add_seen(s, spec->source->directory);
	unseen_add_seen(s, spec->place);
	for (char *const *v = spec->visible; v != NULL && *v != NULL; v++)
		unseen_add_seen(s, *v);
	for (const char *list = s->list; list != NULL;) {
		size_t len;
		const char *part = text_part(&list, ':', &len);
		char *directory = memory_copy(part, len), *python;

		unseen_add_seen(s, directory);
		python = *directory == '/' ? replay_env_python(directory) : NULL;
		unseen_add_seen(s, python);
		free(python);
		free(directory);
	}
}

static void
search_end(struct search *s)
{
	free(s->list);
	free(s->home);
	list_free(s->seen);
	list_free(s->missing);
	list_free(s->programs);
}

static void
append_missing(const struct search *s, const char *between, struct buffer *out)
{
	for (char *const *at = s->missing; at != NULL && *at != NULL; at++) {
		buffer_text(out, at > s->missing || *between == ' ' ? between : "");
		text_visible(out, *at, strlen(*at), 0);
	}
}

/* Whether the directory lies in another of them. */
static bool
is_within_another(const struct search *s, const char *directory)
{
	for (char *const *at = s->missing; at != NULL && *at != NULL; at++)
		if (strcmp(*at, directory) != 0 && path_within(directory, *at))
			return true;
	return false;
}

void
unseen_tell(const struct replay_env_spec *spec, const struct difference *d, struct buffer *out)
{
	struct search s;
	char **outermost = NULL;
	char *program;

	if (d->failure.len == 0 || spec->isolation != ISOLATION_NAMESPACES)
		return;
	search_begin(&s, spec);
	/* The program comes first: what is missing of it may be told by another in its place. */
	program = memory_copy(buffer_string(&d->failure), strcspn(buffer_string(&d->failure), ": "));
	follow_word(&s, program, "", 0);
	free(program);
	follow_text(&s, buffer_string(&d->errors));
	if (s.missing == NULL)
		follow_text(&s, buffer_string(&d->failure));
	/* Once Python is there, it would miss what its environments take from elsewhere. */
	if (s.missing != NULL && (strstr(buffer_string(&d->errors), "py") != NULL ||
	    strstr(buffer_string(&d->failure), "py") != NULL))
		follow_environments(&s, NULL);
	for (char *const *at = s.missing; at != NULL && *at != NULL; at++)
		if (!is_within_another(&s, *at))
			list_add(&outermost, *at);
	list_free(s.missing);
	s.missing = outermost;
	if (s.missing != NULL) {
		const bool several = list_count(s.missing) > 1;

		buffer_text(out, "  ");
		append_missing(&s, ", ", out);
		buffer_text(out, several ? " are not seen by a replay;" : " is not seen by a replay;");
		append_missing(&s, " --visible ", out);
		buffer_text(out, several ? " shows them\n" : " shows it\n");
	}
	search_end(&s);
}
