/*
 * It is made in two steps: from outside (copies, arguments, environment, what is shown), and
 * once isolated (files are put into the workspace, which is an overlay then). Recorded paths
 * are rewritten only where there are no namespaces to show things at them. A workspace may
 * have links to anywhere, so files are put in beneath it, directory by directory, never by a
 * path.
 */
#include "inspect/replay_env.h"

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
#include "transcript/event_keys.h"

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
replay_env_show(char ***visible, const char *directory, struct error *err)
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

/* Adds a place at which another is shown; the list ends with NULL. */
static void
add_shown(struct isolate_shown **list, char *at, char *source)
{
	size_t count = 0;

	while (*list != NULL && (*list)[count].at != NULL)
		count++;
	*list = memory_array(*list, count + 2, sizeof **list);
	(*list)[count] = (struct isolate_shown){ at, source };
	(*list)[count + 1] = (struct isolate_shown){ NULL, NULL };
}

static int
restore_file(struct replay_env *env, const struct definition_file *file, struct error *err)
{
	const struct source *s = env->spec->source;
	char *to = below(env->restored, file->path);

	if (source_restore(s, file, to, err) != 0) {
		free(to);
		return -1;
	}
	if (within(file->path, s->workspace)) {
		list_add(&env->inside, file->path);
		free(to);
	} else {
		add_shown(&env->outside, memory_text(file->path), to);
	}
	return 0;
}

