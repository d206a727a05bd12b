/*
 * Shared by the files that find repositories and judge their contents:
 *
 *  repository_item.c      opening files that may be moved meanwhile; items and directories that are found
 *  repository_judge.c     the contents of a repository
 *  repository_index.c     the indexes that the command has changed
 *  repositories_used.c    files that git's settings name
 *  repositories.c         the directories of the workspace, in both passes
 *  repositories_settle.c  setting aside, and putting back
 */
#ifndef AWF_SANDBOX_REPOSITORIES_PARTS_H
#define AWF_SANDBOX_REPOSITORIES_PARTS_H

#include <dirent.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "sandbox/repositories.h"

#define REPOSITORY ".git"
#define DEPTH 32                 /* limit for nested directories in a repository */

struct walk {
	struct repositories *r;
	const struct repositories *before; /* the result of the first pass; NULL during the first
	                                      pass */
	struct timespec settled; /* a ctime after this may not change with a further change */
	char **directories;    /* relative paths of directories to be examined */
	size_t count, capacity;
	size_t seen_capacity;
	size_t used_count;
	size_t depth;          /* of nested directories that are being judged */
	size_t missed;         /* examine_count_missed() at the beginning of the current judgement */
};

/* Judges an entry of a repository, given its name, the open directory that contains it, and the
 * path of that directory. */
typedef void judge(struct walk *w, int at, const char *directory, const char *name);

/* ---- repository_item.c ---- */

/* Opens a path below a directory, without following symbolic links; "" is the directory itself. -1
 * with errno. */
int repositories_open_unnoted(int root, const char *path, int flags);
/* The same; a path that cannot be examined is noted (sandbox/examine.h). */
int repositories_open(int root, const char *path, int flags);
/* Opens a directory for listing; NULL: it is not a directory, or belongs to somebody else who does
 * not allow that. If it is the user's, and closed, it is opened up. */
DIR *repositories_open_directory(int root, const char *path);
/* Like examine_status(), and opens up directories in the same way. */
int repositories_status(int root, const char *path, struct stat *st);
/* Gives the directories that were opened up the modes that they had. */
void repositories_close_again(void);
/* Whether an entry with this name exists, of any kind. */
bool repositories_is_there(int at, const char *name);
/* The next entry except "." and ".."; NULL at the end. */
const struct dirent *repositories_next_entry(DIR *dir);
mode_t repositories_entry_kind(DIR *dir, const struct dirent *entry);
/* Whether it is neither a file, a directory nor a symbolic link: opening it may block for ever. */
bool repositories_is_special(mode_t mode);
bool repositories_is_earlier(const struct timespec *a, const struct timespec *b);
/* Joins a directory, where "" is the workspace, and a name. Allocated. */
char *repositories_join_path(const char *directory, const char *name);
/* Whether an absolute path is the workspace or inside it. */
bool repositories_is_here(const struct walk *w, const char *path);
/* The part of such a path after the workspace, which it must not be itself. */
const char *repositories_path_inside(const struct walk *w, const char *path);
/* The absolute path for a path in the settings or files of a repository, which is relative to a
 * directory of the workspace; allocated. */
char *repositories_path_from(const struct walk *w, const char *directory, const char *path);
/* Like realpath(3); NULL: the path does not exist, or cannot be examined. */
char *repositories_real_path(const char *path);
/* The path with its symbolic links resolved, as far as it exists; allocated. */
char *repositories_path_resolved(const char *path);
/* Reads a file; *whole: it is a regular file and not too large. */
void repositories_load_file(int at, const char *name, struct buffer *content, bool *whole);
/* The single line of a file, without trailing white space; "" if the file is not one line.
 * Allocated. */
char *repositories_load_line(int at, const char *name);
/* Begins a judgement: repositories_add_item() then drops it if any part of it could not be
 * examined. */
void repositories_begin_judgement(struct walk *w);
/* Adds an item, which is odd. Takes ownership of settings. content: a description of a directory,
 * or NULL. Returns the item; NULL: it does not exist any more, or could not be examined. */
struct odd_item *repositories_add_item(struct walk *w, int at, const char *directory, const char *name, char **settings,
    const char *content);
/* NULL: there is no item with this path. */
const struct odd_item *repositories_find_item(const struct repositories *r, const char *path);
/* Adds an entry as odd, whatever it is. */
void repositories_judge_odd(struct walk *w, int at, const char *directory, const char *name);
/* Adds a directory that must be examined; takes ownership of path. */
void repositories_add_directory(struct walk *w, char *path);
/* Compares two seen directories by path. */
int repositories_compare_seen(const void *a, const void *b);
/* NULL: the directory was not seen. */
const struct seen_directory *repositories_find_seen(const struct repositories *r, const char *path);
/* Adds a file, by its path in the workspace, that git reads as data: it is checked in each pass. */
void repositories_add_data(struct walk *w, const char *path);
/* Examines a directory inside of a repository as any directory of the workspace, for anything that
 * git would recognize as a repository: the one with the items that were set aside, since somebody
 * will look at them there, and those that git does not know. */
void repositories_examine_inside(struct walk *w, const char *directory, const char *name);

/* ---- repository_judge.c ---- */

/* Judges each name in a directory of a repository. A symbolic link instead of the directory is odd,
 * and so is a directory nested deeper than git makes any, so that descriptors cannot run out
 * (examine_reserve()). */
void repositories_judge_each(struct walk *w, int at, const char *directory, const char *name, judge *one);
/* Judges the contents of a repository. one_by_shape: it is recognized by its contents, so it may
 * also contain files that are not git's. */
void repository_judge(struct walk *w, DIR *dir, const char *path, bool one_by_shape);
/* Whether a file or directory of a repository, with a path in the workspace, may have been changed
 * since the command began: by its ctime, or since another one was there. What is moved with its
 * directory keeps its ctime. Called for indexes, and for directories and graphs of objects. */
bool repositories_is_changed(const struct repositories *before, const char *path, const struct stat *st);
/* Whether a directory is in worktrees/ of a repository. */
bool repository_is_linked_part(const char *directory);
/* Whether git would recognize a directory with these contents as a repository. */
bool repository_has_shape(DIR *dir);
/* Compares two elements of a list of texts, for qsort() and bsearch(). */
int repositories_compare_texts(const void *a, const void *b);

/* ---- repository_index.c ---- */

/* Has git read the content of all files again of which an index of a repository may say something
 * wrong. Adds the indexes in which that was not possible to a list. */
void repositories_distrust_indexes(const struct repositories *before, const char *repository, char ***failed);

/* ---- repositories_used.c ---- */

/* Finds the files that settings name. In the second pass, uses the settings from before the
 * command, also for work trees that the command has made. */
void repositories_find_used(struct walk *w);
/* Judges a file of the workspace that git reads as data. If a reader would get anything but a file
 * of the workspace, or would block, the first part of its path that is a symbolic link, or else the
 * last part, is odd. */
void repositories_judge_read(struct walk *w, const char *path);
/* Judges a file that a setting names; path is absolute. A symbolic link in the path is new: none
 * was there when the path was looked up. */
void repositories_judge_used(struct walk *w, const char *path);

/* ---- repositories.c ---- */

/* The second pass: judges again everything that was found before, and lists directories that may
 * contain something new. */
void repositories_find_again(struct repositories *r, const struct repositories *before);

#endif
