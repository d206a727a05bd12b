/*
 * Only those variables of a process are examined and recorded that differ from the start of its
 * attempt.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "proc/environment.h"
#include "storage/call_marks_parts.h"
#include "transcript/event_keys.h"

#define ENTRY_DIGITS (MARKS_NAME_DIGITS + MARKS_VALUE_DIGITS)
#define SHOWN_MOST 32        /* longest value that is shown */

extern char **environ;

/* Whether a value is a number, a word, or the name of a file, and so certainly no secret. */
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

/* ---- marks of a process ---- */

static int
compare_marks(const void *a, const void *b)
{
	return strcmp(((const struct call_mark *)a)->name, ((const struct call_mark *)b)->name);
}

static struct call_mark *
add_mark(struct call_marks *m, char *name)
{
	if (m->count % 16 == 0)
		m->list = memory_array(m->list, m->count + 16, sizeof *m->list);
	m->list[m->count] = (struct call_mark){ .name = name };
	return &m->list[m->count++];
}

/* The name as it is recorded: if it is not UTF-8, an equals sign, which no name contains, and hex
 * digits. */
static char *
name_of_record(const char *name, size_t len)
{
	struct buffer out = BUFFER_INIT;

	if (utf8_valid(name, len))
		return memory_copy(name, len);
	buffer_byte(&out, '=');
	for (size_t i = 0; i < len; i++)
		buffer_format(&out, "%02x", (unsigned)(unsigned char)name[i]);
	return buffer_take(&out);
}

/* A path as it is recorded: bytes that are not UTF-8 are escapes, so that two such paths stay two. */
static char *
path_of_record(const char *path)
{
	struct buffer out = BUFFER_INIT;
	uint32_t code;
	unsigned n;

	for (size_t left = strlen(path); left > 0; path += n, left -= n) {
		n = utf8_decode(path, left, &code);
		if (n > 0) {
			buffer_append(&out, path, n);
			continue;
		}
		buffer_format(&out, "\\x%02x", (unsigned)(unsigned char)*path);
		n = 1;
	}
	buffer_string(&out);
	return buffer_take(&out);
}

static void
find_directory(struct call_marks *m, const struct attempt_start *s, const char *directory)
{
	const char *workspace = s->workspace;
	size_t len = strlen(workspace);
	struct buffer out = BUFFER_INIT;
	char here[PATH_MAX];

	if ((directory == NULL ? getcwd(here, sizeof here) : realpath(directory, here)) == NULL ||
	    strcmp(here, workspace) == 0)
		return;
	if (len > 1 && strncmp(here, workspace, len) == 0 && here[len] == '/')
		m->directory = path_of_record(here + len + 1);
	else if (len == 1 && *here == '/')
		m->directory = path_of_record(here + 1);
	else {
		marks_form_path(s, here, strlen(here), &out);
		m->directory = path_of_record(buffer_string(&out));
		buffer_free(&out);
	}
}

/* Of what is another pipe in each attempt only that it is one can be compared. */
static void
mark_descriptor(const struct attempt_start *s, struct call_mark *mark, const char *text, bool once)
{
	const struct span name = span_of(mark->name, strlen(mark->name));
	struct buffer form = BUFFER_INIT;

	if (once)
		buffer_byte(&form, '*');
	mark->new_path = once || marks_form(s, NULL, text, &form);
	marks_digits(s->head->key, name, span_of(text, strlen(text)), mark->bytes, MARKS_VALUE_DIGITS);
	marks_digits(s->head->key, name, span_of(buffer_string(&form), form.len), mark->form, MARKS_VALUE_DIGITS);
	buffer_free(&form);
}

static void
add_descriptor(void *context, const char *name, const char *text, bool once)
{
	struct call_marks *m = context;
	const struct start_entry *entry = attempt_start_find(m->start, name, strlen(name));

	if (entry == NULL || !attempt_start_had(m->start, entry, text, strlen(text)))
		mark_descriptor(m->start, add_mark(m, memory_text(name)), text, once);
}

