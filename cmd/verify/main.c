/*
 * awf-verify: checks transcripts, and repairs what a crash has left of one.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/terminal.h"
#include "program.h"

#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "io/file.h"
#include "json/line_input.h"
#include "json/value.h"
#include "proc/message.h"
#include "projection/projection_names.h"
#include "schema/schema.h"
#include "storage/storage.h"
#include "transcript/checkpoint.h"
#include "transcript/seal.h"
#include "transcript/torn.h"
#include "transcript/transcript.h"
#include "transcript/verify.h"
#include "verify/determinism.h"
#include "verify/event_schema.h"
#include "verify/recorded_answers.h"

#define PROGRAM "awf-verify"
#define SUFFIX ".jsonl"

#define TRANSCRIPT "transcript"

enum { OPT_REPAIR = 1, OPT_SCHEMA, OPT_KEY, OPT_HEAD, OPT_PRINT_HEAD, OPT_KEYGEN, OPT_QUIET,
	OPT_VERBOSE,
	OPT_DETERMINISM, OPT_ISOLATION, OPT_VISIBLE, OPT_FROM, OPT_AGAINST, OPT_FORMATS };

static const char usage[] =
    "awf-verify [options] [RUN|FILE|DIR]...\n"
    "awf-verify --determinism [options] [RUN|FILE|DIR]...\n"
    "awf-verify --determinism --from FILE [awf-run options] WORKFLOW [ARG...]\n"
    "awf-verify --keygen FILE\n"
    "awf-verify --schema [NAME]\n"
    "awf-verify --against SCHEMA [--formats] [FILE]...";

static const char *const isolations[] = { "namespaces", "copy", "none", NULL };

struct verify_command {
	bool repair, quiet, verbose, print_head, determinism;
	const char *isolation;
	char **visible;
	const char *from;            /* recorded answers; NULL: the words are recorded runs */
	char seal_key[DIGEST_SIZE];  /* "": any */
	const char *keygen, *head_file;
	const char *against;         /* a schema for files that are not transcripts; NULL */
	bool formats;
	struct checkpoints checkpoints;
	struct storage storage;
	bool in_directory;
	struct map found;            /* run ids found in the directory that is verified */
};

/* "FILE:LINE: warning: TEXT" */
static void
verify_print_warning(void *path, int64_t line, const char *text)
{
	message_print(PROGRAM, "%s:%lld: warning: %s", (const char *)path, (long long)line, text);
}

/* The path with control characters escaped, for messages; to be freed by the caller. */
static char *
verify_visible_path(const char *path)
{
	struct buffer text = BUFFER_INIT;

	text_visible(&text, path, strlen(path), 0);
	return buffer_take(&text);
}

static void
print_summary(const char *path, const struct verify_report *report, bool checkpoints)
{
	terminal_printf("%s: %lld events, %lld attempts, %lld calls, %lld tool calls, %lld blobs, %lld bytes%s\n",
	    path, (long long)report->lines, (long long)report->attempts, (long long)report->calls,
	    (long long)report->tool_calls, (long long)report->blobs, (long long)report->bytes,
	    report->alive ? ", in progress" : "");
	if (report->unfinished > 0)
		terminal_printf("%s: a line is being written: %lld bytes so far\n", path,
		    (long long)report->unfinished);
	if (report->sealed_by[0] != '\0')
		terminal_printf("%s: sealed by %s\n", path, report->sealed_by);
	terminal_printf("%s: checked:", path);
	for (enum verify_rule rule = 0; rule < VERIFY_RULES; rule++)
		if (rule != VERIFY_CHECKPOINTS || checkpoints)
			terminal_printf("%s %s", rule > 0 ? "," : "", verify_rule_name(rule));
	printf("\n");
}

static int verify_path(struct verify_command *command, const char *path, bool repair);

/* Verifies the rest again, which is now the whole transcript. If nothing is left, the run was
 * killed before it began, and there was no run. */
