/*
 * A command line is parsed from its first word on: the word is a program, which is searched for. If
 * the program is in the table, its row says which words are options, and what the first word after
 * them is. A word that a shell would expand counts as an empty word, which names no file.
 */
#include "proc/command_files.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"

#define DEPTH 8          /* of commands within commands */

/* The meaning of the first word after the options, and after further words that are skipped. */
enum operand {
	COMMAND,        /* a command, after NAME=VALUE */
	SCRIPT,         /* a file */
	SCRIPT_COMMAND, /* a file, or a command */
	SHELL_SCRIPT,   /* a file; with -c, the text of one */
	SOURCED,        /* a file that the shell itself reads */
	SHELL_TEXT,     /* words that form a shell's text */
	OTHER           /* data: only options name files of programs */
};

/* Programs that run others, or scripts. Words in lists are separated by spaces. A program's name
 * may be followed by a version (python3.12). */
static const struct runner {
	const char *names;
	enum operand operand;
	int skip;           /* words before the operand */
	const char *first;  /* the first word must be one of these, such as run; NULL: any */
	const char *valued; /* options with a value that is not a program */
	const char *files;  /* options whose value is a file that is run */
	const char *inert;  /* options after which no script is named, since they give the code */
	const char *texts;  /* options whose value is a shell text */
} runners[] = {
	{ "env", COMMAND, 0, NULL, "-u --unset", NULL, NULL, NULL },
	{ "timeout", COMMAND, 1, NULL, "-s --signal -k --kill-after", NULL, NULL, NULL },
	{ "nice", COMMAND, 0, NULL, "-n --adjustment", NULL, NULL, NULL },
	{ "nohup setsid command builtin doas caffeinate busybox", COMMAND, 0, NULL, NULL, NULL, NULL, NULL },
	{ "exec", COMMAND, 0, NULL, "-a", NULL, NULL, NULL },
	{ "time", COMMAND, 0, NULL, "-f --format -o --output", NULL, NULL, NULL },
	{ "stdbuf", COMMAND, 0, NULL, "-i --input -o --output -e --error", NULL, NULL, NULL },
	{ "ionice", COMMAND, 0, NULL, "-c --class -n --classdata", NULL, NULL, NULL },
	{ "chrt taskset", COMMAND, 1, NULL, NULL, NULL, NULL, NULL },
	{ "flock", COMMAND, 1, NULL, "-w --wait --timeout -E --conflict-exit-code", NULL, NULL, "-c --command" },
	{ "su runuser", OTHER, 1, NULL, "-s --shell -g --group -G --supp-group -w --whitelist-environment", NULL,
	    NULL, "-c --command --session-command" },
	{ "sg", OTHER, 1, NULL, NULL, NULL, NULL, "-c" },
	{ "script", OTHER, 0, NULL, "-m --logging-format -o --output-limit", NULL, NULL, "-c --command" },
	{ "watch", SHELL_TEXT, 0, NULL, "-n --interval -q --equexit -s --shotsdir", NULL, NULL, NULL },
	{ "eval trap", SHELL_TEXT, 0, NULL, NULL, NULL, NULL, NULL },
	{ "sudo", COMMAND, 0, NULL, "-u --user -g --group -h -p --prompt -C -D --chdir", NULL, NULL, NULL },
	{ "xargs", COMMAND, 0, NULL, "-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P "
	    "--max-procs -s --max-chars --process-slot-var", NULL, NULL, NULL },
	{ "parallel", COMMAND, 0, NULL, "-j --jobs -a --arg-file -N -n -I --joblog --results --timeout "
	    "--retries --colsep --delay --tmpdir --workdir", NULL, NULL, NULL },
	{ "strace ltrace", COMMAND, 0, NULL, "-o -e -p -s -E -P", NULL, NULL, NULL },
	{ "poetry pipenv pdm hatch rye", COMMAND, 0, "run", NULL, NULL, NULL, NULL },
	{ "uv", SCRIPT_COMMAND, 0, "run", "--with --python -p --project --directory --extra --group", NULL, "-m --module", NULL },
	{ "awf-sandbox", COMMAND, 0, NULL, "-w --workspace --directory --readable --hide --keep --open --pass-env "
	    "--file-size --disk --temporary --processes --parent --loopback --without", NULL, NULL, NULL },

	{ "sh bash dash ash ksh mksh yash zsh fish", SHELL_SCRIPT, 0, NULL, "-o +o -O +O --rcfile --init-file",
	    NULL, "-s", NULL },
	{ ". source", SOURCED, 0, NULL, NULL, NULL, NULL, NULL },
	{ "python pypy", SCRIPT, 0, NULL, "-W -X --check-hash-based-pycs", NULL, "-c", NULL },
	{ "perl", SCRIPT, 0, NULL, "-I", NULL, "-e -E", NULL },
	{ "ruby", SCRIPT, 0, NULL, "-I -C", NULL, "-e", NULL },
	{ "node nodejs tsx ts-node", SCRIPT, 0, NULL, "-C --conditions --env-file --title",
	    "-r --require --import --loader --experimental-loader", "-e --eval -p --print", NULL },
	{ "bun deno", SCRIPT, 0, "run", "-c --config --env-file --import-map", "-r --preload", "-e --eval", NULL },
	{ "php", SCRIPT, 0, NULL, "-c -d", "-f --file", "-r", NULL },
	{ "lua luajit", SCRIPT, 0, NULL, "-l", NULL, "-e", NULL },
	{ "Rscript", SCRIPT, 0, NULL, NULL, NULL, "-e", NULL },
	{ "julia", SCRIPT, 0, NULL, "-t --threads -p --procs -J --sysimage", "-L --load", "-e --eval -E --print", NULL },
	{ "tclsh wish expect guile groovy elixir escript pwsh osascript swift go", SCRIPT, 0, "run", NULL, NULL,
	    "-e -c", NULL },
	{ "java", SCRIPT, 0, NULL, "-cp -classpath --class-path -p --module-path --add-modules", "-jar", "-m", NULL },
	{ "awk gawk mawk nawk", OTHER, 0, NULL, "-F -v", "-f --file", NULL, NULL },
	{ "sed", OTHER, 0, NULL, "-e --expression", "-f --file", NULL, NULL },
	{ "jq", OTHER, 0, NULL, NULL, "-f --from-file", NULL, NULL },
	{ "psql", OTHER, 0, NULL, "-d -h -p -U -v -c", "-f --file", NULL, NULL },
	{ "make gmake", OTHER, 0, NULL, "-j -o -W", "-f --file --makefile", NULL, NULL },
};

