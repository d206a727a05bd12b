/*
 * Repositories of git in a workspace. Of such a directory git reads more than data: settings that
 * name programs, hooks, lists of commands to go on with, files that say where the rest lies. A
 * program in a sandbox may write what git writes as data (objects, refs, logs, the index …), and
 * nothing else that is not plain: then git runs nothing of it, whoever calls it there later.
 *
 *     repositories_find() → the command → repositories_settle()
 *
 * What is not plain in any repository of the workspace is looked up before the command starts, and
 * again when all that it started has ended. What was not there, or was another, is set aside, and what
 * was there is put back. Of a repository it goes to one directory, REPOSITORY_ASIDE_DIRECTORY, which git
 * never lists; what lies elsewhere gets another name beside it (REPOSITORY_ASIDE).
 *
 * Of a repository with an extension that is not known here (another form of its refs) nothing can be judged:
 * its directory is to be kept whole.
 *
 * A repository is what git takes for one: a directory .git, what a file of that name leads to, and
 * any directory with HEAD, objects and refs, or with HEAD and commondir. What is found of one that
 * was none before makes it none again, if it is no directory .git.
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

/* Something in a repository that is not plain, or that is and is put back if the command makes it otherwise. */
struct odd_item {
	char *path;          /* relative to the workspace */
	char *repository;    /* the directory that it makes a repository of, likewise; NULL: .git says so */
	mode_t mode;         /* as of stat(2) */
	char **settings;     /* of a configuration, those that are not plain; else NULL */
	char *content;       /* of a file, where a link leads; of others, and of large files, what it is */
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

/* A directory that was looked at. */
struct seen_directory {
	char *path;
	dev_t device;
	ino_t inode;
	struct timespec changed;
};

struct repositories {
	int workspace;       /* not of this one; O_PATH */
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
	struct seen_directory *seen; /* by path */
	size_t seen_count;
};

/* Looks through the workspace (its path: absolute, without links). home: the user's, beside HOME; NULL.
 * -1 (ERROR_BLOCKED): something could not be looked at, so nobody could tell afterwards what the command made. */
int repositories_find(struct repositories *r, int workspace, const char *root, const char *home, struct error *err);
/* Whether there is such a one at the path: relative to the workspace. */
bool repositories_have(const struct repositories *r, const char *path);
/* Looks again, and sets aside what the command made that is not plain, but for what is one of
 * these paths of the workspace or lies in one (both lists are of absolute paths): it could not change the kept ones,
 * and the opened ones are its to change. What cannot be looked at is left as it is. Returns a list of lines that say
 * what was done, and that. */
char **repositories_settle(const struct repositories *before, char *const *kept, char *const *opened);
/* For another process than the one that found them: it puts things back without the copies, which it has not. */
void repositories_forget_copies(struct repositories *r);
void repositories_free(struct repositories *r);

#endif