static int
verify_repair_transcript(struct verify_command *command, const char *path,
    const struct verify_report *report)
{
	struct error err = ERROR_INIT;
	bool empty = report->size == 0 && !report->alive;
	char *torn, *name = verify_visible_path(path);
	int64_t moved;
	int status = STATUS_OK;

	if (!empty && verify_repair(path, report, &moved, &err) != 0) {
		status = program_fail(PROGRAM, &err);
	} else if (!empty) {
		char *moved_to = torn_path(path);

		torn = verify_visible_path(moved_to);
		message_print(PROGRAM, "%s: repaired: %lld bytes moved to %s", name,
		    (long long)moved, torn);
		free(torn);
		free(moved_to);
	}
	if (status == STATUS_OK && !empty && report->intact != 0) {
		status = verify_path(command, path, false);
	} else if (status == STATUS_OK && unlink(path) != 0) {
		error_errno(&err, ERROR_SYSTEM, path, "unable to remove");
		status = program_fail(PROGRAM, &err);
	} else if (status == STATUS_OK) {
		message_print(PROGRAM, "%s: removed: it is empty, as its run never began", name);
	}
	free(name);
	return status;
}

/* A complete, sealed transcript with the name of another run was copied or renamed. In a directory
 * each run has only one transcript. */
static int
check_identity(struct verify_command *command, const char *path, const char *name,
    const char *run_id)
{
	char *base = memory_copy(path_base(path), strlen(path_base(path)));
	char *directory = path_directory(path);
	bool stored = strcmp(path_base(directory), "transcripts") == 0, wrong, twice;

	if (text_ends(base, SUFFIX))
		base[strlen(base) - strlen(SUFFIX)] = '\0';
	wrong = *run_id != '\0' && strcmp(base, run_id) != 0 &&
	    (stored || id_valid(base, strlen(base)));
	twice = *run_id != '\0' && command->in_directory &&
	    map_get(&command->found, run_id, strlen(run_id)) != NULL;
	if (command->in_directory && !twice)
		map_put(&command->found, run_id, strlen(run_id), 0);
	if (wrong)
		message_print(PROGRAM, "%s: this is the transcript of run %s, not of the one that it "
		    "is named after: it was copied or renamed", name, run_id);
	else if (twice)
		message_print(PROGRAM, "%s: a second transcript of run %s in this directory", name,
		    run_id);
	free(directory);
	free(base);
	return wrong || twice ? -1 : 0;
}

static int
verify_path(struct verify_command *command, const char *path, bool may_repair)
{
	char *name = verify_visible_path(path);
	const struct verify_spec spec = {
		.warn = command->quiet ? NULL : verify_print_warning,
		.context = name,
		.unknown = command->verbose,
		.seal_key = command->seal_key[0] != '\0' ? command->seal_key : NULL,
		.checkpoints = command->head_file ? &command->checkpoints : NULL,
	};
	struct verify_report report;
	struct error err = ERROR_INIT;
	int status = STATUS_OK;

	if (verify_transcript(path, &spec, &report, &err) != 0) {
		status = program_fail(PROGRAM, &err);
	} else if (report.faulty) {
		message_print(PROGRAM, "%s:%lld: byte %lld: %s: %s", name, (long long)report.line,
		    (long long)report.byte, verify_rule_name(report.rule), report.fault.message);
		status = may_repair ? verify_repair_transcript(command, path, &report) :
		    STATUS_WORK;
	} else if (check_identity(command, path, name, report.run_id) != 0) {
		status = STATUS_WORK;
	} else {
		if (command->verbose)
			print_summary(name, &report, spec.checkpoints != NULL);
		if (command->print_head)
			terminal_printf("%s %lld %s\n", report.run_id, (long long)report.lines, report.head);
	}
	free(name);
	return status;
}

static int
verify_worse_status(int left, int right)
{
	return left > right ? left : right;
}

static int
is_transcript(const struct dirent *entry)
{
	return strlen(entry->d_name) > strlen(SUFFIX) && text_ends(entry->d_name, SUFFIX);
}

/* Verifies a storage, or a directory of transcripts. An empty transcript belongs to a run that has
 * not begun yet or was killed before. */
static int
verify_directory(struct verify_command *command, const char *path)
{
	char *below = path_join(path, "transcripts");
	const char *directory = path_is_directory(below) ? below : path;
	struct error err = ERROR_INIT;
	struct dirent **entries;
	int status = STATUS_OK, count = scandir(directory, &entries, is_transcript, alphasort);

	if (count < 0)
		error_errno(&err, ERROR_SYSTEM, directory, "unable to list");
	else if (count == 0)
		error_set(&err, ERROR_USAGE, directory, "no transcript (*" SUFFIX ") is there");
	command->in_directory = true;
	for (int i = 0; i < count; i++) {
		char *file = path_join(directory, entries[i]->d_name);
		struct stat found;
		bool empty = !command->repair && lstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
		    found.st_size == 0;

		if (!empty)
			status = verify_worse_status(status,
			    verify_path(command, file, command->repair));
		free(file);
		free(entries[i]);
	}
	command->in_directory = false;
	map_free(&command->found);
	if (count >= 0)
		free(entries);
	free(below);
	return err.code == ERROR_NONE ? status : program_fail(PROGRAM, &err);
}

