/* Checks a line, and a file, by the rules of awf-verify(1). */
#include <awf/transcript.h>

#include "shared/guard.h"
#include "transcript/form.h"
#include "transcript/verify.h"

struct line_check {
	const char *line;
	size_t len;
};

static enum awf_code
check_line(void *context, struct error *found)
{
	const struct line_check *check = context;
	struct form_fault fault;
	struct form form;

	if (check->line == NULL)
		return guard_set_error(found, AWF_INVALID, NULL, "no line is given");
	if (form_check(check->line, check->len, &form, &fault) == 0)
		return AWF_OK;
	return guard_set_error(found, AWF_FORMAT, NULL, "byte %zu: %s", fault.at,
	    fault.what.message);
}

int
awf_check_line(const char *line, size_t len, struct awf_error *err)
{
	struct line_check check = { line, len };

	return guard_run(check_line, &check, err) == AWF_OK ? 0 : -1;
}

struct file_check {
	const char *path;
	int64_t fault;
};

static enum awf_code
shared_check_file(void *context, struct error *found)
{
	const struct verify_spec spec = { .one_thread = true };
	struct file_check *check = context;
	struct verify_report report = { .lines = 0 };

	if (check->path == NULL)
		return guard_set_error(found, AWF_INVALID, NULL, "no path is given");
	if (verify_transcript(check->path, &spec, &report, found) == -1)
		return is_missing(check->path) ? AWF_MISSING : code_of(found);
	if (!report.faulty)
		return AWF_OK;
	check->fault = report.line;
	return guard_set_error(found, AWF_FORMAT, check->path, "line %lld, byte %lld: %s: %s",
	    (long long)report.line, (long long)report.byte, verify_rule_name(report.rule),
	    report.fault.message);
}

int
awf_check_file(const char *path, int64_t *fault, struct awf_error *err)
{
	struct file_check check = { .path = path };
	enum awf_code code = guard_run(shared_check_file, &check, err);

	if (fault != NULL)
		*fault = check.fault;
	return code == AWF_OK ? 0 : -1;
}
