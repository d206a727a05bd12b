/*
 * Judges the contents of a repository by name: everything that makes git run something, or leads
 * git outside, is odd.
 */
#define _GNU_SOURCE
#include "sandbox/repositories_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/path.h"
#include "isolate/git_config.h"
#include "sandbox/examine.h"
#include "sandbox/repository_data.h"

/* Whether a setting is core.worktree of a submodule whose work tree is in the workspace. */
static bool
is_work_tree_here(const struct walk *w, const char *directory, const char *setting)
{
	static const char name[] = "core.worktree=";
	char *path = strncmp(setting, name, sizeof name - 1) != 0 ? NULL :
	    repositories_path_from(w, directory, setting + sizeof name - 1);
	char *real = path == NULL ? NULL : repositories_real_path(path);
	bool here = real != NULL && repositories_is_here(w, real);

	free(path);
	free(real);
	return here;
}

/* Whether an odd setting is an extension that is not known here, so that git reads the repository
 * in another form. */
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
		path = repositories_path_from(w, directory, name);
		git_settings_read(&w->r->settings, path);
		free(path);
	} else {
		path = repositories_join_path(directory, name);
		was_sparse = repositories_find_item(w->before, path) != NULL && repositories_find_item(w->before, path)->sparse;
		free(path);
	}
	repositories_load_file(at, name, &text, &whole);
	if (!whole) {
		repositories_add_item(w, at, directory, name, NULL, NULL);
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
			item = repositories_add_item(w, at, directory, name, odd, NULL);
			if (item != NULL) {
				item->hides = odd == NULL && was_sparse;
				item->plain = odd == NULL && !was_sparse;
				item->sparse = sparse;
			}
		}
	}
	buffer_free(&text);
}

/* Whether a linked work tree is in the workspace too; if not, the command may not change the file
 * that names it. */
static bool
is_linked_here(const struct walk *w, int at, const char *directory)
{
	char *line = repositories_load_line(at, "gitdir"), *path = *line == '\0' ? NULL : repositories_path_from(w, directory, line);
	char *real = path == NULL ? NULL : repositories_path_resolved(path); /* git writes there */
	bool here = real != NULL && repositories_is_here(w, path) && repositories_is_here(w, real);

	free(real);
	free(path);
	free(line);
	return here;
}

bool
repository_is_linked_part(const char *directory)
{
	char *parent = path_directory(directory);
	bool is = strcmp(path_base(parent), "worktrees") == 0;

	free(parent);
	return is;
}

static void
judge_commondir(struct walk *w, int at, const char *directory, const char *name)
{
	char *line = repositories_load_line(at, name);

	if (!repository_is_linked_part(directory) || strcmp(line, "../..") != 0 || !is_linked_here(w, at, directory))
		repositories_add_item(w, at, directory, name, NULL, NULL);
	free(line);
}

static void
judge_gitdir(struct walk *w, int at, const char *directory, const char *name)
{
	if (!repository_is_linked_part(directory) || !is_linked_here(w, at, directory))
		repositories_add_item(w, at, directory, name, NULL, NULL);
}

