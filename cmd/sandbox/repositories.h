/*
 * Git repositories in a workspace. Git reads more than data from such a directory: settings that
 * name programs, hooks, lists of commands to continue with, files that say where the rest lies. A
 * program in a sandbox may write what git writes as data (objects, refs, logs, the index …) and
 * other plain files; then git executes nothing of it if somebody uses git there later.
 *
 *    repositories_find() → the command → repositories_settle()
 *
 * What is not plain in any repository of the workspace is looked up before the command starts, and
 * again when all that it started has ended. What was not there, or was another, is set aside, and what
 * was there is put back. Of a repository it goes to one directory, REPOSITORY_ASIDE_DIRECTORY, which git
 * never lists; what lies elsewhere gets another name beside it (REPOSITORY_ASIDE).
 *
 * A repository with an unknown extension (such as another format of refs) cannot be judged: its
 * directory must be kept read-only as a whole.
 *
 * A repository is what git takes for one: a directory .git, what a file of that name leads to, and
 * any directory with HEAD, objects and refs, or with HEAD and commondir. If the command turned
 * another directory into one, what makes it a repository is set aside, unless it is called .git.
 */
#ifndef AWF_SANDBOX_REPOSITORIES_H
#define AWF_SANDBOX_REPOSITORIES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "sandbox/git_settings.h"

#define REPOSITORY_ASIDE ".unreviewed" /* a name that was set aside ends so */
#define REPOSITORY_ASIDE_DIRECTORY "awf-unreviewed"

/* Something in a repository that is not plain, or that is plain now and restored if the command
 * makes it odd. */
struct odd_item {
	char *path;          /* relative to the workspace */
	char *repository;    /* directory that this item makes a repository, also relative; NULL: it
	                        is one by the name .git */
	mode_t mode;         /* st_mode of stat(2) */
	char **settings;     /* of a configuration: the settings that are not plain;
	                        otherwise NULL */
	char *content;       /* of a file its content, of a link its target, of others and large
	                        files a description */
	size_t len;
	bool whole;          /* the content can be put back */
	int copy;            /* a file without a name that has it, on the same disk; -1: none */
	bool linked;         /* a file of several names */
	bool plain;
	bool leads;          /* not plain, because git would write where it says */
	bool hides;          /* likewise, because git status would not tell of files, or of changes */
	bool sparse;         /* a configuration that says so (repository_data.h) */
	bool waits;          /* likewise, because git would wait for somebody to write to it, as a FIFO */
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
	char *root;          /* its path, without links */
	char **found;        /* their paths, relative to it; a list */
	struct git_settings settings; /* theirs, and those of the user */
	char **used;         /* what these name in the workspace: hooks, included files, words of commands; absolute */
	char **used_there;   /* what of it is there */
	char **hidden;       /* "REPOSITORY LF PATH": what an index hides changes of; sorted, after the first look */
	size_t hidden_count;
	char **data;         /* files that git reads as data: those whose place had something else, and those that settings name */
	char **pointers;     /* files .git that say where one lies */
	char **unknown;      /* those whose settings name an extension of which it is not known what git reads then */
	char **shared;       /* files that git writes into and that have other names: which, and how many */
	int ballast;         /* a file without a name, whose blocks are free when things are put back; -1: none */
	struct timespec began; /* what was changed earlier was not changed by the command */
	struct odd_item *items;
	size_t count;
	struct seen_directory *seen; /* sorted by path */
	size_t seen_count;
};

/* Examines the workspace (root: its path, absolute, without links). home: the user's, in addition
 * to HOME; NULL. -1 (ERROR_BLOCKED): something could not be examined, so changes by the command
 * could not be recognized later. */
int repositories_find(struct repositories *r, int workspace, const char *root, const char *home, struct error *err);
/* Whether a repository was found at the path, which is relative to the workspace. */
bool repositories_have(const struct repositories *r, const char *path);
/* Examines the workspace again and sets aside what the command made that is not plain. Paths in or
 * below kept are skipped, as the command could not change them, and those in opened, which it may
 * change (lists of absolute paths). What cannot be examined is left as it is. Returns a list of
 * messages about both. */
char **repositories_settle(const struct repositories *before, char *const *kept, char *const *opened);
/* For another process than the one that found them: it puts things back without the copies, which it has not. */
void repositories_forget_copies(struct repositories *r);
void repositories_free(struct repositories *r);

#endif
