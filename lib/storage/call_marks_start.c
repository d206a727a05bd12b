/*
 * START_FILE consists of a head, entries sorted by the hash of a name, and texts: names; which
 * variables are excluded; which of them an outer workflow has set; which are marks whatever their
 * value. awf-step reads it as a whole and
 * looks up each of its own variables, so a call in an unchanged environment needs one hash
 * (SipHash, with the file's own key) for each variable. The file contains no values: whether a text
 * is or contains one is found out by length and hash. In run.started each variable has 20 digits: 8
 * for its name, 12 for its value.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "io/file.h"
#include "proc/environment.h"
#include "storage/call_marks_parts.h"
#include "transcript/event_keys.h"

#define MAGIC "awf-str3"
#define START_LIMIT ((size_t)64 << 20)

extern char **environ;

/* ---- descriptors ---- */

/* What can be read from a descriptor that programs of this process inherit: the path of a file, or the name of a pipe;
 * NULL: nothing that a call would depend on. *once: it is another one in each attempt. */
static char *
descriptor_text(int fd, bool *once)
{
	const int flags = fcntl(fd, F_GETFL), inherited = fcntl(fd, F_GETFD);
	char link[64], text[PATH_MAX];
	struct stat status;
	ssize_t len;

	if (flags == -1 || inherited == -1 || (inherited & FD_CLOEXEC) != 0 || (flags & O_ACCMODE) == O_WRONLY ||
	    fstat(fd, &status) != 0 || (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)))
		return NULL;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	len = readlink(link, text, sizeof text - 1);
	if (len <= 0)
		return NULL;
	text[len] = '\0';
	*once = *text != '/' || status.st_nlink == 0;
	return memory_text(text);
}

void
marks_each_descriptor(void (*each)(void *context, const char *name, const char *text, bool once), void *context)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		const int fd = atoi(entry->d_name);
		char name[sizeof MARKS_DESCRIPTOR + 16];
		bool once;
		char *text = fd > STDERR_FILENO ? descriptor_text(fd, &once) : NULL;

		snprintf(name, sizeof name, MARKS_DESCRIPTOR "%d", fd);
		if (text != NULL)
			each(context, name, text, once);
		free(text);
	}
	if (directory != NULL)
		closedir(directory);
}

/* ---- variables ---- */

static uint64_t
hash_of(const unsigned char *key, const char *bytes, size_t len)
{
	unsigned char out[crypto_shorthash_BYTES];
	uint64_t hash;

	crypto_shorthash(out, (const unsigned char *)bytes, len, key);
	memcpy(&hash, out, sizeof hash);
	return hash;
}

void
marks_digits(const unsigned char *key, struct span name, struct span value, char *out,
    size_t digits)
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

bool
marks_name_listed(const char *name, size_t len)
{
	static const char *const listed[] = { "PWD", "OLDPWD", "SHLVL", "_", "PS1", "PS2", "PS4", "PROMPT",
		"AWF_*", "TRACEPARENT", "TRACESTATE", "MAKE", "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MAKEFILES",
		"MAKEFILE_LIST", "MAKE_TERMOUT", "MAKE_TERMERR", "MAKE_RESTARTS", "MAKE_COMMAND", "MAKECMDGOALS",
		"MFLAGS", "GNUMAKEFLAGS", "PARALLEL", "PARALLEL_SEQ", "PARALLEL_PID", "PARALLEL_JOBSLOT",
		"PARALLEL_SSHHOST", "PARALLEL_SSHLOGIN", "PARALLEL_RSYNC_OPTS", "PARALLEL_TMP", "PARALLEL_HOME",
		"PARALLEL_SHELL", "PARALLEL_ENV", "PARALLEL_VERSION", "PARALLEL_ARGHOSTGROUPS",
		"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "_OLD_VIRTUAL_*", "_OLD_FISH_*", "DIRENV_*", "COLUMNS", "LINES", "RANDOM", "SECONDS",
		"BASHPID", "FAKEROOTKEY", "FAKED_MODE", "GPG_TTY", "DBUS_SESSION_BUS_*", "GPG_AGENT_INFO",
		NULL };

	for (size_t i = 0; listed[i] != NULL; i++)
		if (environment_pattern_matches(listed[i], name, len))
			return true;
	return false;
}

int
marks_ignore(char ***list, const char *name, enum error_code code, const char *place,
    struct error *err)
{
	if (!environment_pattern_valid(name))
		return error_set(err, code, place,
		    "'%s' is neither a variable's name nor the beginning of names and a star, such as CI_*",
		    name);
	if (!list_has(*list, name))
		list_add(list, name);
	return 0;
}

