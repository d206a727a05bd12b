/*
 * Only the last field of a line in the file can contain a space. The file is replaced as a whole
 * under a lock on its directory, so that two processes that change it at the same time lose
 * nothing, and readers see it whole.
 */
#include "serve_runs/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "io/terminal.h"

#define PREFIX "awf_"
#define SECRET_BYTES 32
#define FILE_LIMIT ((size_t)4 << 20)
#define LOCK_MS 10000
#define REVOKE_LEAST 6           /* fewest digits of a digest that name a token in --revoke-token */

static const char *const role_names[] = { "read", "decide", "ingest", "start", NULL };
static const unsigned role_may[] = { MAY_READ, MAY_READ | MAY_DECIDE, MAY_INGEST, MAY_START };

unsigned
token_role(const char *name)
{
	int index = text_index(name, role_names);

	return index >= 0 ? role_may[index] : 0;
}

const char *const *
token_roles(void)
{
	return role_names;
}

const char *
token_role_of(unsigned may)
{
	for (size_t i = 0; role_names[i] != NULL; i++)
		if ((role_may[i] & may) == may)
			return role_names[i];
	return "";
}

/* "awf_" and 43 characters of base64url: 256 bits of the system's random numbers. */
static void
make_secret(char text[TOKEN_SIZE])
{
	unsigned char secret[SECRET_BYTES];

	random_bytes(secret, sizeof secret);
	memcpy(text, PREFIX, sizeof PREFIX - 1);
	sodium_bin2base64(text + sizeof PREFIX - 1, TOKEN_SIZE - (sizeof PREFIX - 1), secret,
	    sizeof secret, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(secret, sizeof secret);
}

static bool
is_secret(const char *text, size_t len)
{
	return len == TOKEN_SIZE - 1 && memcmp(text, PREFIX, sizeof PREFIX - 1) == 0;
}

/* ---- a token ---- */

struct token *
token_hold(struct token *token)
{
	token->holders++;
	return token;
}

void
token_release(struct token *token)
{
	if (token == NULL || --token->holders > 0)
		return;
	token_release(token->parent);
	globs_free(&token->names);
	free(token->label);
	free(token);
}

bool
token_good(const struct token *token, int64_t now)
{
	return !token->revoked && (token->expires == 0 || now < token->expires) &&
	    (token->parent == NULL || token_good(token->parent, now));
}

bool
token_reads(const struct token *token)
{
	return (token->may & MAY_READ) != 0;
}

const char *
token_digest(const struct token *token)
{
	while (token->parent != NULL)
		token = token->parent;
	/* A session that was begun with the printed link has no token. */
	return token->expires == 0 ? token->digest : "";
}

bool
token_names(const struct token *token, const char *name)
{
	return globs_match(&token->names, name);
}

/* ---- the file ---- */

/* A token from a line of the file; NULL if the line is invalid. */
static struct token *
tokens_parse_line(const char *line, size_t len)
{
	char *text = memory_copy(line, len), *at = text, *field[5] = { NULL };
	struct token *token = NULL;
	int64_t made;

	for (size_t i = 0; i < 5 && at != NULL; i++) {
		field[i] = at;
		at = i < 4 ? strchr(at, ' ') : NULL;
		if (at != NULL)
			*at++ = '\0';
	}
	if (field[3] != NULL && strspn(field[0], "0123456789abcdef") == DIGEST_SIZE - 1 &&
	    strlen(field[0]) == DIGEST_SIZE - 1 && token_role(field[1]) != 0 &&
	    clock_parse(field[3], 0, &made) == 0) {
		token = memory_zero(1, sizeof *token);
		memcpy(token->digest, field[0], DIGEST_SIZE);
		token->may = token_role(field[1]);
		if (strcmp(field[2], "*") != 0)
			globs_add(&token->names, field[2]);
		token->made = made;
		token->label = memory_text(field[4] != NULL ? field[4] : "");
		token->holders = 1;
	}
	free(text);
	return token;
}

static void
add_token(struct token ***list, size_t *count, struct token *token)
{
	*list = memory_array(*list, *count + 1, sizeof **list);
	(*list)[(*count)++] = token;
}

/* Reads the tokens of an open file. An invalid line gives nobody access, but is an error, since
 * somebody believes that it is a token. */
static int
read_tokens(int fd, const char *path, struct token ***list, size_t *count, struct error *err)
{
	struct buffer bytes = BUFFER_INIT;
	const char *at, *end, *lf;
	size_t line = 1, damaged = 0;
	char *where;

	if (file_check_private(fd, path, err) != 0)
		return -1;
	if (file_read(fd, &bytes, FILE_LIMIT) != 0) {
		buffer_free(&bytes);
		return error_errno(err, ERROR_SYSTEM, path, "unable to read");
	}
	at = buffer_string(&bytes);
	for (end = at + bytes.len; at < end; at = lf + 1, line++) {
		struct token *token = NULL;

		/* A last line without LF may be only the beginning of a line. */
		lf = memchr(at, '\n', (size_t)(end - at));
		if (lf != NULL)
			token = tokens_parse_line(at, (size_t)(lf - at));
		if (token != NULL)
			add_token(list, count, token);
		else if (damaged == 0)
			damaged = line;
		if (lf == NULL)
			break;
	}
	buffer_free(&bytes);
	if (damaged == 0)
		return 0;
	where = memory_format("%s:%zu", path, damaged);
	error_set(err, ERROR_SYSTEM, where, "is no line of a token, or has no end, and counts for "
	    "nothing: mend it or take it out");
	free(where);
	return -1;
}

void
tokens_begin(struct tokens *t, const struct storage *s)
{
	*t = (struct tokens){ .path = memory_format("%s/serve/tokens", s->root) };
}

static bool
token_is_same(const struct token *a, const struct token *b)
{
	bool same = strcmp(a->digest, b->digest) == 0 && a->may == b->may &&
	    strcmp(a->label, b->label) == 0 && a->names.count == b->names.count;

	for (size_t i = 0; same && i < a->names.count; i++)
		same = strcmp(a->names.patterns[i], b->names.patterns[i]) == 0;
	return same;
}

/* Replaces the tokens by those of the file; sessions are kept. A token whose rights have changed is
 * replaced by a new one. */
static bool
tokens_replace_list(struct tokens *t, struct token **fresh, size_t fresh_count)
{
	bool revoked = false;
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct token *old = t->list[i];
		size_t same = 0;

		while (same < fresh_count && (fresh[same] == NULL || !token_is_same(fresh[same], old)))
			same++;
		if (old->expires != 0) {
			t->list[kept++] = old;
		} else if (same < fresh_count) {
			t->list[kept++] = old;
			token_release(fresh[same]);
			fresh[same] = NULL;
		} else {
			old->revoked = revoked = true;
			token_release(old);
		}
	}
	t->count = kept;
	for (size_t i = 0; i < fresh_count; i++)
		if (fresh[i] != NULL)
			add_token(&t->list, &t->count, fresh[i]);
	free(fresh);
	return revoked;
}