static void add_command(struct command_files *f, char *const *words, int depth);
static void command_files_add_shell_text(struct command_files *f, const char *text, int depth);

/* ---- files ---- */

/* Whether a file is in the workspace, and not the system's. */
static bool
lies_here(const struct command_files *f, const char *path)
{
	static const char *const systems[] = { "/usr", "/bin", "/sbin", "/lib", "/opt", "/nix", "/gnu",
		"/snap", NULL };

	if (!path_within(path, f->workspace))
		return false;
	for (const char *const *system = systems; *system != NULL; system++)
		if (path_within(path, *system) && !path_within(f->workspace, *system))
			return false;
	return true;
}

/* Adds the file at a path to a list if it is a regular file of the workspace. Returns its path;
 * NULL. */
static const char *
add_path(struct command_files *f, char ***list, const char *path)
{
	char *real = realpath(path, NULL);
	struct stat status;

	if (real == NULL || !lies_here(f, real) || stat(real, &status) != 0 ||
	    !S_ISREG(status.st_mode)) {
		free(real);
		return NULL;
	}
	for (char **known = *list; known != NULL && *known != NULL; known++)
		if (strcmp(*known, real) == 0) {
			free(real);
			return *known;
		}
	list_take(list, real);
	return real;
}

/* The path of a name relative to the command's directory; NULL: that is unknown. */
static char *
path_from(const struct command_files *f, const char *name)
{
	if (*name == '\0' || (*name != '/' && f->directory == NULL))
		return NULL;
	return *name == '/' ? memory_text(name) : path_join(f->directory, name);
}

/* A file, or what an interpreter runs of a directory. */
static bool
add_script(struct command_files *f, const char *name)
{
	static const char *const mains[] = { "__main__.py", "index.js", NULL };
	char *path = path_from(f, name);
	struct stat status;
	bool found = false;

	if (path != NULL && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		for (const char *const *main = mains; !found && *main != NULL; main++) {
			char *inside = path_join(path, *main);

			found = add_path(f, &f->list, inside) != NULL;
			free(inside);
		}
	} else if (path != NULL) {
		found = add_path(f, &f->list, path) != NULL;
	}
	free(path);
	return found;
}