bool
attempt_start_ignores(const struct attempt_start *s, const char *name, size_t len)
{
	const char *own = getenv(MARKS_OWN);

	for (size_t part; own != NULL && *own != '\0'; own += part + (own[part] == ' ')) {
		part = strcspn(own, " ");
		if (part == len && memcmp(own, name, len) == 0)
			return true;
	}
	for (const char *at = s->texts + s->head->ignored; *at != '\0'; at += strlen(at) + 1)
		if (environment_pattern_matches(at, name, len))
			return true;
	return false;
}

bool
marks_is_descriptor(const char *name)
{
	return strncmp(name, MARKS_DESCRIPTOR, strlen(MARKS_DESCRIPTOR)) == 0;
}

bool
marks_is_function(const char *name)
{
	return environment_pattern_matches(MARKS_FUNCTIONS, name, strlen(name));
}

/* ---- the key ---- */

/* Opens the key file. The storage's directory may be a symbolic link, but not the file. */
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
		/* Write it to another name first, then link it: so it is complete when it appears,
		 * and only one process can make it. */
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
		/* What is recorded with the key is useless without the key, so it must be on
		 * disk. */
		if (result == 1)
			result = file_sync_name(path, err) == 0 ? 1 : -1;
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
marks_add_text(struct buffer *texts, const char *text, size_t len)
{
	uint32_t at = (uint32_t)texts->len;

	buffer_append(texts, text, len);
	buffer_byte(texts, '\0');
	return at;
}

static void
start_add_names(struct buffer *texts, char *const *names)
{
	for (; names != NULL && *names != NULL; names++)
		marks_add_text(texts, *names, strlen(*names));
	buffer_byte(texts, '\0');
}

/* Appends the names of variables that the outer run's workflow has set, or that of a run around
 * it. */
static int
add_outer(struct buffer *texts, const struct start_spec *spec, struct error *err)
{
	struct attempt_start *outer = NULL;
	int found = spec->outer == NULL ? 0 : attempt_start_open(&outer, spec->outer, NULL, err);

	for (char *const *e = spec->environment; found == 1 && *e != NULL; e++) {
		size_t len = strcspn(*e, "=");

		if ((*e)[len] == '=' && len > 0 && attempt_start_set_since(outer, *e, len, *e + len + 1))
			marks_add_text(texts, *e, len);
	}
	attempt_start_free(outer);
	buffer_byte(texts, '\0');
	return found == -1 ? -1 : 0;
}

struct start_entries {
	struct start_head *head;
	struct start_entry *list;
	struct buffer *texts;
};

static void
start_add_entry(struct start_entries *e, const char *name, size_t len, const char *value, size_t value_len)
{
	if (e->list == NULL || e->head->count % 64 == 0)
		e->list = memory_array(e->list, e->head->count + 64, sizeof *e->list);
	e->list[e->head->count++] = (struct start_entry){ hash_of(e->head->hash_key, name, len),
		hash_of(e->head->hash_key, value, value_len), (uint32_t)value_len, marks_add_text(e->texts, name, len) };
}

static void
start_add_descriptor(void *context, const char *name, const char *text, bool once)
{
	(void)once;
	start_add_entry(context, name, strlen(name), text, strlen(text));
}

