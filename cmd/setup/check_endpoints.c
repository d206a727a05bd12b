/* The file of each endpoint is loaded as a step would load it; then it is checked whether the
 * variables, files and commands that it names exist. Commands are not run. Only ask_endpoint()
 * sends a request, by running the endpoint's provider. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "proc/environment.h"
#include "proc/subprocess.h"
#include "providers/endpoint.h"
#include "providers/provider_find.h"
#include "setup/doctor.h"

/* What is reported about an endpoint. */
struct told {
	const struct endpoint *endpoint;
	const struct keys *keys;
	struct buffer has;     /* where its key comes from */
	struct buffer lacks;   /* what is missing, so that no request is possible */
	struct buffer doubts;  /* what may be a mistake */
	bool keyed;            /* a key for it was found */
};

/* Appends a part of a report, separated by a semicolon. */
__attribute__((format(printf, 2, 3))) static void
add_part(struct buffer *text, const char *format, ...)
{
	va_list args;

	if (text->len > 0)
		buffer_text(text, "; ");
	va_start(args, format);
	buffer_format_list(text, format, args);
	va_end(args);
}

static const char *
key_place(const char *variable)
{
	return environment_text(variable) != NULL ? "the environment" : "the keys file";
}

/* Checks variables for a key: names is a name or a list of names, of which one must be set. */
static void
check_key_variables(struct told *t, struct span names, bool optional)
{
	struct buffer list = BUFFER_INIT;
	char *single = span_text(names);

	if (single != NULL && keys_value(t->keys, single) != NULL) {
		add_part(&t->has, "%s, from %s", single, key_place(single));
		t->keyed = true;
	} else if (single != NULL) {
		buffer_text(&list, single);
	}
	for (struct span_walk one = span_walk(names); single == NULL && !t->keyed && span_next(&one);) {
		char *name = span_text(one.value);

		if (name != NULL && keys_value(t->keys, name) != NULL) {
			add_part(&t->has, "%s, from %s", name, key_place(name));
			t->keyed = true;
		} else if (name != NULL) {
			buffer_format(&list, "%s%s", list.len > 0 ? " or " : "", name);
		}
		free(name);
	}
	if (!t->keyed && optional)
		add_part(&t->has, "without a key (%s is not set)", buffer_string(&list));
	else if (!t->keyed)
		add_part(&t->lacks, "no key: set %s", buffer_string(&list));
	free(single);
	buffer_free(&list);
}

static void
check_key_file(struct told *t, const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		add_part(&t->lacks, "the key's file %s cannot be read", path);
	else if ((st.st_mode & 077) != 0)
		add_part(&t->lacks, "others may read the key's file %s: chmod 600", path);
	else
		add_part(&t->has, "the key is in %s", path);
	t->keyed = true;
}

static void
check_key_command(struct told *t, struct span command)
{
	char *program = span_text(span_element(command, 0));
	char *found = program == NULL ? NULL : *program == '/' ? memory_text(program) :
	    path_search(getenv("PATH"), program);

	if (program != NULL && (found == NULL || access(found, X_OK) != 0)) {
		add_part(&t->lacks, "%s, which prints the key, is not %s", program,
		    *program == '/' ? "there" : "in PATH");
	} else if (found != NULL) {
		add_part(&t->has, "%s prints the key", found);
		t->keyed = true;
	}
	free(found);
	free(program);
}

static void
check_key_aws(struct told *t, struct span sigv4)
{
	static const char *const names[] = { "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY" };
	struct span command = span_member(sigv4, "command");

	if (span_type(command) == 'a') {
		check_key_command(t, command);
		return;
	}
	t->keyed = true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (keys_value(t->keys, names[i]) == NULL) {
			add_part(&t->lacks, "no access key: set %s", names[i]);
			t->keyed = false;
		}
	if (t->keyed)
		add_part(&t->has, "signed with AWS_ACCESS_KEY_ID, from %s", key_place(names[0]));
}

static void
check_endpoint_key(struct told *t)
{
	struct span key = span_member(endpoint_text(t->endpoint), "key");
	bool optional = span_true(span_member(key, "optional"));
	char *file = span_text(span_member(key, "file"));

	if (file != NULL)
		check_key_file(t, file);
	else if (span_type(span_member(key, "command")) == 'a')
		check_key_command(t, span_member(key, "command"));
	else if (span_type(span_member(key, "sigv4")) == 'o')
		check_key_aws(t, span_member(key, "sigv4"));
	else if (span_member(key, "env").at != NULL)
		check_key_variables(t, span_member(key, "env"), optional);
	else if (optional)
		add_part(&t->has, "no key");
	else
		add_part(&t->doubts, "it has no key: {\"optional\": true} says that it needs none");
	free(file);
}