static void
add_sourced(struct command_files *f, const char *name)
{
	char *path = path_from(f, name);

	if (path != NULL)
		add_path(f, &f->sourced, path);
	free(path);
}

/* python -m a.b: a/b/__main__.py, or a/b.py. */
static void
add_module(struct command_files *f, const char *module)
{
	char *path = memory_text(module), *file;

	for (char *at = path; *at != '\0'; at++)
		if (*at == '.')
			*at = '/';
	file = memory_format("%s.py", path);
	if (!add_script(f, path))
		add_script(f, file);
	free(file);
	free(path);
}

/* The interpreter of a script, from its first line. */
static void
add_interpreter(struct command_files *f, const char *path, int depth)
{
	char *line = file_interpreter(path), *words[3] = { NULL, NULL, NULL }, *at;

	if (line == NULL)
		return;
	at = words[0] = line + strspn(line, " \t");
	at += strcspn(at, " \t");
	if (*at != '\0') {
		*at++ = '\0';
		at += strspn(at, " \t");
		words[1] = *at != '\0' ? at : NULL;
	}
	if (*words[0] != '\0')
		add_command(f, words, depth);
	free(line);
}

/* Whether a directory of PATH is in the workspace: if not, nothing is searched for. */
static bool
path_leads_here(const struct command_files *f)
{
	const char *list = f->path, *part;
	size_t len, own = strlen(f->workspace);

	while (list != NULL && (part = text_part(&list, ':', &len)) != NULL)
		if (len == 0 || *part != '/' || (len >= own && strncmp(part, f->workspace, own) == 0))
			return true;
	return false;
}

static void
add_program(struct command_files *f, const char *name, int depth)
{
	char *path = NULL, *joined;
	const char *found;

	if (strchr(name, '/') != NULL)
		path = path_from(f, name);
	else if (*name != '\0' && f->directory != NULL && path_leads_here(f))
		path = path_search(f->path, name);
	if (path != NULL && *path != '/') {
		joined = path_join(f->directory, path);
		free(path);
		path = joined;
	}
	found = path != NULL ? add_path(f, &f->list, path) : NULL;
	if (found != NULL)
		add_interpreter(f, found, depth);
	free(path);
}

/* ---- the table ---- */

/* Whether a list of words, separated by spaces, has this one. */
static bool
command_files_list_has(const char *list, const char *word, size_t len)
{
	return text_has_part(list, ' ', word, len);
}

static const struct runner *
find_runner(const char *word)
{
	const char *name = path_base(word);
	size_t len = strlen(name), bare = len;

	while (bare > 1 && (isdigit((unsigned char)name[bare - 1]) || name[bare - 1] == '.' ||
	    name[bare - 1] == '-'))
		bare--;
	for (size_t i = 0; len > 0 && i < sizeof runners / sizeof *runners; i++)
		if (command_files_list_has(runners[i].names, name, len) ||
		    command_files_list_has(runners[i].names, name, bare))
			return &runners[i];
	return NULL;
}

/* The result of a runner's options. */
struct options_read {
	char *const *rest;   /* the words behind them */
	bool inert, text;    /* nothing more is run; the first remaining word is a shell text */
	bool input;          /* the script comes on stdin */
	char *directory;     /* where the rest of the command runs; NULL: unchanged */
};

static void
add_split(struct command_files *f, const char *text, char *const *rest, int depth)
{
	char **words = list_split(text, ' ');

	for (; *rest != NULL; rest++)
		list_add(&words, *rest);
	if (words != NULL)
		add_command(f, words, depth);
	list_free(words);
}

/* Handles one option: its name, of len bytes, and the value attached to it (NULL: its value, if
 * it has one, is the next word). Returns whether the next word was used. */