int
tokens_refresh(struct tokens *t, bool *revoked, struct error *err)
{
	struct token **fresh = NULL;
	size_t count = 0;
	struct stat now;
	int fd, failed = 0;

	*revoked = false;
	if (stat(t->path, &now) != 0)
		memset(&now, 0, sizeof now);
	if (now.st_ino == t->seen.st_ino && now.st_size == t->seen.st_size &&
	    now.st_mtim.tv_sec == t->seen.st_mtim.tv_sec &&
	    now.st_mtim.tv_nsec == t->seen.st_mtim.tv_nsec)
		return 0;
	fd = file_open_plain(t->path, O_RDONLY, 0);
	if (fd == -1 && errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, t->path, "unable to open");
	else if (fd != -1 && fstat(fd, &now) != 0)
		failed = error_errno(err, ERROR_SYSTEM, t->path, "unable to look at it");
	else if (fd != -1)
		failed = read_tokens(fd, t->path, &fresh, &count, err);
	file_close(&fd);
	t->seen = now;
	*revoked = tokens_replace_list(t, fresh, count);
	return failed;
}

struct token *
tokens_find(struct tokens *t, const char *text, size_t len, int64_t now)
{
	char digest[DIGEST_SIZE];

	if (!is_secret(text, len))
		return NULL;
	digest_sha256(text, len, digest);
	for (size_t i = 0; i < t->count; i++)
		if (sodium_memcmp(t->list[i]->digest, digest, sizeof digest) == 0)
			return token_good(t->list[i], now) ? token_hold(t->list[i]) : NULL;
	return NULL;
}

/* ---- sessions ---- */

