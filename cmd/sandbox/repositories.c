/*
 * One pass over the directories of the workspace. Each is opened by its path from the top without
 * following links, so that nothing moved meanwhile leads out of it. A directory that its owner may
 * enter but not list is made listable for that moment: git enters it all the same.
 *
 * The second pass lists only directories that are new or have changed, by the kernel's time of the
 * last change (ctime), which nobody can set. That time is coarse, so a directory that had just been
 * changed at the first pass is always listed.
 *
 * What the code relies on:
 *  - When things are set aside, no program of this sandbox is left that could put them back.
 *  - A file that says where a repository lies leads to one that was examined, or is odd. So the
 *    data of a repository need not be searched for others.
 *  - What was plain before and no longer is was changed by the command, or by the user meanwhile:
 *    these cannot be distinguished. So it is set aside, not removed.
 *  - Nothing is known of what could not be examined (sandbox/look.h): it is left as it is, and
 *    reported. If that happens at the first pass, the command is not run.
 */
#define _GNU_SOURCE
#include "sandbox/repositories.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

#include "base/buffer.h"
#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "isolate/git_config.h"
#include "sandbox/look.h"
#include "sandbox/repository_data.h"

#define CONTENT_LIMIT ((size_t)1 << 20)
#define NUMBERS_ASIDE 10         /* names that are tried in turn; then random ones, which nobody has taken before */
#define NAMES_ASIDE 20
#define FLAT_LENGTH 200          /* of the name of what lay deeper */
#define USED_LIMIT 1000
#define COPIES 64                /* of files, that are open while the command runs */
#define BALLAST ((size_t)64 << 10) /* of a directory or two, and for names in others */
#define DEPTH 32                 /* of directories that lie in each other in a repository */
#define REPOSITORY ".git"

struct walk {
	struct repositories *r;
	const struct repositories *before; /* result of the first pass; NULL in the first one */
	struct timespec settled; /* ctimes after this may not show a further change */
	char **directories;    /* relative paths of directories to be examined */
	size_t count, capacity;
	size_t seen_capacity;
	size_t used_count;
	size_t depth;          /* of the directories that are being judged */
	size_t missed;         /* look_missed() when the current judgement began */
};

/* Judges something in a repository, given its name, the open directory that contains it, and the
 * path of that. */
typedef void judge(struct walk *w, int at, const char *directory, const char *name);