static bool
command_files_read_option(struct command_files *f, const struct runner *r, const char *name,
    size_t len, const char *value, char *const *next, struct options_read *read, int depth)
{
	const bool env = command_files_list_has(r->names, "env", 3),
	    shell = r->operand == SHELL_SCRIPT;
	const char *given = value != NULL ? value : *next;

	if (env && (command_files_list_has("-S --split-string", name, len))) {
		if (given != NULL)
			add_split(f, given, value != NULL ? next : next + 1, depth);
		read->inert = true;
		return value == NULL;
	}
	if (command_files_list_has(r->names, "python", 6) && len == 2 && name[1] == 'm') {
		if (given != NULL)
			add_module(f, given);
		read->inert = true;
		return value == NULL;
	}
	if (shell && len == 2 && name[1] == 'c') {
		read->text = true;
		return false;
	}
	if ((env || command_files_list_has(r->names, "make", 4)) &&
	    command_files_list_has("-C --chdir --directory", name, len)) {
		char *to = given != NULL ? path_from(f, given) : NULL;

		free(read->directory);
		f->directory = read->directory = to;
		return value == NULL;
	}
	if (command_files_list_has(r->files, name, len) ||
	    command_files_list_has(r->texts, name, len)) {
		if (given != NULL && command_files_list_has(r->texts, name, len))
			command_files_add_shell_text(f, given, depth);
		else if (given != NULL)
			add_script(f, given);
		return value == NULL;
	}
	if (command_files_list_has(r->inert, name, len))
		read->inert = true;
	read->input |= shell && len == 2 && name[1] == 's';
	return value == NULL && command_files_list_has(r->valued, name, len);
}

static bool
has_value(const struct runner *r, const char *name)
{
	return command_files_list_has(r->valued, name, 2) ||
	    command_files_list_has(r->files, name, 2) ||
	    command_files_list_has(r->inert, name, 2) ||
	    command_files_list_has(r->texts, name, 2) ||
	    (command_files_list_has(r->names, "env", 3) && strncmp("-S", name, 2) == 0) ||
	    (command_files_list_has(r->names, "python", 6) && strncmp("-m", name, 2) == 0);
}

/* Handles the options at the beginning of the rest. */
static void
command_files_read_options(struct command_files *f, const struct runner *r,
    struct options_read *read, int depth)
{
	while (*read->rest != NULL && !read->inert) {
		char *const *next = read->rest + 1;
		const char *word = *read->rest;
		size_t len = strlen(word);

		if ((*word != '-' && !(*word == '+' && r->operand == SHELL_SCRIPT)) || len < 2)
			break;
		read->rest = next;
		if (strcmp(word, "--") == 0)
			break;
		if (word[1] == '-' || command_files_list_has(r->valued, word, len) ||
		    command_files_list_has(r->files, word, len) ||
		    command_files_list_has(r->texts, word, len)) {
			size_t name = word[1] == '-' ? strcspn(word, "=") : len;

			read->rest += command_files_read_option(f, r, word, name, name < len ?
			    word + name + 1 : NULL, next, read, depth) && *next != NULL;
			continue;
		}
		/* Letters, until one that takes a value. */
		for (const char *at = word + 1; *at != '\0'; at++) {
			const char option[] = { *word, *at, '\0' };
			const char *value = has_value(r, option) && at[1] != '\0' ? at + 1 : NULL;

			/* bash -euo pipefail */
			if (r->operand == SHELL_SCRIPT)
				value = NULL;
			read->rest += command_files_read_option(f, r, option, 2, value, next, read,
			    depth) && *next != NULL;
			if (value != NULL)
				break;
		}
	}
}

static bool
is_assignment(const char *word)
{
	size_t name = strcspn(word, "=");

	return word[name] == '=' && name > 0 && !isdigit((unsigned char)*word) &&
	    strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") >= name;
}

/* Without -f make uses the first of these. */
static void
add_makefile(struct command_files *f, char *const *words)
{
	for (; *words != NULL; words++)
		if (strncmp(*words, "-f", 2) == 0 || strncmp(*words, "--file", 6) == 0 ||
		    strncmp(*words, "--makefile", 10) == 0)
			return;
	if (!add_script(f, "GNUmakefile") && !add_script(f, "makefile"))
		add_script(f, "Makefile");
}

/* find … -exec COMMAND ; */
static void
add_find(struct command_files *f, char *const *words, int depth)
{
	for (; *words != NULL; words++)
		if (command_files_list_has("-exec -execdir -ok -okdir", *words, strlen(*words)))
			add_command(f, words + 1, depth);
}

/* The text that a shell makes of words by joining them. */
static void
add_words_text(struct command_files *f, char *const *words, int depth)
{
	struct buffer text = BUFFER_INIT;

	for (; *words != NULL; words++)
		buffer_format(&text, "%s ", *words);
	command_files_add_shell_text(f, buffer_string(&text), depth);
	buffer_free(&text);
}

