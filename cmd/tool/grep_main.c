/*
 * awf-tool-grep: finds lines that match a regular expression (schema/pattern.h: linear time,
 * so no backreferences) in text files.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "builtin.h"
#include "files.h"
#include "glob.h"
#include "io/file.h"
#include "schema/pattern.h"

#define FILE_LIMIT ((size_t)64 << 20)
#define ANSWER_LIMIT ((size_t)64 << 10) /* bytes; the line that passes it is the last */
#define LINE_LIMIT ((size_t)500)        /* bytes shown of a line */
#define HEAD_LIMIT 250                  /* unless another is given */
#define CONTEXT_LIMIT 1000

enum mode { CONTENT, FILES, COUNT };
static const char *const modes[] = { "content", "files_with_matches", "count", NULL };

static const struct {
	const char *name, *glob;
} types[] = {
	{ "c", "*.{c,h}" }, { "cpp", "*.{cpp,cc,cxx,hpp,hh,hxx,h}" }, { "cs", "*.cs" },
	{ "css", "*.{css,scss,less}" }, { "go", "*.go" }, { "html", "*.{html,htm}" },
	{ "java", "*.java" }, { "js", "*.{js,jsx,mjs,cjs}" }, { "json", "*.json" },
	{ "kotlin", "*.{kt,kts}" }, { "lua", "*.lua" }, { "md", "*.{md,markdown}" },
	{ "perl", "*.{pl,pm}" }, { "php", "*.php" }, { "py", "*.{py,pyi}" }, { "ruby", "*.rb" },
	{ "rust", "*.rs" }, { "sh", "*.{sh,bash,bats}" }, { "sql", "*.sql" },
	{ "swift", "*.swift" }, { "toml", "*.toml" }, { "ts", "*.{ts,tsx,mts,cts}" },
	{ "txt", "*.txt" }, { "xml", "*.xml" }, { "yaml", "*.{yaml,yml}" },
};

/* A pattern of file names; one without a slash is meant for base names. */
struct names {
	struct pattern *pattern; /* NULL: all */
	bool whole, inverted;
};

struct grep {
	struct builtin *b;
	const char *path;
	struct pattern *pattern;
	struct names glob, type;
	int mode;
	bool numbers, multiline;
	long long before, after, limit;
	long long shown;         /* lines or files */
	bool full;
	size_t unread, large, binary; /* files that were not searched */
};

/* A file, with what was found in it. */
struct text {
	const char *path;
	struct buffer bytes;
	size_t *lines, count;    /* where each begins; after the last, where one would */
	bool *hits;
	size_t hit_count;
};

static bool
names_match(const struct names *n, const char *path)
{
	const char *text = n->whole ? path : path_base(path);

	return n->pattern == NULL ||
	    pattern_matches(n->pattern, text, strlen(text)) != n->inverted;
}

static bool
grep_wants_path(const void *context, const char *path)
{
	const struct grep *g = context;

	return names_match(&g->glob, path) && names_match(&g->type, path);
}

static void
grep_split_lines(struct text *t)
{
	const char *start = buffer_string(&t->bytes), *end = start + t->bytes.len, *at = start;
	size_t capacity = 0;

	for (;; t->count++) {
		if (t->count == capacity)
			t->lines = memory_array(t->lines, capacity = capacity * 2 + 256,
			    sizeof *t->lines);
		t->lines[t->count] = (size_t)(at - start);
		if (at >= end)
			break;
		at = memchr(at, '\n', (size_t)(end - at));
		at = at == NULL ? end + 1 : at + 1;
	}
	t->hits = memory_zero(t->count + 1, sizeof *t->hits);
}

/* A line without its end. */
static struct words
grep_line_text(const struct text *t, size_t number)
{
	const char *at = t->bytes.data + t->lines[number];
	size_t len = t->lines[number + 1] - t->lines[number] - 1;

	return (struct words){ at, at != NULL && len > 0 && at[len - 1] == '\r' ? len - 1 : len };
}

static void
grep_mark_hit(struct text *t, size_t number)
{
	if (!t->hits[number])
		t->hit_count++;
	t->hits[number] = true;
}

