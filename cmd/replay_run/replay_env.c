/*
 * Done in two steps: outside of the isolation (copies, arguments, environment, what is visible),
 * and inside (files are written to the workspace, which is an overlay then). Recorded paths are
 * changed only without namespaces, where nothing can be shown at them. A workspace may contain
 * links to anywhere, so files are written beneath it, directory by directory, never by a path.
 */
#include "replay_run/replay_env.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "history/recorded_providers.h"
#include "io/beneath.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/installation.h"
#include "proc/libexec.h"
#include "replay_run/recorded_file.h"
#include "transcript/event_keys.h"

#define SECOND_HOST "replay"
#define SECOND_PID 4711
#define PRELOAD_LIMIT ((size_t)64 << 10)
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

int
isolation_parse(const char *text, enum isolation *isolation, struct error *err)
{
	static const char *const words[] = { "namespaces", "copy", "none", NULL };
	int word = options_word("--isolation", text, words, err);

	if (word >= 0)
		*isolation = (enum isolation)word;
	return word < 0 ? -1 : 0;
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

/* ---- files in the recording ---- */

#define RESTORED "definitions"
#define RESTORED_CONFIG "config"

/* A path below a directory. */
static char *
replay_env_path_below(const char *directory, const char *path)
{
	return path_join(directory, path + (*path == '/'));
}

/* Adds a place at which another path is shown; the list ends with NULL. */
static struct isolate_shown *
add_shown(struct isolate_shown **list, char *at, char *source)
{
	size_t count = 0;

	while (*list != NULL && (*list)[count].at != NULL)
		count++;
	*list = memory_array(*list, count + 2, sizeof **list);
	(*list)[count] = (struct isolate_shown){ .at = at, .source = source };
	(*list)[count + 1] = (struct isolate_shown){ .at = NULL };
	return &(*list)[count];
}

/* Whether what is at the path may be shown; otherwise ERROR_USAGE. */
static int
replay_env_check_file(const struct replay_env *env, const char *path, struct error *err)
{
	const struct source *s = env->spec->source;

	if (s->files != NULL || (s->snapshot != NULL && path_within(path, s->workspace)))
		return 0;
	return recorded_file_check(s, env->spec->visible, path, err);
}

/* With namespaces a file is shown at its own path, and the configuration at its recorded path;
 * since steps look files up there by name, a copy has everything that they found. */
static int
replay_env_restore_definitions(struct replay_env *env, struct error *err)
{
	const struct source *s = env->spec->source;
	const struct definition_files *files = &s->definitions;
	bool copies = env->spec->isolation == ISOLATION_COPY, configured = false;
	int failed = 0;

	env->restored = path_join(env->spec->place, RESTORED);
	if (env->spec->isolation == ISOLATION_NONE)
		return 0;
	for (size_t i = 0; failed == 0 && i < files->count; i++) {
		const struct definition_file *file = &files->list[i];

		if (!source_file_differs(s, file) &&
		    (!file->kept || replay_env_check_file(env, file->path, NULL) == 0))
			continue;
		if (file->config != NULL && copies) {
			configured = true;
		} else {
			char *to = replay_env_path_below(env->restored, file->path);

			failed = source_restore(s, file, to, err);
			if (failed == 0 && !path_within(file->path, s->workspace)) {
				add_shown(&env->outside, memory_text(file->path), to);
				to = NULL;
			} else if (failed == 0) {
				list_add(&env->inside, file->path);
			}
			free(to);
		}
		if (file->config != NULL && !copies && env->config == NULL) {
			char *end = memory_format("/awf/%s", file->config);

			if (text_ends(file->path, end))
				env->config = memory_copy(file->path, strlen(file->path) - strlen(end));
			free(end);
		}
	}
	if (configured)
		env->config = path_join(env->spec->place, RESTORED_CONFIG);
	for (size_t i = 0; failed == 0 && configured && i < files->count; i++) {
		const struct definition_file *file = &files->list[i];
		char *to;

		if (file->config == NULL || !file->kept)
			continue;
		to = memory_format("%s/awf/%s", env->config, file->config);
		failed = source_restore(s, file, to, err);
		free(to);
	}
	return failed;
}

/* Opens the directory of a path below root, making what is missing, also in place of a file or a
 * broken link that is there now. */
static int
make_beneath(int root, const char *path)
{
	char *part = memory_text(path);
	int fd = -1;

	for (char *slash = strchr(part, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		int parent = fd, failure;

		*slash = '\0';
		fd = beneath_open_directory(root, part);
		if (fd < 0) {
			int in = parent >= 0 ? parent : root;
			const char *name = path_base(part);
			struct stat status;

			failure = errno;
			if ((fstatat(in, name, &status, 0) != 0 || !S_ISDIR(status.st_mode)) &&
			    (unlinkat(in, name, 0) == 0 || errno == ENOENT) && mkdirat(in, name, 0755) == 0)
				fd = beneath_open_directory(root, part);
			else
				errno = failure;
		}
		*slash = '/';
		file_close(&parent);
		if (fd < 0)
			break;
	}
	if (fd < 0 && strchr(path, '/') == NULL)
		fd = beneath_open_directory(root, ".");
	free(part);
	return fd;
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
	for (char **path = env->inside; failed == 0 && *path != NULL; path++) {
		const char *part = beneath_part(env->spec->source->workspace, *path);
		char *from = replay_env_path_below(env->restored, *path);
		struct buffer bytes = BUFFER_INIT;
		int directory = make_beneath(root, part), fd = -1;
		struct stat status;

		failed = -1;
		if (directory >= 0 && stat(from, &status) == 0 &&
		    file_load(from, DEFINITION_FILE_LIMIT, &bytes, NULL) == 0) {
			/* Not by rename(): an overlay would have to move its contents. */
			if (unlinkat(directory, path_base(part), 0) != 0 && errno == EISDIR) {
				/* An error shows when the file is made. */
				char *today = path_join(env->workspace, part);

				copytree_remove(today, NULL);
				free(today);
			}
			fd = openat(directory, path_base(part), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
			    O_NOFOLLOW, status.st_mode & 0777);
			failed = fd < 0 ? -1 : file_write(fd, buffer_string(&bytes), bytes.len);
		}
		if (failed != 0)
			error_errno(err, ERROR_SYSTEM, *path, "unable to restore it from the recording");
		file_close(&fd);
		file_close(&directory);
		buffer_free(&bytes);
		free(from);
	}
	close(root);
	return failed;
}

/* ---- the workspace ---- */

/* Makes a copy at path, empty if there is nothing to copy. */
static int
copy_workspace(const struct replay_env *env, const char *from, const char *path, struct error *err)
{
	if (*from == '\0')
		return directory_make(path, 0755, err);
	if (copytree(from, path, env->spec->source->storage.root, err) != 0)
		return -1;
	return env->spec->second ? perturb_tree(path, err) : 0;
}

/* Makes the directory that is shown as the workspace: the snapshot, or what is used instead. */
static int
set_workspace(struct replay_env *env, struct error *err)
{
	const struct source *s = env->spec->source;
	enum isolation isolation = env->spec->isolation;
	bool there = s->files == NULL && path_is_directory(s->workspace);
	char *from;
	int failed = 0;

	if (isolation == ISOLATION_NONE)
		env->workspace = memory_text(s->workspace);
	if (isolation == ISOLATION_NONE ? !there :
	    s->snapshot == NULL && s->files == NULL && !there && !s->contained)
		return error_set(err, ERROR_SYSTEM, s->workspace,
		    "the workspace is not there, and no snapshot of it");
	if (isolation == ISOLATION_NONE)
		return 0;
	if (strcmp(s->workspace, "/") == 0)
		return error_set(err, ERROR_SYSTEM, s->workspace, "the workspace is the root directory, "
		    "which cannot be isolated: record with awf-run --workspace DIR");

	from = s->snapshot != NULL ? memory_text(s->snapshot) : there ? memory_text(s->workspace) :
	    s->files != NULL ? source_exported(s, s->workspace) : NULL;
	/* An export without a snapshot: only the exported files of steps in it, if any. */
	if (from == NULL || (s->snapshot == NULL && !path_is_directory(from))) {
		free(from);
		from = memory_text("");
	}
	env->workspace = isolation == ISOLATION_COPY ? path_join(env->spec->place, "workspace") :
	    memory_text(s->workspace);
	if (isolation == ISOLATION_COPY) {
		failed = copy_workspace(env, from, env->workspace, err);
	} else if (!env->spec->second && *from != '\0') {
		env->shown = memory_text(from);
	} else {
		/* In memory, if there is enough: that file system lists directories in
		 * another order. */
		if (memory_place_make(&env->made) == 0)
			env->shown = path_join(env->made.path, "workspace");
		if (env->shown == NULL || copy_workspace(env, from, env->shown, NULL) != 0) {
			memory_place_remove(&env->made);
			free(env->shown);
			env->shown = path_join(env->spec->place, "workspace");
			failed = copy_workspace(env, from, env->shown, err);
		}
	}
	free(from);
	return failed;
}

/* ---- mapping recorded paths ---- */

/* Without namespaces a path in the workspace is mapped to its copy, an exported one to
 * the export. */
static char *
replay_env_map_path(const struct replay_env *env, const char *path)
{
	const struct source *s = env->spec->source;
	char *found;

	if (env->spec->isolation != ISOLATION_COPY || *path != '/')
		return memory_text(path);
	if (path_within(path, s->workspace))
		return memory_format("%s%s", env->workspace, path + strlen(s->workspace));
	found = replay_env_path_below(env->restored, path);
	if (access(found, F_OK) == 0)
		return found;
	free(found);
	found = source_exported(s, path);
	return found != NULL ? found : memory_text(path);
}

/* Maps each directory in a colon-separated list. */
static char *
lead_list(const struct replay_env *env, const char *list)
{
	struct buffer led = BUFFER_INIT;

	for (;;) {
		size_t len = strcspn(list, ":");
		char *path = memory_copy(list, len), *now = replay_env_map_path(env, path);

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

/* The directory of this program. */
static char *
own_directory(void)
{
	char *program = installation_program();
	char *directory = program == NULL ? NULL : path_directory(program);

	free(program);
	return directory;
}

/* Sets NAME=VALUE for each member of an object whose values are texts. */
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
set_environment(struct replay_env *env)
{
	static const char *const passed[] = { "HOME", "XDG_CONFIG_HOME" };
	struct environment *e = &env->environment;
	const struct source *s = env->spec->source;
	struct buffer providers = BUFFER_INIT;
	const char *path, *tools;
	char *list, *own, *found, *step;
	struct stat there, wanted;

	environment_copy(e, &(struct environment){ NULL, 0, 0 });
	set_members(e, "", span_member(s->payload, KEY_ENV));
	set_members(e, "AWF_INPUT_", span_member(s->payload, KEY_INPUTS));
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
		const char *value = getenv(passed[i]);

		if (value != NULL && *value == '/')
			environment_set(e, passed[i], value);
	}
	if (env->config != NULL || s->config != NULL)
		environment_set(e, "XDG_CONFIG_HOME", env->config != NULL ? env->config : s->config);
	environment_set(e, "AWF_SYNC", "none");

	/* No provider is asked, so providers that are not AWF's need not be installed. */
	for (char **word = s->providers; word != NULL && *word != NULL; word++)
		buffer_format(&providers, "%s%s", providers.len > 0 ? ":" : "", *word);
	environment_set(e, PROVIDER_RECORDED, buffer_string(&providers));
	buffer_clear(&providers);
	buffer_format(&providers, "{%s}", buffer_string(&s->endpoints));
	environment_set(e, PROVIDER_RECORDED_ENDPOINTS, buffer_string(&providers));
	buffer_free(&providers);

	/* Puts this program's directory first, unless PATH finds its awf-step: another version
	 * could not replay. */
	path = environment_get(e, "PATH");
	list = lead_list(env, path != NULL ? path : DEFAULT_PATH);
	own = own_directory();
	found = path_search(list, "awf-step");
	step = own != NULL ? path_join(own, "awf-step") : NULL;
	if (own != NULL && (found == NULL || stat(found, &there) != 0 || stat(step, &wanted) != 0 ||
	    there.st_dev != wanted.st_dev || there.st_ino != wanted.st_ino)) {
		char *longer = memory_format("%s:%s", own, list);

		free(list);
		list = longer;
	}
	environment_set(e, "PATH", list);
	free(list);
	free(own);
	free(found);
	free(step);

	tools = environment_get(e, "AWF_TOOL_PATH");
	if (tools == NULL)
		return;
	list = lead_list(env, tools);
	environment_set(e, "AWF_TOOL_PATH", list);
	free(list);
}

/* ---- what is visible ---- */

/* Makes a directory of the recording visible, also one in the workspace: a copy of the workspace
 * does not contain the storage. Takes over the path. */
static void
show_record(struct replay_env *env, char *path)
{
	if (path != NULL && *path == '/' && !list_has(env->visible, path))
		list_take(&env->visible, path);
	else
		free(path);
}

/* The same, except for paths in the workspace, which are visible with it. */
static void
replay_env_show_path(struct replay_env *env, char *path)
{
	if (path != NULL && path_within(path, env->workspace))
		free(path);
	else
		show_record(env, path);
}

static void
show_list(struct replay_env *env, const char *list)
{
	while (list != NULL && *list != '\0') {
		size_t len = strcspn(list, ":");

		replay_env_show_path(env, memory_copy(list, len));
		list += len + (list[len] == ':');
	}
}

/* For a directory PREFIX/bin in PATH: returns the prefix if it contains a Python's modules or a
 * virtual environment's settings, without which Python would use others. NULL for shared
 * directories and for those that contain the home directory. To be freed by the caller. */
static char *
replay_env_python(const char *directory)
{
	static const char *const everybodys[] = { "/", "/usr", "/usr/local", NULL };
	char *prefix = path_directory(directory), *settings = path_join(prefix, "pyvenv.cfg"),
	    *lib = path_join(prefix, "lib");
	const char *home = path_home();
	const bool own = strcmp(path_base(directory), "bin") == 0 && text_index(prefix, everybodys) == -1 &&
	    strcmp(path_base(prefix), ".local") != 0 && (home == NULL || !path_within(home, prefix));
	bool is = own && access(settings, F_OK) == 0;
	DIR *dir = is || !own ? NULL : opendir(lib);
	const struct dirent *entry;

	while (!is && dir != NULL && (entry = readdir(dir)) != NULL) {
		char *file = memory_format("%s/%s/os.py", lib, entry->d_name);

		is = strncmp(entry->d_name, "python", 6) == 0 && access(file, F_OK) == 0;
		free(file);
	}
	if (dir != NULL)
		closedir(dir);
	if (!is) {
		free(prefix);
		prefix = NULL;
	}
	free(settings);
	free(lib);
	return prefix;
}

/* Makes Python installations of PATH visible. */
static void
show_pythons(struct replay_env *env, const char *list)
{
	char **directories = list_split(list, ':');

	for (char **directory = directories; directory != NULL && *directory != NULL; directory++)
		replay_env_show_path(env, **directory == '/' ? replay_env_python(*directory) :
		    NULL);
	list_free(directories);
}

/* Makes a recorded path visible: from the export, if there is one. */
static void
show_recorded(struct replay_env *env, const char *path)
{
	const struct source *s = env->spec->source;
	char *exported;

	if (s->files == NULL) {
		replay_env_show_path(env, memory_text(path));
		return;
	}
	exported = source_exported(s, path);
	if (exported == NULL || path_within(path, env->workspace) || list_has(env->paths, exported)) {
		free(exported);
		return;
	}
	list_take(&env->paths, exported);
	list_add(&env->paths, path);
	add_shown(&env->elsewhere, env->paths[list_count(env->paths) - 1], exported);
}

/* Makes a recorded file visible with its directory; the file alone if the directory is private or
 * contains the user's API keys. */
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
set_visible(struct replay_env *env, const char *script, struct error *err)
{
	const struct source *s = env->spec->source;
	char *libexec = libexec_path();

	for (char *const *path = env->spec->visible; path != NULL && *path != NULL; path++)
		replay_env_show_path(env, memory_text(*path));
	replay_env_show_path(env, own_directory());
	show_list(env, libexec);
	replay_env_show_path(env, memory_text(installation_share()));
	show_list(env, environment_get(&env->environment, "PATH"));
	show_pythons(env, environment_get(&env->environment, "PATH"));
	show_list(env, environment_get(&env->environment, "AWF_TOOL_PATH"));
	replay_env_show_path(env, path_directory(env->argv[0]));
	show_record(env, path_directory(s->transcript));
	show_record(env, memory_text(s->blobs));
	if (s->input != NULL)
		show_record(env, path_directory(s->input));
	else if (s->children.count > 0 && s->storage.root != NULL)
		show_record(env, path_join(s->storage.root, "inputs"));
	if (s->config != NULL)
		replay_env_show_path(env, memory_text(s->config));
	replay_env_show_path(env, path_config("agents"));
	replay_env_show_path(env, path_config("tools"));
	show_recorded(env, s->directory);
	if (script != NULL)
		show_file(env, script);
	free(libexec);
	/* Paths in a recording are shown only where such files are allowed. */
	for (size_t i = 0; i < s->definitions.count; i++) {
		const struct definition_file *file = &s->definitions.list[i];

		if (replay_env_check_file(env, file->path, err) == 0)
			show_file(env, file->path);
		else if (!file->kept)
			return -1;
	}
	return 0;
}

static int
replay_env_write_file(const char *path, const void *bytes, size_t len, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), failed = 0;

	if (fd < 0 || file_write(fd, bytes, len) != 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	file_close(&fd);
	return failed;
}

/* Sets a time zone other than the machine's, by a tzfile(5) with a single offset. The recorded
 * variable TZ has precedence. */
static int
set_zone(struct replay_env *env, struct error *err)
{
	static const char *const rules[] = { "\n<+0545>-5:45\n", "\n<-0930>9:30\n" };
	static const int32_t offsets[] = { 20700, -34200 };
	const time_t now = time(NULL);
	struct tm here = { .tm_gmtoff = 0 };
	char *path = path_join(env->spec->place, "localtime");
	struct buffer bytes = BUFFER_INIT;
	size_t zone;
	int failed;

	localtime_r(&now, &here);
	zone = here.tm_gmtoff == offsets[0];
	/* The data blocks of both versions, which are the same without transitions. */
	for (int version = 0; version < 2; version++) {
		buffer_append(&bytes, "TZif2", 5);
		for (size_t i = 0; i < 15 + 6 * 4; i++)
			buffer_byte(&bytes, i == 15 + 4 * 4 + 3 ? 1 : i == 15 + 5 * 4 + 3 ? 6 : 0);
		for (int shift = 24; shift >= 0; shift -= 8)
			buffer_byte(&bytes, (char)((uint32_t)offsets[zone] >> shift & 0xff));
		buffer_append(&bytes, "\0\0", 2);
		buffer_append(&bytes, rules[zone] + 2, 5);
		buffer_byte(&bytes, '\0');
	}
	buffer_text(&bytes, rules[zone]);
	failed = replay_env_write_file(path, bytes.data, bytes.len, err);
	add_shown(&env->outside, memory_text("/etc/localtime"), path)->itself = true;
	buffer_free(&bytes);
	return failed;
}

/* Sets another date for dynamically linked programs: by /etc/ld.so.preload, since a variable would
 * be visible. Library and file are placed so that a program sees both or none. */
static int
set_day(struct replay_env *env, struct error *err)
{
#if !defined AWF_PORTABLE && !defined __SANITIZE_ADDRESS__
	static const char shown[] = "/etc/awf-clock.so", preload[] = "/etc/ld.so.preload";
	char *list = libexec_path(), *library = path_search(list, "clock.so");
	struct buffer text = BUFFER_INIT;
	char *path;
	int failed;

	free(list);
	/* It may not be installed. */
	if (library == NULL)
		return 0;
	if (file_load(preload, PRELOAD_LIMIT, &text, NULL) != 0)
		buffer_clear(&text);
	if (text.len > 0)
		buffer_byte(&text, '\n');
	buffer_format(&text, "%s\n", shown);
	path = path_join(env->spec->place, "preload");
	failed = replay_env_write_file(path, text.data, text.len, err);
	add_shown(&env->outside, memory_text(preload), path);
	add_shown(&env->outside, memory_text(shown), library);
	buffer_free(&text);
	return failed;
#else
	(void)env;
	(void)err;
	return 0;
#endif
}

int
replay_env_open(struct replay_env *env, const struct replay_env_spec *spec, struct error *err)
{
	const struct source *s = spec->source;
	char *script;
	int failed;

	*env = (struct replay_env){ .spec = spec };
	if (replay_env_restore_definitions(env, err) != 0 || set_workspace(env, err) != 0)
		return -1;
	script = source_script(s);
	for (char **word = s->argv; *word != NULL; word++) {
		char *from, *path, *led = NULL;

		/* In a copy a relative path is relative to the copy; but the script's path may lead
		 * out of the workspace. */
		if (spec->isolation == ISOLATION_COPY && script != NULL && **word != '/' &&
		    !path_within(script, s->workspace)) {
			from = path_join(s->workspace, *word);
			path = path_normal(from);
			led = strcmp(path, script) == 0 ? replay_env_map_path(env, script) :
			    memory_text(*word);
			free(from);
			free(path);
		}
		list_take(&env->argv, led != NULL ? led : replay_env_map_path(env, *word));
	}
	env->directory = replay_env_map_path(env, s->directory);
	set_environment(env);
	failed = set_visible(env, script, err);
	free(script);
	if (failed == 0 && spec->second && spec->isolation == ISOLATION_NAMESPACES)
		failed = set_zone(env, err) != 0 || set_day(env, err) != 0 ? -1 : 0;
	return failed;
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
		text_line(remark); /* the path comes from outside */
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