/* argument NULL: the latest run. */
static int
verify_argument(struct verify_command *command, const char *argument)
{
	const struct determinism_spec replays = { .storage = &command->storage,
		.isolation = command->isolation ? command->isolation : isolations[0], .visible = command->visible,
		.quiet = command->quiet, .verbose = command->verbose };
	struct error err = ERROR_INIT;
	struct run_ref ref;
	int status;

	if (argument && path_is_directory(argument)) {
		status = verify_directory(command, argument);
	} else if (storage_resolve(&command->storage, argument, &ref, &err) != 0) {
		status = program_fail(PROGRAM, &err);
	} else {
		status = verify_path(command, ref.path, command->repair);
		run_ref_free(&ref);
	}
	if (status == STATUS_OK && command->determinism)
		status = determinism_check(&replays, argument);
	return status;
}

static const struct option_spec options_table[] = {
	{ OPT_REPAIR, 0, "repair", NULL, "repair after a crash: move an incomplete line to "
	    "<run-id>.torn",
	    OPTION_INTO_FLAG(struct verify_command, repair) },
	{ OPT_KEY, 0, "key", "PUB", "require a seal by this key: 64 hex digits, or a file with "
	    "them" },
	{ OPT_HEAD, 0, "head", "FILE", "require the heads that FILE has of the run",
	    OPTION_INTO_TEXT(struct verify_command, head_file) },
	{ OPT_PRINT_HEAD, 0, "print-head", NULL, "print RUN_ID SEQ DIGEST of what was verified",
	    OPTION_INTO_FLAG(struct verify_command, print_head) },
	{ OPT_KEYGEN, 0, "keygen", "FILE", "create a key for seals: FILE, and FILE.pub",
	    OPTION_INTO_TEXT(struct verify_command, keygen) },
	{ OPT_DETERMINISM, 0, "determinism", NULL, "replay it twice, and check that the results "
	    "are the same",
	    OPTION_INTO_FLAG(struct verify_command, determinism) },
	{ OPT_ISOLATION, 0, "isolation", "KIND", "of the replays: namespaces, copy or none",
	    OPTION_INTO_CHOICE(struct verify_command, isolation, isolations) },
	{ OPT_VISIBLE, 0, "visible", "DIR", "make visible for replays; repeatable" },
	{ OPT_FROM, 0, "from", "FILE", "of a workflow on these recorded answers; the rest is awf-run's" },
	{ OPT_QUIET, 'q', "quiet", NULL, "no warnings", OPTION_INTO_FLAG(struct verify_command, quiet) },
	{ OPT_VERBOSE, 'v', "verbose", NULL, "say what was checked, and name what is unknown",
	    OPTION_INTO_FLAG(struct verify_command, verbose) },

	{ OPTION_SECTION, 0, NULL, NULL, "Schemas" },
	{ OPT_SCHEMA, 0, "schema", NULL, "print the JSON Schema of a line, or of a projection's",
	    OPTION_ONLY_SAID },
	{ OPT_AGAINST, 0, "against", "SCHEMA", "check lines of JSON against the JSON Schema in this file",
	    OPTION_INTO_TEXT(struct verify_command, against) },
	{ OPT_FORMATS, 0, "formats", NULL, "with --against: \"format\" is checked too",
	    OPTION_INTO_FLAG(struct verify_command, formats) },
	{ 0, 0, NULL, NULL, NULL },
};

#define SAID(id) OPTION_SAID(id)
#define REPLAYS (SAID(OPT_ISOLATION) | SAID(OPT_VISIBLE) | SAID(OPT_FROM))
/* Options that concern the transcripts to be verified. */
#define CHECKS (SAID(OPT_REPAIR) | SAID(OPT_KEY) | SAID(OPT_HEAD) | SAID(OPT_PRINT_HEAD) | SAID(OPT_DETERMINISM) | \
    SAID(OPT_ISOLATION) | SAID(OPT_VISIBLE) | SAID(OPT_QUIET) | SAID(OPT_VERBOSE))