/* A user's configuration, in which steps look by name: all that they found there. */
static int
restore_config(struct replay_env *env, struct error *err)
{
	const struct definition_files *files = &env->spec->source->definitions;
	int failed = 0;

	env->config = path_join(env->spec->place, RESTORED_CONFIG);
	for (size_t i = 0; failed == 0 && i < files->count; i++) {
		const struct definition_file *file = &files->list[i];
		char *to;

		if (file->config == NULL || !file->kept)
			continue;
		to = memory_format("%s/awf/%s", env->config, file->config);
		failed = source_restore(env->spec->source, file, to, err);
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
check_file(const struct replay_env *env, const char *path, struct error *err)
{
	const struct source *s = env->spec->source;

	if (s->files != NULL || (s->snapshot != NULL && within(path, s->workspace)))
		return 0;
	return recorded_file_check(s, env->spec->visible, path, err);
}

static int
restore(struct replay_env *env, struct error *err)
{
	const struct source *s = env->spec->source;
	bool copies = env->spec->isolation == ISOLATION_COPY, configured = false;
	int failed = 0;

	env->restored = path_join(env->spec->place, RESTORED);
	if (env->spec->isolation == ISOLATION_NONE)
		return 0;
	for (size_t i = 0; failed == 0 && i < s->definitions.count; i++) {
		const struct definition_file *file = &s->definitions.list[i];

		if (!source_file_differs(s, file) &&
		    (!file->kept || check_file(env, file->path, NULL) == 0))
			continue;
		if (file->config != NULL && copies)
			configured = true;
		else
			failed = restore_file(env, file, err);
		if (file->config != NULL && !copies && env->config == NULL)
			env->config = config_home(file);
	}
	return failed == 0 && configured ? restore_config(env, err) : failed;
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

/* Of a workspace that may have links to anywhere. */
static int
put_inside(const struct replay_env *env, int root, const char *path, struct error *err)
{
	const char *part = beneath_part(env->spec->source->workspace, path);
	char *from = below(env->restored, path);
	struct buffer bytes = BUFFER_INIT;
	int directory = make_beneath(root, part), fd = -1, failed = -1;
	struct stat status;

	if (directory >= 0 && stat(from, &status) == 0 &&
	    file_load(from, DEFINITION_FILE_LIMIT, &bytes, NULL) == 0) {
		/* Not by rename(): an overlay would have to move what is below. */
		if (unlinkat(directory, path_base(part), 0) != 0 && errno == EISDIR) {
			/* What goes wrong is seen when the file is made. */
			char *today = path_join(env->workspace, part);

			copytree_remove(today, NULL);
			free(today);
		}
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
replay_env_settle(const struct replay_env *env, struct error *err)
{
	int root, failed = 0;

	if (env->inside == NULL)
		return 0;
	root = open(env->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_errno(err, ERROR_SYSTEM, env->workspace, "unable to work there");
	for (char **path = env->inside; failed == 0 && *path != NULL; path++)
		failed = put_inside(env, root, *path, err);
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
copy_workspace(const struct replay_env *env, const char *from, const char *path, struct error *err)
{
	if (*from == '\0')
		return directory_make(path, 0755, err);
	if (copytree(from, path, env->spec->source->storage.root, err) != 0)
		return -1;
	return env->spec->second ? perturb_tree(path, err) : 0;
}

/* In memory, which lists directories in another order, if there is enough. */
static int
copy_elsewhere(struct replay_env *env, const char *from, struct error *err)
{
	if (memory_place_make(&env->made) == 0) {
		env->shown = path_join(env->made.path, "workspace");
		if (copy_workspace(env, from, env->shown, NULL) == 0)
			return 0;
		memory_place_remove(&env->made);
		free(env->shown);
	}
	env->shown = path_join(env->spec->place, "workspace");
	return copy_workspace(env, from, env->shown, err);
}

static int
set_workspace(struct replay_env *env, struct error *err)
{
	const struct source *s = env->spec->source;
	char *from = env->spec->isolation == ISOLATION_NONE ? NULL : origin(s);
	int failed = 0;

	if (env->spec->isolation == ISOLATION_NONE) {
		env->workspace = memory_text(s->workspace);
		return s->files == NULL && path_is_directory(s->workspace) ? 0 : no_workspace(s, err);
	}
	if (from == NULL)
		return no_workspace(s, err);
	if (strcmp(s->workspace, "/") == 0) {
		free(from);
		return error_set(err, ERROR_SYSTEM, s->workspace, "the workspace is the root directory, "
		    "which cannot be isolated: record with awf-run --workspace DIR");
	}
	if (env->spec->isolation == ISOLATION_COPY) {
		env->workspace = path_join(env->spec->place, "workspace");
		failed = copy_workspace(env, from, env->workspace, err);
	} else {
		env->workspace = memory_text(s->workspace);
		if (env->spec->second || *from == '\0')
			failed = copy_elsewhere(env, from, err);
		else
			env->shown = memory_text(from);
	}
	free(from);
	return failed;
}

/* ---- paths that were recorded, and where they lead now ---- */

/* Without namespaces a file of the workspace lies in its copy, one that was exported in
 * the export. */
static char *
lead(const struct replay_env *env, const char *path)
{
	const struct source *s = env->spec->source;
	char *found;

	if (env->spec->isolation != ISOLATION_COPY || *path != '/')
		return memory_text(path);
	if (within(path, s->workspace))
		return memory_format("%s%s", env->workspace, path + strlen(s->workspace));
	found = below(env->restored, path);
	if (access(found, F_OK) == 0)
		return found;
	free(found);
	found = source_exported(s, path);
	return found != NULL ? found : memory_text(path);
}

/* A relative path leads within the copy; that of the script may have led out of the
 * workspace. script: where that is, if it is a copy. */
static char *
lead_word(const struct replay_env *env, const char *word, const char *script)
{
	const struct source *s = env->spec->source;
	char *from, *path, *found;

	if (script == NULL || *word == '/' || within(script, s->workspace))
		return lead(env, word);
	from = path_join(s->workspace, word);
	path = path_normal(from);
	found = strcmp(path, script) == 0 ? lead(env, script) : memory_text(word);
	free(from);
	free(path);
	return found;
}

/* Each directory of a list with colons. */
static char *
lead_list(const struct replay_env *env, const char *list)
{
	struct buffer led = BUFFER_INIT;

	for (;;) {
		size_t len = strcspn(list, ":");
		char *path = memory_copy(list, len), *now = lead(env, path);

		buffer_text(&led, now);
		free(path);
		free(now);
		if (list[len] == '\0')
			return buffer_take(&led);
		buffer_byte(&led, ':');
		list += len + 1;
	}
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

/* Our own directory first, unless its awf-step is found anyway: that of another version would
 * not replay. */
static void
set_path(struct replay_env *env)
{
	const char *recorded = environment_get(&env->environment, "PATH");
	char *list = lead_list(env, recorded != NULL ? recorded : DEFAULT_PATH);
	char *own = own_directory(), *found = path_search(list, "awf-step"), *step, *longer;
	struct stat there, wanted;

	step = own != NULL ? path_join(own, "awf-step") : NULL;
	if (own != NULL && (found == NULL || stat(found, &there) != 0 || stat(step, &wanted) != 0 ||
	    there.st_dev != wanted.st_dev || there.st_ino != wanted.st_ino)) {
		longer = memory_format("%s:%s", own, list);
		free(list);
		list = longer;
	}
	environment_set(&env->environment, "PATH", list);
	free(list);
	free(own);
	free(found);
	free(step);
}

/* NAME=VALUE of each member of an object of texts. */
static void
set_members(struct environment *e, const char *prefix, struct span object)
{
	if (span_type(object) != 'o')
		return;
	for (struct span_walk member = span_walk(object); span_next(&member);) {
		char *name = span_text(member.key), *text = span_text(member.value);
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

static void
set_environment(struct replay_env *env)
{
	struct environment *e = &env->environment;
	const struct source *s = env->spec->source;
	struct buffer providers = BUFFER_INIT;
	const char *tools;
	char *led;

	environment_copy(e, &(struct environment){ NULL, 0, 0 });
	set_members(e, "", span_member(s->payload, KEY_ENV));
	set_members(e, "AWF_INPUT_", span_member(s->payload, KEY_INPUTS));
	pass(e, "HOME");
	pass(e, "XDG_CONFIG_HOME");
	if (env->config != NULL || s->config != NULL)
		environment_set(e, "XDG_CONFIG_HOME", env->config != NULL ? env->config : s->config);
	environment_set(e, "AWF_SYNC", "none");
	/* No provider is asked, so none has to be there that is not AWF's. */
	for (char **word = s->providers; word != NULL && *word != NULL; word++)
		buffer_format(&providers, "%s%s", providers.len > 0 ? ":" : "", *word);
	environment_set(e, PROVIDER_RECORDED, buffer_string(&providers));
	buffer_free(&providers);
	set_path(env);
	tools = environment_get(e, "AWF_TOOL_PATH");
	if (tools == NULL)
		return;
	led = lead_list(env, tools);
	environment_set(e, "AWF_TOOL_PATH", led);
	free(led);
}

/* ---- what is visible ---- */

/* A directory of the recording: a copy of the workspace has no storage in it. Takes the
 * path over. */
static void
show_record(struct replay_env *env, char *path)
{
	if (path != NULL && *path == '/' && !list_has(env->visible, path))
		list_take(&env->visible, path);
	else
		free(path);
}

/* Likewise, but one in the workspace is shown with that. */
static void
show(struct replay_env *env, char *path)
{
	if (path != NULL && within(path, env->workspace))
		free(path);
	else
		show_record(env, path);
}

static void
show_list(struct replay_env *env, const char *list)
{
	while (list != NULL && *list != '\0') {
		size_t len = strcspn(list, ":");

		show(env, memory_copy(list, len));
		list += len + (list[len] == ':');
	}
}

/* A recorded path: from the export, if this is one. */
static void
show_recorded(struct replay_env *env, const char *path)
{
	const struct source *s = env->spec->source;
	char *exported;

	if (s->files == NULL) {
		show(env, memory_text(path));
		return;
	}
	exported = source_exported(s, path);
	if (exported == NULL || within(path, env->workspace) || list_has(env->paths, exported)) {
		free(exported);
		return;
	}
	list_take(&env->paths, exported);
	list_add(&env->paths, path);
	add_shown(&env->elsewhere, env->paths[list_count(env->paths) - 1], exported);
}

/* A recorded file, with what lies beside it; alone where its directory is a private one,
 * or has the user's API keys. */
static void
show_file(struct replay_env *env, const char *path)
{
	char *directory = path_directory(path), *keys = path_config("keys");
	char *place = keys != NULL ? path_directory(keys) : NULL;
	bool holds_keys = place != NULL && strcmp(place, directory) == 0;

	if (!holds_keys)
		show_recorded(env, directory);
	if (!holds_keys || strcmp(path_base(path), "keys") != 0)
		show_recorded(env, path);
	free(place);
	free(keys);
	free(directory);
}

static int
set_visible(struct replay_env *env, struct error *err)
{
	const struct source *s = env->spec->source;
	char *libexec = libexec_path(), *script = source_script(s);

	for (char *const *path = env->spec->visible; path != NULL && *path != NULL; path++)
		show(env, memory_text(*path));
	show(env, own_directory());
	show_list(env, libexec);
	show(env, memory_text(installation_share()));
	show_list(env, environment_get(&env->environment, "PATH"));
	show_list(env, environment_get(&env->environment, "AWF_TOOL_PATH"));
	show(env, path_directory(env->argv[0]));
	show_record(env, path_directory(s->transcript));
	show_record(env, memory_text(s->blobs));
	if (s->input != NULL)
		show_record(env, path_directory(s->input));
	else if (s->child_count > 0 && s->storage.root != NULL)
		show_record(env, path_join(s->storage.root, "inputs"));
	if (s->config != NULL)
		show(env, memory_text(s->config));
	show(env, path_config("agents"));
	show(env, path_config("tools"));
	show_recorded(env, s->directory);
	if (script != NULL)
		show_file(env, script);
	free(script);
	free(libexec);
	/* What a recording names is shown where such files lie only. */
	for (size_t i = 0; i < s->definitions.count; i++) {
		const struct definition_file *file = &s->definitions.list[i];

		if (check_file(env, file->path, err) == 0)
			show_file(env, file->path);
		else if (!file->kept)
			return -1;
	}
	return 0;
}

int
replay_env_open(struct replay_env *env, const struct replay_env_spec *spec, struct error *err)
{
	char *script;

	*env = (struct replay_env){ .spec = spec };
	if (restore(env, err) != 0 || set_workspace(env, err) != 0)
		return -1;
	script = spec->isolation == ISOLATION_COPY ? source_script(spec->source) : NULL;
	for (char **word = spec->source->argv; *word != NULL; word++)
		list_take(&env->argv, lead_word(env, *word, script));
	free(script);
	env->directory = lead(env, spec->source->directory);
	set_environment(env);
	return set_visible(env, err);
}

struct isolate_spec
replay_env_isolation(const struct replay_env *env, const char *const *writable)
{
	return (struct isolate_spec){
		.workspace = env->workspace,
		.source = env->shown,
		.scratch = env->spec->place,
		.visible = (const char *const *)env->visible,
		.writable = writable,
		.shown = env->elsewhere,
		.files = env->outside,
		.host_name = env->spec->second ? SECOND_HOST : NULL,
		.first_pid = env->spec->second ? SECOND_PID : 0,
	};
}

char *
replay_env_remark(const struct source *source, enum isolation isolation)
{
	char *remark = NULL;

	if (isolation == ISOLATION_NONE)
		remark = memory_format("no isolation: it runs in %s itself", source->workspace);
	else if (source->snapshot != NULL && isolation == ISOLATION_COPY)
		remark = memory_text("no namespaces: it runs in a copy of the workspace's snapshot");
	else if (source->snapshot != NULL)
		return NULL;
	else if (source->files != NULL)
		remark = memory_format("no snapshot of the workspace: only the files of steps are in %s",
		    isolation == ISOLATION_COPY ? "the copy that it runs in, without namespaces" : "it");
	else if (path_is_directory(source->workspace))
		remark = memory_format(isolation == ISOLATION_COPY ?
		    "no namespaces: it runs in a copy of today's %s" :
		    "no snapshot of the workspace: today's %s is used", source->workspace);
	else if (source->contained)
		remark = memory_format("%s is not there, and no snapshot of it: only the files of steps "
		    "are in it", source->workspace);
	if (remark != NULL)
		text_line(remark); /* the path is somebody's */
	return remark;
}

void
replay_env_close(struct replay_env *env)
{
	memory_place_remove(&env->made);
	free(env->workspace);
	free(env->shown);
	free(env->directory);
	list_free(env->argv);
	list_free(env->visible);
	list_free(env->paths);
	free(env->elsewhere);
	for (size_t i = 0; env->outside != NULL && env->outside[i].at != NULL; i++) {
		free((void *)(uintptr_t)env->outside[i].at);
		free((void *)(uintptr_t)env->outside[i].source);
	}
	free(env->outside);
	free(env->restored);
	free(env->config);
	list_free(env->inside);
	environment_free(&env->environment);
}
