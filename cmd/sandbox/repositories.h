/*
 * Git repositories in a workspace. Git reads more than data from such a directory: settings that
 * name programs, hooks, lists of commands to continue with, files that say where other parts are.
 * What git only reads as data (objects, refs, logs, the index …) and other harmless files are
 * called plain; anything else is odd. If a repository contains only plain files, git executes
 * nothing that a sandboxed program has written.
 *
 *    repositories_find() → repositories_copy() → the command → repositories_settle()
 *
 * Odd items in all repositories of the workspace are found before the command starts, and again
 * after all of its processes have ended. Those that are new or changed are set aside, and the
 * previous ones are put back. Items of a repository are moved to its directory
 * REPOSITORY_ASIDE_DIRECTORY, which git never lists; others are renamed in place
 * (REPOSITORY_ASIDE).
 *
 * A repository with an unknown extension (such as another format of refs) cannot be judged: its
 * directory must be kept read-only as a whole.
 *
 * A repository is any directory that git recognizes as one: a directory .git, a directory that a
 * file .git names, and any directory that contains HEAD, objects and refs, or HEAD and commondir.
 * If the command has turned another directory into a repository, the entries that make it one are
 * set aside, unless it is called .git.
 */
#ifndef AWF_SANDBOX_REPOSITORIES_H
#define AWF_SANDBOX_REPOSITORIES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "sandbox/git_settings.h"

#define REPOSITORY_ASIDE ".unreviewed" /* suffix of a name that was set aside */
#define REPOSITORY_ASIDE_DIRECTORY "awf-unreviewed"

/* An odd item in a repository, or a plain one that is put back if the command makes it odd. */
struct odd_item {
	char *path;          /* relative to the workspace */
	char *repository;    /* the directory that becomes a repository by this item, relative to
	                        the workspace; NULL: it is one because it is called .git */
	mode_t mode;         /* st_mode of stat(2) */
	char **settings;     /* of a configuration: the settings that are odd; otherwise NULL */
	char *content;       /* the content of a file, the target of a link, a description of other
	                        items and of large files */
	size_t len;
	bool whole;          /* the content can be put back */
	int copy;            /* an unnamed file with the content, on the same disk; -1: none */
	struct timespec changed; /* st_mtim */
	bool linked;         /* it is a file with several names */
	bool plain;
	bool leads;          /* it is odd because git would write to the place that it names */
	bool hides;          /* it is odd because git status would not report some files or changes */
	bool sparse;         /* it is a configuration that enables sparse checkout
	                        (repository_data.h) */
	bool waits;          /* it is odd because git would block when it reads it, as with a FIFO */
};

/* A directory that was examined. */
struct seen_directory {
	char *path;
	dev_t device;
	ino_t inode;
	struct timespec changed;
};

struct repositories {
	int workspace;       /* O_PATH; owned by the caller */
	char *root;          /* its path, without symbolic links */
	char **found;        /* paths of the repositories, relative to the workspace; a list */
	struct git_settings settings; /* the settings of the repositories, and of the user */
	char **used;         /* files in the workspace that settings name: hooks, included files,
	                        words of commands; absolute paths */
	char **used_there;   /* those of them that exist */
	char **noted;        /* "PATH LF WHAT" of what is judged by whether it was there before: in a
	                        repository the paths whose changes its index hides and the refs that
	                        replace objects; and which directory or graph of objects, or index, is
	                        at a path; sorted after the first pass */
	size_t noted_count;
	char **data;         /* files that git reads as data and that must be checked: those in
	                        whose place there was something else, and those that settings
	                        name */
	char **pointers;     /* files .git that say where a repository is */
	char **unknown;      /* repositories with an extension that is not known here, so that it is
	                        unknown what git reads there */
	char **shared;       /* files that git writes to and that have other hard links: which file,
	                        and how many links */
	int ballast;         /* an unnamed file; it is truncated to free space when things are put
	                        back; -1: none */
	struct timespec began; /* anything that was changed earlier was not changed by the command */
	struct odd_item *items;
	size_t count;
	size_t kept;         /* bytes of large contents that were kept */
	struct seen_directory *seen; /* sorted by path */
	size_t seen_count;
};

/* Examines the workspace (root: its absolute path, without symbolic links). home: the user's home
 * directory, in addition to HOME; NULL. -1 (ERROR_BLOCKED): something could not be examined, so
 * changes by the command could not be detected. */
int repositories_find(struct repositories *r, int workspace, const char *root, const char *home, struct error *err);
/* Copies what may have to be put back to unnamed files, so that it can be put back even if the
 * command fills the disk. Called last before the command starts. */
void repositories_copy(struct repositories *r);
/* Whether a repository was found at a path relative to the workspace. */
bool repositories_have(const struct repositories *r, const char *path);
/* Examines the workspace again, and sets aside odd items that the command has made. Skips paths in
 * or below `kept`, which the command could not change, and `opened`, which it was allowed to change
 * (lists of absolute paths). What cannot be examined is left as it is. Returns a list of messages
 * about both. */
char **repositories_settle(const struct repositories *before, char *const *kept, char *const *opened);
void repositories_free_item(struct odd_item *item);
/* Closes the copies, in a process that does not put things back. */
void repositories_forget_copies(struct repositories *r);
void repositories_free(struct repositories *r);

#endif
