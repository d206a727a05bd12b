/*
 * The schema is compiled once. All lines that do not fit are told of, not the first alone,
 * and the greatest status counts; a last line without a line end is one too.
 */
#include "inspect/against_schema.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

#include "base/text.h"
#include "json/line_input.h"
#include "json/scan.h"
#include "json/value.h"
#include "schema/schema.h"

#define PROGRAM "awf-verify"

static int
check_line(const struct schema *schema, const char *name, int64_t number, const char *line,
    size_t len)
{
	struct buffer why = BUFFER_INIT, shown = BUFFER_INIT;
	int status = STATUS_OK;

	if (span_trim(span_of(line, len)).len == 0)
		return STATUS_OK;
	if (schema_check_bytes(schema, line, len, &why) != 0) {
		text_visible(&shown, name, strlen(name), 0);
		fprintf(stderr, PROGRAM ": %s:%lld: %s\n", shown.data, (long long)number, why.data);
		status = STATUS_WORK;
	}
	buffer_free(&shown);
	buffer_free(&why);
	return status;
}

static int
check_lines(const struct schema *schema, struct line_input *input)
{
	struct error err = ERROR_INIT;
	int status = STATUS_OK, found, result;
	const char *line;
	size_t len;

	while ((found = line_input_next(input, &line, &len, &err)) == 1) {
		result = check_line(schema, input->name, input->lines, line, len);
		status = result > status ? result : status;
	}
	if (found == -1)
		return program_fail(PROGRAM, &err);
	len = line_input_unfinished(input);
	result = check_line(schema, input->name, input->lines + 1,
	    input->bytes.data + input->bytes.len - len, len);
	return result > status ? result : status;
}

static int
check_file(const struct schema *schema, const char *path)
{
	struct line_input input;
	struct error err = ERROR_INIT;
	int fd = path == NULL || strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), status;

	if (fd == -1) {
		error_errno(&err, ERROR_USAGE, path, "unable to open");
		return program_fail(PROGRAM, &err);
	}
	line_input_begin(&input, fd, fd == STDIN_FILENO ? "stdin" : path);
	status = check_lines(schema, &input);
	line_input_free(&input);
	if (fd != STDIN_FILENO)
		close(fd);
	return status;
}

int
against_check(const char *path, bool formats, const char *const *files)
{
	struct error err = ERROR_INIT;
	json_t *document = value_load(path, ERROR_DEFINITION, &err);
	struct schema *schema = document == NULL ? NULL :
	    schema_compile(document, formats ? SCHEMA_FORMATS : 0, path, &err);
	int status = STATUS_OK, result;

	json_decref(document);
	if (schema == NULL) {
		err.code = ERROR_DEFINITION; /* that there is no such file is one of it, too */
		return program_fail(PROGRAM, &err);
	}
	if (*files == NULL)
		status = check_file(schema, NULL);
	for (; *files != NULL; files++) {
		result = check_file(schema, *files);
		status = result > status ? result : status;
	}
	schema_free(schema);
	return status;
}