int
marks_find(struct call_marks *m, const char *run_directory, const char *workspace,
    const char *directory, struct error *err)
{
	struct attempt_start *s;
	bool *seen;
	int found = attempt_start_open(&s, run_directory, workspace, err);

	*m = (struct call_marks){ .known = found == 1 && !s->head->unmarked };
	if (found == 1 && s->head->unmarked) {
		attempt_start_free(s);
		found = 0;
	}
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
		entry = attempt_start_find(s, *e, len);
		if (entry != NULL)
			seen[entry - s->entries] = true;
		if (attempt_start_ignores(s, *e, len) || (!attempt_start_has_changed(s, *e, len) &&
		    (marks_name_listed(*e, len) || (entry != NULL && attempt_start_had(s, entry, value, value_len)))))
			continue;
		mark = add_mark(m, name_of_record(*e, len));
		mark->new_path = marks_form(s, entry, value, &form);
		marks_digits(s->head->key, span_of(*e, len), span_of(value, value_len), mark->bytes, MARKS_VALUE_DIGITS);
		marks_digits(s->head->key, span_of(*e, len), span_of(buffer_string(&form), form.len), mark->form,
		    MARKS_VALUE_DIGITS);
		if (is_harmless(mark->name, value))
			mark->shown = memory_text(value);
		buffer_free(&form);
	}
	/* A shell that is not bash passes no functions on. */
	for (uint32_t i = 0; i < s->head->count; i++) {
		const char *name = s->texts + s->entries[i].name;
		size_t len = strlen(name);

		if (!seen[i] && !marks_name_listed(name, len) && !marks_is_descriptor(name) && !marks_is_function(name) && !attempt_start_ignores(s, name, len) &&
		    getenv(name) == NULL)
			add_mark(m, name_of_record(name, len));
	}
	for (const char *name = s->head->changed != 0 ? s->texts + s->head->changed : ""; *name != '\0';
	    name += strlen(name) + 1)
		if (getenv(name) == NULL && attempt_start_find(s, name, strlen(name)) == NULL &&
		    !attempt_start_ignores(s, name, strlen(name)))
			add_mark(m, name_of_record(name, strlen(name)));
	free(seen);
	marks_each_descriptor(add_descriptor, m);
	if (m->count > 1)
		qsort(m->list, m->count, sizeof *m->list, compare_marks);
	return 1;
}

void
marks_free(struct call_marks *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->list[i].name);
		free(m->list[i].shown);
	}
	free(m->list);
	free(m->directory);
	attempt_start_free(m->start);
	*m = (struct call_marks){ .list = NULL };
}

/* Writes a variable: null if it is unset, otherwise "BYTES[:FORM][~][ TEXT]"; ~ means that the form
 * leaves out a part of a new path. */
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

		writer_key_quoted(w, mark->name, strlen(mark->name));
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
		buffer_free(&text);
	}
	writer_object_end(w);
}

/* ---- comparing marks ---- */

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

/* Parses a recorded value into a mark, except for `shown`. */
static void
read_value(struct span value, struct call_mark *mark)
{
	char text[2 * MARK_SIZE + SHOWN_MOST + 8], *at = text;

	mark->bytes[0] = mark->form[0] = '\0';
	mark->new_path = false;
	if (!span_copy(value, text, sizeof text) || strlen(text) < MARKS_VALUE_DIGITS)
		return;
	memcpy(mark->bytes, at, MARKS_VALUE_DIGITS);
	mark->bytes[MARKS_VALUE_DIGITS] = '\0';
	memcpy(mark->form, mark->bytes, sizeof mark->form);
	at += MARKS_VALUE_DIGITS;
	if (*at == ':' && strlen(at + 1) >= MARKS_VALUE_DIGITS) {
		memcpy(mark->form, at + 1, MARKS_VALUE_DIGITS);
		at += 1 + MARKS_VALUE_DIGITS;
	}
	mark->new_path = *at == '~';
}

static bool
marks_agree(const struct call_mark *a, const struct call_mark *b)
{
	if (a->bytes[0] == '\0' || b->bytes[0] == '\0')
		return a->bytes[0] == b->bytes[0];
	return strcmp(a->bytes, b->bytes) == 0 || strcmp(a->form, b->form) == 0;
}