/* These verify no transcript, so the options above do not go with them. */
#define NO_CHECKS (SAID(OPT_KEYGEN) | SAID(OPT_SCHEMA) | SAID(OPT_AGAINST))

static const struct option_rule rules[] = {
	{ NO_CHECKS, NO_CHECKS, 0, NULL },
	{ CHECKS, NO_CHECKS, SAID(OPT_AGAINST), "not with %s, which verifies nothing" },
	{ CHECKS, SAID(OPT_AGAINST), 0, "not with %s, which verifies no transcript" },
	{ SAID(OPT_FORMATS), 0, SAID(OPT_AGAINST), NULL },
	{ SAID(OPT_QUIET) | SAID(OPT_PRINT_HEAD), SAID(OPT_VERBOSE), 0, NULL },
	{ REPLAYS, 0, SAID(OPT_DETERMINISM), NULL },
};

static int
verify_add_visible(struct verify_command *command, const char *directory, struct error *err)
{
	char *path = realpath(directory, NULL);

	if (path == NULL || !path_is_directory(path)) {
		free(path);
		return error_set(err, ERROR_USAGE, "--visible", "'%s' is no directory", directory);
	}
	list_take(&command->visible, path);
	return 0;
}

/* Sets words to the arguments that are not options, NULL-terminated. All words after --from FILE
 * are for awf-run. */
static int
verify_read_options(struct verify_command *command, int argc, char **argv, const char **words,
    struct error *err)
{
	struct options o;
	int id, count = 0;

	options_begin(&o, options_table, argc, argv);
	options_bind(&o, command);
	while (command->from == NULL && (id = options_next(&o, err)) != OPTION_END) {
		if (id == -1 || OPTION_ASKS(id))
			return id;
		if (id == OPTION_WORD)
			words[count++] = o.value;
		else if (id == OPT_FROM)
			command->from = o.value;
		else if (id == OPT_KEY ? seal_public_key(o.value, command->seal_key, err) != 0 :
		    verify_add_visible(command, o.value, err) != 0)
			return -1;
	}
	if (command->from != NULL && count > 0)
		return error_set(err, ERROR_USAGE, words[0],
		    "a run cannot be given with --from; the workflow follows it");
	while (command->from != NULL && o.next < argc)
		words[count++] = argv[o.next++];
	words[count] = NULL;
	if (options_check(&o, rules, sizeof rules / sizeof *rules, err) != 0)
		return -1;
	if (command->keygen != NULL && count > 0)
		return error_set(err, ERROR_USAGE, "--keygen", "'%s' is left over: one FILE only", words[0]);
	return (o.said & SAID(OPT_SCHEMA)) != 0 ? OPT_SCHEMA : command->keygen != NULL ? OPT_KEYGEN :
	    command->against != NULL ? OPT_AGAINST : OPTION_END;
}

static int
verify_all(struct verify_command *command, const char **words)
{
	struct error err = ERROR_INIT;
	char run_id[ID_SIZE]; /* of the run made with --from */
	int status = STATUS_OK;

	if (storage_locate(&command->storage, &err) != 0)
		return program_fail(PROGRAM, &err);
	if (command->head_file &&
	    checkpoints_load(&command->checkpoints, command->head_file, &err) != 0) {
		storage_close(&command->storage);
		return program_fail(PROGRAM, &err);
	}
	if (command->from && recorded_answers_make_run(command->from, (char *const *)(uintptr_t)words, run_id,
	    &err) != 0)
		status = program_fail(PROGRAM, &err);
	else if (command->from)
		status = verify_argument(command, run_id);
	else if (!words[0])
		status = verify_argument(command, NULL);
	else
		for (; *words; words++)
			status = verify_worse_status(status, verify_argument(command, *words));
	storage_close(&command->storage);
	checkpoints_free(&command->checkpoints);
	return status;
}

static int
check_line(const struct schema *schema, const char *name, int64_t number, const char *line,
    size_t len)
{
	struct buffer why = BUFFER_INIT;
	char *file;
	int status = STATUS_OK;

	if (span_trim(span_of(line, len)).len == 0)
		return STATUS_OK;
	if (schema_check_bytes(schema, line, len, &why) != 0) {
		file = verify_visible_path(name);
		message_print(PROGRAM, "%s:%lld: %s", file, (long long)number, why.data);
		free(file);
		status = STATUS_WORK;
	}
	buffer_free(&why);
	return status;
}