void
tokens_login_code(struct tokens *t, char code[TOKEN_SIZE])
{
	make_secret(code);
	digest_sha256(code, TOKEN_SIZE - 1, t->login);
}

bool
tokens_login(struct tokens *t, const char *code, size_t len)
{
	char digest[DIGEST_SIZE];
	bool right;

	if (t->login[0] == '\0' || !is_secret(code, len))
		return false;
	digest_sha256(code, len, digest);
	right = sodium_memcmp(t->login, digest, sizeof digest) == 0;
	if (right)
		t->login[0] = '\0';
	return right;
}

/* Expired sessions are removed when the next one begins. */
static void
forget_expired(struct tokens *t, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		if (t->list[i]->expires != 0 && !token_good(t->list[i], now)) {
			t->list[i]->revoked = true;
			token_release(t->list[i]);
		} else {
			t->list[kept++] = t->list[i];
		}
	}
	t->count = kept;
}

struct token *
tokens_session(struct tokens *t, struct token *parent, unsigned may, int64_t now,
    char text[TOKEN_SIZE])
{
	struct token *session = memory_zero(1, sizeof *session);

	forget_expired(t, now);
	make_secret(text);
	digest_sha256(text, TOKEN_SIZE - 1, session->digest);
	session->may = may;
	session->made = now;
	session->expires = now + (int64_t)SESSION_LIFE_S * 1000000;
	if (parent != NULL && parent->expires != 0 && parent->expires < session->expires)
		session->expires = parent->expires;
	session->label = memory_text(parent != NULL ? parent->label : "");
	session->parent = parent != NULL ? token_hold(parent) : NULL;
	for (size_t i = 0; parent != NULL && i < parent->names.count; i++)
		globs_add(&session->names, parent->names.patterns[i]);
	session->holders = 1;
	add_token(&t->list, &t->count, session);
	return session;
}

void
tokens_session_end(struct tokens *t, struct token *session)
{
	if (session->expires == 0)
		return;
	session->revoked = true;
	for (size_t i = 0; i < t->count; i++)
		if (t->list[i] == session) {
			t->list[i] = t->list[--t->count];
			token_release(session);
			return;
		}
}

void
tokens_free(struct tokens *t)
{
	for (size_t i = 0; i < t->count; i++)
		token_release(t->list[i]);
	free(t->list);
	free(t->path);
	*t = (struct tokens){ .path = NULL };
}

/* ---- options that change the file ---- */

/* Locks the directory, and reads the present tokens. */
static int
open_locked(struct tokens *t, const struct storage *s, int *lock, struct error *err)
{
	char *directory = memory_format("%s/serve", s->root);
	bool revoked;
	int failed = storage_make_directory(directory, true, err);

	tokens_begin(t, s);
	*lock = failed == 0 ? file_open_plain(directory, O_RDONLY | O_DIRECTORY, 0) : -1;
	if (failed == 0 && (*lock == -1 || lock_file_within(*lock, LOCK_MS) != 0))
		failed = error_errno(err, ERROR_SYSTEM, directory, "unable to lock");
	if (failed == 0)
		failed = tokens_refresh(t, &revoked, err);
	free(directory);
	return failed;
}

static void
append_globs(struct buffer *out, const struct token *token)
{
	if (token->names.count == 0)
		buffer_byte(out, '*');
	for (size_t i = 0; i < token->names.count; i++)
		buffer_format(out, "%s%s", i > 0 ? "," : "", token->names.patterns[i]);
}

static int
write_tokens(const struct tokens *t, struct error *err)
{
	struct buffer out = BUFFER_INIT;
	struct replacement file;
	char made[CLOCK_TEXT_SIZE];
	int failed;

	for (size_t i = 0; i < t->count; i++) {
		const struct token *token = t->list[i];

		buffer_format(&out, "%s %s ", token->digest, token_role_of(token->may));
		append_globs(&out, token);
		buffer_format(&out, " %s %s\n", clock_text(token->made, made), token->label);
	}
	failed = replacement_open(&file, t->path, 0600, err);
	if (failed == 0 && file_write(file.fd, buffer_string(&out), out.len) != 0) {
		failed = error_errno(err, ERROR_SYSTEM, t->path, "unable to write");
		replacement_abandon(&file);
	} else if (failed == 0) {
		failed = replacement_commit(&file, true, err);
	}
	buffer_free(&out);
	return failed;
}

