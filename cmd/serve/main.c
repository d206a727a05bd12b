/*
 * awf-serve: the storage over HTTP. main() reads the options and calls the parts in their order;
 * what is served is in the other files of cmd/serve/.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

#include "base/list.h"
#include "base/options.h"
#include "base/text.h"
#include "io/file.h"
#include "io/terminal.h"
#include "proc/message.h"
#include "serve/listen.h"
#include "serve/serve.h"
#include "serve_runs/tokens.h"
#include "storage/resumes.h"
#include "storage/storage.h"

#define PROGRAM "awf-serve"
#define CLIENTS_FROM_DEFAULT 256
#define INGEST_RATE_DEFAULT 10000
#define BLOB_QUOTA_DEFAULT (INT64_C(1) << 30)

enum {
	OPT_LISTEN = 1, OPT_DB, OPT_HOST, OPT_PROXY, OPT_REQUIRE_TOKEN, OPT_WORKFLOWS, OPT_CLIENTS,
	OPT_CLIENTS_FROM, OPT_INGEST_RATE, OPT_BLOB_QUOTA,
	OPT_NEW_TOKEN, OPT_NAME, OPT_LABEL, OPT_LIST_TOKENS, OPT_REVOKE_TOKEN
};

static const char usage[] =
    "awf-serve [options]\n"
    "awf-serve --new-token ROLE [--name GLOB] [--label TEXT]\n"
    "awf-serve --list-tokens\n"
    "awf-serve --revoke-token PREFIX";

struct serve_command {
	struct server server;
	uint64_t said;
	const char *role, *names, *label, *revoked;
};

static int
check_proxy(const char *address, struct error *err)
{
	if (strcmp(address, "unix") == 0 || inet_pton(AF_INET, address, &(struct in_addr){ 0 }) == 1 ||
	    inet_pton(AF_INET6, address, &(struct in6_addr){ 0 }) == 1)
		return 0;
	return error_set(err, ERROR_USAGE, NULL, "'%s' is neither an IP address (as in 127.0.0.1) nor unix",
	    address);
}

static const struct option_spec options_table[] = {
	{ OPT_LISTEN, 'l', "listen", "WHERE", "ADDRESS:PORT or unix:PATH (127.0.0.1:8741); repeatable",
	    OPTION_INTO_LIST_CHECKED(struct serve_command, server.settings.listen, listen_check) },
	{ OPT_DB, 0, "db", "URL", "serve the runs of a database: postgresql://... or sqlite:FILE",
	    OPTION_INTO_TEXT(struct serve_command, server.settings.database) },
	{ OPT_WORKFLOWS, 0, "workflows", "DIRECTORY", "directory of workflows that POST "
	    "/hooks/NAME starts" },
	{ OPT_NEW_TOKEN, 0, "new-token", "ROLE", "create a token: read, decide, ingest or start" },
	{ OPT_NAME, 0, "name", "GLOB,...", "with --new-token: only for runs of these workflows",
	    OPTION_INTO_TEXT_CHECKED(struct serve_command, names, tokens_check_names) },
	{ OPT_LABEL, 0, "label", "TEXT", "with --new-token: the owner of the token",
	    OPTION_INTO_TEXT(struct serve_command, label) },
	{ OPT_LIST_TOKENS, 0, "list-tokens", NULL, "print the digests, roles and labels of all tokens",
	    OPTION_ONLY_SAID },
	{ OPT_REVOKE_TOKEN, 0, "revoke-token", "PREFIX", "revoke the token with this digest",
	    OPTION_INTO_TEXT(struct serve_command, revoked) },

	{ OPTION_SECTION, 0, NULL, NULL, "Clients, and how much of them is taken" },
	{ OPT_HOST, 0, "host", "NAME", "a name under which clients reach this server; repeatable",
	    OPTION_INTO_LIST(struct serve_command, server.access.hosts) },
	{ OPT_PROXY, 0, "trusted-proxy", "ADDRESS",
	    "a proxy whose X-Forwarded-For is trusted: an address, or unix; repeatable",
	    OPTION_INTO_LIST_CHECKED(struct serve_command, server.access.proxies, check_proxy) },
	{ OPT_REQUIRE_TOKEN, 0, "require-token", NULL, "on Unix sockets, too",
	    OPTION_INTO_FLAG(struct serve_command, server.access.require_token) },
	{ OPT_CLIENTS, 0, "clients", "N", "at most so many (1024)",
	    OPTION_INTO_NUMBER(struct serve_command, server.settings.clients, 1, 1000000) },
	{ OPT_CLIENTS_FROM, 0, "clients-per-address", "N", "from one address (256); 0: any number",
	    OPTION_INTO_NUMBER(struct serve_command, server.settings.clients_per_address, 0, 1000000) },
	{ OPT_INGEST_RATE, 0, "ingest-rate", "N",
	    "accept so many events per second for a run, and from an address (10000)",
	    OPTION_INTO_NUMBER(struct serve_command, server.settings.ingest_rate, 1, 1000000000) },
	{ OPT_BLOB_QUOTA, 0, "blob-quota", "SIZE", "keep so much in blobs whose run has not "
	    "arrived (1G)",
	    OPTION_INTO_SIZE(struct serve_command, server.settings.blob_quota) },
	{ 0, 0, NULL, NULL, NULL },
};
#define SAID(id) OPTION_SAID(id)
#define TOKEN_COMMANDS (SAID(OPT_NEW_TOKEN) | SAID(OPT_LIST_TOKENS) | SAID(OPT_REVOKE_TOKEN))
#define SERVING (SAID(OPT_LISTEN) | SAID(OPT_DB) | SAID(OPT_HOST) | SAID(OPT_PROXY) | SAID(OPT_REQUIRE_TOKEN) | \
    SAID(OPT_WORKFLOWS) | SAID(OPT_CLIENTS) | SAID(OPT_CLIENTS_FROM) | SAID(OPT_INGEST_RATE) | \
    SAID(OPT_BLOB_QUOTA))

static const struct option_rule rules[] = {
	{ SAID(OPT_NAME) | SAID(OPT_LABEL), 0, SAID(OPT_NEW_TOKEN), NULL },
	{ SAID(OPT_NEW_TOKEN), SERVING | SAID(OPT_LIST_TOKENS) | SAID(OPT_REVOKE_TOKEN), 0,
	    "can only be combined with --name and --label" },
	{ SAID(OPT_LIST_TOKENS), SERVING | SAID(OPT_REVOKE_TOKEN), 0, "stands alone" },
	{ SAID(OPT_REVOKE_TOKEN), SERVING, 0, "stands alone" },
	{ SAID(OPT_WORKFLOWS), SAID(OPT_DB), 0, "runs that hooks start are recorded in the storage, and "
	    "not in a database (awf-ship -f takes them there)" },
};

static int
set_workflows(struct settings *s, const char *directory, struct error *err)
{
	free(s->workflows);
	s->workflows = realpath(directory, NULL);
	if (s->workflows == NULL)
		return error_errno(err, ERROR_USAGE, "--workflows", "unable to find '%s'", directory);
	if (!path_is_directory(s->workflows))
		return error_set(err, ERROR_USAGE, "--workflows", "'%s' is no directory", directory);
	return 0;
}

/* Reads the options. 0, the id of --help or --version if that was given, or -1. */
static int
serve_read_options(struct serve_command *c, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, options_table, argc, argv);
	options_bind(&o, c);
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (id == -1 || OPTION_ASKS(id))
			return id;
		if (id == OPTION_WORD)
			return error_set(err, ERROR_USAGE, o.value, "no argument is taken");
		if (id == OPT_NEW_TOKEN)
			c->role = o.value;
		if (id == OPT_NEW_TOKEN ? options_choice("--new-token", o.value, token_roles(), err) != 0 :
		    set_workflows(&c->server.settings, o.value, err) != 0)
			return -1;
	}
	c->said = o.said;
	return options_check(&o, rules, sizeof rules / sizeof *rules, err);
}

