/*
 * START_FILE is a head, entries sorted by the hash of a name, and texts: names, the workspace, what
 * is ignored. awf-step reads it in one go and looks each of its variables up; only those that
 * differ are looked at closer, so that a call in an untouched environment costs a hash (SipHash,
 * under a key of its own) for each variable. Values are not in it: whether one contains what the
 * attempt was started with is found by the length and hash of that, at the places where a path or
 * a word may begin.
 *
 * In run.started each variable is 20 digits: 8 of its name, 12 of its value.
 */
#define _GNU_SOURCE /* statx() */
#include "run/call_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/digest.h"
#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "proc/environment.h"
#include "transcript/event_keys.h"

#define MAGIC "awf-str1"
#define START_LIMIT ((size_t)64 << 20)
#define NAME_DIGITS 8
#define VALUE_DIGITS (MARK_SIZE - 1)
#define ENTRY_DIGITS (NAME_DIGITS + VALUE_DIGITS)
#define SHOWN_MOST 32        /* bytes of a value that people are shown */
#define RANDOM_LEAST 6       /* of mktemp(1) */
#define SEPARATORS ":;, \t\n=\"'"

extern char **environ;

struct start_entry {
	uint64_t name_hash, value_hash;
	uint32_t value_len, name; /* in the texts */
};

struct start_head {
	char magic[8];
	unsigned char key[MARKS_KEY_BYTES];
	unsigned char hash_key[crypto_shorthash_KEYBYTES];
	uint32_t count, texts;
	uint32_t workspace, ignored; /* in the texts; of the latter the first, up to an empty one */
};

struct start {
	struct buffer bytes;
	const struct start_head *head;
	const struct start_entry *entries;
	const char *texts;
	struct timespec written;
};

static uint64_t
hash_of(const unsigned char *key, const char *bytes, size_t len)
{
	unsigned char out[crypto_shorthash_BYTES];
	uint64_t hash;

	crypto_shorthash(out, (const unsigned char *)bytes, len, key);
	memcpy(&hash, out, sizeof hash);
	return hash;
}

/* The first digits of a digest under the key of a name, and of the value of a variable of that name
 * (NULL: of the name alone): equal values of two variables have different digests. */
