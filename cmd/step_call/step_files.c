/*
 * The record names the files of a step by absolute, normalized paths, because a replay shows the
 * files under these names. Files that come with AWF are named but not kept; the configurations of
 * MCP servers, which may contain keys, are represented only by their digests.
 *
 * Files run by commands come last, in a separate list: they are not part of a call's identity, so a
 * result stays valid when they change. This applies to the command itself, to --when and similar
 * texts, to providers, and to what tools, servers and before_turn run; but not to files next to a
 * tool's file, which are part of the tool. A launcher (--via) says where a command runs, not what
 * it does, so its program is not among these files.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/installation.h"
#include "json/writer.h"
#include "proc/libexec.h"
#include "step_call/step.h"
#include "step_call/step_files.h"
#include "step_call/work.h"
#include "storage/definition_file_keep.h"

typedef int keep_file(const struct run *r, const char *path, struct writer *w, struct error *err);

/* Names a file. A file that comes with AWF is represented by its version, and is not kept. A
 * path that is not valid text cannot be in JSON, and is left out. */
static void
name_file(struct step_files *n, const char *path, keep_file *keep)
{
	const char *directories = n->own, *directory;
	char *joined, *full;
	bool own = false;
	size_t len;

	if (n->failed != 0 || path == NULL || !utf8_valid(path, strlen(path)))
		return;
	joined = path_join(*path == '/' ? "" : n->here, path);
	full = path_normal(joined);
	while ((directory = text_part(&directories, ':', &len)) != NULL)
		own = own || (len > 0 && strncmp(full, directory, len) == 0 && full[len] == '/');
	if (own)
		definition_file_name(full, &n->writer);
	else
		n->failed = keep(n->run, full, &n->writer, n->err);
	list_take(&n->named, full);
	free(joined);
}

void
step_files_name(struct step_files *f, const char *path)
{
	name_file(f, path, definition_file_keep);
}

void
step_files_name_digest(struct step_files *f, const char *path)
{
	name_file(f, path, definition_file_digest);
}

void
step_files_add_command(struct step_files *f, char *const *words)
{
	command_files_add(&f->programs, words);
}

void
step_files_add_shell(struct step_files *f, const char *text)
{
	if (text != NULL)
		command_files_add_shell(&f->programs, text);
}

void
step_files_add_command_in(struct step_files *f, char *const *words, const char *directory)
{
	const char *before = f->programs.directory;

	if (directory != NULL)
		f->programs.directory = directory;
	command_files_add(&f->programs, words);
	f->programs.directory = before;
}

int
step_name_files(struct step *step, struct error *err)
{
	const struct work *work = step->definition.work;
	const struct step_options *o = &step->options;
	struct step_files n = { .run = step->place.run, .err = err };
	char *libexec;

	if (getcwd(n.here, sizeof n.here) == NULL)
		return 0;
	libexec = libexec_path();
	n.own = memory_format("%s:%s", libexec, installation_share());
	n.programs.workspace = step->place.workspace != NULL ? step->place.workspace : n.here;
	n.programs.directory = n.here;
	n.programs.path = getenv("PATH");
	writer_begin(&n.writer, &step->definition.files);
	writer_array(&n.writer);
	if (work->files != NULL)
		work->files(step, &n);
	step_files_add_shell(&n, o->when.text);
	step_files_add_shell(&n, o->group.proceed.text);
	step_files_add_shell(&n, o->group.until.text);
	step_files_add_shell(&n, o->question.accept.text);
	for (char **file = n.programs.list; file != NULL && *file != NULL; file++)
		if (n.named == NULL || !list_has(n.named, *file))
			name_file(&n, *file, definition_file_program);
	for (char **file = n.programs.sourced; file != NULL && *file != NULL; file++)
		if (n.named == NULL || !list_has(n.named, *file))
			name_file(&n, *file, definition_file_sourced);
	writer_array_end(&n.writer);
	if (step->definition.files.len == 2)
		buffer_clear(&step->definition.files);
	list_free(n.programs.list);
	list_free(n.programs.sourced);
	list_free(n.named);
	free(n.own);
	free(libexec);
	return n.failed;
}