int
marks_start(const char *run_directory, const unsigned char key[MARKS_KEY_BYTES],
    const struct start_spec *spec, struct error *err)
{
	struct start_head head = { .magic = MAGIC, .unmarked = spec->unmarked };
	struct buffer texts = BUFFER_INIT, whole = BUFFER_INIT;
	struct start_entries entries = { &head, NULL, &texts };
	char *path = path_join(run_directory, START_FILE);
	int fd, result;

	memcpy(head.key, key, sizeof head.key);
	crypto_generichash(head.hash_key, sizeof head.hash_key, (const unsigned char *)"hash", 4, key,
	    MARKS_KEY_BYTES);
	for (char *const *e = spec->environment; *e != NULL; e++) {
		size_t len = strcspn(*e, "="), value_len;

		if ((*e)[len] != '=')
			continue;
		value_len = strlen(*e + len + 1);
		if (value_len > UINT32_MAX / 2)
			continue;
		start_add_entry(&entries, *e, len, *e + len + 1, value_len);
	}
	marks_each_descriptor(start_add_descriptor, &entries);
	if (entries.list != NULL)
		qsort(entries.list, head.count, sizeof *entries.list, compare_entries);
	head.ignored = (uint32_t)texts.len;
	start_add_names(&texts, spec->ignored);
	head.outer = (uint32_t)texts.len;
	result = add_outer(&texts, spec, err);
	head.changed = (uint32_t)texts.len;
	start_add_names(&texts, spec->changed);
	head.texts = (uint32_t)texts.len;

	buffer_append(&whole, &head, sizeof head);
	buffer_append(&whole, entries.list, head.count * sizeof *entries.list);
	buffer_append(&whole, texts.data, texts.len);
	fd = result == 0 ? file_open_plain(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	if (result == 0 && (fd < 0 || file_write(fd, whole.data, whole.len) != 0))
		result = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	file_close(&fd);
	sodium_memzero(&head, sizeof head);
	sodium_memzero(whole.data, whole.len);
	free(entries.list);
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
	char id[MARKS_NAME_DIGITS + 1], name[MARKS_NAME_DIGITS + 1], value[MARKS_VALUE_DIGITS + 1];

	for (char **e = environ; *e != NULL; e++) {
		size_t len = strcspn(*e, "=");

		if ((*e)[len] != '=' || marks_name_listed(*e, len))
			continue;
		marks_digits(key, span_of(*e, len), SPAN_NONE, name, MARKS_NAME_DIGITS);
		marks_digits(key, span_of(*e, len), span_of(*e + len + 1, strlen(*e + len + 1)), value,
		    MARKS_VALUE_DIGITS);
		buffer_text(&digits, name);
		buffer_text(&digits, value);
	}
	marks_digits(key, span_of("", 0), SPAN_NONE, id, MARKS_NAME_DIGITS);
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

int
marks_start_agrees(const unsigned char key[MARKS_KEY_BYTES], const char *start, const char *name)
{
	char digits[MARKS_NAME_DIGITS + MARKS_VALUE_DIGITS + 1];
	const size_t each = MARKS_NAME_DIGITS + MARKS_VALUE_DIGITS;
	const struct span called = span_of(name, strlen(name));
	const char *value = getenv(name);
	size_t len = strlen(start);

	marks_digits(key, span_of("", 0), SPAN_NONE, digits, MARKS_NAME_DIGITS);
	if (len < MARKS_NAME_DIGITS || strncmp(start, digits, MARKS_NAME_DIGITS) != 0)
		return -1;
	marks_digits(key, called, SPAN_NONE, digits, MARKS_NAME_DIGITS);
	if (value != NULL)
		marks_digits(key, called, span_of(value, strlen(value)), digits + MARKS_NAME_DIGITS,
		    MARKS_VALUE_DIGITS);
	for (size_t at = MARKS_NAME_DIGITS; at + each <= len; at += each)
		if (strncmp(start + at, digits, MARKS_NAME_DIGITS) == 0)
			return value != NULL && strncmp(start + at, digits, each) == 0;
	return value == NULL;
}

void
attempt_start_free(struct attempt_start *s)
{
	if (s == NULL)
		return;
	if (s->bytes.data != NULL)
		sodium_memzero(s->bytes.data, s->bytes.len);
	buffer_free(&s->bytes);
	free(s->workspace);
	free(s);
}

int
attempt_start_open(struct attempt_start **opened, const char *run_directory, const char *workspace,
    struct error *err)
{
	char *path = path_join(run_directory, START_FILE);
	int fd = file_open_plain(path, O_RDONLY, 0), result = 1;
	struct attempt_start *s = memory_zero(1, sizeof *s);
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
		    s->head->ignored >= s->head->texts || s->head->outer >= s->head->texts ||
		    s->head->changed >= s->head->texts) {
			result = error_set(err, ERROR_SYSTEM, path, "is damaged");
		} else {
			s->entries = (const void *)(s->head + 1);
			s->texts = (const char *)(s->entries + s->head->count);
			s->workspace = memory_text(workspace != NULL ? workspace : "/");
		}
	}
	file_close(&fd);
	free(path);
	if (result != 1)
		attempt_start_free(s);
	*opened = result == 1 ? s : NULL;
	return result;
}

static bool
start_has_name(const char *names, const char *name, size_t len)
{
	for (; *names != '\0'; names += strlen(names) + 1)
		if (strlen(names) == len && memcmp(names, name, len) == 0)
			return true;
	return false;
}

bool
attempt_start_set_since(const struct attempt_start *s, const char *name, size_t len,
    const char *value)
{
	const struct start_entry *entry = attempt_start_find(s, name, len);

	if (entry == NULL || !attempt_start_had(s, entry, value, strlen(value)))
		return true;
	return start_has_name(s->texts + s->head->outer, name, len);
}

bool
attempt_start_has_changed(const struct attempt_start *s, const char *name, size_t len)
{
	return s->head->changed != 0 && start_has_name(s->texts + s->head->changed, name, len);
}

const struct start_entry *
attempt_start_find(const struct attempt_start *s, const char *name, size_t len)
{
	const struct start_entry wanted = { .name_hash = hash_of(s->head->hash_key, name, len) };

	return bsearch(&wanted, s->entries, s->head->count, sizeof wanted, compare_entries);
}

bool
attempt_start_had(const struct attempt_start *s, const struct start_entry *entry, const char *value,
    size_t len)
{
	return entry->value_len == len && hash_of(s->head->hash_key, value, len) == entry->value_hash;
}