void
repositories_judge_each(struct walk *w, int at, const char *directory, const char *name, judge *one)
{
	char *path = repositories_join_path(directory, name);
	const struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (examine_status(at, name, &st) == 0 && (!S_ISDIR(st.st_mode) || w->depth == DEPTH)) {
		repositories_add_item(w, at, directory, name, NULL, NULL);
		free(path);
		return;
	}
	w->depth++;
	dir = repositories_open_directory(w->r->workspace, path);
	while (dir != NULL && (entry = repositories_next_entry(dir)) != NULL) {
		repositories_begin_judgement(w);
		one(w, dirfd(dir), path, entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	w->depth--;
	free(path);
}

/* Adds what makes git recognize a directory of a repository as another repository, or look for one
 * there. */
static void
judge_place(struct walk *w, DIR *dir, const char *path)
{
	char *file = repositories_join_path(path, "HEAD");

	repositories_begin_judgement(w);
	if (repositories_is_there(dirfd(dir), REPOSITORY))
		repositories_add_item(w, dirfd(dir), path, REPOSITORY, NULL, NULL);
	if (repository_has_shape(dir) && repositories_find_item(w->r, file) == NULL)
		repositories_add_item(w, dirfd(dir), path, "HEAD", NULL, NULL);
	free(file);
}

/* Judges each name in a directory of a repository, and what they make together. */
static void
judge_entries(struct walk *w, int at, const char *directory, const char *name, judge *one)
{
	char *path = repositories_join_path(directory, name);
	struct stat st;
	DIR *dir;

	repositories_judge_each(w, at, directory, name, one);
	if (examine_status(at, name, &st) == 0 && S_ISDIR(st.st_mode) && w->depth < DEPTH &&
	    (dir = repositories_open_directory(w->r->workspace, path)) != NULL) {
		judge_place(w, dir, path);
		closedir(dir);
	}
	free(path);
}

/* Adds every file in hooks, unless its name is one that git never executes; directories are
 * searched, as hooks may run files in them. */
static void
judge_hook(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;

	if (examine_status(at, name, &st) == 0 && S_ISDIR(st.st_mode))
		judge_entries(w, at, directory, name, judge_hook);
	else if (!text_ends(name, ".sample"))
		repositories_add_item(w, at, directory, name, NULL, NULL);
}

static void
judge_hooks(struct walk *w, int at, const char *directory, const char *name)
{
	judge_entries(w, at, directory, name, judge_hook);
}

static void
judge_all_odd(struct walk *w, int at, const char *directory, const char *name)
{
	judge_entries(w, at, directory, name, repositories_judge_odd);
}

/* Whether it is neither a file nor a directory: a symbolic link, or a special file. */
static bool
is_no_file(int at, const char *name)
{
	struct stat st;

	return examine_status(at, name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Whether a name is in the list; a '*' at the end of an entry stands for any characters. Names that
 * end in .lock are temporary files of git, and accepted too. */
static bool
is_one_of(const char *name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(name, *names) == 0 || (text_ends(*names, "*") &&
		    strncmp(name, *names, strlen(*names) - 1) == 0))
			return true;
	return text_ends(name, ".lock");
}

/* info/exclude hides files from git status: it is plain if it contains only comments, as git init
 * writes it. */
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
		item = repositories_add_item(w, at, directory, name, NULL, NULL);
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
		repositories_add_item(w, at, directory, name, NULL, NULL);
}

static void
judge_info(struct walk *w, int at, const char *directory, const char *name)
{
	judge_entries(w, at, directory, name, judge_info_entry);
}

static void
add_leading(struct walk *w, int at, const char *directory, const char *name)
{
	struct odd_item *item = repositories_add_item(w, at, directory, name, NULL, NULL);

	if (item != NULL)
		item->leads = true;
}

static bool
was_noted(const struct repositories *before, char *text)
{
	return before->noted_count > 0 && bsearch(&text, before->noted, before->noted_count, sizeof text,
	    repositories_compare_texts) != NULL;
}

/* In the first pass notes something about a path; in the second one returns whether that was not
 * noted. */
static bool
is_new(struct walk *w, const char *path, const char *what)
{
	struct repositories *r = w->r;
	char *text = memory_format("%s\n%s", path, what);
	bool new = false;

	if (w->before == NULL) {
		if ((r->noted_count & (r->noted_count - 1)) == 0)
			r->noted = memory_array(r->noted, r->noted_count * 2 + 1, sizeof text);
		r->noted[r->noted_count++] = text;
	} else {
		new = !was_noted(w->before, text);
		free(text);
	}
	return new;
}

/* "PATH LF DEVICE:INODE", allocated. */
static char *
which_text(const char *path, const struct stat *st)
{
	return memory_format("%s\n%llu:%llu", path, (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
}

bool
repositories_is_changed(const struct repositories *before, const char *path, const struct stat *st)
{
	char *which = which_text(path, st);
	const bool changed = !repositories_is_earlier(&st->st_ctim, &before->began) || !was_noted(before, which);

	free(which);
	return changed;
}

/* In the first pass notes which file or directory is at a path; in the second one returns whether
 * it was another one, which may have been moved there since with its directory. */
static bool
is_another(struct walk *w, const char *path, const struct stat *st)
{
	char *which = which_text("", st);
	const bool another = is_new(w, path, which + 1);

	free(which);
	return another;
}

/* Judges a directory of objects by their names, aa/ or aa/bb/. There are too many objects to list
 * all of them: only entries that are not files and are newer than the command count, and only
 * directories that have changed since then can contain those. In a directory that was moved there
 * entries of any age count. */
static void
judge_new_objects(struct walk *w, int at, const char *directory, const char *name)
{
	char *path;
	const struct dirent *entry;
	struct stat st;
	bool another;
	DIR *dir;

	if (examine_status(at, name, &st) != 0)
		return;
	path = repositories_join_path(directory, name);
	another = is_another(w, path, &st);
	if (w->before == NULL || !repositories_is_changed(w->before, path, &st)) {
		free(path);
		return;
	}
	dir = repositories_open_directory(w->r->workspace, path);
	while (dir != NULL && (entry = repositories_next_entry(dir)) != NULL) {
		const mode_t kind = repositories_entry_kind(dir, entry);

		repositories_begin_judgement(w);
		if (kind != S_IFREG && kind != S_IFDIR && examine_status(dirfd(dir), entry->d_name, &st) == 0 &&
		    (another || !repositories_is_earlier(&st.st_ctim, &w->before->began)))
			add_leading(w, dirfd(dir), path, entry->d_name);
		else if (kind == S_IFDIR)
			repositories_examine_inside(w, path, entry->d_name);
	}
	if (dir != NULL) {
		judge_place(w, dir, path);
		closedir(dir);
	}
	free(path);
}

static void
judge_links(struct walk *w, int at, const char *directory, const char *name)
{
	const bool deep = strlen(name) == 2 && strlen(path_base(directory)) == 2;
	struct stat st;

	if (examine_status(at, name, &st) != 0)
		return;
	if (S_ISDIR(st.st_mode) && deep)
		judge_new_objects(w, at, directory, name);
	else if (S_ISDIR(st.st_mode))
		judge_entries(w, at, directory, name, judge_links);
	else if (!S_ISREG(st.st_mode))
		add_leading(w, at, directory, name);
}

static void
add_hiding(struct walk *w, int at, const char *directory, const char *name)
{
	struct odd_item *item = repositories_add_item(w, at, directory, name, NULL, NULL);

	if (item != NULL)
		item->hides = true;
}

/* Judges a commit graph, one file or a directory of files. Git takes from it which files a commit
 * has, instead of from the commit, so with a wrong one git status tells of no change. Git does
 * without one, only slower. */
static void
judge_graph(struct walk *w, int at, const char *directory, const char *name)
{
	char *path = repositories_join_path(directory, name);
	struct stat st;

	if (examine_status(at, name, &st) == 0 && S_ISREG(st.st_mode)) {
		is_another(w, path, &st);
		if (w->before != NULL && repositories_is_changed(w->before, path, &st))
			add_hiding(w, at, directory, name);
	} else if (is_no_file(at, name)) {
		add_leading(w, at, directory, name);
	} else {
		judge_entries(w, at, directory, name, judge_graph);
	}
	free(path);
}

static void
judge_object_info(struct walk *w, int at, const char *directory, const char *name)
{
	static const char *const data[] = { "packs", "packs_*", "commit-graph", "commit-graph_*",
		"commit-graphs", "tmp_*", NULL };

	if (!is_one_of(name, data) || is_no_file(at, name))
		repositories_add_item(w, at, directory, name, NULL, NULL);
	else if (strcmp(name, "commit-graph") == 0 || strcmp(name, "commit-graphs") == 0)
		judge_graph(w, at, directory, name);
	else
		judge_links(w, at, directory, name);
}

/* Judges an entry of objects/. Only info, and symbolic links in place of a directory such as pack
 * or 0a, can be odd: git writes through such a link, and packs what it finds there. Files are data
 * in git's own format, whatever they contain. */
static void
judge_object(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;

	if (strcmp(name, "info") == 0)
		judge_entries(w, at, directory, name, judge_object_info);
	else if (strcmp(name, "pack") == 0 && !is_no_file(at, name))
		judge_entries(w, at, directory, name, judge_links);
	else if (is_no_file(at, name))
		add_leading(w, at, directory, name);
	else if (strlen(name) == 2)
		judge_new_objects(w, at, directory, name);
	else if (examine_status(at, name, &st) == 0 && S_ISDIR(st.st_mode))
		repositories_examine_inside(w, directory, name);
}

static void
judge_objects(struct walk *w, int at, const char *directory, const char *name)
{
	judge_entries(w, at, directory, name, judge_object);
}

/* Whether the command made a hard link to a file: what git writes to one name would change the
 * other. A file that had as many links before is accepted, as in a tree copied with hard links. */
static bool
is_shared(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;
	bool shared;
	char *file;

	if (examine_status(at, name, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink < 2)
		return false;
	file = memory_format("%llu:%llu:%llu %s/%s", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
	    (unsigned long long)st.st_nlink, directory, name);
	if (w->before == NULL)
		list_add(&w->r->shared, file);
	shared = w->before != NULL && !list_has(w->before->shared, file);
	free(file);
	return shared;
}

/* Judges files, which must not be symbolic links, or hard links that the command has made: git
 * would write to the other file. */
static void
judge_files(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;

	if (examine_status(at, name, &st) != 0)
		return;
	if (S_ISDIR(st.st_mode))
		judge_entries(w, at, directory, name, judge_files);
	else if (!S_ISREG(st.st_mode) || is_shared(w, at, directory, name))
		add_leading(w, at, directory, name);
}

/* Judges a ref or a directory of refs, with its name. */
static void
judge_ref(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;

	if (examine_status(at, name, &st) != 0)
		return;
	if ((!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) || !repository_ref_is_plain(at, name))
		add_leading(w, at, directory, name);
	else if (S_ISDIR(st.st_mode))
		judge_entries(w, at, directory, name, judge_ref);
}

/* Judges a ref that replaces an object: git takes another object for the one that its name says, so
 * git status may tell of no change. */
static void
judge_replacing_ref(struct walk *w, int at, const char *directory, const char *name)
{
	char *line, *what, *above, *repository;
	const size_t count = w->r->count;
	struct stat st;

	judge_ref(w, at, directory, name);
	if (w->r->count > count || examine_status(at, name, &st) != 0 || !S_ISREG(st.st_mode) || text_ends(name, ".lock"))
		return;
	line = repositories_load_line(at, name);
	what = memory_format(REPLACING_REFS "%s %s", name, line);
	above = path_directory(directory);
	repository = path_directory(above);
	if (is_new(w, strcmp(repository, ".") == 0 ? "" : repository, what))
		add_hiding(w, at, directory, name);
	free(repository);
	free(above);
	free(what);
	free(line);
}

static void
judge_refs_entry(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;

	if (strcmp(name, "replace") == 0 && examine_status(at, name, &st) == 0 && S_ISDIR(st.st_mode))
		judge_entries(w, at, directory, name, judge_replacing_ref);
	else
		judge_ref(w, at, directory, name);
}

static void
judge_refs(struct walk *w, int at, const char *directory, const char *name)
{
	judge_entries(w, at, directory, name, judge_refs_entry);
}

/* Whether each line of a todo list begins with one of these words, none of which runs a command. */
static bool
is_plain_todo(int at, const char *name, const char *const *words)
{
	struct buffer text = BUFFER_INIT;
	bool whole, plain = true;
	char *rest, *line;

	if (!repositories_is_there(at, name))
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

/* Judges the files that git rebase --continue reads. Some of them are parts of commands. */
static void
judge_rebase(struct walk *w, int at, const char *directory, const char *name)
{
	static const char *const words[] = { "p", "pick", "r", "reword", "e", "edit", "s", "squash", "f",
		"fixup", "d", "drop", "b", "break", "l", "label", "t", "reset", "m", "merge", "u", "update-ref",
		"noop", NULL };
	static const char *const todos[] = { "git-rebase-todo", "git-rebase-todo.backup", NULL };
	static const char *const commands[] = { "strategy", "strategy_opts", "gpg_sign_opt", "exec", NULL };
	char *path = repositories_join_path(directory, name);
	DIR *dir = repositories_open_directory(w->r->workspace, path);
	const struct dirent *entry;
	struct buffer said = BUFFER_INIT;
	bool plain = dir != NULL, whole;

	for (size_t i = 0; plain && todos[i] != NULL; i++)
		plain = is_plain_todo(dirfd(dir), todos[i], words);
	while (plain && (entry = repositories_next_entry(dir)) != NULL)
		plain = !is_one_of(entry->d_name, commands) && repositories_entry_kind(dir, entry) == S_IFREG &&
		    !is_shared(w, dirfd(dir), path, entry->d_name);
	if (!plain) {
		for (size_t i = 0; dir != NULL && todos[i] != NULL; i++)
			repositories_load_file(dirfd(dir), todos[i], &said, &whole);
		for (size_t i = 0; dir != NULL && commands[i] != NULL; i++) {
			buffer_text(&said, commands[i]);
			repositories_load_file(dirfd(dir), commands[i], &said, &whole);
		}
		repositories_add_item(w, at, directory, name, NULL, dir == NULL ? NULL : buffer_string(&said));
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
	DIR *dir = repositories_open_directory(w->r->workspace, path);
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
	while (plain && (entry = repositories_next_entry(dir)) != NULL)
		plain = is_one_of(entry->d_name, known) && repositories_entry_kind(dir, entry) == S_IFREG &&
		    !is_shared(w, dirfd(dir), path, entry->d_name);
	if (!plain)
		repositories_add_item(w, at, directory, name, NULL, dir == NULL ? NULL : buffer_string(&said));
	list_free(odd);
	buffer_free(&said);
	if (dir != NULL)
		closedir(dir);
	free(path);
}

static void judge_part(struct walk *w, int at, const char *directory, const char *name);

/* Judges the repositories of submodules; judge_linked() those of linked work trees. */
static void
judge_parts(struct walk *w, int at, const char *directory, const char *name)
{
	judge_entries(w, at, directory, name, judge_part);
}

static void judge_linked_part(struct walk *w, int at, const char *directory, const char *name);

static void
judge_linked(struct walk *w, int at, const char *directory, const char *name)
{
	judge_entries(w, at, directory, name, judge_linked_part);
}

/* The names in a repository that git reads as more than data. */
static const struct { const char *name; judge *judge; } read_by_git[] = {
	{ "branches", judge_all_odd }, { "commondir", judge_commondir }, { "config", judge_config },
	{ "config.worktree", judge_config }, { "gitdir", judge_gitdir }, { "hooks", judge_hooks },
	{ "info", judge_info }, { "lfs", judge_links }, { "logs", judge_files }, { "modules", judge_parts },
	{ "NOTES_MERGE_WORKTREE", judge_links },
	{ "objects", judge_objects }, { "rebase-apply", repositories_judge_odd }, { "rebase-merge", judge_rebase },
	{ "refs", judge_refs }, { "remotes", judge_all_odd }, { "rr-cache", judge_files },
	{ "sequencer", judge_sequencer }, { "worktrees", judge_linked },
};

/* Whether another name is data, or is ignored by git. Names in capital letters are refs, states and
 * messages. */
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

int
repositories_compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether a file of a repository hides more than before: an index changes of paths, packed-refs
 * objects behind others. hidden: texts, each with its NUL. */
static bool
hides_more(struct walk *w, const char *directory, const struct buffer *hidden)
{
	bool more = false;

	for (size_t at = 0; !more && at < hidden->len; at += strlen(hidden->data + at) + 1)
		more = is_new(w, directory, hidden->data + at);
	return more;
}

/* Judges data in git's own format, which must not lead outside. In the first pass its content is
 * kept if git needs the file. */
static void
judge_data(struct walk *w, int at, const char *directory, const char *name)
{
	struct buffer hidden = BUFFER_INIT;
	struct odd_item *item;
	struct stat st;

	if (w->before == NULL && repository_data_is_index(name) && examine_status(at, name, &st) == 0) {
		char *path = repositories_join_path(directory, name);

		is_another(w, path, &st);
		free(path);
	}
	if (!repository_data_is_plain(at, name, repository_is_linked_part(directory), &hidden) || is_shared(w, at, directory, name)) {
		add_leading(w, at, directory, name);
	} else if (hides_more(w, directory, &hidden)) {
		item = repositories_add_item(w, at, directory, name, NULL, NULL);
		if (item != NULL)
			item->hides = true;
	} else if (w->before == NULL && repository_data_is_needed(name)) {
		item = repositories_add_item(w, at, directory, name, NULL, NULL);
		if (item != NULL)
			item->plain = true;
	}
	buffer_free(&hidden);
}

void
repository_judge(struct walk *w, DIR *dir, const char *path, bool one_by_shape)
{
	static const char daemon[] = "fsmonitor--daemon";
	const size_t before = w->r->count;
	const struct dirent *entry;

	if (repositories_have(w->r, path))
		return;
	list_add(&w->r->found, path);
	rewinddir(dir);
	while ((entry = repositories_next_entry(dir)) != NULL) {
		bool judged = false;
		mode_t kind;

		repositories_begin_judgement(w);
		for (size_t i = 0; !judged && i < sizeof read_by_git / sizeof *read_by_git; i++)
			if (strcmp(entry->d_name, read_by_git[i].name) == 0) {
				read_by_git[i].judge(w, dirfd(dir), path, entry->d_name);
				judged = true;
			}
		kind = repositories_entry_kind(dir, entry);
		if (judged || (text_ends(entry->d_name, REPOSITORY_ASIDE) && kind != S_IFDIR))
			continue;
		if (kind == S_IFDIR && (strcmp(entry->d_name, REPOSITORY_ASIDE_DIRECTORY) == 0 ||
		    (is_data(entry->d_name) && strcmp(entry->d_name, REPOSITORY) != 0))) {
			repositories_examine_inside(w, path, entry->d_name);
			continue;
		}
		if (strcmp(entry->d_name, REPOSITORY) == 0 && !one_by_shape) {
			repositories_add_item(w, dirfd(dir), path, entry->d_name, NULL, NULL);
			continue;
		}
		if (kind == S_IFSOCK && strncmp(entry->d_name, daemon, sizeof daemon - 1) == 0)
			continue; /* a socket: a reader does not block if no program serves it */
		if (kind != S_IFREG && kind != S_IFDIR ? is_data(entry->d_name) || !one_by_shape :
		    !is_data(entry->d_name) && !one_by_shape)
			repositories_add_item(w, dirfd(dir), path, entry->d_name, NULL, NULL);
		else if (kind == S_IFREG && is_data(entry->d_name))
			judge_data(w, dirfd(dir), path, entry->d_name);
	}
	for (size_t i = before; one_by_shape && i < w->r->count; i++)
		if (w->r->items[i].repository == NULL)
			w->r->items[i].repository = memory_text(path);
}

bool
repository_has_shape(DIR *dir)
{
	int fd = dirfd(dir);

	return repositories_is_there(fd, "HEAD") && (repositories_is_there(fd, "commondir") || (repositories_is_there(fd, "objects") && repositories_is_there(fd, "refs")));
}

/* Judges the repository of a submodule, whose name may contain slashes: a/b. */
static void
judge_part(struct walk *w, int at, const char *directory, const char *name)
{
	char *path = repositories_join_path(directory, name);
	DIR *dir;

	if (is_no_file(at, name)) {
		repositories_add_item(w, at, directory, name, NULL, NULL);
	} else if ((dir = repositories_open_directory(w->r->workspace, path)) != NULL) {
		if (repository_has_shape(dir))
			repository_judge(w, dir, path, false);
		else
			judge_entries(w, at, directory, name, judge_part);
		closedir(dir);
	}
	free(path);
}

/* Judges a directory in worktrees/: git uses each as the repository of a linked work tree. */
static void
judge_linked_part(struct walk *w, int at, const char *directory, const char *name)
{
	char *path = repositories_join_path(directory, name);
	DIR *dir = is_no_file(at, name) ? NULL : repositories_open_directory(w->r->workspace, path);

	if (dir != NULL) {
		repository_judge(w, dir, path, false);
		closedir(dir);
	} else if (is_no_file(at, name)) {
		repositories_add_item(w, at, directory, name, NULL, NULL);
	}
	free(path);
}
