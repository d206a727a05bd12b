/*
 * The browser's page: the files in share/awf/www, and share/awf/openapi.json, which describes the
 * API. They are read when the server starts; only files that existed then are served.
 */
#ifndef AWF_SERVE_WWW_H
#define AWF_SERVE_WWW_H

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"

struct request;

struct www_file {
	char *name;
	const char *type;
	struct buffer bytes;
	char tag[DIGEST_SIZE + 2];   /* ETag */
};

struct www {
	struct www_file *files;
	size_t count;
	struct www_file description; /* name NULL: there is none */
};

/* Reads the files; if the directory is missing, the server works without the page. */
void www_open(struct www *w);
void www_close(struct www *w);
/* "/" and "/runs/RUN" are index.html; "/www/NAME" is that file. */
void answer_www(struct request *r);
void answer_description(struct request *r);

#endif