/* Checks the variables in its URL and in its headers. */
static void
check_variables(struct told *t)
{
	struct span text = endpoint_text(t->endpoint), base_env = span_member(text, "base_env");
	char *base = span_text(base_env);
	bool elsewhere = base != NULL && keys_value(t->keys, base) != NULL;

	if (elsewhere)
		add_part(&t->doubts, "the server is that of %s", base);
	for (struct span_walk one = span_walk(span_member(text, "variables")); !elsewhere && span_next(&one);) {
		char *name = span_text(span_member(one.value, "env")), *place = span_text(one.key);
		char *braced = place == NULL ? NULL : memory_format("{%s}", place);
		char *url = span_text(span_member(text, "base_url"));
		char *path = span_text(span_member(text, "path"));

		if (name != NULL && keys_value(t->keys, name) == NULL && braced != NULL &&
		    span_type(span_member(one.value, "default")) != 's' &&
		    ((url != NULL && strstr(url, braced) != NULL) ||
		    (path != NULL && strstr(path, braced) != NULL)))
			add_part(&t->lacks, "%s is not set, which its URL takes", name);
		free(name);
		free(place);
		free(braced);
		free(url);
		free(path);
	}
	for (struct span_walk one = span_walk(span_member(text, "headers")); span_next(&one);) {
		char *name = span_text(span_member(one.value, "env")), *header = span_text(one.key);

		if (name != NULL && keys_value(t->keys, name) == NULL)
			add_part(&t->doubts, "%s is not set: no header %s", name, header);
		free(name);
		free(header);
	}
	free(base);
}

static void
check_files(struct told *t)
{
	struct span text = endpoint_text(t->endpoint);
	char *unix_socket = span_text(span_member(text, "unix"));
	struct stat st;

	for (struct span_walk one = span_walk(span_member(text, "tls")); span_next(&one);) {
		char *path = span_text(one.value);

		if (path != NULL && access(path, R_OK) != 0)
			add_part(&t->lacks, "%s cannot be read", path);
		else if (path != NULL && span_is(one.key, "key") && stat(path, &st) == 0 &&
		    (st.st_mode & 077) != 0)
			add_part(&t->doubts, "others may read %s: chmod 600", path);
		free(path);
	}
	if (unix_socket != NULL && stat(unix_socket, &st) == -1)
		add_part(&t->doubts, "there is no socket %s now", unix_socket);
	free(unix_socket);
}

/* The endpoint's URL without user and password, query and fragment. */
static char *
endpoint_where(const struct endpoint *e)
{
	char *url = span_text(span_member(endpoint_text(e), "base_url"));
	struct buffer where = BUFFER_INIT;
	char *host, *at, *end;

	if (url == NULL)
		return memory_text("?");
	url[strcspn(url, "?#")] = '\0';
	host = strstr(url, "://");
	host = host == NULL ? url : host + 3;
	end = host + strcspn(host, "/");
	for (at = end; at > host && at[-1] != '@'; at--)
		;
	buffer_append(&where, url, (size_t)(host - url));
	buffer_text(&where, at > host ? at : host);
	free(url);
	return buffer_take(&where);
}

/* Whether the URL leads to this machine. */
static bool
is_local(const char *where)
{
	char *origin = endpoint_origin(where);
	bool local = endpoint_origin_is_loopback(origin);

	free(origin);
	return local;
}

/* Adds a finding about an endpoint. False if nothing is reported about it. */
static bool
check_endpoint(struct findings *f, const struct demands *d, const struct endpoint *e,
    const struct keys *keys)
{
	/* Endpoints of the model makers themselves are reported among the providers. */
	static const char *const providers[] = { "anthropic", "google", "openai", "openai-responses", NULL };
	const char *name = endpoint_name(e), *who = demands_who(d, name);
	struct told t = { .endpoint = e, .keys = keys };
	struct buffer text = BUFFER_INIT;
	char *where = endpoint_where(e);
	enum finding_status status;
	bool told;

	check_endpoint_key(&t);
	check_variables(&t);
	check_files(&t);
	told = endpoint_is_users(e) ||
	    ((who != NULL || t.keyed || is_local(where)) && text_index(name, providers) == -1);
	/* A command for the key, such as gcloud, exists on many machines: that alone is no reason
	 * to report an endpoint that comes with AWF. */
	if (!endpoint_is_users(e) && who == NULL && endpoint_has_command(e))
		told = false;
	status = t.lacks.len > 0 && (who != NULL || endpoint_is_users(e)) ? FINDING_WRONG :
	    t.lacks.len > 0 || t.doubts.len > 0 ? FINDING_NOTE : FINDING_OK;
	buffer_format(&text, "%s, %s", endpoint_protocol(e, NULL), where);
	if (t.has.len > 0)
		add_part(&text, "%s", t.has.data);
	if (t.lacks.len > 0)
		add_part(&text, "%s", t.lacks.data);
	if (t.doubts.len > 0)
		add_part(&text, "%s", t.doubts.data);
	if (who != NULL && status == FINDING_WRONG)
		buffer_format(&text, " (for %s)", who);
	if (told)
		findings_add(f, FINDING_ENDPOINTS, status, name, "%s", text.data);
	buffer_free(&text);
	buffer_free(&t.has);
	buffer_free(&t.lacks);
	buffer_free(&t.doubts);
	free(where);
	return told;
}