static int
open_below_unnoted(int root, const char *path, int flags)
{
	if (*path == '\0')
		path = ".";
#ifdef __linux__
	const struct open_how how = { .flags = (unsigned long long)(flags | O_CLOEXEC),
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
#else
	return openat(root, path, flags | O_NOFOLLOW | O_CLOEXEC);
#endif
}

static int
open_below(int root, const char *path, int flags)
{
	const int fd = open_below_unnoted(root, path, flags);

	if (fd == -1)
		look_tells(root, *path == '\0' ? "." : path);
	return fd;
}

/* "" stands for the workspace. */
static char *
repositories_join_path(const char *directory, const char *name)
{
	return *directory == '\0' ? memory_text(name) : path_join(directory, name);
}

/* Opens a directory for listing; NULL: it is no directory, or cannot be entered. */
static DIR *
open_directory(int root, const char *path)
{
	int fd = open_below(root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK), entry;
	char link[48];
	struct stat st;
	DIR *dir;

	if (fd == -1 && errno == EACCES && (entry = open_below(root, path, O_PATH | O_DIRECTORY)) != -1) {
		if (fstat(entry, &st) == 0 && (st.st_mode & S_IXUSR) != 0) {
			snprintf(link, sizeof link, "/proc/self/fd/%d", entry);
			if (chmod(link, (st.st_mode & 07777) | S_IRUSR) == 0) {
				fd = open_below(root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
				chmod(link, st.st_mode & 07777);
			}
		}
		close(entry);
	}
	dir = fd == -1 ? NULL : fdopendir(fd);
	if (dir == NULL && fd != -1) {
		look_tells(fd, ".");
		close(fd);
	}
	return dir;
}

static bool
is_there(int at, const char *name)
{
	struct stat st;

	return look_status(at, name, &st) == 0;
}

/* The next entry except "." and ".."; NULL at the end. */
static const struct dirent *
next_entry(DIR *dir)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	if (entry == NULL && errno != 0)
		look_tells(dirfd(dir), ".");
	return entry;
}

static mode_t
kind_of(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return (mode_t)DTTOIF(entry->d_type);
	return look_status(dirfd(dir), entry->d_name, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

/* ---- items ---- */

/* Reads a file; *whole: it is a regular file, and was not too large. */
static void
repositories_load_file(int at, const char *name, struct buffer *content, bool *whole)
{
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd == -1)
		look_tells(at, name);
	*whole = fd != -1 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (*whole && file_read(fd, content, CONTENT_LIMIT) != 0) {
		look_tells(at, name);
		*whole = false;
	}
	file_close(&fd);
}

/* Describes all entries below a directory by what lstat(2) reports. Only one directory is open at a
 * time, at any depth. */
static void
repositories_describe_directory(struct buffer *out, int root, const char *path)
{
	DIR *dir = open_directory(root, path);
	const struct dirent *entry;
	char **below = NULL;
	struct stat st;

	while (dir != NULL && (entry = next_entry(dir)) != NULL) {
		if (look_status(dirfd(dir), entry->d_name, &st) != 0)
			continue;
		buffer_format(out, "%s %llu %lld %lld.%09ld\n", entry->d_name,
		    (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_ctim.tv_sec,
		    st.st_ctim.tv_nsec);
		if (S_ISDIR(st.st_mode))
			list_take(&below, path_join(path, entry->d_name));
	}
	if (dir != NULL)
		closedir(dir);
	for (char **directory = below; directory != NULL && *directory != NULL; directory++)
		repositories_describe_directory(out, root, *directory);
	list_free(below);
}

/* Not a file, a directory or a link: opening it may block for ever. */
static bool
is_special(mode_t mode)
{
	return !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

/* Starts a judgement: if a part of what is judged cannot be examined, the judgement is dropped. */
static void
begin_judgement(struct walk *w)
{
	w->missed = look_missed();
}

/* Takes over settings. content: what a directory contains, or NULL. Returns the item; NULL: it no
 * longer exists, or could not be examined. */
static struct odd_item *
add_item(struct walk *w, int at, const char *directory, const char *name, char **settings,
    const char *content)
{
	struct odd_item item = { .path = repositories_join_path(directory, name),
	    .settings = settings, .copy = -1 };
	struct buffer bytes = BUFFER_INIT;
	char target[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (look_status(at, name, &st) != 0) {
		free(item.path);
		list_free(settings);
		return NULL;
	}
	item.mode = st.st_mode;
	item.linked = S_ISREG(st.st_mode) && st.st_nlink > 1;
	item.waits = is_special(st.st_mode);
	if (content != NULL) {
		buffer_text(&bytes, content);
	} else if (S_ISLNK(st.st_mode)) {
		len = readlinkat(at, name, target, sizeof target - 1);
		buffer_append(&bytes, target, len > 0 ? (size_t)len : 0);
		item.whole = len > 0;
	} else if (S_ISREG(st.st_mode)) {
		repositories_load_file(at, name, &bytes, &item.whole);
	}
	if (content == NULL && S_ISDIR(st.st_mode)) {
		repositories_describe_directory(&bytes, w->r->workspace, item.path);
	} else if (content == NULL && !item.whole) {
		buffer_clear(&bytes);
		buffer_format(&bytes, "%llu %lld %lld.%09ld", (unsigned long long)st.st_ino,
		    (long long)st.st_size, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	}
	if (look_missed() != w->missed) {
		buffer_free(&bytes);
		free(item.path);
		list_free(settings);
		return NULL;
	}
	item.len = bytes.len;
	item.content = buffer_take(&bytes);
	w->r->items = memory_array(w->r->items, w->r->count + 1, sizeof *w->r->items);
	w->r->items[w->r->count++] = item;
	return &w->r->items[w->r->count - 1];
}

static const struct odd_item *
find_item(const struct repositories *r, const char *path)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->items[i].path, path) == 0)
			return &r->items[i];
	return NULL;
}

static void
judge_odd(struct walk *w, int at, const char *directory, const char *name)
{
	add_item(w, at, directory, name, NULL, NULL);
}

/* ---- parts of a repository ---- */

/* Whether an absolute path is the workspace or is inside of it. */
static bool
is_here(const struct walk *w, const char *path)
{
	return path_within(path, w->r->root);
}

/* Of such a path, which is not the workspace's own: as of the workspace. */
static const char *
path_inside(const struct walk *w, const char *path)
{
	return path + strlen(w->r->root) + (strcmp(w->r->root, "/") != 0);
}

/* A path as the settings or files of a repository say it, from a directory of the workspace on; in
 * memory of its own. */
static char *
path_from(const struct walk *w, const char *directory, const char *path)
{
	char *base = *path == '/' ? NULL : repositories_join_path(w->r->root, directory);
	char *whole = base == NULL ? memory_text(path) : path_join(base, path);
	char *normal = path_normal(whole);

	free(base);
	free(whole);
	return normal;
}

/* Like realpath(3); NULL: the path does not exist, or that is not known. */
static char *
real_path(const char *path)
{
	char *real = realpath(path, NULL);

	if (real == NULL)
		look_tells(AT_FDCWD, path);
	return real;
}

/* Without links as far as it is there; in memory of its own. */
static char *
path_real(const char *path)
{
	char *normal = path_normal(path), *there = memory_text(normal), *real, *whole;
	const char *rest;

	while ((real = real_path(there)) == NULL && path_climb(&there))
		continue;
	rest = normal + strlen(there);
	rest += *rest == '/';
	whole = real == NULL ? memory_text(normal) : *rest == '\0' ? memory_text(real) : path_join(real, rest);
	free(real);
	free(there);
	free(normal);
	return whole;
}

/* Where the files of a submodule lie: in the workspace. */
static bool
is_work_tree_here(const struct walk *w, const char *directory, const char *setting)
{
	static const char name[] = "core.worktree=";
	char *path = strncmp(setting, name, sizeof name - 1) != 0 ? NULL :
	    path_from(w, directory, setting + sizeof name - 1);
	char *real = path == NULL ? NULL : real_path(path);
	bool here = real != NULL && is_here(w, real);

	free(path);
	free(real);
	return here;
}

/* Whether a setting that is not plain says that git reads the repository in a form that is not known here. */
static bool
is_unknown_extension(const char *setting)
{
	static const char extension[] = "extensions.", known[] = "extensions.partialclone=";

	return strncmp(setting, extension, sizeof extension - 1) == 0 && strncmp(setting, known, sizeof known - 1) != 0;
}

static void
judge_config(struct walk *w, int at, const char *directory, const char *name)
{
	struct odd_item *item;
	struct buffer text = BUFFER_INIT;
	char **settings = NULL, **odd = NULL, *path;
	bool whole, sparse, was_sparse = false;

	if (w->before == NULL) {
		path = path_from(w, directory, name);
		git_settings_read(&w->r->settings, path);
		free(path);
	} else {
		path = repositories_join_path(directory, name);
		was_sparse = find_item(w->before, path) != NULL && find_item(w->before, path)->sparse;
		free(path);
	}
	repositories_load_file(at, name, &text, &whole);
	if (!whole) {
		add_item(w, at, directory, name, NULL, NULL);
	} else {
		settings = git_config_odd(buffer_string(&text), text.len);
		for (char **setting = settings; setting != NULL && *setting != NULL; setting++) {
			if (is_unknown_extension(*setting) && !list_has(w->r->unknown, directory))
				list_add(&w->r->unknown, directory);
			if (!is_work_tree_here(w, directory, *setting))
				list_add(&odd, *setting);
		}
		list_free(settings);
		sparse = repository_config_is_sparse(buffer_string(&text));
		if (odd != NULL || w->before == NULL || (was_sparse && !sparse)) {
			item = add_item(w, at, directory, name, odd, NULL);
			if (item != NULL) {
				item->hides = odd == NULL && was_sparse;
				item->plain = odd == NULL && !was_sparse;
				item->sparse = sparse;
			}
		}
	}
	buffer_free(&text);
}

/* The single line of a file, without trailing white space; "" if it is not one line. To be freed by
 * the caller. */
static char *
load_line(int at, const char *name)
{
	struct buffer text = BUFFER_INIT;
	bool whole;
	char *line;

	repositories_load_file(at, name, &text, &whole);
	while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) != NULL)
		text.len--;
	line = whole && text.len > 0 && memchr(text.data, '\n', text.len) == NULL ?
	    memory_copy(text.data, text.len) : memory_text("");
	buffer_free(&text);
	return line;
}

/* Whether a linked work tree is in the workspace too; if not, the command may not change the file
 * that names it. */
static bool
is_linked_here(const struct walk *w, int at, const char *directory)
{
	char *line = load_line(at, "gitdir"), *path = *line == '\0' ? NULL : path_from(w, directory, line);
	char *real = path == NULL ? NULL : path_real(path); /* git writes there */
	bool here = real != NULL && is_here(w, path) && is_here(w, real);

	free(real);
	free(path);
	free(line);
	return here;
}

static bool
is_linked_part(const char *directory)
{
	char *parent = path_directory(directory);
	bool is = strcmp(path_base(parent), "worktrees") == 0;

	free(parent);
	return is;
}

static void
judge_commondir(struct walk *w, int at, const char *directory, const char *name)
{
	char *line = load_line(at, name);

	if (!is_linked_part(directory) || strcmp(line, "../..") != 0 || !is_linked_here(w, at, directory))
		add_item(w, at, directory, name, NULL, NULL);
	free(line);
}

static void
judge_gitdir(struct walk *w, int at, const char *directory, const char *name)
{
	if (!is_linked_part(directory) || !is_linked_here(w, at, directory))
		add_item(w, at, directory, name, NULL, NULL);
}

/* Judges each name in a directory of a repository. A link in its place is odd, and so is a
 * directory deeper than any that git makes: so descriptors cannot run out at any depth
 * (look_reserve()). */
static void
judge_each(struct walk *w, int at, const char *directory, const char *name, judge *one)
{
	char *path = repositories_join_path(directory, name);
	const struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (look_status(at, name, &st) == 0 && (!S_ISDIR(st.st_mode) || w->depth == DEPTH)) {
		add_item(w, at, directory, name, NULL, NULL);
		free(path);
		return;
	}
	w->depth++;
	dir = open_directory(w->r->workspace, path);
	while (dir != NULL && (entry = next_entry(dir)) != NULL) {
		begin_judgement(w);
		one(w, dirfd(dir), path, entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	w->depth--;
	free(path);
}

/* Every file is odd unless its name is one that git never executes; directories are searched, as
 * hooks may run files in them. */
static void
judge_hook(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;

	if (look_status(at, name, &st) == 0 && S_ISDIR(st.st_mode))
		judge_each(w, at, directory, name, judge_hook);
	else if (!text_ends(name, ".sample"))
		add_item(w, at, directory, name, NULL, NULL);
}

static void
judge_hooks(struct walk *w, int at, const char *directory, const char *name)
{
	judge_each(w, at, directory, name, judge_hook);
}

static void
judge_all_odd(struct walk *w, int at, const char *directory, const char *name)
{
	judge_each(w, at, directory, name, judge_odd);
}

/* Neither a file nor a directory: a link, or a special file. */
static bool
is_no_file(int at, const char *name)
{
	struct stat st;

	return look_status(at, name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* A '*' at the end of a name stands for any characters. Names that end in .lock are temporary
 * files of git. */
static bool
is_one_of(const char *name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(name, *names) == 0 || (text_ends(*names, "*") &&
		    strncmp(name, *names, strlen(*names) - 1) == 0))
			return true;
	return text_ends(name, ".lock");
}

/* info/exclude hides files from git status: it is plain if it has only comments, as git
 * init writes it. */
static void
judge_exclude(struct walk *w, int at, const char *directory, const char *name)
{
	struct buffer text = BUFFER_INIT;
	struct odd_item *item;
	bool whole, plain;
	char *rest, *line;

	repositories_load_file(at, name, &text, &whole);
	plain = whole && memchr(buffer_string(&text), '\0', text.len) == NULL;
	for (rest = text.data; plain && rest != NULL && (line = strsep(&rest, "\n")) != NULL;)
		plain = *line == '\0' || *line == '#';
	if (!plain || w->before == NULL) {
		item = add_item(w, at, directory, name, NULL, NULL);
		if (item != NULL) {
			item->plain = plain;
			item->hides = true;
		}
	}
	buffer_free(&text);
}

static void
judge_info_entry(struct walk *w, int at, const char *directory, const char *name)
{
	static const char *const data[] = { "refs", "refs_*", "sparse-checkout", "rev-cache", NULL };

	if (strcmp(name, "exclude") == 0)
		judge_exclude(w, at, directory, name);
	else if (!is_one_of(name, data) || is_no_file(at, name))
		add_item(w, at, directory, name, NULL, NULL);
}

static void
judge_info(struct walk *w, int at, const char *directory, const char *name)
{
	judge_each(w, at, directory, name, judge_info_entry);
}

static void
add_leading(struct walk *w, int at, const char *directory, const char *name)
{
	struct odd_item *item = add_item(w, at, directory, name, NULL, NULL);

	if (item != NULL)
		item->leads = true;
}

static bool
is_earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* A directory that objects lie in by their names, aa/ or aa/bb/. There are too many of these to be listed each time: only
 * what is no file, and came since the command began, counts, and no directory holds that which has not changed since. */
static void
judge_new_objects(struct walk *w, int at, const char *directory, const char *name)
{
	char *path;
	const struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (w->before == NULL || look_status(at, name, &st) != 0 || is_earlier(&st.st_ctim, &w->before->began))
		return;
	path = repositories_join_path(directory, name);
	dir = open_directory(w->r->workspace, path);
	while (dir != NULL && (entry = next_entry(dir)) != NULL) {
		const mode_t kind = kind_of(dir, entry);

		begin_judgement(w);
		if (kind != S_IFREG && kind != S_IFDIR && look_status(dirfd(dir), entry->d_name, &st) == 0 &&
		    !is_earlier(&st.st_ctim, &w->before->began))
			add_leading(w, dirfd(dir), path, entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	free(path);
}

static void
judge_links(struct walk *w, int at, const char *directory, const char *name)
{
	const bool deep = strlen(name) == 2 && strlen(path_base(directory)) == 2;
	struct stat st;

	if (look_status(at, name, &st) != 0)
		return;
	if (S_ISDIR(st.st_mode) && deep)
		judge_new_objects(w, at, directory, name);
	else if (S_ISDIR(st.st_mode))
		judge_each(w, at, directory, name, judge_links);
	else if (!S_ISREG(st.st_mode))
		add_leading(w, at, directory, name);
}

static void
judge_object_info(struct walk *w, int at, const char *directory, const char *name)
{
	static const char *const data[] = { "packs", "packs_*", "commit-graph", "commit-graph_*",
		"commit-graphs", "tmp_*", NULL };

	if (!is_one_of(name, data) || is_no_file(at, name))
		add_item(w, at, directory, name, NULL, NULL);
	else
		judge_links(w, at, directory, name);
}

/* Of objects only that, and no link in the place of a directory, such as pack or 0a: git writes there, and packs
 * what it finds. The rest is data of git's own form, whatever it is. */
static void
judge_object(struct walk *w, int at, const char *directory, const char *name)
{
	if (strcmp(name, "info") == 0)
		judge_each(w, at, directory, name, judge_object_info);
	else if (strcmp(name, "pack") == 0 && !is_no_file(at, name))
		judge_each(w, at, directory, name, judge_links);
	else if (is_no_file(at, name))
		add_leading(w, at, directory, name);
	else if (strlen(name) == 2)
		judge_new_objects(w, at, directory, name);
}

static void
judge_objects(struct walk *w, int at, const char *directory, const char *name)
{
	judge_each(w, at, directory, name, judge_object);
}

/* Whether the command made a hard link to a file: what git writes to one name would change the
 * other. A file that had as many links before is accepted, as in a tree copied with hard links. */
static bool
is_shared(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;
	bool shared;
	char *file;

	if (look_status(at, name, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink < 2)
		return false;
	file = memory_format("%llu:%llu:%llu %s/%s", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
	    (unsigned long long)st.st_nlink, directory, name);
	if (w->before == NULL)
		list_add(&w->r->shared, file);
	shared = w->before != NULL && !list_has(w->before->shared, file);
	free(file);
	return shared;
}

/* A symbolic or hard link would let git write to another file. */
static void
judge_files(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;

	if (look_status(at, name, &st) != 0)
		return;
	if (S_ISDIR(st.st_mode))
		judge_each(w, at, directory, name, judge_files);
	else if (!S_ISREG(st.st_mode) || is_shared(w, at, directory, name))
		add_leading(w, at, directory, name);
}

/* Judges a ref or a directory of refs, with its name. */
static void
judge_ref(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;

	if (look_status(at, name, &st) != 0)
		return;
	if ((!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) || !repository_ref_is_plain(at, name))
		add_leading(w, at, directory, name);
	else if (S_ISDIR(st.st_mode))
		judge_each(w, at, directory, name, judge_ref);
}

static void
judge_refs(struct walk *w, int at, const char *directory, const char *name)
{
	judge_each(w, at, directory, name, judge_ref);
}

/* Whether each line of a todo list begins with one of these words, none of which runs a command. */
static bool
is_plain_todo(int at, const char *name, const char *const *words)
{
	struct buffer text = BUFFER_INIT;
	bool whole, plain = true;
	char *rest, *line;

	if (!is_there(at, name))
		return true;
	repositories_load_file(at, name, &text, &whole);
	rest = text.data;
	plain = whole && memchr(buffer_string(&text), '\0', text.len) == NULL;
	while (plain && rest != NULL && (line = strsep(&rest, "\n")) != NULL) {
		size_t len;
		char *word;

		line += strspn(line, " \t\r");
		len = strcspn(line, " \t\r");
		word = memory_copy(line, len);
		plain = len == 0 || *line == '#' || is_one_of(word, words);
		free(word);
	}
	buffer_free(&text);
	return plain;
}

/* What git rebase --continue reads. Some of these files are parts of commands. */
static void
judge_rebase(struct walk *w, int at, const char *directory, const char *name)
{
	static const char *const words[] = { "p", "pick", "r", "reword", "e", "edit", "s", "squash", "f",
		"fixup", "d", "drop", "b", "break", "l", "label", "t", "reset", "m", "merge", "u", "update-ref",
		"noop", NULL };
	static const char *const todos[] = { "git-rebase-todo", "git-rebase-todo.backup", NULL };
	static const char *const commands[] = { "strategy", "strategy_opts", "gpg_sign_opt", "exec", NULL };
	char *path = repositories_join_path(directory, name);
	DIR *dir = open_directory(w->r->workspace, path);
	const struct dirent *entry;
	struct buffer said = BUFFER_INIT;
	bool plain = dir != NULL, whole;

	for (size_t i = 0; plain && todos[i] != NULL; i++)
		plain = is_plain_todo(dirfd(dir), todos[i], words);
	while (plain && (entry = next_entry(dir)) != NULL)
		plain = !is_one_of(entry->d_name, commands) && kind_of(dir, entry) == S_IFREG &&
		    !is_shared(w, dirfd(dir), path, entry->d_name);
	if (!plain) {
		for (size_t i = 0; dir != NULL && todos[i] != NULL; i++)
			repositories_load_file(dirfd(dir), todos[i], &said, &whole);
		for (size_t i = 0; dir != NULL && commands[i] != NULL; i++) {
			buffer_text(&said, commands[i]);
			repositories_load_file(dirfd(dir), commands[i], &said, &whole);
		}
		add_item(w, at, directory, name, NULL, dir == NULL ? NULL : buffer_string(&said));
	}
	buffer_free(&said);
	if (dir != NULL)
		closedir(dir);
	free(path);
}

static void
judge_sequencer(struct walk *w, int at, const char *directory, const char *name)
{
	static const char *const words[] = { "pick", "p", "revert", NULL };
	static const char *const known[] = { "todo", "head", "abort-safety", "opts", "done", NULL };
	char *path = repositories_join_path(directory, name), **odd = NULL;
	DIR *dir = open_directory(w->r->workspace, path);
	struct buffer said = BUFFER_INIT;
	const struct dirent *entry;
	bool plain = dir != NULL, whole;

	if (plain) {
		plain = is_plain_todo(dirfd(dir), "todo", words);
		repositories_load_file(dirfd(dir), "opts", &said, &whole);
		odd = git_config_odd_options(buffer_string(&said), said.len);
		plain = plain && odd == NULL;
		repositories_load_file(dirfd(dir), "todo", &said, &whole);
	}
	while (plain && (entry = next_entry(dir)) != NULL)
		plain = is_one_of(entry->d_name, known) && kind_of(dir, entry) == S_IFREG &&
		    !is_shared(w, dirfd(dir), path, entry->d_name);
	if (!plain)
		add_item(w, at, directory, name, NULL, dir == NULL ? NULL : buffer_string(&said));
	list_free(odd);
	buffer_free(&said);
	if (dir != NULL)
		closedir(dir);
	free(path);
}

static void judge_part(struct walk *w, int at, const char *directory, const char *name);

/* Repositories of submodules and of linked work trees. */
static void
judge_parts(struct walk *w, int at, const char *directory, const char *name)
{
	judge_each(w, at, directory, name, judge_part);
}

static void judge_linked_part(struct walk *w, int at, const char *directory, const char *name);

static void
judge_linked(struct walk *w, int at, const char *directory, const char *name)
{
	judge_each(w, at, directory, name, judge_linked_part);
}

/* Everything that git reads in a repository and that is not data. */
static const struct { const char *name; judge *judge; } read_by_git[] = {
	{ "branches", judge_all_odd }, { "commondir", judge_commondir }, { "config", judge_config },
	{ "config.worktree", judge_config }, { "gitdir", judge_gitdir }, { "hooks", judge_hooks },
	{ "info", judge_info }, { "lfs", judge_links }, { "logs", judge_files }, { "modules", judge_parts },
	{ "NOTES_MERGE_WORKTREE", judge_links },
	{ "objects", judge_objects }, { "rebase-apply", judge_odd }, { "rebase-merge", judge_rebase },
	{ "refs", judge_refs }, { "remotes", judge_all_odd }, { "rr-cache", judge_files },
	{ "sequencer", judge_sequencer }, { "worktrees", judge_linked },
};

/* Whether another name is data, or is ignored by git. Names in capital letters are refs, states
 * and messages. */
static bool
is_data(const char *name)
{
	static const char *const data[] = { "addp-hunk-edit.diff", "description", "fsmonitor--daemon*",
		"gc.log", "gc.pid", "gitk.cache", "index", "index.stash.*", "lfs", "locked", "next-index-*", "packed-refs",
		"packed-refs.new", "shallow", "sharedindex.*", "sharedindex_*", "tmp_*", NULL };

	return *name == '.' || text_ends(name, "~") || text_ends(name, REPOSITORY_ASIDE) ||
	    is_one_of(name, data) || strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(name) ||
	    (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") > 2 && text_ends(name, ".patch"));
}

static int
texts_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether an index of a repository hides paths that none of it did before; at the first pass they are noted. */
static bool
hides_more(struct walk *w, const char *directory, const struct buffer *hidden)
{
	bool more = false;

	for (size_t at = 0; !more && at < hidden->len; at += strlen(hidden->data + at) + 1) {
		char *path = memory_format("%s\n%s", directory, hidden->data + at);

		if (w->before != NULL) {
			more = w->before->hidden_count == 0 || bsearch(&path, w->before->hidden, w->before->hidden_count,
			    sizeof path, texts_compare) == NULL;
			free(path);
		} else {
			if ((w->r->hidden_count & (w->r->hidden_count - 1)) == 0)
				w->r->hidden = memory_array(w->r->hidden, w->r->hidden_count * 2 + 1, sizeof path);
			w->r->hidden[w->r->hidden_count++] = path;
		}
	}
	return more;
}

/* Data of git's own form, that leads to no other place. What is there before is remembered if git needs it. */
static void
judge_data(struct walk *w, int at, const char *directory, const char *name)
{
	struct buffer hidden = BUFFER_INIT;
	struct odd_item *item;

	if (!repository_data_is_plain(at, name, is_linked_part(directory), &hidden) || is_shared(w, at, directory, name)) {
		add_leading(w, at, directory, name);
	} else if (hides_more(w, directory, &hidden)) {
		item = add_item(w, at, directory, name, NULL, NULL);
		if (item != NULL)
			item->hides = true;
	} else if (w->before == NULL && repository_data_is_needed(name)) {
		item = add_item(w, at, directory, name, NULL, NULL);
		if (item != NULL)
			item->plain = true;
	}
	buffer_free(&hidden);
}

static void examine_aside_directory(struct walk *w, const char *repository);

/* Judges what is in a repository. one_by_shape: it is one because of what lies in it, beside which may lie
 * what is no git's. */
static void
judge_repository(struct walk *w, DIR *dir, const char *path, bool one_by_shape)
{
	static const char daemon[] = "fsmonitor--daemon";
	const size_t before = w->r->count;
	const struct dirent *entry;

	if (repositories_have(w->r, path))
		return;
	list_add(&w->r->found, path);
	rewinddir(dir);
	while ((entry = next_entry(dir)) != NULL) {
		bool judged = false;
		mode_t kind;

		begin_judgement(w);
		for (size_t i = 0; !judged && i < sizeof read_by_git / sizeof *read_by_git; i++)
			if (strcmp(entry->d_name, read_by_git[i].name) == 0) {
				read_by_git[i].judge(w, dirfd(dir), path, entry->d_name);
				judged = true;
			}
		if (judged || text_ends(entry->d_name, REPOSITORY_ASIDE))
			continue;
		kind = kind_of(dir, entry);
		if (kind == S_IFDIR && strcmp(entry->d_name, REPOSITORY_ASIDE_DIRECTORY) == 0) {
			examine_aside_directory(w, path);
			continue;
		}
		if (kind == S_IFSOCK && strncmp(entry->d_name, daemon, sizeof daemon - 1) == 0)
			continue; /* a socket: nobody waits for it if nobody serves it */
		if (kind != S_IFREG && kind != S_IFDIR ? is_data(entry->d_name) || !one_by_shape :
		    !is_data(entry->d_name) && !one_by_shape)
			add_item(w, dirfd(dir), path, entry->d_name, NULL, NULL);
		else if (kind == S_IFREG && is_data(entry->d_name))
			judge_data(w, dirfd(dir), path, entry->d_name);
	}
	for (size_t i = before; one_by_shape && i < w->r->count; i++)
		if (w->r->items[i].repository == NULL)
			w->r->items[i].repository = memory_text(path);
}

/* Whether git would recognize a directory with these names as a repository. */
static bool
has_shape(DIR *dir)
{
	int fd = dirfd(dir);

	return is_there(fd, "HEAD") && (is_there(fd, "commondir") || (is_there(fd, "objects") && is_there(fd, "refs")));
}

/* The name of a submodule may contain slashes: a/b. */
static void
judge_part(struct walk *w, int at, const char *directory, const char *name)
{
	char *path = repositories_join_path(directory, name);
	DIR *dir;

	if (is_no_file(at, name)) {
		add_item(w, at, directory, name, NULL, NULL);
	} else if ((dir = open_directory(w->r->workspace, path)) != NULL) {
		if (has_shape(dir))
			judge_repository(w, dir, path, false);
		else
			judge_each(w, at, directory, name, judge_part);
		closedir(dir);
	}
	free(path);
}

/* Judges a part for a linked work tree: git takes each directory in worktrees/ for one. */
static void
judge_linked_part(struct walk *w, int at, const char *directory, const char *name)
{
	char *path = repositories_join_path(directory, name);
	DIR *dir = is_no_file(at, name) ? NULL : open_directory(w->r->workspace, path);

	if (dir != NULL) {
		judge_repository(w, dir, path, false);
		closedir(dir);
	} else if (is_no_file(at, name)) {
		add_item(w, at, directory, name, NULL, NULL);
	}
	free(path);
}

/* ---- the workspace ---- */

static void
add_directory(struct walk *w, char *path)
{
	if (w->count == w->capacity) {
		w->capacity = w->capacity * 2 + 64;
		w->directories = memory_array(w->directories, w->capacity, sizeof *w->directories);
	}
	w->directories[w->count++] = path;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct seen_directory *)a)->path, ((const struct seen_directory *)b)->path);
}

static const struct seen_directory *
find_seen(const struct repositories *r, const char *path)
{
	char *text = memory_text(path);
	const struct seen_directory key = { .path = text };
	const struct seen_directory *found = r->seen_count == 0 ? NULL :
	    bsearch(&key, r->seen, r->seen_count, sizeof *r->seen, by_path);

	free(text);
	return found;
}

/* Whether no name can have come into a directory since it was seen. */
static bool
is_unchanged(const struct seen_directory *seen, const struct stat *st)
{
	return seen->device == st->st_dev && seen->inode == st->st_ino &&
	    seen->changed.tv_sec == st->st_ctim.tv_sec && seen->changed.tv_nsec == st->st_ctim.tv_nsec;
}

/* st: NULL if it could not be listed. Without a reliable ctime it counts as changed. */
static void
add_seen(struct walk *w, const char *path, const struct stat *st)
{
	const bool known = st != NULL && is_earlier(&st->st_ctim, &w->settled);
	struct repositories *r = w->r;

	if (r->seen_count == w->seen_capacity) {
		w->seen_capacity = w->seen_capacity * 2 + 64;
		r->seen = memory_array(r->seen, w->seen_capacity, sizeof *r->seen);
	}
	r->seen[r->seen_count] = (struct seen_directory){ .path = memory_text(path) };
	if (known) {
		r->seen[r->seen_count].device = st->st_dev;
		r->seen[r->seen_count].inode = st->st_ino;
		r->seen[r->seen_count].changed = st->st_ctim;
	}
	r->seen_count++;
}

/* What was set aside of a repository is reviewed there: it is looked through as a directory of the workspace is, for
 * whatever git would take for a repository. One that was seen is looked at anyhow. */
static void
examine_aside_directory(struct walk *w, const char *repository)
{
	char *path = repositories_join_path(repository, REPOSITORY_ASIDE_DIRECTORY);

	if (w->before == NULL || find_seen(w->before, path) == NULL)
		add_directory(w, path);
	else
		free(path);
}

/* Something in a directory of the workspace. */
static void
repositories_examine_entry(struct walk *w, int at, const char *directory, const char *name,
    mode_t kind)
{
	char *path = repositories_join_path(directory, name);
	DIR *repository;

	begin_judgement(w);
	if (strcasecmp(name, REPOSITORY) != 0) {
		/* One that was seen is looked at anyhow. */
		if (w->before == NULL || find_seen(w->before, path) == NULL) {
			add_directory(w, path);
			return;
		}
	} else if (kind == S_IFREG) {
		if (!list_has(w->r->pointers, path))
			list_add(&w->r->pointers, path);
	} else if (kind == S_IFDIR) {
		repository = open_directory(w->r->workspace, path);
		if (repository != NULL) {
			judge_repository(w, repository, path, false);
			closedir(repository);
		}
	} else {
		add_item(w, at, directory, name, NULL, NULL);
	}
	free(path);
}

/* A file that git reads as data, by its path in the workspace: it is looked at each time. */
static void
add_data(struct walk *w, const char *path)
{
	if (!list_has(w->r->data, path))
		list_add(&w->r->data, path);
}

static void
repositories_examine_directory(struct walk *w, const char *path)
{
	/* Files outside of its repository that git reads. */
	static const char *const read_here[] = { ".gitattributes", ".gitignore", ".gitmodules", ".mailmap", NULL };
	char *file;
	DIR *dir = open_directory(w->r->workspace, path);
	const struct dirent *entry;
	bool head = false;
	struct stat st;

	if (w->before == NULL)
		add_seen(w, path, dir != NULL && fstat(dirfd(dir), &st) == 0 ? &st : NULL);
	if (dir == NULL)
		return;
	while ((entry = next_entry(dir)) != NULL) {
		mode_t kind = kind_of(dir, entry);

		head = head || strcmp(entry->d_name, "HEAD") == 0;
		if (kind == S_IFDIR || strcasecmp(entry->d_name, REPOSITORY) == 0) {
			repositories_examine_entry(w, dirfd(dir), path, entry->d_name, kind);
		} else if (kind != S_IFREG && text_index(entry->d_name, read_here) != -1) {
			file = repositories_join_path(path, entry->d_name);
			add_data(w, file);
			free(file);
		}
	}
	if (head && has_shape(dir))
		judge_repository(w, dir, path, true);
	closedir(dir);
}

static bool
was_odd(const struct repositories *before, const char *path)
{
	const struct odd_item *was = find_item(before, path);

	return was != NULL && !was->plain;
}

/* Whether a repository (a path relative to the workspace) was examined and has nothing odd
 * that will stay. */
static bool
is_plain_repository(const struct walk *w, const char *path)
{
	for (size_t i = 0; i < w->r->count; i++)
		if (!w->r->items[i].plain && (*path == '\0' || path_within(w->r->items[i].path, path)) &&
		    (w->before == NULL || was_odd(w->before, w->r->items[i].path)))
			return false;
	return repositories_have(w->r, path);
}

/* A file .git with "gitdir: PATH" is plain if the path is a plain repository. */
static void
judge_pointer(struct walk *w, const char *path)
{
	static const char word[] = "gitdir: ";
	char *directory = path_directory(path), *line, *target = NULL, *real = NULL;
	struct odd_item *item;
	const char *repository = NULL;
	bool plain, unknown;
	int at;

	begin_judgement(w);
	if (strcmp(directory, ".") == 0)
		*directory = '\0';
	at = open_below(w->r->workspace, directory, O_PATH | O_DIRECTORY);
	line = load_line(at, path_base(path));
	if (strncmp(line, word, sizeof word - 1) == 0) {
		target = path_from(w, directory, line + sizeof word - 1);
		real = real_path(target);
	}
	if (real != NULL && is_here(w, real))
		repository = real[strlen(w->r->root)] == '/' ? real + strlen(w->r->root) + 1 : "";
	plain = repository != NULL && is_plain_repository(w, repository);
	/* The repository existed before, and may be among what could not be examined now. */
	unknown = repository != NULL && w->before != NULL && look_missed() > 0 &&
	    repositories_have(w->before, repository) && !repositories_have(w->r, repository);
	if (!unknown && (!plain || w->before == NULL)) {
		item = add_item(w, at, directory, path_base(path), NULL, NULL);
		if (item != NULL)
			item->plain = plain;
	}
	file_close(&at);
	free(real);
	free(target);
	free(line);
	free(directory);
}

/* Examines all directories in the list. */
static void
repositories_examine_all(struct walk *w)
{
	while (w->count > 0) {
		char *path = w->directories[--w->count];

		repositories_examine_directory(w, path);
		free(path);
	}
}

/* ---- files that the user's git executes ---- */

/* The directory that paths in a repository's settings are relative to: its work tree, or the
 * repository itself. */
static char *
work_tree_of(const struct walk *w, const char *path)
{
	char *whole = repositories_join_path(w->r->root, path), *directory;

	if (*path == '\0') {
		free(whole);
		whole = memory_text(w->r->root);
	}
	if (strcasecmp(path_base(whole), REPOSITORY) != 0)
		return whole;
	directory = path_directory(whole);
	free(whole);
	return directory;
}

/* Reads the settings of a repository outside of the workspace that a file .git names. */
static void
read_settings_elsewhere(struct walk *w, const char *pointer)
{
	static const char word[] = "gitdir: ";
	static const char *const files[] = { "config", "config.worktree", "../../config" /* of a linked work tree */ };
	char *line = load_line(AT_FDCWD, pointer), *top = path_directory(pointer), *target;

	if (strncmp(line, word, sizeof word - 1) == 0) {
		target = line[sizeof word - 1] == '/' ? memory_text(line + sizeof word - 1) :
		    path_join(top, line + sizeof word - 1);
		for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
			char *file = path_join(target, files[i]);

			git_settings_read(&w->r->settings, file);
			free(file);
		}
		free(target);
	}
	free(top);
	free(line);
}

/* Reads the settings of the repository that the workspace is inside of, if any. Returns its work
 * tree, to be freed by the caller. */
static char *
read_settings_above(struct walk *w)
{
	char *top = path_directory(w->r->root);

	do {
		char *repository = path_join(top, REPOSITORY), *file = path_join(repository, "config");
		struct stat st;
		const bool is = look_status(AT_FDCWD, repository, &st) == 0;

		if (is && S_ISDIR(st.st_mode))
			git_settings_read(&w->r->settings, file);
		else if (is)
			read_settings_elsewhere(w, repository);
		free(file);
		free(repository);
		if (is)
			return top;
	} while (path_climb(&top));
	free(top);
	return NULL;
}

/* A file of the workspace that a setting names from a work tree on, and what links make of it. word: it is one of a
 * command, and no name of a file unless it looks like one or there is one. */
static void
add_used(struct walk *w, const char *top, const char *name, bool word)
{
	char *joined = *name == '/' ? memory_text(name) : path_join(top, name);
	char *paths[] = { path_normal(joined), path_real(joined) };
	struct stat st;
	const bool there = look_status(AT_FDCWD, paths[1], &st) == 0,
	    is_file = !word || (there ? S_ISREG(st.st_mode) : strpbrk(name, "/.") != NULL);

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (is_file && is_here(w, paths[i]) && strcmp(paths[i], w->r->root) != 0 &&
		    !list_has(w->r->used, paths[i]))
			list_add(&w->r->used, paths[i]);
		free(paths[i]);
	}
	free(joined);
}

/* The same for a file that a setting names to be read as data. */
static void
add_used_data(struct walk *w, const char *top, const char *name)
{
	char *joined = *name == '/' ? memory_text(name) : path_join(top, name);
	char *paths[] = { path_normal(joined), path_real(joined) };

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (is_here(w, paths[i]) && strcmp(paths[i], w->r->root) != 0)
			add_data(w, path_inside(w, paths[i]));
		free(paths[i]);
	}
	free(joined);
}

static void
add_all_used(struct walk *w, const char *top)
{
	const struct git_settings *s = w->before != NULL ? &w->before->settings : &w->r->settings;

	for (char **path = s->data; path != NULL && *path != NULL; path++)
		add_used_data(w, top, *path);
	for (char **path = s->paths; path != NULL && *path != NULL; path++)
		add_used(w, top, *path, false);
	for (char **word = s->words; word != NULL && *word != NULL; word++)
		add_used(w, top, *word, true);
}

/* At the second pass: uses the settings as they were before the command, with the work trees that
 * it made too. */
static void
find_used(struct walk *w)
{
	const struct repositories *before = w->before;
	char **tops = NULL, *top;

	if (before == NULL) {
		for (char **pointer = w->r->pointers; pointer != NULL && *pointer != NULL; pointer++) {
			char *path = repositories_join_path(w->r->root, *pointer);

			read_settings_elsewhere(w, path);
			free(path);
		}
		top = read_settings_above(w);
		if (top != NULL)
			list_take(&tops, top);
		list_add(&tops, w->r->root);
	} else {
		w->r->used = list_copy(before->used);
	}
	for (char **path = w->r->found; path != NULL && *path != NULL; path++)
		if (before == NULL || !list_has(before->found, *path))
			list_take(&tops, work_tree_of(w, *path));
	for (char **path = w->r->pointers; path != NULL && *path != NULL; path++)
		if (before == NULL || !list_has(before->pointers, *path))
			list_take(&tops, work_tree_of(w, *path));
	for (char **path = tops; path != NULL && *path != NULL; path++)
		add_all_used(w, *path);
	list_free(tops);
}

/* Judges everything below, up to a limit. */
static void
judge_used_below(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;

	if (w->used_count++ >= USED_LIMIT || look_status(at, name, &st) != 0)
		return;
	if (S_ISDIR(st.st_mode))
		judge_each(w, at, directory, name, judge_used_below);
	else
		add_item(w, at, directory, name, NULL, NULL);
}

/* Whether whoever reads a path of the workspace gets what a file of the workspace says, or nothing, and waits for
 * nobody. */
static bool
is_data_plain(const struct walk *w, const char *path)
{
	char *whole = path_join(w->r->root, path), *real = real_path(whole);
	struct stat st;
	bool plain = real == NULL;

	if (real != NULL && is_here(w, real) && look_status(AT_FDCWD, real, &st) == 0)
		plain = !is_special(st.st_mode);
	free(real);
	free(whole);
	return plain;
}

/* If it is another one, the first part of its path that is a link, or its last, is odd. */
static void
judge_read(struct walk *w, const char *path)
{
	const char *end = path;
	bool done;

	begin_judgement(w);
	done = is_data_plain(w, path);
	while (!done && *end != '\0') {
		char *part, *directory;
		struct odd_item *item;
		struct stat st;
		int at;

		end += strcspn(end, "/");
		part = memory_copy(path, (size_t)(end - path));
		directory = path_directory(part);
		if (strcmp(directory, ".") == 0)
			*directory = '\0';
		at = open_below(w->r->workspace, directory, O_PATH | O_DIRECTORY);
		done = at == -1 || look_status(at, path_base(part), &st) != 0;
		if (!done && !S_ISDIR(st.st_mode)) {
			item = find_item(w->r, part) != NULL ? NULL : add_item(w, at, directory, path_base(part), NULL, NULL);
			if (item != NULL)
				item->waits = true;
			done = true;
		}
		file_close(&at);
		free(directory);
		free(part);
		end += *end == '/';
	}
}

/* path: absolute. A link on the way to it was made since it was looked up. */
static void
judge_used(struct walk *w, const char *path)
{
	const char *from = path_inside(w, path), *end = from;
	const bool was = w->before == NULL || list_has(w->before->used_there, path);
	bool done = false;

	for (; !done && *end != '\0'; end += *end == '/') {
		char *part, *directory;
		struct stat st;
		int at;

		end += strcspn(end, "/");
		begin_judgement(w);
		part = memory_copy(from, (size_t)(end - from));
		directory = path_directory(part);
		if (strcmp(directory, ".") == 0)
			*directory = '\0';
		at = open_below(w->r->workspace, directory, O_PATH | O_DIRECTORY);
		if (at == -1 || look_status(at, path_base(part), &st) != 0) {
			done = true;
		} else if (S_ISLNK(st.st_mode) || *end == '\0') {
			if (w->before == NULL)
				list_add(&w->r->used_there, path);
			/* If the path was a directory before, its files are compared one by one. */
			if (S_ISDIR(st.st_mode) && was)
				judge_each(w, at, directory, path_base(part), judge_used_below);
			else if (find_item(w->r, part) == NULL)
				add_item(w, at, directory, path_base(part), NULL, NULL);
			done = true;
		}
		file_close(&at);
		free(directory);
		free(part);
	}
}

static void
end_walk(struct walk *w)
{
	for (char **path = w->r->pointers; path != NULL && *path != NULL; path++)
		judge_pointer(w, *path);
	find_used(w);
	for (char **path = w->r->used; path != NULL && *path != NULL; path++)
		judge_used(w, *path);
	for (char **path = w->r->data; path != NULL && *path != NULL; path++)
		judge_read(w, *path);
	free(w->directories);
}

/* A file in a directory that goes with its last descriptor, unless it gets a name. -1: there are none here, or no room. */
static int
make_unnamed_file(int at, const char *content, size_t len, mode_t mode)
{
	int fd = openat(at, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);

	if (fd != -1 && (file_write(fd, content, len) != 0 || fchmod(fd, mode) != 0))
		file_close(&fd);
	return fd;
}

/* If the command fills the disk, what was there can be put back all the same: nothing is written for that any more. */
static void
copy_items(struct repositories *r)
{
	static char nothing[BALLAST];
	size_t copies = 0;

	if (r->found != NULL)
		r->ballast = make_unnamed_file(r->workspace, nothing, sizeof nothing, S_IRUSR | S_IWUSR);
	for (size_t i = 0; r->ballast != -1 && i < r->count && copies < COPIES; i++) {
		struct odd_item *item = &r->items[i];
		char *directory = path_directory(item->path);
		int at;

		if (item->whole && S_ISREG(item->mode)) {
			at = open_below_unnoted(r->workspace, directory, O_PATH | O_DIRECTORY);
			item->copy = at == -1 ? -1 : make_unnamed_file(at, item->content, item->len, item->mode & 0777);
			copies += item->copy != -1;
			file_close(&at);
		}
		free(directory);
	}
}

void
repositories_forget_copies(struct repositories *r)
{
	file_close(&r->ballast);
	for (size_t i = 0; i < r->count; i++)
		file_close(&r->items[i].copy);
}

int
repositories_find(struct repositories *r, int workspace, const char *root, const char *home, struct error *err)
{
	struct walk w = { .r = r };
	bool reserved;

	*r = (struct repositories){ .workspace = workspace, .root = memory_text(root), .ballast = -1 };
	clock_gettime(CLOCK_REALTIME, &w.settled);
	w.settled.tv_sec--;
	r->began = w.settled;
	look_begin();
	reserved = look_reserve(workspace) == 0;
	if (!reserved)
		look_tells(workspace, ".");
	git_settings_read_users(&r->settings, home);
	add_directory(&w, memory_text(""));
	repositories_examine_all(&w);
	end_walk(&w);
	if (r->seen_count > 0)
		qsort(r->seen, r->seen_count, sizeof *r->seen, by_path);
	if (r->hidden_count > 0)
		qsort(r->hidden, r->hidden_count, sizeof *r->hidden, texts_compare);
	copy_items(r);
	look_release();
	return look_check(err);
}

/* Judges again all that was found before, and lists directories that may contain something new. */
static void
find_again(struct repositories *r, const struct repositories *before)
{
	struct walk w = { .r = r, .before = before };
	struct stat st;
	DIR *dir;

	*r = (struct repositories){ .workspace = before->workspace, .root = memory_text(before->root), .ballast = -1 };
	look_begin();
	for (char **path = before->found; path != NULL && *path != NULL; path++) {
		dir = open_directory(r->workspace, *path);
		if (dir == NULL)
			continue;
		if (strcasecmp(path_base(*path), REPOSITORY) == 0)
			judge_repository(&w, dir, *path, false);
		else if (has_shape(dir))
			judge_repository(&w, dir, *path, true); /* parts of others are skipped */
		closedir(dir);
	}
	for (char **path = before->pointers; path != NULL && *path != NULL; path++)
		list_add(&r->pointers, *path);
	r->data = list_copy(before->data);
	for (size_t i = 0; i < before->seen_count; i++) {
		const struct seen_directory *seen = &before->seen[i];

		if (look_status(r->workspace, *seen->path == '\0' ? "." : seen->path, &st) == 0 &&
		    S_ISDIR(st.st_mode) && !is_unchanged(seen, &st))
			add_directory(&w, memory_text(seen->path));
	}
	repositories_examine_all(&w);
	end_walk(&w);
}

bool
repositories_have(const struct repositories *r, const char *path)
{
	return list_has(r->found, path);
}

/* ---- afterwards ---- */

/* Whether an item is unchanged. Settings may have been removed, but not added. */
static bool
is_as_before(const struct odd_item *was, const struct odd_item *is)
{
	if ((was->mode & (S_IFMT | 0111)) != (is->mode & (S_IFMT | 0111)))
		return false;
	if (was->settings != NULL && is->settings != NULL) {
		for (char **setting = is->settings; *setting != NULL; setting++)
			if (!list_has(was->settings, *setting))
				return false;
		return true;
	}
	return was->len == is->len && memcmp(was->content, is->content, is->len) == 0;
}

static bool
is_within(const char *root, const char *path, char *const *list)
{
	char *whole = path_join(root, path);
	bool within = false;

	for (; !within && list != NULL && *list != NULL; list++)
		within = path_within(whole, *list);
	free(whole);
	return within;
}

/* A directory of the workspace, in which its owner may change names from now on; -1. */
static int
open_changeable(const struct repositories *r, const char *directory)
{
	int fd = open_below_unnoted(r->workspace, strcmp(directory, ".") == 0 ? "" : directory, O_PATH | O_DIRECTORY);
	char link[48];
	struct stat st;

	if (fd != -1 && fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		chmod(link, (st.st_mode & 07777) | S_IRWXU);
	}
	return fd;
}

static int
open_parent(const struct repositories *r, const char *path)
{
	char *directory = path_directory(path);
	int fd = open_changeable(r, directory);

	free(directory);
	return fd;
}

/* A directory that goes to another one is changed by that itself. */
static void
make_movable(int at, const char *name)
{
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char link[48];
	struct stat st;

	if (fd != -1 && fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		chmod(link, (st.st_mode & 07777) | S_IRWXU);
	}
	file_close(&fd);
}

/* Renames a name of the one directory to one of the other that is not taken, and begins as is wanted. Returns that, in
 * memory of its own; NULL with errno. */
static char *
rename_aside(int at, const char *name, int to, const char *wanted)
{
	char *aside = NULL;
	int failed = -1, reason;
	unsigned int number;

	for (int i = 0; failed != 0 && i < NAMES_ASIDE; i++) {
		free(aside);
		number = (unsigned int)i;
		if (i >= NUMBERS_ASIDE)
			random_bytes(&number, sizeof number);
		aside = i == 0 ? memory_format("%s" REPOSITORY_ASIDE, wanted) :
		    memory_format("%s.%u" REPOSITORY_ASIDE, wanted, number);
		failed = renameat2(at, name, to, aside, RENAME_NOREPLACE);
		if (failed != 0 && errno == EINVAL && faccessat(to, aside, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
			failed = renameat(at, name, to, aside); /* a file system without that flag */
		if (failed != 0 && errno != EEXIST && errno != EINVAL)
			break;
	}
	reason = errno;
	if (failed != 0) {
		free(aside);
		aside = NULL;
	}
	errno = reason;
	return aside;
}

/* The outermost repository that a path lies in, but for one that the command made by its shape, which is none any more
 * then; NULL: none. */
static const char *
repository_around(const struct repositories *before, const struct repositories *r, const char *path)
{
	const char *outermost = NULL;

	for (char **found = r->found; found != NULL && *found != NULL; found++)
		if ((strcasecmp(path_base(*found), REPOSITORY) == 0 || repositories_have(before, *found)) &&
		    (**found == '\0' || (path_within(path, *found) && strcmp(path, *found) != 0)) &&
		    (outermost == NULL || strlen(*found) < strlen(outermost)))
			outermost = *found;
	return outermost;
}

/* Whether a path is that of the directory for what is set aside of the repository that it lies in. */
static bool
is_aside_directory(const struct repositories *before, const struct repositories *r, const char *path)
{
	const char *repository = repository_around(before, r, path);
	char *place = repository == NULL ? NULL : repositories_join_path(repository, REPOSITORY_ASIDE_DIRECTORY);
	const bool is = place != NULL && strcmp(path, place) == 0;

	free(place);
	return is;
}

/* The directory for what is set aside of a repository, which is made if need be; -1 with errno. Another thing of that
 * name is the command's: nothing follows it. */
static int
open_aside_directory(const struct repositories *r, const char *repository)
{
	static const char name[] = REPOSITORY_ASIDE_DIRECTORY;
	char *path = repositories_join_path(repository, name);
	int at = open_changeable(r, repository), fd = -1;
	struct stat st;

	if (at != -1 && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
		free(rename_aside(at, name, at, name));
	if (at != -1 && (mkdirat(at, name, S_IRWXU) == 0 || errno == EEXIST))
		fd = open_changeable(r, path);
	file_close(&at);
	free(path);
	return fd;
}

/* What of a path lies in a repository, as one name. */
static char *
flat_name(const char *repository, const char *path)
{
	const char *inside = *repository == '\0' ? path : path + strlen(repository) + 1;
	const size_t len = strlen(inside);
	char *name = memory_text(len > FLAT_LENGTH ? inside + len - FLAT_LENGTH : inside);

	for (char *at = name; *at != '\0'; at++)
		if (*at == '/')
			*at = '-';
	return name;
}

/* git lists many directories of a repository, and follows whatever it finds there: so nothing that is set aside stays in
 * one of them. beside: it is not taken up by its new name, and stays where it lies. The new path, in memory of its own;
 * NULL with errno: it could not be done. */
static char *
set_aside(const struct repositories *before, const struct repositories *r, const char *path, bool beside)
{
	const char *repository = repository_around(before, r, path), *name = path_base(path);
	char *directory = path_directory(path), *moved = NULL, *wanted, *place;
	int at = open_parent(r, path), to, reason = errno;

	beside = beside || repository == NULL || is_aside_directory(before, r, path);
	if (strcmp(directory, ".") == 0)
		*directory = '\0';
	if (at != -1 && !beside && is_there(at, name)) {
		wanted = flat_name(repository, path);
		to = open_aside_directory(r, repository);
		moved = to == -1 ? NULL : rename_aside(at, name, to, wanted);
		if (moved == NULL && to != -1 && errno == EACCES) {
			make_movable(at, name);
			moved = rename_aside(at, name, to, wanted);
		}
		reason = errno;
		free(wanted);
		file_close(&to);
		free(directory);
		directory = repositories_join_path(repository, REPOSITORY_ASIDE_DIRECTORY);
	} else if (at != -1) {
		moved = rename_aside(at, name, at, name);
		reason = errno;
	}
	file_close(&at);
	place = moved == NULL ? NULL : repositories_join_path(directory, moved);
	free(moved);
	free(directory);
	errno = reason;
	return place;
}

/* Puts back what was there, where nothing is now. */
static bool
put_back(const struct repositories *r, const struct odd_item *item)
{
	const char *name = path_base(item->path);
	int at = item->whole ? open_parent(r, item->path) : -1, fd, reason;
	char link[48];
	bool done = false;

	if (at != -1 && S_ISLNK(item->mode)) {
		done = symlinkat(item->content, at, name) == 0;
	} else if (at != -1) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", item->copy);
		done = item->copy != -1 && linkat(AT_FDCWD, link, at, name, AT_SYMLINK_FOLLOW) == 0;
		fd = done ? -1 : openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, item->mode & 0777);
		if (fd != -1) {
			done = file_write(fd, item->content, item->len) == 0 && fchmod(fd, item->mode & 0777) == 0;
			reason = errno;
			if (!done) /* a part of it would be worse than nothing */
				unlinkat(at, name, 0);
			errno = reason;
		}
		file_close(&fd);
	}
	file_close(&at);
	return done;
}

static void
settle_item(const struct repositories *before, const struct repositories *after,
    const struct odd_item *item, char ***done)
{
	const struct odd_item *was = find_item(before, item->path);
	bool made = item->repository != NULL && !repositories_have(before, item->repository), back, lost;
	const char *harm = item->waits ? "git may wait for ever to read it," : item->leads ? "git may write to other files by what it says," :
	    item->hides ? "git status may not tell of files by what it says," :
	    "git may run it, or what it says,";
	char *path = made ? repositories_join_path(item->repository, "HEAD") :
	    memory_text(item->path), *aside;
	int reason;

	aside = set_aside(before, after, path, made);
	reason = errno;
	back = aside != NULL && !made && was != NULL && put_back(after, was);
	lost = aside != NULL && !made && was != NULL && was->whole && !back;
	if (aside != NULL)
		list_take(done, memory_format("%s: %s outside of the sandbox: it is now called %s%s%s", path, harm, aside,
		    back ? ", and what was there is there again" : lost ? ", and what was there could not be put back: " : "",
		    lost ? strerror(errno) : ""));
	else if (reason != ENOENT) /* it may have been renamed with its repository */
		list_take(done, memory_format("%s: %s outside of the sandbox, and it could not be renamed (%s): remove it",
		    path, harm, strerror(reason)));
	free(aside);
	free(path);
}

/* A mount protected this name of a file, but the command could change the file by another hard
 * link: restores its content. */
static void
restore_linked(const struct repositories *before, const struct odd_item *was, char ***done)
{
	char *directory = path_directory(was->path), *aside;
	int at = open_below(before->workspace, strcmp(directory, ".") == 0 ? "" : directory, O_PATH | O_DIRECTORY);
	struct buffer content = BUFFER_INIT;
	const size_t missed = look_missed();
	bool whole, same;

	repositories_load_file(at, path_base(was->path), &content, &whole);
	same = look_missed() != missed || (whole && content.len == was->len &&
	    memcmp(buffer_string(&content), was->content, was->len) == 0);
	aside = same ? NULL : set_aside(before, before, was->path, false);
	if (aside != NULL && put_back(before, was))
		list_take(done, memory_format("%s: was changed by another name of it (a hard link): it is now called %s, and "
		    "what was there is there again", was->path, aside));
	else if (!same)
		list_take(done, memory_format("%s: was changed by another name of it (a hard link), and could not be put "
		    "back: read it", was->path));
	free(aside);
	buffer_free(&content);
	file_close(&at);
	free(directory);
}

char **
repositories_settle(const struct repositories *before, char *const *kept, char *const *opened)
{
	struct repositories after;
	char **done = NULL;
	bool emptied = true;

	if (before->ballast != -1)
		emptied = ftruncate(before->ballast, 0) == 0;
	(void)emptied; /* if not, there may still be room */
	find_again(&after, before);
	for (size_t i = 0; i < before->count; i++) {
		const struct odd_item *item = &before->items[i];

		if (item->linked && item->whole && is_within(before->root, item->path, kept) &&
		    !is_within(before->root, item->path, opened))
			restore_linked(before, item, &done);
	}
	/* What stands in the place of the directory for all the rest comes first. */
	for (size_t i = 0; i < 2 * after.count; i++) {
		const struct odd_item *item = &after.items[i % after.count], *was = find_item(before, item->path);

		if (is_aside_directory(before, &after, item->path) == (i < after.count) &&
		    (was == NULL || was->plain || !is_as_before(was, item)) &&
		    !is_within(after.root, item->path, kept) && !is_within(after.root, item->path, opened))
			settle_item(before, &after, item, &done);
	}
	/* Restore what was removed from a repository that still exists. */
	for (size_t i = 0; i < before->count; i++) {
		const struct odd_item *item = &before->items[i];

		if ((!item->plain || item->sparse) && !item->waits && find_item(&after, item->path) == NULL && !is_within(before->root, item->path, kept) &&
		    !is_within(before->root, item->path, opened) && put_back(before, item))
			list_take(&done, memory_format("%s: was removed, and is there again", item->path));
	}
	for (char *const *name = look_names(); *name != NULL; name++)
		list_take(&done, memory_format("%s: could not be looked at when the command had ended: nobody knows what it made "
		    "of it, so look before git is used there", *name));
	for (char **unknown = before->unknown; unknown != NULL && *unknown != NULL; unknown++)
		if (is_within(before->root, *unknown, kept))
			list_take(&done, memory_format("%s: has an extension of git that is not known here: nothing in it "
			    "could be changed", *unknown));
	repositories_free(&after);
	return done;
}

void
repositories_free(struct repositories *r)
{
	repositories_forget_copies(r);
	for (size_t i = 0; i < r->count; i++) {
		free(r->items[i].path);
		free(r->items[i].repository);
		list_free(r->items[i].settings);
		free(r->items[i].content);
	}
	free(r->items);
	free(r->root);
	list_free(r->found);
	list_free(r->pointers);
	list_free(r->unknown);
	list_free(r->shared);
	for (size_t i = 0; i < r->seen_count; i++)
		free(r->seen[i].path);
	free(r->seen);
	list_free(r->used);
	list_free(r->used_there);
	list_free(r->data);
	for (size_t i = 0; i < r->hidden_count; i++)
		free(r->hidden[i]);
	free(r->hidden);
	git_settings_free(&r->settings);
	*r = (struct repositories){ .workspace = -1, .ballast = -1 };
}