/* An interpreter without a script, or with "-", reads it from stdin. */
static bool
reads_script(const struct runner *r, const struct options_read *read)
{
	if (r->operand != SHELL_SCRIPT && (r->operand != SCRIPT || read->inert))
		return false;
	return !read->text && (read->input || *read->rest == NULL || strcmp(*read->rest, "-") == 0);
}

/* What the words after a program's options name. */
static void
add_operands(struct command_files *f, const struct runner *r, char *const *words, int depth)
{
	struct options_read read = { words, false, false, false, NULL };
	const char *directory = f->directory, *input = f->input;
	char *const *rest;

	/* These read it themselves. */
	if (command_files_list_has("xargs parallel", r->names, strlen(r->names)))
		f->input = NULL;

	command_files_read_options(f, r, &read, depth);
	if (r->first != NULL && *read.rest != NULL &&
	    command_files_list_has(r->first, *read.rest, strlen(*read.rest))) {
		read.rest++;
		command_files_read_options(f, r, &read, depth);
	} else if (r->first != NULL && r->operand != SCRIPT) {
		read.inert = true;
	}
	if (command_files_list_has(r->names, "make", 4))
		add_makefile(f, words);
	rest = read.rest;
	for (int i = 0; i < r->skip && *rest != NULL; i++)
		rest++;
	if (f->input != NULL && reads_script(r, &read))
		add_script(f, f->input);
	else if (*rest != NULL && rest[1] != NULL && r->skip > 0 &&
	    command_files_list_has(r->texts, *rest, strlen(*rest)))
		command_files_add_shell_text(f, rest[1], depth); /* flock FILE -c TEXT */
	else if (*rest == NULL || read.inert || r->operand == OTHER)
		;
	else if (r->operand == SHELL_TEXT)
		add_words_text(f, rest, depth);
	else if (read.text)
		command_files_add_shell_text(f, *rest, depth);
	else if (r->operand == SOURCED)
		add_sourced(f, *rest);
	else if (r->operand == COMMAND || (r->operand == SCRIPT_COMMAND && !add_script(f, *rest)))
		add_command(f, rest, depth);
	else if (r->operand != SCRIPT_COMMAND)
		add_script(f, *rest);
	free(read.directory);
	f->directory = directory;
	f->input = input;
}

static void
add_command(struct command_files *f, char *const *words, int depth)
{
	const struct runner *r;

	while (*words != NULL && is_assignment(*words))
		words++;
	if (*words == NULL || depth == 0)
		return;
	add_program(f, *words, depth - 1);
	r = find_runner(*words);
	if (r != NULL)
		add_operands(f, r, words + 1, depth - 1);
	else if (strcmp(path_base(*words), "find") == 0)
		add_find(f, words + 1, depth - 1);
}

/* ---- the text of a shell ---- */

/* The words of the command that is being parsed. */
struct shell_words {
	char **list;
	struct buffer word;
	bool begun;          /* a word has begun, even an empty one */
	bool expands;        /* the shell expands it */
	char *input;         /* what stdin is redirected from; NULL */
};

static void
end_word(struct shell_words *w)
{
	if (w->begun)
		list_add(&w->list, w->expands ? "" : buffer_string(&w->word));
	buffer_clear(&w->word);
	w->begun = w->expands = false;
}

static void
end_command(struct command_files *f, struct shell_words *w, char **directory, int depth)
{
	static const char before[] = "if then else elif while until do ! { time";
	char **words;

	end_word(w);
	words = w->list;
	while (words != NULL && *words != NULL &&
	    (command_files_list_has(before, *words, strlen(*words)) || is_assignment(*words)))
		words++;
	if (words != NULL && *words != NULL && strcmp(*words, "cd") == 0) {
		/* What follows runs elsewhere. */
		char *to = words[1] != NULL ? path_from(f, words[1]) : NULL;

		free(*directory);
		f->directory = *directory = to;
	} else if (words != NULL && *words != NULL &&
	    !command_files_list_has("for case select function", *words, strlen(*words))) {
		f->input = w->input;
		add_command(f, words, depth);
		f->input = NULL;
	}
	list_free(w->list);
	free(w->input);
	w->list = NULL;
	w->input = NULL;
}

/* Skips a redirection, of which neither the number nor the name is a word. Returns its last
 * character. */