/* Makes the mark of a variable with the value that it had when the recorded attempt was started. */
static void
find_started(const struct attempt_start *s, const char *table, const char *name, struct call_mark *mark)
{
	char digits[MARKS_NAME_DIGITS + 1];

	mark->bytes[0] = mark->form[0] = '\0';
	mark->new_path = false;
	marks_digits(s->head->key, span_of(name, strlen(name)), SPAN_NONE, digits, MARKS_NAME_DIGITS);
	for (size_t len = strlen(table); len >= ENTRY_DIGITS; table += ENTRY_DIGITS, len -= ENTRY_DIGITS)
		if (memcmp(table, digits, MARKS_NAME_DIGITS) == 0) {
			memcpy(mark->bytes, table + MARKS_NAME_DIGITS, MARKS_VALUE_DIGITS);
			mark->bytes[MARKS_VALUE_DIGITS] = '\0';
			memcpy(mark->form, mark->bytes, sizeof mark->form);
			return;
		}
}

static const struct call_mark *
find_mark(const struct call_marks *m, const char *name)
{
	const struct call_mark wanted = { .name = (char *)(uintptr_t)name };

	return m->count == 0 ? NULL :
	    bsearch(&wanted, m->list, m->count, sizeof wanted, compare_marks);
}

/* The descriptor's mark, where descriptor_text() has one. */
struct own_descriptor {
	const struct attempt_start *start;
	struct call_mark *mark;
};

static void
take_descriptor(void *context, const char *name, const char *text, bool once)
{
	const struct own_descriptor *own = context;

	if (strcmp(name, own->mark->name) == 0)
		mark_descriptor(own->start, own->mark, text, once);
}

/* Makes the mark of this process's value, for a variable that has not changed since the attempt's
 * start. */
static void
find_own(const struct attempt_start *s, const char *name, struct call_mark *mark)
{
	const char *value = getenv(name);

	mark->bytes[0] = mark->form[0] = '\0';
	if (marks_is_descriptor(name)) {
		mark->name = (char *)(uintptr_t)name;
		marks_each_descriptor(take_descriptor, &(struct own_descriptor){ s, mark });
	}
	if (value == NULL)
		return;
	marks_digits(s->head->key, span_of(name, strlen(name)), span_of(value, strlen(value)), mark->bytes,
	    MARKS_VALUE_DIGITS);
	memcpy(mark->form, mark->bytes, sizeof mark->form);
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
	const struct attempt_start *s = m->start;
	struct span variables = span_of(r->variables, strlen(r->variables)), value;
	struct call_mark own, recorded;
	char id[MARKS_NAME_DIGITS + 1];
	int count = 0;

	if (!m->known || *r->start == '\0')
		return -1;
	marks_digits(s->head->key, span_of("", 0), SPAN_NONE, id, MARKS_NAME_DIGITS);
	if (strncmp(r->start, id, MARKS_NAME_DIGITS) != 0)
		return -1;
	for (size_t i = 0; i < m->count; i++) {
		value = variables.len > 0 ? span_member(variables, m->list[i].name) : SPAN_NONE;
		if (value.at != NULL)
			read_value(value, &recorded);
		else
			find_started(s, r->start + MARKS_NAME_DIGITS, m->list[i].name, &recorded);
		if (!marks_agree(&m->list[i], &recorded))
			add_difference(&count, names, m->list[i].name);
	}
	for (struct span_walk member = span_walk(variables); variables.len > 0 && span_next(&member);) {
		char *name = span_text(member.key);

		if (name != NULL && find_mark(m, name) == NULL && !attempt_start_ignores(s, name, strlen(name))) {
			read_value(member.value, &recorded);
			find_own(s, name, &own);
			if (!marks_agree(&own, &recorded))
				add_difference(&count, names, name);
		}
		free(name);
	}
	if (strcmp(m->directory != NULL ? m->directory : "", r->directory) != 0)
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
		if (recorded.new_path && !attempt_start_ignores(m->start, text, strlen(text)) &&
		    (own == NULL || strcmp(own->bytes, recorded.bytes) != 0))
			other = text;
	}
	if (other != NULL && name != NULL)
		buffer_text(name, other);
	free(text);
	return other == NULL;
}

bool
marks_paths_differ(const struct call_marks *m, const struct recorded_marks *a,
    const struct recorded_marks *b, struct buffer *name)
{
	struct span of_a = span_of(a->variables, strlen(a->variables));
	struct span of_b = span_of(b->variables, strlen(b->variables));
	bool differ = strchr(a->directory, '*') != NULL;

	if (differ && name != NULL)
		buffer_text(name, MARKS_DIRECTORY);
	for (struct span_walk member = span_walk(of_a); !differ && of_a.len > 0 && span_next(&member);) {
		char *variable = span_text(member.key);
		struct call_mark x, y;

		read_value(member.value, &x);
		read_value(of_b.len > 0 ? span_member(of_b, variable) : SPAN_NONE, &y);
		differ = x.new_path && strcmp(x.bytes, y.bytes) != 0 &&
		    !attempt_start_ignores(m->start, variable, strlen(variable));
		if (differ && name != NULL)
			buffer_text(name, variable);
		free(variable);
	}
	return differ;
}