/* Marks all lines that a match touches. */
static void
search_across_lines(const struct grep *g, struct text *t)
{
	struct pattern_search *search = pattern_search_begin(g->pattern, t->bytes.data,
	    t->bytes.len);
	size_t start = 0, end, i = 0;

	while (start < t->bytes.len && pattern_search_next(search, &start, &end)) {
		size_t last = end > start ? end - 1 : end;

		while (i + 1 < t->count && t->lines[i + 1] <= start)
			i++;
		for (grep_mark_hit(t, i); i + 1 < t->count && t->lines[i + 1] <= last; i++)
			grep_mark_hit(t, i + 1);
		start = end > start ? end : end + 1;
		while (start < t->bytes.len && (t->bytes.data[start] & 0xc0) == 0x80)
			start++;
	}
	pattern_search_end(search);
}

/* Counts one more item as shown; returns whether more may be shown. */
static bool
go_on(struct grep *g)
{
	g->shown++;
	g->full = g->shown == g->limit || g->b->answer.len > ANSWER_LIMIT;
	return !g->full;
}

/* The lines found with those around them, each once; -- stands where lines are left out. */
static void
show_content(struct grep *g, const struct text *t)
{
	struct buffer *answer = &g->b->answer;
	size_t next = 0, until = 0, from;

	for (size_t i = 0; i < t->count && !g->full; i++) {
		if (!t->hits[i] && i >= until)
			continue;
		from = i;
		if (t->hits[i]) {
			from = i - next > (size_t)g->before ? i - (size_t)g->before : next;
			until = i + 1 + (size_t)g->after;
		}
		if (from > next && g->shown > 0 && g->before + g->after > 0)
			buffer_text(answer, "--\n");
		for (next = from; next <= i; next++) {
			char mark = t->hits[next] ? ':' : '-';
			struct words words = grep_line_text(t, next);
			size_t len = words.len > LINE_LIMIT ? utf8_whole(words.text, LINE_LIMIT) : words.len;

			buffer_format(answer, "%s%c", t->path, mark);
			if (g->numbers)
				buffer_format(answer, "%zu%c", next + 1, mark);
			buffer_append(answer, words.text, len);
			if (len < words.len)
				buffer_format(answer, " [%zu more bytes]", words.len - len);
			buffer_byte(answer, '\n');
			if (!go_on(g))
				return;
		}
	}
}

/* What is no UTF-8 becomes U+FFFD: patterns take UTF-8 alone. */
static void
make_utf8(struct buffer *bytes)
{
	struct buffer clean = BUFFER_INIT;

	if (utf8_valid(buffer_string(bytes), bytes->len))
		return;
	utf8_mend(bytes->data, bytes->len, &clean);
	buffer_free(bytes);
	*bytes = clean;
}

static void
grep_search_text(struct grep *g, struct text *t)
{
	if (builtin_binary(t->bytes.data, t->bytes.len)) {
		g->binary++;
		return;
	}
	make_utf8(&t->bytes);
	grep_split_lines(t);
	if (g->multiline)
		search_across_lines(g, t);
	for (size_t i = 0; !g->multiline && i < t->count && (g->mode != FILES || t->hit_count == 0);
	    i++) {
		struct words words = grep_line_text(t, i);

		if (pattern_matches(g->pattern, words.text, words.len))
			grep_mark_hit(t, i);
	}

	if (t->hit_count == 0)
		return;
	if (g->mode == CONTENT) {
		show_content(g, t);
		return;
	}
	buffer_text(&g->b->answer, t->path);
	if (g->mode == COUNT)
		buffer_format(&g->b->answer, ":%zu", t->hit_count);
	buffer_byte(&g->b->answer, '\n');
	go_on(g);
}

/* named: it is the file that was asked for. */
static int
search_file(struct grep *g, const char *path, bool named, struct error *err)
{
	struct text t = { .path = path };
	struct error why = ERROR_INIT;
	int failed = builtin_load(path, FILE_LIMIT, &t.bytes, &why);

	if (failed == 0)
		grep_search_text(g, &t);
	else if (named)
		*err = why;
	else if (why.code == ERROR_INVALID_INPUT)
		g->large++;
	else
		g->unread++;
	buffer_free(&t.bytes);
	free(t.lines);
	free(t.hits);
	return failed;
}

