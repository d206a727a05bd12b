/*
 * Two slashes after "sqlite:", as in other URLs, are ignored.
 */
#include "ingest/database_url.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "storage/storage.h"

#define SQLITE "sqlite:"
#define POSTGRES "postgres"   /* postgresql: is the same */
#define PASSWORD "password="

char *
database_file(const char *url, struct error *err)
{
	const char *file = url + strlen(SQLITE);
	struct storage storage;
	char *path;

	if (strncmp(url, SQLITE, strlen(SQLITE)) != 0) {
		error_set(err, ERROR_USAGE, NULL, "the URL is none of sqlite:FILE");
		return NULL;
	}
	if (strncmp(file, "//", 2) == 0)
		file += 2;
	if (*file != '\0')
		return memory_text(file);
	if (storage_locate(&storage, err) != 0)
		return NULL;
	path = path_join(storage.root, "runs.db");
	storage_close(&storage);
	return path;
}

/* A password comes after the user's name, or is a parameter. */
static void
add_without_password(struct buffer *out, const char *url)
{
	const char *authority = strstr(url, "://"), *rest = url, *host, *password;
	size_t len;

	if (authority != NULL) {
		authority += 3;
		len = strcspn(authority, "/?#");
		host = memchr(authority, '@', len);
		rest = host != NULL ? host : authority + len;
		password = memchr(authority, ':', host != NULL ? (size_t)(host - authority) : 0);
		buffer_append(out, url, (size_t)((password != NULL ? password : rest) - url));
	}
	while (*rest != '\0') {
		len = strcspn(rest, "?&");
		if (strncmp(rest, PASSWORD, strlen(PASSWORD)) != 0)
			buffer_append(out, rest, len);
		rest += len;
		if (*rest != '\0')
			buffer_byte(out, *rest++);
	}
}

/* Variables in which libpq looks for what the URL of a database leaves out. */
static void
add_variables(struct buffer *out)
{
	static const char *const names[] = { "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER",
		"PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PGOPTIONS", "PGTARGETSESSIONATTRS" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = getenv(names[i]);

		if (value != NULL && *value != '\0')
			buffer_format(out, "\n%s=%s", names[i], value);
	}
}

int
database_identity(const char *url, struct buffer *out, struct error *err)
{
	char *file, *here, *path, *whole;

	if (strncmp(url, SQLITE, strlen(SQLITE)) != 0) {
		add_without_password(out, url);
		if (strncmp(url, POSTGRES, strlen(POSTGRES)) == 0)
			add_variables(out);
		return 0;
	}
	file = database_file(url, err);
	if (file == NULL)
		return -1;
	here = getcwd(NULL, 0);
	if (here == NULL) {
		free(file);
		return error_errno(err, ERROR_SYSTEM, ".", "unable to tell where this is");
	}
	path = *file == '/' ? memory_text(file) : path_join(here, file);
	whole = path_normal(path);
	buffer_format(out, SQLITE "%s", whole);
	free(whole);
	free(path);
	free(here);
	free(file);
	return 0;
}