bool
marks_have(const struct recorded_marks *r, const char *name)
{
	return *r->variables != '\0' &&
	    span_member(span_of(r->variables, strlen(r->variables)), name).at != NULL;
}

/* If neither record has the variable, both calls had the value of the attempt's start. */
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
	return !marks_agree(&x, &y);
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

/* Collects what identifies a call, as text: `form` contains only normalized forms, `bytes` also
 * what differs in each attempt. */
struct identity {
	struct buffer form, bytes;
	bool new_path;
};

static void
identity_begin(struct identity *i, const char *directory)
{
	*i = (struct identity){ .new_path = strchr(directory, '*') != NULL };
	if (*directory != '\0')
		buffer_format(&i->form, "%s\n", directory);
	buffer_append(&i->bytes, i->form.data, i->form.len);
}

static void
identity_add(struct identity *i, const char *name, const struct call_mark *mark)
{
	buffer_format(&i->form, "%s=%s\n", name, mark->form);
	buffer_format(&i->bytes, "%s=%s\n", name, mark->bytes);
	i->new_path |= mark->new_path;
}

static uint64_t
identity_end(struct identity *i, const char *directory, uint64_t *exact)
{
	*exact = number_of(&i->bytes);
	if (!i->new_path)
		*exact = 0;
	else if (strchr(directory, '*') != NULL) /* only its form is known, not which new directory
	                                            it was */
		*exact = MARKS_NEVER_EXACT;
	return number_of(&i->form);
}

uint64_t
marks_identity(const struct call_marks *m, uint64_t *exact)
{
	const char *directory = m->directory != NULL ? m->directory : "";
	struct identity identity;

	identity_begin(&identity, directory);
	for (size_t i = 0; i < m->count; i++)
		identity_add(&identity, m->list[i].name, &m->list[i]);
	return identity_end(&identity, directory, exact);
}

uint64_t
marks_recorded_identity(const struct recorded_marks *r, uint64_t *exact)
{
	struct span variables = span_of(r->variables, strlen(r->variables));
	struct identity identity;

	identity_begin(&identity, r->directory);
	for (struct span_walk member = span_walk(variables); variables.len > 0 && span_next(&member);) {
		char *name = span_text(member.key);
		struct call_mark mark;

		read_value(member.value, &mark);
		if (name != NULL)
			identity_add(&identity, name, &mark);
		free(name);
	}
	return identity_end(&identity, r->directory, exact);
}

uint64_t
marks_rest_identity(const struct recorded_marks *r, const struct call_marks *m, const char *names)
{
	struct span variables = span_of(r->variables, strlen(r->variables));
	const char *directory = text_has_part(names, '\n', MARKS_DIRECTORY, strlen(MARKS_DIRECTORY)) ? "" : r->directory;
	struct identity identity;
	uint64_t exact;

	identity_begin(&identity, directory);
	for (struct span_walk member = span_walk(variables); variables.len > 0 && span_next(&member);) {
		char *name = span_text(member.key);
		struct call_mark mark;

		read_value(member.value, &mark);
		if (name != NULL && !text_has_part(names, '\n', name, strlen(name)) &&
		    !attempt_start_ignores(m->start, name, strlen(name)))
			identity_add(&identity, name, &mark);
		free(name);
	}
	return identity_end(&identity, directory, &exact);
}

bool
marks_shown(struct span value, struct buffer *out)
{
	char *text = span_text(value), *shown = text != NULL ? strchr(text, ' ') : NULL;

	if (shown != NULL)
		buffer_text(out, shown + 1);
	free(text);
	return shown != NULL;
}

void
marks_describe(const char *name, struct span value, struct buffer *out)
{
	struct buffer shown = BUFFER_INIT;

	buffer_format(out, "%s%s", out->len > 0 ? ", " : "", name);
	if (span_type(value) == '0')
		buffer_text(out, " unset");
	else if (marks_shown(value, &shown))
		buffer_format(out, "=%s", buffer_string(&shown));
	buffer_free(&shown);
}
