/*
 * It is made in two steps: from outside (copies, arguments, environment, what is shown), and
 * once isolated (files are put into the workspace, which is an overlay then). Recorded paths
 * are rewritten only where there are no namespaces to show things at them. A workspace may
 * have links to anywhere, so files are put in beneath it, directory by directory, never by a
 * path.
 */
#include "inspect/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/provider.h"
#include "base/beneath.h"
#include "base/copytree.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "inspect/perturb.h"
#include "inspect/recorded_file.h"
#include "proc/libexec.h"

#define SECOND_HOST "replay"
#define SECOND_PID 4711
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

int
isolation_parse(const char *text, enum isolation *isolation, struct error *err)
{
	static const char *const words[] = { "namespaces", "copy", "none", NULL };
	if (options_choice("--isolation", text, words, err) != 0)
		return -1;
	for (int i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], text) == 0)
			*isolation = (enum isolation)i;
	return 0;
}

/* Whether path is directory or lies below it. */
static bool
within(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return strncmp(path, directory, len) == 0 &&
	    (path[len] == '\0' || path[len] == '/' || (len > 0 && directory[len - 1] == '/'));
}

int
stage_show(char ***visible, const char *directory, struct error *err)
{
	char *path = realpath(directory, NULL);

	if (path == NULL || !path_is_directory(path)) {
		free(path);
		return error_set(err, ERROR_USAGE, "--visible", "'%s' is no directory", directory);
	}
	list_take(visible, path);
	return 0;
}

/* ---- what the recording has ---- */

#define RESTORED "definitions"
#define RESTORED_CONFIG "config"

/* A path below a directory. */
static char *
below(const char *directory, const char *path)
{
	return path_join(directory, path + (*path == '/'));
}

/* Takes both texts over. */
static void
show_instead(struct stage *st, char *at, char *source)
{
	size_t count = 0;

	while (st->outside != NULL && st->outside[count].at != NULL)
		count++;
	st->outside = memory_array(st->outside, count + 2, sizeof *st->outside);
	st->outside[count] = (struct isolate_shown){ at, source };
	st->outside[count + 1] = (struct isolate_shown){ NULL, NULL };
}

static int
restore_file(struct stage *st, const struct definition_file *file, struct error *err)
{
	const struct source *s = st->spec->source;
	char *to = below(st->restored, file->path);

	if (source_restore(s, file, to, err) != 0) {
		free(to);
		return -1;
	}
	if (within(file->path, s->workspace)) {
		list_add(&st->inside, file->path);
		free(to);
	} else {
		show_instead(st, memory_text(file->path), to);
	}
	return 0;
}

/* A user's configuration, in which steps look by name: all that they found there. */
static int
restore_config(struct stage *st, struct error *err)
{
	const struct definition_files *files = &st->spec->source->definitions;
	int failed = 0;

	st->config = path_join(st->spec->place, RESTORED_CONFIG);
	for (size_t i = 0; failed == 0 && i < files->count; i++) {
		const struct definition_file *file = &files->list[i];
		char *to;

		if (file->config == NULL || !file->kept)
			continue;
		to = memory_format("%s/awf/%s", st->config, file->config);
		failed = source_restore(st->spec->source, file, to, err);
		free(to);
	}
	return failed;
}

/* Where the configuration was when it was recorded; NULL. */
static char *
config_home(const struct definition_file *file)
{
	char *end = memory_format("/awf/%s", file->config), *home = NULL;

	if (text_ends(file->path, end))
		home = memory_copy(file->path, strlen(file->path) - strlen(end));
	free(end);
	return home;
}

/* Whether what is at the path may be shown; ERROR_USAGE. */
static int
check_file(const struct stage *st, const char *path, struct error *err)
{
	const struct source *s = st->spec->source;

	if (s->files != NULL || (s->snapshot != NULL && within(path, s->workspace)))
		return 0;
	return recorded_file_check(s, st->spec->visible, path, err);
}

static int
restore(struct stage *st, struct error *err)
{
	const struct source *s = st->spec->source;
	bool copies = st->spec->isolation == ISOLATION_COPY, configured = false;
	int failed = 0;

	st->restored = path_join(st->spec->place, RESTORED);
	if (st->spec->isolation == ISOLATION_NONE)
		return 0;
	for (size_t i = 0; failed == 0 && i < s->definitions.count; i++) {
		const struct definition_file *file = &s->definitions.list[i];

		if (!source_file_differs(s, file) &&
		    (!file->kept || check_file(st, file->path, NULL) == 0))
			continue;
		if (file->config != NULL && copies)
			configured = true;
		else
			failed = restore_file(st, file, err);
		if (file->config != NULL && !copies && st->config == NULL)
			st->config = config_home(file);
	}
	return failed == 0 && configured ? restore_config(st, err) : failed;
}