/* Whether a pattern's brackets and backslashes are complete: otherwise they would be taken
 * literally, and the pattern would mean something else than its author expects. */
static bool
is_glob(const char *at, size_t len)
{
	const char *end = at + len;

	if (len == 0)
		return false;
	for (; at < end; at++) {
		if (*at == '\\') {
			if (++at == end)
				return false;
			continue;
		}
		if (*at != '[')
			continue;
		at++;
		at += at < end && (*at == '!' || *at == '^');
		for (at += at < end; at < end && *at != ']'; at++)
			continue;
		if (at >= end)
			return false;
	}
	return true;
}

int
tokens_check_names(const char *globs, struct error *err)
{
	const char *at = globs, *part;
	size_t len;

	if (strpbrk(globs, " \t\n") != NULL)
		return error_set(err, ERROR_USAGE, "--name", "no white space in names");
	if (*globs == '\0')
		return error_set(err, ERROR_USAGE, "--name", "names nothing: without it the token is for "
		    "all workflows");
	while ((part = text_part(&at, ',', &len)) != NULL)
		if (!is_glob(part, len))
			return error_set(err, ERROR_USAGE, "--name", "'%.*s' is no pattern of names", (int)len,
			    part);
	return 0;
}

int
tokens_make(const struct storage *s, const char *role, const char *globs, const char *label,
    char text[TOKEN_SIZE], struct error *err)
{
	struct tokens t;
	struct token *token;
	int lock = -1, failed;

	if (strpbrk(label, "\n") != NULL)
		return error_set(err, ERROR_USAGE, "--label", "is to be one line");
	failed = open_locked(&t, s, &lock, err);
	if (failed == 0) {
		make_secret(text);
		token = memory_zero(1, sizeof *token);
		token->may = token_role(role);
		if (*globs != '\0')
			globs_add(&token->names, globs);
		token->label = memory_text(label);
		token->made = clock_wall();
		token->holders = 1;
		digest_sha256(text, TOKEN_SIZE - 1, token->digest);
		add_token(&t.list, &t.count, token);
		failed = write_tokens(&t, err);
	}
	file_close(&lock);
	tokens_free(&t);
	return failed;
}

int
tokens_print(const struct storage *s, struct error *err)
{
	struct tokens t;
	bool revoked;
	int failed;

	tokens_begin(&t, s);
	failed = tokens_refresh(&t, &revoked, err);
	for (size_t i = 0; i < t.count; i++) {
		struct buffer globs = BUFFER_INIT, label = BUFFER_INIT;
		char made[CLOCK_TEXT_SIZE];

		append_globs(&globs, t.list[i]);
		text_visible(&label, t.list[i]->label, strlen(t.list[i]->label), 0);
		terminal_printf("%.12s  %-6s  %-16s  %s  %s\n", t.list[i]->digest, token_role_of(t.list[i]->may),
		    buffer_string(&globs), clock_text(t.list[i]->made, made), buffer_string(&label));
		buffer_free(&globs);
		buffer_free(&label);
	}
	tokens_free(&t);
	return failed;
}

int
tokens_revoke(const struct storage *s, const char *prefix, struct error *err)
{
	size_t len = strlen(prefix), found = 0, at = 0;
	char digest[DIGEST_SIZE];
	struct tokens t;
	int lock = -1, failed = open_locked(&t, s, &lock, err);

	/* The user may give the token itself instead of its digest. */
	if (is_secret(prefix, len)) {
		prefix = digest_sha256(prefix, len, digest);
		len = DIGEST_SIZE - 1;
	}
	for (size_t i = 0; i < t.count; i++)
		if (len >= REVOKE_LEAST && strncmp(t.list[i]->digest, prefix, len) == 0) {
			at = i;
			found++;
		}
	if (failed == 0 && found != 1) {
		failed = error_set(err, ERROR_USAGE, "--revoke-token", found == 0 ?
		    "no token's digest begins so (with %d digits at least; see --list-tokens)" :
		    "several tokens' digests begin so: give more than %d digits", REVOKE_LEAST);
	} else if (failed == 0) {
		token_release(t.list[at]);
		memmove(&t.list[at], &t.list[at + 1], (--t.count - at) * sizeof *t.list);
		failed = write_tokens(&t, err);
	}
	file_close(&lock);
	tokens_free(&t);
	return failed;
}
