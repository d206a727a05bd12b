/*
 * Shared by the files that look for repositories, and judge what is in them:
 *
 *  repository_item.c      opening what may be moved meanwhile; what is found, and what is looked through
 *  repository_judge.c     what is in one repository
 *  repositories_used.c    files that the settings of git name
 *  repositories.c         the directories of the workspace, at both passes
 *  repositories_settle.c  setting aside, and putting back
 */
#ifndef AWF_SANDBOX_REPOSITORIES_PARTS_H
#define AWF_SANDBOX_REPOSITORIES_PARTS_H

#include <dirent.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "sandbox/repositories.h"

#define REPOSITORY ".git"
#define DEPTH 32                 /* of directories that lie in each other in a repository */

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

/* ---- repository_item.c ---- */

/* Opens a path below a directory, through no links; "" is that directory. -1 with errno. */
int repositories_open_unnoted(int root, const char *path, int flags);
/* The same; what cannot be looked at is noted (sandbox/look.h). */
int repositories_open(int root, const char *path, int flags);
/* Opens a directory for listing; NULL: it is no directory, or cannot be entered. */
DIR *repositories_open_directory(int root, const char *path);
/* Whether there is such a name, of whatever kind. */
bool repositories_is_there(int at, const char *name);
/* The next entry except "." and ".."; NULL at the end. */
const struct dirent *repositories_next_entry(DIR *dir);
mode_t repositories_entry_kind(DIR *dir, const struct dirent *entry);
/* Not a file, a directory or a link: opening it may block for ever. */
bool repositories_is_special(mode_t mode);
bool repositories_is_earlier(const struct timespec *a, const struct timespec *b);
/* "" stands for the workspace. */
char *repositories_join_path(const char *directory, const char *name);
/* Whether an absolute path is the workspace or is inside of it. */
bool repositories_is_here(const struct walk *w, const char *path);
/* Of such a path, which is not the workspace's own: as of the workspace. */
const char *repositories_path_inside(const struct walk *w, const char *path);
/* A path as the settings or files of a repository say it, from a directory of the workspace on; in
 * memory of its own. */
char *repositories_path_from(const struct walk *w, const char *directory, const char *path);
/* Like realpath(3); NULL: the path does not exist, or that is not known. */
char *repositories_real_path(const char *path);
/* Without links as far as it is there; in memory of its own. */
char *repositories_path_resolved(const char *path);
/* Reads a file; *whole: it is a regular file, and was not too large. */
void repositories_load_file(int at, const char *name, struct buffer *content, bool *whole);
/* The single line of a file, without trailing white space; "" if it is not one line. To be freed by
 * the caller. */
char *repositories_load_line(int at, const char *name);
/* Starts a judgement: if a part of what is judged cannot be examined, the judgement is dropped. */
void repositories_begin_judgement(struct walk *w);
/* Takes over settings. content: what a directory contains, or NULL. Returns the item; NULL: it no
 * longer exists, or could not be examined. */
struct odd_item *repositories_add_item(struct walk *w, int at, const char *directory, const char *name, char **settings,
    const char *content);
/* NULL: there is none of this path. */
const struct odd_item *repositories_find_item(const struct repositories *r, const char *path);
/* It is odd, whatever it is. */
void repositories_judge_odd(struct walk *w, int at, const char *directory, const char *name);
/* A directory that is to be looked through; takes over its path. */
void repositories_add_directory(struct walk *w, char *path);
/* Of two directories that were seen, by their paths. */
int repositories_compare_seen(const void *a, const void *b);
/* NULL: it was not seen. */
const struct seen_directory *repositories_find_seen(const struct repositories *r, const char *path);
/* A file that git reads as data, by its path in the workspace: it is looked at each time. */
void repositories_add_data(struct walk *w, const char *path);
/* What was set aside of a repository is reviewed there: it is looked through as a directory of the workspace is, for
 * whatever git would take for a repository. One that was seen is looked at anyhow. */
void repositories_examine_aside(struct walk *w, const char *repository);

/* ---- repository_judge.c ---- */

/* Judges each name in a directory of a repository. A link in its place is odd, and so is a
 * directory deeper than any that git makes: so descriptors cannot run out at any depth
 * (look_reserve()). */
void repositories_judge_each(struct walk *w, int at, const char *directory, const char *name, judge *one);
/* Judges what is in a repository. one_by_shape: it is one because of what lies in it, beside which may lie
 * what is no git's. */
void repository_judge(struct walk *w, DIR *dir, const char *path, bool one_by_shape);
/* Whether git would recognize a directory with these names as a repository. */
bool repository_has_shape(DIR *dir);
/* Of two texts of a list, for qsort() and bsearch(). */
int repositories_compare_texts(const void *a, const void *b);

/* ---- repositories_used.c ---- */

/* At the second pass: uses the settings as they were before the command, with the work trees that
 * it made too. */
void repositories_find_used(struct walk *w);
/* A file of the workspace that git reads as data. If its reader would get anything but a file of the workspace, or
 * wait, the first part of its path that is a link, or its last, is odd. */
void repositories_judge_read(struct walk *w, const char *path);
/* path: absolute. A link on the way to it was made since it was looked up. */
void repositories_judge_used(struct walk *w, const char *path);

/* ---- repositories.c ---- */

/* Judges again all that was found before, and lists directories that may contain something new. */
void repositories_find_again(struct repositories *r, const struct repositories *before);

#endif