/* Makes a directory where there is none, also in place of a file or of a link that leads
 * nowhere, which may lie there today. */
static int
make_directory(int parent, const char *name)
{
	struct stat status;

	if (fstatat(parent, name, &status, 0) == 0 && S_ISDIR(status.st_mode))
		return -1;
	if (unlinkat(parent, name, 0) != 0 && errno != ENOENT)
		return -1;
	return mkdirat(parent, name, 0755);
}

/* Opens the directory of a path below root, making what is missing. */
static int
make_beneath(int root, const char *path)
{
	char *part = memory_text(path);
	int fd = -1, failure;

	for (char *slash = strchr(part, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		int parent = fd;

		*slash = '\0';
		fd = beneath_open_directory(root, part);
		if (fd < 0) {
			failure = errno;
			if (make_directory(parent >= 0 ? parent : root, path_base(part)) == 0)
				fd = beneath_open_directory(root, part);
			else
				errno = failure;
		}
		*slash = '/';
		if (parent >= 0)
			close(parent);
		if (fd < 0)
			break;
	}
	if (fd < 0 && strchr(path, '/') == NULL)
		fd = beneath_open_directory(root, ".");
	free(part);
	return fd;
}

/* A directory that lies there today; what goes wrong is seen when the file is made. */
static void
remove_inside(const struct stage *st, const char *part)
{
	char *path = path_join(st->workspace, part);

	copytree_remove(path, NULL);
	free(path);
}

/* Of a workspace that may have links to anywhere. */
static int
put_inside(const struct stage *st, int root, const char *path, struct error *err)
{
	const char *part = beneath_part(st->spec->source->workspace, path);
	char *from = below(st->restored, path);
	struct buffer bytes = BUFFER_INIT;
	int directory = make_beneath(root, part), fd = -1, failed = -1;
	struct stat status;

	if (directory >= 0 && stat(from, &status) == 0 &&
	    file_load(from, DEFINITION_FILE_LIMIT, &bytes, NULL) == 0) {
		/* Not by rename(): an overlay would have to move what is below. */
		if (unlinkat(directory, path_base(part), 0) != 0 && errno == EISDIR)
			remove_inside(st, part);
		fd = openat(directory, path_base(part), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
		    O_NOFOLLOW, status.st_mode & 0777);
		failed = fd < 0 ? -1 : file_write(fd, buffer_string(&bytes), bytes.len);
	}
	if (failed != 0)
		error_errno(err, ERROR_SYSTEM, path, "unable to restore it from the recording");
	if (fd >= 0)
		close(fd);
	if (directory >= 0)
		close(directory);
	buffer_free(&bytes);
	free(from);
	return failed;
}

int
stage_settle(const struct stage *st, struct error *err)
{
	int root, failed = 0;

	if (st->inside == NULL)
		return 0;
	root = open(st->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_errno(err, ERROR_SYSTEM, st->workspace, "unable to work there");
	for (char **path = st->inside; failed == 0 && *path != NULL; path++)
		failed = put_inside(st, root, *path, err);
	close(root);
	return failed;
}

/* ---- the workspace ---- */

/* What the workspace was, or is taken for. NULL: it is not there. */
static char *
origin(const struct source *s)
{
	char *path;

	if (s->snapshot != NULL)
		return memory_text(s->snapshot);
	if (s->files == NULL && path_is_directory(s->workspace))
		return memory_text(s->workspace);
	if (s->files == NULL)
		return s->contained ? memory_text("") : NULL;
	/* An export without a snapshot: the files of steps that lie in it, if any. */
	path = source_exported(s, s->workspace);
	if (path != NULL && path_is_directory(path))
		return path;
	free(path);
	return memory_text("");
}

static int
no_workspace(const struct source *s, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, s->workspace,
	    "the workspace is not there, and no snapshot of it");
}

/* A copy at path, empty if there is nothing to copy. */
static int
copy_workspace(const struct stage *st, const char *from, const char *path, struct error *err)
{
	if (*from == '\0')
		return directory_make(path, 0755, err);
	if (copytree(from, path, st->spec->source->storage.root, err) != 0)
		return -1;
	return st->spec->second ? perturb_tree(path, err) : 0;
}

/* In memory, which lists directories in another order. False if there is not enough. */
static bool
copy_to_memory(struct stage *st, const char *from)
{
	if (memory_place_make(&st->made) != 0)
		return false;
	st->shown = path_join(st->made.path, "workspace");
	if (copy_workspace(st, from, st->shown, NULL) == 0)
		return true;
	memory_place_remove(&st->made);
	free(st->shown);
	st->shown = NULL;
	return false;
}

static int
copy_elsewhere(struct stage *st, const char *from, struct error *err)
{
	if (copy_to_memory(st, from))
		return 0;
	st->shown = path_join(st->spec->place, "workspace");
	return copy_workspace(st, from, st->shown, err);
}

static int
set_workspace(struct stage *st, struct error *err)
{
	const struct source *s = st->spec->source;
	char *from = st->spec->isolation == ISOLATION_NONE ? NULL : origin(s);
	int failed = 0;

	if (st->spec->isolation == ISOLATION_NONE) {
		st->workspace = memory_text(s->workspace);
		return s->files == NULL && path_is_directory(s->workspace) ? 0 : no_workspace(s, err);
	}
	if (from == NULL)
		return no_workspace(s, err);
	if (strcmp(s->workspace, "/") == 0) {
		free(from);
		return error_set(err, ERROR_SYSTEM, s->workspace, "the workspace is the root directory, "
		    "which cannot be isolated: record with awf-run --workspace DIR");
	}
	if (st->spec->isolation == ISOLATION_COPY) {
		st->workspace = path_join(st->spec->place, "workspace");
		failed = copy_workspace(st, from, st->workspace, err);
	} else {
		st->workspace = memory_text(s->workspace);
		if (st->spec->second || *from == '\0')
			failed = copy_elsewhere(st, from, err);
		else
			st->shown = memory_text(from);
	}
	free(from);
	return failed;
}

/* ---- paths that were recorded, and where they lead now ---- */

/* Without namespaces a file of the workspace lies in its copy, one that was exported in
 * the export. */
static char *
lead(const struct stage *st, const char *path)
{
	const struct source *s = st->spec->source;
	char *found;

	if (st->spec->isolation != ISOLATION_COPY || *path != '/')
		return memory_text(path);
	if (within(path, s->workspace))
		return memory_format("%s%s", st->workspace, path + strlen(s->workspace));
	found = below(st->restored, path);
	if (access(found, F_OK) == 0)
		return found;
	free(found);
	found = source_exported(s, path);
	return found != NULL ? found : memory_text(path);
}

/* A relative path leads within the copy; that of the script may have led out of the
 * workspace. script: where that is, if it is a copy. */
static char *
lead_word(const struct stage *st, const char *word, const char *script)
{
	const struct source *s = st->spec->source;
	char *from, *path, *found;

	if (script == NULL || *word == '/' || within(script, s->workspace))
		return lead(st, word);
	from = path_join(s->workspace, word);
	path = path_normal(from);
	found = strcmp(path, script) == 0 ? lead(st, script) : memory_text(word);
	free(from);
	free(path);
	return found;
}

/* Each directory of a list with colons. */
static char *
lead_list(const struct stage *st, const char *list)
{
	struct buffer led = BUFFER_INIT;

	for (;;) {
		size_t len = strcspn(list, ":");
		char *path = memory_copy(list, len), *now = lead(st, path);

		buffer_text(&led, now);
		free(path);
		free(now);
		if (list[len] == '\0')
			return buffer_take(&led);
		buffer_byte(&led, ':');
		list += len + 1;
	}
}

static void
set_argv(struct stage *st)
{
	char *script = st->spec->isolation == ISOLATION_COPY ? source_script(st->spec->source) : NULL;

	for (char **word = st->spec->source->argv; *word != NULL; word++)
		list_take(&st->argv, lead_word(st, *word, script));
	free(script);
	st->directory = lead(st, st->spec->source->directory);
}

/* ---- environment ---- */

/* The directory that this program lies in. */
static char *
own_directory(void)
{
	char *program = installation_program();
	char *directory = program == NULL ? NULL : path_directory(program);

	free(program);
	return directory;
}

/* The awf-step of another version would not replay. */
static bool
is_own(const char *path, const char *own)
{
	char *step = path_join(own, "awf-step");
	struct stat found, wanted;
	bool same = stat(path, &found) == 0 && stat(step, &wanted) == 0 &&
	    found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino;

	free(step);
	return same;
}

static void
set_path(struct stage *st)
{
	const char *recorded = environment_get(&st->environment, "PATH");
	char *list = lead_list(st, recorded != NULL ? recorded : DEFAULT_PATH);
	char *own = own_directory(), *found = path_search(list, "awf-step"), *longer;

	if (own != NULL && (found == NULL || !is_own(found, own))) {
		longer = memory_format("%s:%s", own, list);
		free(list);
		list = longer;
	}
	environment_set(&st->environment, "PATH", list);
	free(list);
	free(own);
	free(found);
}

/* NAME=VALUE of each member of an object of texts. */
static void
set_members(struct environment *e, const char *prefix, struct span object)
{
	struct span_walk walk;
	struct span key, value;

	if (span_type(object) != 'o')
		return;
	span_walk_begin(&walk, object);
	while (span_walk_next(&walk, &key, &value)) {
		char *name = span_text(key), *text = span_text(value);
		char *full = memory_format("%s%s", prefix, name != NULL ? name : "");

		if (name != NULL && text != NULL)
			environment_set(e, full, text);
		free(full);
		free(name);
		free(text);
	}
}

static void
pass(struct environment *e, const char *name)
{
	const char *value = getenv(name);

	if (value != NULL && *value == '/')
		environment_set(e, name, value);
}

/* No provider is asked, so none has to be there that is not AWF's. */
static void
set_providers(struct stage *st)
{
	struct buffer list = BUFFER_INIT;

	for (char **word = st->spec->source->providers; word != NULL && *word != NULL; word++)
		buffer_format(&list, "%s%s", list.len > 0 ? ":" : "", *word);
	environment_set(&st->environment, PROVIDER_RECORDED, buffer_string(&list));
	buffer_free(&list);
}

static void
set_environment(struct stage *st)
{
	struct environment *e = &st->environment;
	const struct source *s = st->spec->source;
	const char *tools;
	char *led;

	environment_copy(e, &(struct environment){ NULL, 0, 0 });
	set_members(e, "", span_member(s->payload, "env"));
	set_members(e, "AWF_INPUT_", span_member(s->payload, "inputs"));
	pass(e, "HOME");
	pass(e, "XDG_CONFIG_HOME");
	if (st->config != NULL || s->config != NULL)
		environment_set(e, "XDG_CONFIG_HOME", st->config != NULL ? st->config : s->config);
	environment_set(e, "AWF_SYNC", "none");
	set_providers(st);
	set_path(st);
	tools = environment_get(e, "AWF_TOOL_PATH");
	if (tools == NULL)
		return;
	led = lead_list(st, tools);
	environment_set(e, "AWF_TOOL_PATH", led);
	free(led);
}

/* ---- what is visible ---- */

/* A directory of the recording: a copy of the workspace has no storage in it. Takes the
 * path over. */
static void
show_record(struct stage *st, char *path)
{
	if (path != NULL && *path == '/' && !list_has(st->visible, path))
		list_take(&st->visible, path);
	else
		free(path);
}

/* Likewise, but one in the workspace is shown with that. */
static void
show(struct stage *st, char *path)
{
	if (path != NULL && within(path, st->workspace))
		free(path);
	else
		show_record(st, path);
}

static void
show_list(struct stage *st, const char *list)
{
	while (list != NULL && *list != '\0') {
		size_t len = strcspn(list, ":");

		show(st, memory_copy(list, len));
		list += len + (list[len] == ':');
	}
}

/* A recorded path: from the export, if this is one. */
static void
show_recorded(struct stage *st, const char *path)
{
	const struct source *s = st->spec->source;
	size_t count = 0;
	char *exported;

	if (s->files == NULL) {
		show(st, memory_text(path));
		return;
	}
	exported = source_exported(s, path);
	if (exported == NULL || within(path, st->workspace) || list_has(st->paths, exported)) {
		free(exported);
		return;
	}
	while (st->elsewhere != NULL && st->elsewhere[count].at != NULL)
		count++;
	st->elsewhere = memory_array(st->elsewhere, count + 2, sizeof *st->elsewhere);
	st->elsewhere[count + 1] = (struct isolate_shown){ NULL, NULL };
	list_take(&st->paths, exported);
	list_add(&st->paths, path);
	st->elsewhere[count] = (struct isolate_shown){ st->paths[list_count(st->paths) - 1], exported };
}

/* Whether the user's API keys lie in it. */
static bool
holds_keys(const char *directory)
{
	char *keys = path_config("keys"), *place = keys != NULL ? path_directory(keys) : NULL;
	bool holds = place != NULL && strcmp(place, directory) == 0;

	free(place);
	free(keys);
	return holds;
}

/* A recorded file, with what lies beside it; alone where its directory is a private one,
 * or has the keys. */
static void
show_file(struct stage *st, const char *path)
{
	char *directory = path_directory(path);
	bool keys = holds_keys(directory);

	if (!keys)
		show_recorded(st, directory);
	if (!keys || strcmp(path_base(path), "keys") != 0)
		show_recorded(st, path);
	free(directory);
}

/* What a recording names is shown where such files lie only. */
static int
show_definitions(struct stage *st, struct error *err)
{
	const struct source *s = st->spec->source;

	for (size_t i = 0; i < s->definitions.count; i++) {
		const struct definition_file *file = &s->definitions.list[i];

		if (check_file(st, file->path, err) == 0)
			show_file(st, file->path);
		else if (!file->kept)
			return -1;
	}
	return 0;
}

static int
set_visible(struct stage *st, struct error *err)
{
	const struct source *s = st->spec->source;
	char *libexec = libexec_path(), *script = source_script(s);

	for (char *const *path = st->spec->visible; path != NULL && *path != NULL; path++)
		show(st, memory_text(*path));
	show(st, own_directory());
	show_list(st, libexec);
	show(st, memory_text(installation_share()));
	show_list(st, environment_get(&st->environment, "PATH"));
	show_list(st, environment_get(&st->environment, "AWF_TOOL_PATH"));
	show(st, path_directory(st->argv[0]));
	show_record(st, path_directory(s->transcript));
	show_record(st, memory_text(s->blobs));
	if (s->input != NULL)
		show_record(st, path_directory(s->input));
	else if (s->child_count > 0 && s->storage.root != NULL)
		show_record(st, path_join(s->storage.root, "inputs"));
	if (s->config != NULL)
		show(st, memory_text(s->config));
	show(st, path_config("agents"));
	show(st, path_config("tools"));
	show_recorded(st, s->directory);
	if (script != NULL)
		show_file(st, script);
	free(script);
	free(libexec);
	return show_definitions(st, err);
}

int
stage_open(struct stage *st, const struct stage_spec *spec, struct error *err)
{
	*st = (struct stage){ .spec = spec };
	if (restore(st, err) != 0 || set_workspace(st, err) != 0)
		return -1;
	set_argv(st);
	set_environment(st);
	return set_visible(st, err);
}

struct isolate_spec
stage_isolation(const struct stage *st, const char *const *writable)
{
	return (struct isolate_spec){
		.workspace = st->workspace,
		.source = st->shown,
		.scratch = st->spec->place,
		.visible = (const char *const *)st->visible,
		.writable = writable,
		.shown = st->elsewhere,
		.files = st->outside,
		.host_name = st->spec->second ? SECOND_HOST : NULL,
		.first_pid = st->spec->second ? SECOND_PID : 0,
	};
}

static char *
make_remark(const struct source *source, enum isolation isolation)
{
	if (isolation == ISOLATION_NONE)
		return memory_format("no isolation: it runs in %s itself", source->workspace);
	if (source->snapshot != NULL)
		return isolation == ISOLATION_NAMESPACES ? NULL :
		    memory_text("no namespaces: it runs in a copy of the workspace's snapshot");
	if (source->files != NULL)
		return memory_format("no snapshot of the workspace: only the files of steps are in %s",
		    isolation == ISOLATION_COPY ? "the copy that it runs in, without namespaces" : "it");
	if (!path_is_directory(source->workspace))
		return source->contained ? memory_format("%s is not there, and no snapshot of it: only "
		    "the files of steps are in it", source->workspace) : NULL;
	return memory_format(isolation == ISOLATION_COPY ?
	    "no namespaces: it runs in a copy of today's %s" :
	    "no snapshot of the workspace: today's %s is used", source->workspace);
}

char *
stage_remark(const struct source *source, enum isolation isolation)
{
	char *remark = make_remark(source, isolation);

	if (remark != NULL)
		text_line(remark); /* the path is somebody's */
	return remark;
}

void
stage_close(struct stage *st)
{
	memory_place_remove(&st->made);
	free(st->workspace);
	free(st->shown);
	free(st->directory);
	list_free(st->argv);
	list_free(st->visible);
	list_free(st->paths);
	free(st->elsewhere);
	for (size_t i = 0; st->outside != NULL && st->outside[i].at != NULL; i++) {
		free((void *)(uintptr_t)st->outside[i].at);
		free((void *)(uintptr_t)st->outside[i].source);
	}
	free(st->outside);
	free(st->restored);
	free(st->config);
	list_free(st->inside);
	environment_free(&st->environment);
}
