/*
 * All files are small, and are read into memory at the start: so no name in a request is ever used
 * as a path.
 */
#define _GNU_SOURCE /* memmem() */
#include "serve/www.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"
#include "io/beneath.h"
#include "io/file.h"
#include "io/installation.h"
#include "serve/request.h"
#include "serve/serve.h"

#define FILE_MOST ((size_t)4 << 20)
/* Scripts, styles and data only from here, images also inline; nothing is loaded from elsewhere,
 * and no other site may frame the page. */
static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
	"connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
	"trusted-types awf";

static const struct { const char *end, *type; } types[] = {
	{ ".html", "text/html; charset=utf-8" }, { ".css", "text/css; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" }, { ".mjs", "text/javascript; charset=utf-8" },
	{ ".svg", "image/svg+xml" }, { ".png", "image/png" }, { ".ico", "image/x-icon" },
	{ ".woff2", "font/woff2" }, { ".json", "application/json" },
	{ ".webmanifest", "application/manifest+json" },
};

static const char *
type_of(const char *name)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (text_ends(name, types[i].end))
			return types[i].type;
	return NULL;
}

static void
www_set_tag(struct www_file *file)
{
	char digest[DIGEST_SIZE];

	snprintf(file->tag, sizeof file->tag, "\"%.32s\"",
	    digest_sha256(buffer_string(&file->bytes), file->bytes.len, digest));
}

/* Reads a file of a directory; false if it cannot be served. */
static bool
www_read_file(struct www_file *file, int directory, const char *name)
{
	bool read = false;
	int fd;

	*file = (struct www_file){ .type = type_of(name) };
	if (file->type == NULL || (fd = beneath_open(directory, name)) == -1)
		return false;
	if (file_read(fd, &file->bytes, FILE_MOST) == 0) {
		file->name = memory_text(name);
		www_set_tag(file);
		read = true;
	} else {
		buffer_free(&file->bytes);
	}
	file_close(&fd);
	return read;
}

static void
add_file(struct www *w, int directory, const char *name)
{
	struct www_file file;

	if (!www_read_file(&file, directory, name))
		return;
	w->files = memory_array(w->files, w->count + 1, sizeof *w->files);
	w->files[w->count++] = file;
}

/* Puts in the version of AWF, for which the description in the source tree has a place; make install has done
 * that already. */
static void
www_put_version(struct www_file *description)
{
	static const char place[] = "@AWF_VERSION@";
	struct buffer text = BUFFER_INIT;
	const char *all = buffer_string(&description->bytes), *at = strstr(all, place);

	if (at == NULL)
		return;
	buffer_append(&text, all, (size_t)(at - all));
	buffer_format(&text, "%s%s", AWF_VERSION, at + strlen(place));
	buffer_free(&description->bytes);
	description->bytes = text;
	www_set_tag(description);
}

void
www_open(struct www *w)
{
	char *path = path_join(installation_share(), "www");
	DIR *directory = storage_opendir(path);
	int share = open(installation_share(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;

	*w = (struct www){ .files = NULL };
	if (share != -1 && www_read_file(&w->description, share, "openapi.json"))
		www_put_version(&w->description);
	file_close(&share);
	while (directory != NULL && (entry = readdir(directory)) != NULL)
		if (entry->d_name[0] != '.')
			add_file(w, dirfd(directory), entry->d_name);
	if (directory != NULL)
		closedir(directory);
	free(path);
}

void
www_close(struct www *w)
{
	for (size_t i = 0; i < w->count; i++) {
		free(w->files[i].name);
		buffer_free(&w->files[i].bytes);
	}
	free(w->files);
	free(w->description.name);
	buffer_free(&w->description.bytes);
	*w = (struct www){ .files = NULL };
}

/* Whether the client has this version of the file. */
static bool
www_tag_matches(struct span tags, const char *tag)
{
	return tags.at != NULL && memmem(tags.at, tags.len, tag, strlen(tag)) != NULL;
}

/* Answers with a file. more: further header fields, of which the first is the ETag. */
static void
answer_file(struct request *r, const struct www_file *file, const char *const *more)
{
	struct buffer copy = BUFFER_INIT;

	if (www_tag_matches(request_header(r, "If-None-Match"), file->tag)) {
		request_status(r, 304, more);
		return;
	}
	buffer_append(&copy, buffer_string(&file->bytes), file->bytes.len);
	request_bytes(r, 200, file->type, &copy, more);
}

void
answer_www(struct request *r)
{
	const struct target *t = &r->target;
	const char *name = t->segment_count == 2 && strcmp(t->segments[0], "www") == 0 ?
	    t->segments[1] : "index.html";
	const struct www *w = &r->server->www;

	for (size_t i = 0; i < w->count; i++) {
		const struct www_file *file = &w->files[i];
		const char *const more[] = { "ETag", file->tag, "Content-Security-Policy", policy, NULL };

		if (strcmp(file->name, name) == 0) {
			answer_file(r, file, more);
			return;
		}
	}
	request_error(r, 404, "not_found", "the page has no such file");
}

void
answer_description(struct request *r)
{
	const struct www_file *file = &r->server->www.description;
	const char *const more[] = { "ETag", file->tag, NULL };

	if (file->name != NULL)
		answer_file(r, file, more);
	else
		request_error(r, 404, "not_found", "openapi.json is not installed");
}
