/*
 * Who may do what: tokens, whose digests are in the storage, and sessions of browsers, which only
 * this process knows.
 *
 *    <storage>/serve/tokens (0600)   DIGEST ROLE GLOBS MADE LABEL, one line per token
 *
 * A token is 256 random bits, so its SHA-256 reveals nothing about it, and the time that it takes
 * to find a digest does not show how much of a guess was right. The file is read again whenever it
 * has changed, so that awf-serve --revoke-token is effective for running servers.
 *
 * A session begins with a login code, which is printed once and valid once, or with a token. It
 * ends after a time, with this process, or when the token with which it was begun becomes invalid.
 */
#ifndef AWF_SERVE_RUNS_TOKENS_H
#define AWF_SERVE_RUNS_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/error.h"
#include "storage/storage.h"
#include "transcript/filter.h"

/* Rights. MAY_DECIDE includes reading the runs. */
enum {
	MAY_READ = 1, MAY_DECIDE = 2, MAY_INGEST = 4, MAY_START = 8,
	MAY_ALL = MAY_READ | MAY_DECIDE | MAY_INGEST | MAY_START,
	MAY_SIGNED = 16,             /* for a route: a signature of the body is enough, and the
	                                route checks it */
	MAY_OWN = 32                 /* for a route that needs MAY_READ: MAY_START is enough for a run
	                                that the token has started */
};

#define TOKEN_SIZE 48            /* "awf_", 43 characters of base64url, and a NUL */
#define SESSION_LIFE_S (7 * 24 * 3600)

struct token {
	unsigned may;
	struct globs names;      /* patterns for names of workflows whose runs it gives access to;
	                            none: all */
	char *label;             /* "" */
	char digest[DIGEST_SIZE];
	int64_t made;            /* µs since 1970 */
	int64_t expires;         /* for a session, µs since 1970; 0: never */
	struct token *parent;    /* for a session: the token with which it was begun; NULL */
	bool revoked;            /* revoked or expired: references to it are given up */
	unsigned holders;        /* number of references, including that of the list */
};

struct tokens {
	char *path;
	struct stat seen;        /* the file when it was read; st_ino 0: it did not exist */
	struct token **list;
	size_t count;
	char login[DIGEST_SIZE]; /* digest of the login code; "": none */
};

/* The rights of a role ("read", "decide", "ingest", "start"); 0 if there is no such role. */
unsigned token_role(const char *name);
const char *const *token_roles(void);
/* The role with the fewest rights that include these. */
const char *token_role_of(unsigned may);

void tokens_begin(struct tokens *t, const struct storage *s);
/* Reads the file again if it has changed. *revoked: a token was revoked, or its rights have
 * changed. -1 with *err does not end anything: a file that cannot be read, or that belongs to
 * another user, contains no tokens, and an invalid line is ignored. */
int tokens_refresh(struct tokens *t, bool *revoked, struct error *err);
/* Returns the valid token with this text, with a reference; NULL if there is none. */
struct token *tokens_find(struct tokens *t, const char *text, size_t len, int64_t now);
struct token *token_hold(struct token *token);
void token_release(struct token *token);
/* Whether it is still valid. */
bool token_good(const struct token *token, int64_t now);
/* Whether it gives access to runs whoever has started them. */
bool token_reads(const struct token *token);
/* The digest of the token, or, for a session, of the token with which it was begun; "": none. */
const char *token_digest(const struct token *token);
/* Whether the token gives access to runs of this workflow. */
bool token_names(const struct token *token, const char *name);

/* Makes a login code, which begins one session. */
void tokens_login_code(struct tokens *t, char code[TOKEN_SIZE]);
/* Whether this is the login code; true only once, as it is used up then. */
bool tokens_login(struct tokens *t, const char *code, size_t len);
/* Begins a session, which the list refers to; text is set to the secret that the client must send.
 * parent: the token that the session depends on; NULL. */
struct token *tokens_session(struct tokens *t, struct token *parent, unsigned may, int64_t now,
    char text[TOKEN_SIZE]);
/* Ends a session. Does nothing for a token of the file. */
void tokens_session_end(struct tokens *t, struct token *session);
void tokens_free(struct tokens *t);

/* Checks patterns for names of workflows, separated by commas. ERROR_USAGE if one is invalid. */
int tokens_check_names(const char *globs, struct error *err);
/* The options of awf-serve that change the file. globs: "" for all. */
int tokens_make(const struct storage *s, const char *role, const char *globs, const char *label,
    char text[TOKEN_SIZE], struct error *err);
/* Prints DIGEST ROLE GLOBS MADE LABEL of each, aligned, digests cut to 12. */
int tokens_print(const struct storage *s, struct error *err);
/* Removes the token that begins with prefix, or whose digest does. ERROR_USAGE: there is none, or
 * several. */
int tokens_revoke(const struct storage *s, const char *prefix, struct error *err);

#endif