/* Searches, and says what was not shown or searched. */
static int
grep_search_files(struct grep *g, struct error *err)
{
	struct builtin *b = g->b;
	bool named = !path_is_directory(g->path);
	struct files files;

	if (named) {
		if (search_file(g, g->path, true, err) != 0)
			return -1;
	} else {
		if (files_find(&files, g->path, grep_wants_path, g, err) != 0)
			return -1;
		g->unread += files.unread;
		for (size_t i = 0; i < files.count && !g->full; i++)
			search_file(g, files.list[i], false, err);
		files_free(&files);
	}

	if (g->shown == 0)
		builtin_remark(b, "no matches");
	if (g->full && g->shown == g->limit)
		builtin_remark(b, "there may be more: head_limit is %lld", g->limit);
	else if (g->full)
		builtin_remark(b, "there may be more: this is as much as is shown at once");
	if (g->unread > 0)
		builtin_remark(b, "not searched, as they cannot be read: %zu", g->unread);
	if (g->large > 0)
		builtin_remark(b, "not searched, as they are larger than %zu MiB: %zu",
		    FILE_LIMIT >> 20, g->large);
	if (g->binary > 0 && named)
		builtin_remark(b, "not searched, as it is a binary file");
	return 0;
}

static int
compile_names(struct names *n, const char *glob, struct error *err)
{
	if (glob == NULL)
		return 0;
	n->inverted = *glob == '!';
	glob += n->inverted ? 1 : 0;
	n->whole = strchr(glob, '/') != NULL;
	n->pattern = glob_compile(glob + (*glob == '/' ? 1 : 0), err);
	return n->pattern == NULL ? -1 : 0;
}

static int
grep_compile_patterns(struct grep *g, struct words source, bool fold, const char *glob,
    const char *type, struct error *err)
{
	static const char folds[] = "(?i)"; /* at the beginning is known widely */
	unsigned flags = g->multiline ? PATTERN_LINES | PATTERN_ALL : 0;
	const char *why, *of_type = NULL;

	if (source.len >= sizeof folds - 1 && strncmp(source.text, folds, sizeof folds - 1) == 0) {
		fold = true;
		source = (struct words){ source.text + sizeof folds - 1,
			source.len - (sizeof folds - 1) };
	}
	g->pattern = pattern_compile_as(source.text, source.len,
	    flags | (fold ? PATTERN_FOLD : 0), &why);
	if (g->pattern == NULL)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "the pattern is refused: %s", why);

	if (compile_names(&g->glob, glob, err) != 0)
		return -1;
	for (size_t i = 0; type != NULL && i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].name, type) == 0)
			of_type = types[i].glob;
	if (type != NULL && of_type == NULL)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "the file type '%s' is not known: use a glob instead",
		    type);
	return compile_names(&g->type, of_type, err);
}

static int
grep_tool_run(struct builtin *b, struct error *err)
{
	struct grep g = { .b = b, .path = ".", .mode = FILES, .numbers = true,
		.limit = HEAD_LIMIT, .before = -1, .after = -1 };
	struct words source = { NULL, 0 };
	const char *glob = NULL, *type = NULL;
	long long around = 0;
	bool fold = false;
	const struct argument arguments[] = {
		{ "pattern", &source, ARGUMENT_TEXT, .required = true },
		{ "-i", &fold, ARGUMENT_FLAG, .required = false },
		{ "multiline", &g.multiline, ARGUMENT_FLAG, .required = false },
		{ "glob", &glob, ARGUMENT_NAME, .required = false },
		{ "type", &type, ARGUMENT_NAME, .required = false },
		{ "path", &g.path, ARGUMENT_NAME, .required = false },
		{ "output_mode", &g.mode, ARGUMENT_WORD, .words = modes },
		{ "-n", &g.numbers, ARGUMENT_FLAG, .required = false },
		{ "head_limit", &g.limit, ARGUMENT_NUMBER, .min = 0, .max = 1000000 },
		{ "-C", &around, ARGUMENT_NUMBER, .min = 0, .max = CONTEXT_LIMIT },
		{ "-B", &g.before, ARGUMENT_NUMBER, .min = 0, .max = CONTEXT_LIMIT },
		{ "-A", &g.after, ARGUMENT_NUMBER, .min = 0, .max = CONTEXT_LIMIT },
		{ .name = NULL }
	};
	int failed = builtin_arguments(b, arguments, err);

	if (failed == 0)
		failed = grep_compile_patterns(&g, source, fold, glob, type, err);
	g.before = g.before < 0 ? around : g.before;
	g.after = g.after < 0 ? around : g.after;
	if (failed == 0)
		failed = grep_search_files(&g, err);
	pattern_free(g.pattern);
	pattern_free(g.glob.pattern);
	pattern_free(g.type.pattern);
	return failed;
}

int
main(int argc, char **argv)
{
	return builtin_main("grep", grep_tool_run, argc, argv);
}