/* path NULL: stdin. */
static int
verify_check_lines(const struct schema *schema, const char *path)
{
	bool is_stdin = path == NULL || strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int status = STATUS_OK, found;
	struct line_input input;
	struct error err = ERROR_INIT;
	const char *line;
	size_t len;

	if (fd == -1) {
		error_errno(&err, ERROR_USAGE, path, "unable to open");
		return program_fail(PROGRAM, &err);
	}
	line_input_begin(&input, fd, is_stdin ? "stdin" : path);
	while ((found = line_input_next(&input, &line, &len, &err)) == 1) {
		status = verify_worse_status(status,
		    check_line(schema, input.name, input.lines, line, len));
	}
	if (found == -1) {
		status = program_fail(PROGRAM, &err);
	} else {
		len = line_input_unfinished(&input);
		status = verify_worse_status(status, check_line(schema, input.name, input.lines + 1,
		    input.bytes.data + input.bytes.len - len, len));
	}
	line_input_free(&input);
	if (!is_stdin)
		close(fd);
	return status;
}

/* Checks lines of JSON that are not a transcript against any JSON Schema, and reports the lines of
 * the files (none: stdin) that violate it. Empty lines are skipped; the last line need not end with
 * a newline. Returns the greatest exit status. */
static int
check_against(const char *path, bool formats, const char *const *files)
{
	struct error err = ERROR_INIT;
	json_t *document = value_load(path, ERROR_DEFINITION, &err);
	struct schema *schema = document == NULL ? NULL :
	    schema_compile(document, formats ? SCHEMA_FORMATS : 0, path, &err);
	int status = STATUS_OK;

	json_decref(document);
	if (schema == NULL) {
		err.code = ERROR_DEFINITION; /* also if the schema file does not exist */
		return program_fail(PROGRAM, &err);
	}
	if (*files == NULL)
		status = verify_check_lines(schema, NULL);
	for (; *files != NULL; files++)
		status = verify_worse_status(status, verify_check_lines(schema, *files));
	schema_free(schema);
	return status;
}

/* Prints the schema of the transcript, or of the projection that words name. */
static int
print_schema(const char **words)
{
	static const char *const transcript[] = { TRANSCRIPT, NULL };
	int projection = -1;
	struct buffer schema = BUFFER_INIT;
	struct error err;

	if (words[0] && words[1]) {
		error_set(&err, ERROR_USAGE, words[1], "only one schema at a time");
		return program_fail(PROGRAM, &err);
	}
	if (!words[0] || strcmp(words[0], TRANSCRIPT) == 0) {
		event_schema_write(&schema);
		fputs(buffer_string(&schema), stdout);
		buffer_free(&schema);
		return STATUS_OK;
	}
	if (text_suggest(words[0], transcript))
		error_set(&err, ERROR_USAGE, "--schema", "no such vocabulary '%s' (did you mean '%s'?)",
		    words[0], TRANSCRIPT);
	else
		projection = projection_index(words[0], "--schema", &err);
	if (projection < 0)
		return program_fail(PROGRAM, &err);
	fputs(projection_schema(projection), stdout);
	return STATUS_OK;
}

int
main(int argc, char **argv)
{
	struct verify_command command = { .repair = false };
	const char **words = memory_zero((size_t)argc + 1, sizeof *words);
	struct error err = ERROR_INIT;
	int id, status = STATUS_OK;

	program_begin();
	id = verify_read_options(&command, argc, argv, words, &err);
	switch (id) {
	case OPTION_HELP:
	case OPTION_HELP_ALL:
		options_help(stdout, usage, options_table, id);
		break;
	case OPTION_VERSION:
		program_version(PROGRAM);
		break;
	case OPT_SCHEMA:
		status = print_schema(words);
		break;
	case OPT_AGAINST:
		status = check_against(command.against, command.formats, words);
		break;
	case OPT_KEYGEN:
		if (seal_key_make(command.keygen, &err) != 0)
			status = program_fail(PROGRAM, &err);
		break;
	case OPTION_END:
		status = verify_all(&command, words);
		break;
	default:
		status = program_fail(PROGRAM, &err);
	}
	free(words);
	list_free(command.visible);
	return program_end(PROGRAM, status);
}