static void
digits_of(const unsigned char *key, struct span name, struct span value, char *out, size_t digits)
{
	unsigned char digest[32];
	crypto_generichash_state state;
	char text[sizeof digest * 2];

	crypto_generichash_init(&state, key, MARKS_KEY_BYTES, sizeof digest);
	crypto_generichash_update(&state, (const unsigned char *)name.at, name.len);
	if (value.at != NULL) {
		crypto_generichash_update(&state, (const unsigned char *)"=", 1);
		crypto_generichash_update(&state, (const unsigned char *)value.at, value.len);
	}
	crypto_generichash_final(&state, digest, sizeof digest);
	sodium_bin2base64(text, sizeof text, digest, sizeof digest,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	memcpy(out, text, digits);
	out[digits] = '\0';
}

/* ---- names ---- */

static bool
matches(const char *pattern, const char *name, size_t len)
{
	size_t fixed = strlen(pattern);

	if (fixed > 0 && pattern[fixed - 1] == '*')
		return len >= fixed - 1 && memcmp(pattern, name, fixed - 1) == 0;
	return fixed == len && memcmp(pattern, name, len) == 0;
}

bool
marks_name_listed(const char *name, size_t len)
{
	static const char *const listed[] = { "PWD", "OLDPWD", "SHLVL", "_", "PS1", "PS2", "PS4", "PROMPT",
		"AWF_*", "TRACEPARENT", "TRACESTATE", "MAKE*", "MFLAGS", "GNUMAKEFLAGS", "PARALLEL_*",
		"BASH_FUNC_*", "SSH_A*", "_OLD_*", "DIRENV_*", "COLUMNS", "LINES", "RANDOM", "SECONDS",
		"BASHPID", "FAKEROOTKEY", "FAKED_MODE", "GPG_TTY", "DBUS_SESSION_BUS_*", "GPG_AGENT_INFO",
		NULL };

	for (size_t i = 0; listed[i] != NULL; i++)
		if (matches(listed[i], name, len))
			return true;
	return false;
}

int
marks_ignore(char ***list, const char *name, enum error_code code, const char *place,
    struct error *err)
{
	size_t len = strlen(name);

	if (len > 0 && name[len - 1] == '*')
		len--;
	if (!environment_name_valid(name, len))
		return error_set(err, code, place,
		    "'%s' is neither a variable's name nor the beginning of names and a star, such as CI_*",
		    name);
	if (!list_has(*list, name))
		list_add(list, name);
	return 0;
}

/* Whether the user said so, or awf-step --models has set it. */
static bool
is_ignored(const struct start *s, const char *name, size_t len)
{
	const char *own = getenv(MARKS_OWN);

	for (size_t part; own != NULL && *own != '\0'; own += part + (own[part] == ' ')) {
		part = strcspn(own, " ");
		if (part == len && memcmp(own, name, len) == 0)
			return true;
	}
	for (const char *at = s->texts + s->head->ignored; *at != '\0'; at += strlen(at) + 1)
		if (matches(at, name, len))
			return true;
	return false;
}

/* ---- the key ---- */

/* The storage itself may be a link; the file may not. */
static int
key_open(const char *path, int flags)
{
	return open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
}

int
marks_key(const char *storage, bool make, unsigned char key[MARKS_KEY_BYTES], struct error *err)
{
	char *path = path_join(storage, MARKS_KEY_FILE), id[ID_SIZE], *made;
	int fd = key_open(path, O_RDONLY), result = 1;
	ssize_t got;

	if (fd < 0 && errno == ENOENT && !make) {
		result = 0;
	} else if (fd < 0 && errno == ENOENT) {
		/* It appears whole, and once. */
		random_bytes(key, MARKS_KEY_BYTES);
		made = memory_format("%s.%s", path, id_new(id));
		fd = key_open(made, O_WRONLY | O_CREAT | O_EXCL);
		if (fd >= 0 && file_write(fd, key, MARKS_KEY_BYTES) == 0 && fsync(fd) == 0 &&
		    (link(made, path) == 0 || errno == EEXIST))
			errno = 0;
		else
			result = error_errno(err, ERROR_SYSTEM, path, "unable to make");
		file_close(&fd);
		unlink(made);
		free(made);
		if (result == 1)
			fd = key_open(path, O_RDONLY);
	}
	if (result == 1 && fd < 0)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	if (result == 1) {
		got = read(fd, key, MARKS_KEY_BYTES);
		if (got != MARKS_KEY_BYTES)
			result = error_set(err, ERROR_SYSTEM, path, "is damaged: remove it");
	}
	file_close(&fd);
	free(path);
	return result;
}

/* ---- the start of an attempt ---- */

static int
compare_entries(const void *a, const void *b)
{
	const struct start_entry *x = a, *y = b;

	return (x->name_hash > y->name_hash) - (x->name_hash < y->name_hash);
}

static uint32_t
add_text(struct buffer *texts, const char *text, size_t len)
{
	uint32_t at = (uint32_t)texts->len;

	buffer_append(texts, text, len);
	buffer_byte(texts, '\0');
	return at;
}

int
marks_start(const char *run_directory, const unsigned char key[MARKS_KEY_BYTES],
    char *const *environment, const char *workspace, char *const *ignored, struct error *err)
{
	struct start_head head = { .magic = MAGIC };
	struct start_entry *entries;
	struct buffer texts = BUFFER_INIT, whole = BUFFER_INIT;
	char *path = path_join(run_directory, START_FILE), real[PATH_MAX];
	size_t count = 0;
	int fd, result = 0;

	memcpy(head.key, key, sizeof head.key);
	crypto_generichash(head.hash_key, sizeof head.hash_key, (const unsigned char *)"hash", 4, key,
	    MARKS_KEY_BYTES);
	while (environment[count] != NULL)
		count++;
	entries = memory_zero(count + 1, sizeof *entries);
	for (char *const *e = environment; *e != NULL; e++) {
		size_t len = strcspn(*e, "="), value_len;

		if ((*e)[len] != '=')
			continue;
		value_len = strlen(*e + len + 1);
		if (value_len > UINT32_MAX / 2)
			continue;
		entries[head.count++] = (struct start_entry){ hash_of(head.hash_key, *e, len),
			hash_of(head.hash_key, *e + len + 1, value_len), (uint32_t)value_len,
			add_text(&texts, *e, len) };
	}
	qsort(entries, head.count, sizeof *entries, compare_entries);
	if (workspace != NULL && realpath(workspace, real) != NULL)
		workspace = real;
	else if (workspace == NULL)
		workspace = getcwd(real, sizeof real);
	head.workspace = add_text(&texts, workspace != NULL ? workspace : "/",
	    strlen(workspace != NULL ? workspace : "/"));
	head.ignored = (uint32_t)texts.len;
	for (; ignored != NULL && *ignored != NULL; ignored++)
		add_text(&texts, *ignored, strlen(*ignored));
	buffer_byte(&texts, '\0');
	head.texts = (uint32_t)texts.len;

	buffer_append(&whole, &head, sizeof head);
	buffer_append(&whole, entries, head.count * sizeof *entries);
	buffer_append(&whole, texts.data, texts.len);
	fd = file_open_plain(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || file_write(fd, whole.data, whole.len) != 0)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	file_close(&fd);
	sodium_memzero(&head, sizeof head);
	sodium_memzero(whole.data, whole.len);
	free(entries);
	buffer_free(&whole);
	buffer_free(&texts);
	free(path);
	return result;
}

void
marks_write_start(const unsigned char key[MARKS_KEY_BYTES], char *const *ignored,
    struct writer *w)
{
	struct buffer digits = BUFFER_INIT;
	char id[NAME_DIGITS + 1], name[NAME_DIGITS + 1], value[VALUE_DIGITS + 1];

	for (char **e = environ; *e != NULL; e++) {
		size_t len = strcspn(*e, "=");

		if ((*e)[len] != '=' || marks_name_listed(*e, len))
			continue;
		digits_of(key, span_of(*e, len), SPAN_NONE, name, NAME_DIGITS);
		digits_of(key, span_of(*e, len), span_of(*e + len + 1, strlen(*e + len + 1)), value,
		    VALUE_DIGITS);
		buffer_text(&digits, name);
		buffer_text(&digits, value);
	}
	digits_of(key, span_of("", 0), SPAN_NONE, id, NAME_DIGITS);
	writer_member_object(w, KEY_START);
	writer_member_string(w, KEY_KEY, id);
	writer_member_string(w, KEY_VARIABLES, buffer_string(&digits));
	if (ignored != NULL && *ignored != NULL) {
		writer_key(w, KEY_IGNORED);
		writer_array(w);
		for (; *ignored != NULL; ignored++)
			writer_string(w, *ignored);
		writer_array_end(w);
	}
	writer_object_end(w);
	buffer_free(&digits);
}

static void
start_free(struct start *s)
{
	if (s == NULL)
		return;
	if (s->bytes.data != NULL)
		sodium_memzero(s->bytes.data, s->bytes.len);
	buffer_free(&s->bytes);
	free(s);
}

/* 1: there is one; 0: there is none. */
static int
start_open(struct start **opened, const char *run_directory, struct error *err)
{
	char *path = path_join(run_directory, START_FILE);
	int fd = file_open_plain(path, O_RDONLY, 0), result = 1;
	struct start *s = memory_zero(1, sizeof *s);
	struct stat status;
	size_t need;

	if (fd < 0 && errno == ENOENT)
		result = 0;
	else if (fd < 0)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	else if (fstat(fd, &status) != 0 || file_read(fd, &s->bytes, START_LIMIT) != 0)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to read");
	if (result == 1) {
		s->written = status.st_mtim;
		s->head = (const void *)s->bytes.data;
		need = s->bytes.len < sizeof *s->head ? SIZE_MAX :
		    sizeof *s->head + s->head->count * sizeof *s->entries + s->head->texts;
		if (need != s->bytes.len || memcmp(s->head->magic, MAGIC, sizeof s->head->magic) != 0 ||
		    s->head->texts < 2 || s->bytes.data[need - 1] != '\0' ||
		    s->head->workspace >= s->head->texts || s->head->ignored >= s->head->texts) {
			result = error_set(err, ERROR_SYSTEM, path, "is damaged");
		} else {
			s->entries = (const void *)(s->head + 1);
			s->texts = (const char *)(s->entries + s->head->count);
		}
	}
	file_close(&fd);
	free(path);
	if (result != 1)
		start_free(s);
	*opened = result == 1 ? s : NULL;
	return result;
}

static const struct start_entry *
find_entry(const struct start *s, const char *name, size_t len)
{
	const struct start_entry wanted = { .name_hash = hash_of(s->head->hash_key, name, len) };

	return bsearch(&wanted, s->entries, s->head->count, sizeof wanted, compare_entries);
}

/* ---- the form of a value ---- */

static bool
separates(char c)
{
	return c == '\0' || strchr(SEPARATORS, c) != NULL;
}

/* Where the path begins in the text, as one, from `from` on; NULL. */
static const char *
find_path(const char *from, const char *text, const char *path)
{
	size_t len = strlen(path);

	for (const char *at = from; (at = strstr(at, path)) != NULL; at++)
		if ((at == text || separates(at[-1])) && (separates(at[len]) || at[len] == '/'))
			return at;
	return NULL;
}

/* How often letters, capitals and digits take turns: often in what was drawn at random. */
static size_t
turns_of(const char *text, size_t len)
{
	size_t turns = 0;
	int before = 0;

	for (size_t i = 0; i < len; i++) {
		int now = text[i] >= 'a' && text[i] <= 'z' ? 1 : text[i] >= 'A' && text[i] <= 'Z' ? 2 : 3;

		turns += before != 0 && now != before;
		before = now;
	}
	return turns;
}

/* The random part of a name that mktemp(1) or a library like it made. */
static bool
find_random(const char *name, size_t len, size_t *from, size_t *count)
{
	static const char drawn[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	for (size_t at = 0; at < len;) {
		size_t run = strspn(name + at, drawn), turns;

		if (at + run > len)
			run = len - at;
		turns = turns_of(name + at, run);
		if (run >= RANDOM_LEAST && (turns >= 2 ||
		    (turns >= 1 && at > 0 && name[at - 1] == '.' && (run == 6 || run == 10)) ||
		    (at == 4 && run == 10 && strncmp(name, "tmp.", 4) == 0) ||
		    (run == 11 && strncmp(name + at, "tmp", 3) == 0))) {
			*from = at;
			*count = run;
			return true;
		}
		at += run + 1;
	}
	return false;
}

/* Made since the attempt began, for its owner alone. */
static bool
is_new(const struct start *s, const char *path, size_t len)
{
	char *copy = memory_copy(path, len);
	struct statx status;
	bool found = statx(AT_FDCWD, copy, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
	    &status) == 0;
	const struct statx_timestamp *made = found && (status.stx_mask & STATX_BTIME) != 0 ?
	    &status.stx_btime : &status.stx_ctime;

	free(copy);
	return found && (status.stx_mode & 077) == 0 && status.stx_uid == geteuid() &&
	    (made->tv_sec > s->written.tv_sec ||
	    (made->tv_sec == s->written.tv_sec && made->tv_nsec >= s->written.tv_nsec));
}

/* Appends an absolute path; of what is new, and all that is in it, without random parts, and without
 * what it is in, which TMPDIR may say. */
static bool
add_path(const struct start *s, const char *path, size_t len, struct buffer *out)
{
	bool new_path = false;
	size_t done = 0;

	for (size_t at = 1, name; at < len; at += name + 1) {
		size_t from, count;

		name = 0;
		while (at + name < len && path[at + name] != '/')
			name++;
		if (!find_random(path + at, name, &from, &count) ||
		    (!new_path && !is_new(s, path, at + name)))
			continue;
		if (!new_path)
			done = at;
		new_path = true;
		buffer_append(out, path + done, at + from - done);
		buffer_byte(out, '*');
		done = at + from + count;
	}
	buffer_append(out, path + done, len - done);
	return new_path;
}

/* Without what the attempt was started with, and the separator beside it. */
static void
add_without_start(const struct start *s, const struct start_entry *entry, const char *value,
    struct buffer *out)
{
	size_t len = strlen(value), part = entry != NULL ? entry->value_len : 0;

	for (size_t at = 0; part > 0 && at + part <= len; at++) {
		size_t end = at + part;

		if ((at > 0 && !separates(value[at - 1])) || (!separates(value[end]) && value[end] != '/') ||
		    hash_of(s->head->hash_key, value + at, part) != entry->value_hash)
			continue;
		buffer_append(out, value, at > 0 && value[at - 1] == ':' ? at - 1 : at);
		if (at == 0 && value[end] == ':')
			end++;
		buffer_text(out, value + end);
		return;
	}
	if (part == 0) {
		/* x:$NAME, and nothing was there. */
		while (*value == ':')
			value++;
		for (len = strlen(value); len > 0 && value[len - 1] == ':';)
			len--;
	}
	buffer_append(out, value, len);
}

/* The form of a value; whether it leaves out a part of a new path. */
static bool
add_form(const struct start *s, const struct start_entry *entry, const char *value,
    struct buffer *out)
{
	const char *workspace = s->texts + s->head->workspace, *found, *at;
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT;
	bool new_path = false;

	/* A path that begins where a word does. */
	for (at = value; *at != '\0';) {
		size_t len = strcspn(at, SEPARATORS);

		if (*at == '/' && find_path(at, at, workspace) != at)
			new_path |= add_path(s, at, len, &first);
		else
			buffer_append(&first, at, len);
		at += len;
		if (*at != '\0')
			buffer_byte(&first, *at++);
	}
	add_without_start(s, entry, buffer_string(&first), &second);
	at = buffer_string(&second);
	while (workspace[1] != '\0' &&
	    (found = find_path(at, buffer_string(&second), workspace)) != NULL) {
		buffer_append(out, at, (size_t)(found - at));
		buffer_byte(out, '\1');
		at = found + strlen(workspace);
	}
	buffer_text(out, at);
	buffer_free(&first);
	buffer_free(&second);
	return new_path;
}

/* A number, a word, or a file's name: what nobody takes for a secret. */
static bool
is_harmless(const char *name, const char *value)
{
	size_t len = strlen(value);
	struct stat status;

	if (len == 0 || len > SHOWN_MOST || environment_is_secret(name, value))
		return false;
	if (len <= 6 && strspn(value, "0123456789") == len)
		return true;
	if (len <= 12 && strspn(value, "abcdefghijklmnopqrstuvwxyz") == len)
		return true;
	return *value != '/' && strspn(value,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == len &&
	    lstat(value, &status) == 0;
}

/* ---- a process's ---- */

static int
compare_marks(const void *a, const void *b)
{
	return strcmp(((const struct call_mark *)a)->name, ((const struct call_mark *)b)->name);
}

static struct call_mark *
add_mark(struct call_marks *m, const char *name)
{
	if (m->count % 16 == 0)
		m->list = memory_array(m->list, m->count + 16, sizeof *m->list);
	m->list[m->count] = (struct call_mark){ .name = name };
	return &m->list[m->count++];
}

static void
find_directory(struct call_marks *m, const struct start *s, const char *directory)
{
	const char *workspace = s->texts + s->head->workspace;
	size_t len = strlen(workspace);
	struct buffer out = BUFFER_INIT;
	char here[PATH_MAX];

	if ((directory == NULL ? getcwd(here, sizeof here) : realpath(directory, here)) == NULL ||
	    strcmp(here, workspace) == 0)
		return;
	if (len > 1 && strncmp(here, workspace, len) == 0 && here[len] == '/')
		m->directory = memory_text(here + len + 1);
	else if (len == 1 && *here == '/')
		m->directory = memory_text(here + 1);
	else {
		add_path(s, here, strlen(here), &out);
		m->directory = buffer_take(&out);
	}
}

int
marks_find(struct call_marks *m, const char *run_directory, const char *directory,
    struct error *err)
{
	struct start *s;
	bool *seen;
	int found = start_open(&s, run_directory, err);

	*m = (struct call_marks){ .known = found == 1 };
	if (found != 1)
		return found;
	m->start = s;
	find_directory(m, s, directory);
	seen = memory_zero(s->head->count + 1, sizeof *seen);
	for (char **e = environ; *e != NULL; e++) {
		size_t len = strcspn(*e, "="), value_len;
		const struct start_entry *entry;
		struct buffer form = BUFFER_INIT;
		const char *value = *e + len + 1;
		struct call_mark *mark;

		if ((*e)[len] != '=')
			continue;
		value_len = strlen(value);
		entry = find_entry(s, *e, len);
		if (entry != NULL)
			seen[entry - s->entries] = true;
		if ((entry != NULL && entry->value_len == value_len &&
		    hash_of(s->head->hash_key, value, value_len) == entry->value_hash) ||
		    marks_name_listed(*e, len) || is_ignored(s, *e, len) || !utf8_valid(*e, len))
			continue;
		mark = add_mark(m, memory_copy(*e, len));
		mark->new_path = add_form(s, entry, value, &form);
		digits_of(s->head->key, span_of(*e, len), span_of(value, value_len), mark->bytes, VALUE_DIGITS);
		digits_of(s->head->key, span_of(*e, len), span_of(buffer_string(&form), form.len), mark->form,
		    VALUE_DIGITS);
		if (is_harmless(mark->name, value))
			mark->shown = memory_text(value);
		buffer_free(&form);
	}
	for (uint32_t i = 0; i < s->head->count; i++) {
		const char *name = s->texts + s->entries[i].name;
		size_t len = strlen(name);

		if (!seen[i] && !marks_name_listed(name, len) && !is_ignored(s, name, len) &&
		    utf8_valid(name, len) && getenv(name) == NULL)
			add_mark(m, memory_copy(name, len));
	}
	free(seen);
	if (m->count > 1)
		qsort(m->list, m->count, sizeof *m->list, compare_marks);
	return 1;
}

void
marks_drop_variables(struct call_marks *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free((void *)(uintptr_t)m->list[i].name);
		free(m->list[i].shown);
	}
	free(m->list);
	m->list = NULL;
	m->count = 0;
}

void
marks_free(struct call_marks *m)
{
	marks_drop_variables(m);
	free(m->directory);
	start_free(m->start);
	*m = (struct call_marks){ .list = NULL };
}

/* A variable is null if it is unset, else "BYTES[:FORM][~][ TEXT]"; ~: the form leaves out a part of a
 * new path. */
void
marks_write(const struct call_marks *m, struct writer *w)
{
	writer_member_string(w, KEY_DIRECTORY, m->directory);
	if (m->count == 0)
		return;
	writer_member_object(w, KEY_VARIABLES);
	for (size_t i = 0; i < m->count; i++) {
		const struct call_mark *mark = &m->list[i];
		struct buffer text = BUFFER_INIT;

		json_quote(&text, mark->name, strlen(mark->name));
		if (w->comma)
			buffer_byte(w->out, ',');
		buffer_append(w->out, text.data, text.len);
		buffer_byte(w->out, ':');
		w->comma = false;
		buffer_clear(&text);
		if (mark->bytes[0] == '\0') {
			writer_null(w);
		} else {
			buffer_text(&text, mark->bytes);
			if (strcmp(mark->bytes, mark->form) != 0)
				buffer_format(&text, ":%s", mark->form);
			if (mark->new_path)
				buffer_byte(&text, '~');
			if (mark->shown != NULL)
				buffer_format(&text, " %s", mark->shown);
			writer_bytes(w, buffer_string(&text), text.len);
		}
		w->comma = true;
		buffer_free(&text);
	}
	writer_object_end(w);
}

/* ---- compared ---- */

void
marks_read_start(struct span started, struct buffer *out)
{
	struct span start = span_member(started, KEY_START);
	struct span id = span_member(start, KEY_KEY), table = span_member(start, KEY_VARIABLES);

	if (span_type(id) != 's' || span_type(table) != 's')
		return;
	span_decode(id, out);
	span_decode(table, out);
}

/* A recorded value as one of ours; shown is not looked at. */
static void
read_value(struct span value, struct call_mark *mark)
{
	char text[2 * MARK_SIZE + SHOWN_MOST + 8], *at = text;

	mark->bytes[0] = mark->form[0] = '\0';
	mark->new_path = false;
	if (!span_copy(value, text, sizeof text) || strlen(text) < VALUE_DIGITS)
		return;
	memcpy(mark->bytes, at, VALUE_DIGITS);
	mark->bytes[VALUE_DIGITS] = '\0';
	memcpy(mark->form, mark->bytes, sizeof mark->form);
	at += VALUE_DIGITS;
	if (*at == ':' && strlen(at + 1) >= VALUE_DIGITS) {
		memcpy(mark->form, at + 1, VALUE_DIGITS);
		at += 1 + VALUE_DIGITS;
	}
	mark->new_path = *at == '~';
}

static bool
agree(const struct call_mark *a, const struct call_mark *b)
{
	if (a->bytes[0] == '\0' || b->bytes[0] == '\0')
		return a->bytes[0] == b->bytes[0];
	return strcmp(a->bytes, b->bytes) == 0 || strcmp(a->form, b->form) == 0;
}

/* What the attempt of the record was started with. */
static void
find_started(const struct start *s, const char *table, const char *name, struct call_mark *mark)
{
	char digits[NAME_DIGITS + 1];

	mark->bytes[0] = mark->form[0] = '\0';
	mark->new_path = false;
	digits_of(s->head->key, span_of(name, strlen(name)), SPAN_NONE, digits, NAME_DIGITS);
	for (size_t len = strlen(table); len >= ENTRY_DIGITS; table += ENTRY_DIGITS, len -= ENTRY_DIGITS)
		if (memcmp(table, digits, NAME_DIGITS) == 0) {
			memcpy(mark->bytes, table + NAME_DIGITS, VALUE_DIGITS);
			mark->bytes[VALUE_DIGITS] = '\0';
			memcpy(mark->form, mark->bytes, sizeof mark->form);
			return;
		}
}

static const struct call_mark *
find_mark(const struct call_marks *m, const char *name)
{
	const struct call_mark wanted = { .name = name };

	return m->count == 0 ? NULL :
	    bsearch(&wanted, m->list, m->count, sizeof wanted, compare_marks);
}

/* What this process has where it is what the attempt was started with. */
static void
find_own(const struct start *s, const char *name, struct call_mark *mark)
{
	const char *value = getenv(name);

	mark->bytes[0] = mark->form[0] = '\0';
	if (value == NULL)
		return;
	digits_of(s->head->key, span_of(name, strlen(name)), span_of(value, strlen(value)), mark->bytes,
	    VALUE_DIGITS);
	memcpy(mark->form, mark->bytes, sizeof mark->form);
}

bool
marks_other_directory(const struct call_marks *m, const struct recorded_marks *r)
{
	return strcmp(m->directory != NULL ? m->directory : "", r->directory) != 0;
}

static void
add_difference(int *count, struct buffer *names, const char *what)
{
	(*count)++;
	if (names != NULL)
		buffer_format(names, "%s\n", what);
}

int
marks_difference(const struct call_marks *m, const struct recorded_marks *r, struct buffer *names)
{
	const struct start *s = m->start;
	struct span variables = span_of(r->variables, strlen(r->variables)), value;
	struct call_mark own, recorded;
	char id[NAME_DIGITS + 1];
	int count = 0;

	if (!m->known || *r->start == '\0')
		return -1;
	digits_of(s->head->key, span_of("", 0), SPAN_NONE, id, NAME_DIGITS);
	if (strncmp(r->start, id, NAME_DIGITS) != 0)
		return -1;
	for (size_t i = 0; i < m->count; i++) {
		value = variables.len > 0 ? span_member(variables, m->list[i].name) : SPAN_NONE;
		if (value.at != NULL)
			read_value(value, &recorded);
		else
			find_started(s, r->start + NAME_DIGITS, m->list[i].name, &recorded);
		if (!agree(&m->list[i], &recorded))
			add_difference(&count, names, m->list[i].name);
	}
	for (struct span_walk member = span_walk(variables); variables.len > 0 && span_next(&member);) {
		char *name = span_text(member.key);

		if (name != NULL && find_mark(m, name) == NULL && !is_ignored(s, name, strlen(name))) {
			read_value(member.value, &recorded);
			find_own(s, name, &own);
			if (!agree(&own, &recorded))
				add_difference(&count, names, name);
		}
		free(name);
	}
	if (marks_other_directory(m, r))
		add_difference(&count, names, MARKS_DIRECTORY);
	return count;
}

bool
marks_same_paths(const struct call_marks *m, const struct recorded_marks *r, struct buffer *name)
{
	struct span variables = span_of(r->variables, strlen(r->variables));
	const char *other = strchr(r->directory, '*') != NULL ? MARKS_DIRECTORY : NULL;
	char *text = NULL;

	for (struct span_walk member = span_walk(variables);
	    other == NULL && variables.len > 0 && span_next(&member);) {
		const struct call_mark *own;
		struct call_mark recorded;

		free(text);
		text = span_text(member.key);
		read_value(member.value, &recorded);
		own = find_mark(m, text);
		if (recorded.new_path && !is_ignored(m->start, text, strlen(text)) &&
		    (own == NULL || strcmp(own->bytes, recorded.bytes) != 0))
			other = text;
	}
	if (other != NULL && name != NULL)
		buffer_text(name, other);
	free(text);
	return other == NULL;
}

bool
marks_have(const struct recorded_marks *r, const char *name)
{
	return *r->variables != '\0' &&
	    span_member(span_of(r->variables, strlen(r->variables)), name).at != NULL;
}

/* What is in neither is what the attempt was started with. */
bool
marks_recorded_differ(const struct recorded_marks *a, const struct recorded_marks *b,
    const char *name)
{
	struct span of_a = span_of(a->variables, strlen(a->variables));
	struct span of_b = span_of(b->variables, strlen(b->variables)), left, right;
	struct call_mark x, y;

	left = of_a.len > 0 ? span_member(of_a, name) : SPAN_NONE;
	right = of_b.len > 0 ? span_member(of_b, name) : SPAN_NONE;
	if (left.at == NULL || right.at == NULL)
		return left.at != right.at;
	read_value(left, &x);
	read_value(right, &y);
	return !agree(&x, &y);
}

static uint64_t
number_of(struct buffer *text)
{
	unsigned char out[crypto_generichash_BYTES_MIN];
	uint64_t number = 0;

	if (text->len > 0) {
		crypto_generichash(out, sizeof out, (const unsigned char *)text->data, text->len, NULL, 0);
		memcpy(&number, out, sizeof number);
	}
	buffer_free(text);
	return number;
}

static void
add_identity(struct buffer *form, struct buffer *bytes, const char *name, const struct call_mark *mark)
{
	buffer_format(form, "%s=%s\n", name, mark->form);
	buffer_format(bytes, "%s=%s\n", name, mark->bytes);
}

uint64_t
marks_identity(const struct call_marks *m, uint64_t *exact)
{
	struct buffer form = BUFFER_INIT, bytes = BUFFER_INIT;
	const char *directory = m->directory != NULL ? m->directory : "";
	bool new_path = strchr(directory, '*') != NULL;

	if (m->directory != NULL)
		buffer_format(&form, "%s\n", directory);
	buffer_append(&bytes, form.data, form.len);
	for (size_t i = 0; i < m->count; i++) {
		add_identity(&form, &bytes, m->list[i].name, &m->list[i]);
		new_path |= m->list[i].new_path;
	}
	/* Which new directory it was, its form does not tell. */
	*exact = number_of(&bytes);
	if (!new_path)
		*exact = 0;
	else if (strchr(directory, '*') != NULL)
		*exact = MARKS_NEVER_EXACT;
	return number_of(&form);
}

uint64_t
marks_recorded_identity(const struct recorded_marks *r, uint64_t *exact)
{
	struct buffer form = BUFFER_INIT, bytes = BUFFER_INIT;
	struct span variables = span_of(r->variables, strlen(r->variables));
	bool new_path = strchr(r->directory, '*') != NULL;

	if (*r->directory != '\0')
		buffer_format(&form, "%s\n", r->directory);
	buffer_append(&bytes, form.data, form.len);
	for (struct span_walk member = span_walk(variables); variables.len > 0 && span_next(&member);) {
		char *name = span_text(member.key);
		struct call_mark mark;

		read_value(member.value, &mark);
		if (name != NULL)
			add_identity(&form, &bytes, name, &mark);
		new_path |= mark.new_path;
		free(name);
	}
	/* Which new directory it was, its form does not tell. */
	*exact = number_of(&bytes);
	if (!new_path)
		*exact = 0;
	else if (strchr(r->directory, '*') != NULL)
		*exact = MARKS_NEVER_EXACT;
	return number_of(&form);
}

void
marks_describe(const char *name, struct span value, struct buffer *out)
{
	char *text = span_text(value), *shown = text != NULL ? strchr(text, ' ') : NULL;

	buffer_format(out, "%s%s", out->len > 0 ? ", " : "", name);
	if (span_type(value) == '0')
		buffer_text(out, " unset");
	else if (shown != NULL)
		buffer_format(out, "=%s", shown + 1);
	free(text);
}