/* Adds, lists or revokes tokens. */
static int
change_tokens(struct serve_command *c, struct error *err)
{
	struct storage storage;
	struct error late;
	char token[TOKEN_SIZE];
	int failed;

	if (server_storage(&storage, err) != 0)
		return -1;
	if (c->said & SAID(OPT_NEW_TOKEN)) {
		failed = tokens_make(&storage, c->role, c->names, c->label, token, err);
		/* Revoke a new token if writing it to stdout fails: nobody has seen it. */
		signal(SIGPIPE, SIG_IGN);
		if (failed == 0 && (printf("%s\n", token) < 0 || fflush(stdout) != 0)) {
			failed = error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
			if (tokens_revoke(&storage, token, &late) != 0)
				program_fail(PROGRAM, &late);
		}
	} else if (c->said & SAID(OPT_LIST_TOKENS)) {
		failed = tokens_print(&storage, err);
	} else {
		failed = tokens_revoke(&storage, c->revoked, err);
	}
	storage_close(&storage);
	return failed;
}

/* Prints where the server listens, and a link that logs in a browser once; not to systemd's
 * journal, which others may read. -1: the link could not be printed. */
static int
serve_print_listeners(struct server *s, struct error *err)
{
	const struct listener *tcp = NULL;
	char code[TOKEN_SIZE];

	for (size_t i = s->listener_count; i-- > 0;) {
		message_print(PROGRAM, "%s", s->listeners[i].url);
		if (!s->listeners[i].local)
			tcp = &s->listeners[i];
	}
	if (tcp != NULL && environment_text("JOURNAL_STREAM") == NULL) {
		tokens_login_code(&s->access.tokens, code);
		terminal_printf("%s/#code=%s\n", tcp->url, code);
		if (isatty(STDOUT_FILENO))
			message_print(PROGRAM, "this link logs in one browser, once; others log "
			    "in with a token: "
			    PROGRAM " --new-token decide");
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 :
	    error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
}

/* Runs may go on by themselves when somebody decides on the page. */
static void
start_resumer(struct server *s)
{
	char *directory = resumes_directory(&s->storage);
	struct error warning;

	if (s->settings.database == NULL && (s->settings.workflows != NULL || access(directory, F_OK) == 0) &&
	    resumes_start_resumer(&s->storage, &s->resumer, &warning) == -1)
		program_fail(PROGRAM, &warning);
	free(directory);
}

static int
serve_listen_and_run(struct serve_command *c, struct error *err)
{
	struct server *s = &c->server;
	int failed;

	failed = server_open(s, err);
	if (failed == 0)
		failed = listen_open(s, err);
	if (failed == 0)
		failed = serve_print_listeners(s, err);
	if (failed == 0)
		start_resumer(s);
	if (failed == 0)
		failed = server_run(s, err);
	server_close(s);
	return failed;
}

int
main(int argc, char **argv)
{
	static struct serve_command c = { .server.settings = {
		.clients_per_address = CLIENTS_FROM_DEFAULT, .ingest_rate = INGEST_RATE_DEFAULT,
		.blob_quota = BLOB_QUOTA_DEFAULT }, .server.resumer = -1, .names = "", .label = "" };
	struct error err = ERROR_INIT;
	int id;

	program_begin();
	c.server.settings.clients = (int64_t)connection_limits_of(CONNECTION_SERVE).connections;
	id = serve_read_options(&c, argc, argv, &err);
	switch (id) {
	case -1:
		return program_fail(PROGRAM, &err);
	case OPTION_HELP:
	case OPTION_HELP_ALL:
		options_help(stdout, usage, options_table, id);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	}
	if ((c.said & TOKEN_COMMANDS ? change_tokens(&c, &err) :
	    serve_listen_and_run(&c, &err)) != 0)
		return program_fail(PROGRAM, &err);
	return program_end(PROGRAM, c.server.status);
}