void
check_endpoints(struct findings *f, const struct demands *d)
{
	char **names = endpoint_list(), *directory = path_config(ENDPOINT_DIRECTORY);
	struct error ignored = ERROR_INIT;
	struct keys keys;
	size_t others = 0;

	keys_load(&keys, &ignored); /* check_providers() reports errors in the keys file */
	for (char **name = names; name != NULL && *name != NULL; name++) {
		struct error err = ERROR_INIT;
		struct endpoint *e;

		if (endpoint_load(&e, *name, &err) == 1) {
			others += !check_endpoint(f, d, e, &keys);
			endpoint_free(e);
		} else if (err.code != ERROR_NONE) {
			findings_add_error(f, FINDING_ENDPOINTS, *name, &err);
		}
	}
	findings_add(f, FINDING_ENDPOINTS, FINDING_OK, "others",
	    "%zu more come with AWF, see awf-endpoint(5); yours would be in %s", others,
	    directory != NULL ? directory : "~/.config/awf/endpoints");
	list_free(names);
	free(directory);
	keys_free(&keys);
}

/* ---- --ask ---- */

/* Time for the command that prints the key, the connection and the answer; the server may be asked
 * twice, the second time with a new key. */
#define ASK_LIMIT_MS 150000

static void
judge_server(struct findings *f, const char *name, const struct subprocess *asked)
{
	struct span answer = checks_answer(asked);
	char *origin = span_text(span_member(answer, "server")), *key = span_text(span_member(answer, "key"));
	char *message = span_text(span_member(answer, "message"));
	long long status = 0;
	struct buffer where = BUFFER_INIT;

	buffer_text(&where, origin != NULL ? origin : "the server");
	if (key != NULL)
		buffer_format(&where, ", with the key of %s", key);
	span_integer(span_member(answer, "status"), &status);
	if (span_member(answer, "ready").at == NULL)
		findings_add(f, FINDING_ENDPOINTS, FINDING_WRONG, name, "it cannot be asked: %s",
		    asked->error.code != ERROR_NONE ? asked->error.message : "its program does not say what came");
	else if (span_true(span_member(answer, "ready")))
		findings_add(f, FINDING_ENDPOINTS, FINDING_OK, name, "%s: status %lld, a list of models",
		    where.data, status);
	else if (status == 404 || status == 405)
		findings_add(f, FINDING_ENDPOINTS, FINDING_NOTE, name, "%s: status %lld: it has no list of "
		    "models, and so does not say whether it takes the key", where.data, status);
	else
		findings_add(f, FINDING_ENDPOINTS, FINDING_WRONG, name, "%s: %s", where.data,
		    message != NULL ? message : "it failed");
	buffer_free(&where);
	free(origin);
	free(key);
	free(message);
}

void
ask_endpoint(struct findings *f, const char *name)
{
	char *program = NULL, option[] = "--ask", *text;
	struct environment environment;
	struct error err = ERROR_INIT;
	struct endpoint *e = NULL;
	struct keys keys;

	if (keys_load(&keys, &err) != 0 || provider_endpoint(name, &e, &err) == -1) {
		findings_add_error(f, FINDING_ENDPOINTS, name, &err);
	} else if (e == NULL && provider_check(name, &err) == -1) {
		findings_add_error(f, FINDING_ENDPOINTS, name, &err);
	} else if (e == NULL) {
		findings_add(f, FINDING_ENDPOINTS, FINDING_WRONG, name, "is a program, and no endpoint");
	} else if ((program = provider_find(name, &err)) == NULL) {
		findings_add_error(f, FINDING_ENDPOINTS, name, &err);
	} else {
		char *argv[] = { program, option, NULL };
		struct subprocess asked = { .argv = argv, .name = name, .timeout_ms = ASK_LIMIT_MS,
		    .output_limit = (size_t)64 << 10, .quiet = true };

		text = memory_copy(endpoint_text(e).at, endpoint_text(e).len);
		provider_environment(&keys, &environment);
		environment_set(&environment, ENDPOINT_VARIABLE, text);
		asked.environment = environment.list;
		if (subprocesses_run(&asked, 1, NULL, &err) == -1)
			findings_add_error(f, FINDING_ENDPOINTS, name, &err);
		else
			judge_server(f, name, &asked);
		subprocess_free(&asked);
		environment_free(&environment);
		free(text);
	}
	free(program);
	endpoint_free(e);
	keys_free(&keys);
}