static const char *
read_redirection(struct shell_words *w, const char *at)
{
	bool reads = *at == '<' && strchr("<>&(", at[1]) == NULL && w->word.len == 0;
	size_t len;

	if (strspn(buffer_string(&w->word), "0123456789") == w->word.len) {
		buffer_clear(&w->word);
		w->begun = false;
	}
	end_word(w);
	at += strspn(at, "<>&| \t");
	len = strcspn(at, " \t\n;|&<>()");
	if (reads && strcspn(at, "$`*?[~\\") >= len) {
		const char quote = *at;
		bool quoted = len > 1 && (quote == '"' || quote == '\'') && at[len - 1] == quote;

		free(w->input);
		w->input = memory_copy(at + quoted, len - 2 * (size_t)quoted);
	}
	return at + len - 1;
}

/* Finds the end of a part in brackets or backquotes. */
static const char *
substitution_end(const char *at)
{
	int open = 0;

	if (*at == '`')
		return at + 1 + strcspn(at + 1, "`");
	for (; *at != '\0'; at++) {
		open += *at == '(';
		open -= *at == ')';
		if (open == 0)
			break;
	}
	return at;
}

/* $NAME, ${…}, $(…) and `…`: the word changes, and the latter two contain commands. Returns the
 * last character. */
static const char *
read_expansion(struct command_files *f, struct shell_words *w, const char *at, int depth)
{
	const char *open = *at == '`' ? at : at + 1, *end;

	w->begun = w->expands = true;
	if (*open != '`' && *open != '(')
		return at;
	end = substitution_end(open);
	if (depth > 0) {
		char *inside = memory_copy(open + 1, (size_t)(end - open - 1));

		command_files_add_shell_text(f, inside, depth);
		free(inside);
	}
	return *end != '\0' ? end : end - 1;
}

/* Skips the lines of a here document, whose end is named behind <<. */
static const char *
skip_document(const char *text, const char *end_name)
{
	size_t len = strlen(end_name);

	for (const char *line = strchr(text, '\n'); line != NULL; line = strchr(line, '\n')) {
		line++;
		if (strncmp(line + strspn(line, "\t"), end_name, len) == 0)
			return line + strspn(line, "\t") + len;
	}
	return text + strlen(text);
}

static void
command_files_add_shell_text(struct command_files *f, const char *text, int depth)
{
	struct shell_words w = { .word = BUFFER_INIT };
	const char *began = f->directory;
	char *directory = NULL, *document = NULL, quote = '\0';

	if (depth == 0)
		return;
	for (const char *at = text; *at != '\0'; at++) {
		if (quote == '\'' || (quote == '"' && *at == '"')) {
			if (*at == quote)
				quote = '\0';
			else
				buffer_byte(&w.word, *at);
		} else if (*at == '\\' && at[1] != '\0') {
			at++;
			w.begun |= *at != '\n';
			if (*at != '\n')
				buffer_byte(&w.word, *at);
		} else if ((*at == '$' && at[1] != '\0') || *at == '`') {
			at = read_expansion(f, &w, at, depth - 1);
		} else if (quote == '"') {
			buffer_byte(&w.word, *at);
		} else if (*at == '\'' || *at == '"') {
			quote = *at;
			w.begun = true;
		} else if (*at == '#' && !w.begun) {
			at += strcspn(at, "\n") - 1;
		} else if (*at == '<' && at[1] == '<' && document == NULL) {
			const char *name;

			at += 2 + (at[2] == '-');
			name = at += strspn(at, " \t'\"\\");
			at += strcspn(at, " \t\n'\";|&<>()");
			document = memory_copy(name, (size_t)(at - name));
			at += strspn(at, "'\"");
			at--;
		} else if (*at == '<' || *at == '>') {
			at = read_redirection(&w, at);
		} else if (*at == '\n' || strchr(";|&()", *at) != NULL) {
			end_command(f, &w, &directory, depth - 1);
			if (*at == '\n' && document != NULL) {
				at = skip_document(at, document) - 1;
				free(document);
				document = NULL;
			}
		} else if (*at == ' ' || *at == '\t') {
			end_word(&w);
		} else {
			w.begun = true;
			w.expands |= strchr("*?[~", *at) != NULL;
			buffer_byte(&w.word, *at);
		}
	}
	end_command(f, &w, &directory, depth - 1);
	free(document);
	free(directory);
	buffer_free(&w.word);
	f->directory = began;
}

void
command_files_add(struct command_files *f, char *const *words)
{
	add_command(f, words, DEPTH);
}

void
command_files_add_shell(struct command_files *f, const char *text)
{
	command_files_add_shell_text(f, text, DEPTH);
}
