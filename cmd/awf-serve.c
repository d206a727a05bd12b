/*
 * awf-serve: the storage over HTTP. main() is the options and the order of things; what is served
 * is in cmd/serve/.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

#include "base/file.h"
#include "base/list.h"
#include "base/options.h"
#include "base/terminal.h"
#include "base/text.h"
#include "proc/message.h"
#include "run/storage.h"
#include "serve/listen.h"
#include "serve/serve.h"
#include "serve/tokens.h"

#define PROGRAM "awf-serve"
#define CLIENTS_FROM_DEFAULT 256
#define INGEST_RATE_DEFAULT 10000
#define BLOB_QUOTA_DEFAULT (INT64_C(1) << 30)

enum {
	OPT_LISTEN = 1, OPT_DB, OPT_HOST, OPT_PROXY, OPT_REQUIRE_TOKEN, OPT_WORKFLOWS, OPT_CLIENTS,
	OPT_CLIENTS_FROM, OPT_INGEST_RATE, OPT_BLOB_QUOTA,
	OPT_NEW_TOKEN, OPT_NAME, OPT_LABEL, OPT_LIST_TOKENS, OPT_REVOKE_TOKEN
};

static const struct option_spec options_table[] = {
	{ OPT_LISTEN, 'l', "listen", "WHERE", "ADDRESS:PORT or unix:PATH (127.0.0.1:8741); repeatable" },
	{ OPT_DB, 0, "db", "URL", "serve the runs of a database: postgresql://... or sqlite:FILE" },
	{ OPT_WORKFLOWS, 0, "workflows", "DIRECTORY", "of workflows that POST /hooks/NAME starts" },
	{ OPT_NEW_TOKEN, 0, "new-token", "ROLE", "make a token: read, decide, ingest or start" },
	{ OPT_NAME, 0, "name", "GLOB,...", "of --new-token: for runs of these workflows alone" },
	{ OPT_LABEL, 0, "label", "TEXT", "of --new-token: whose it is" },
	{ OPT_LIST_TOKENS, 0, "list-tokens", NULL, "print the digests, roles and labels of all tokens" },
	{ OPT_REVOKE_TOKEN, 0, "revoke-token", "PREFIX", "the token with this digest is none any more" },

	{ OPTION_SECTION, 0, NULL, NULL, "Clients, and how much of them is taken" },
	{ OPT_HOST, 0, "host", "NAME", "a name that clients know this server by; repeatable" },
	{ OPT_PROXY, 0, "trusted-proxy", "ADDRESS",
	    "who says whose requests it passes on: an address, or unix; repeatable" },
	{ OPT_REQUIRE_TOKEN, 0, "require-token", NULL, "on Unix sockets, too" },
	{ OPT_CLIENTS, 0, "clients", "N", "at most so many (1024)" },
	{ OPT_CLIENTS_FROM, 0, "clients-per-address", "N", "from one address (256); 0: any number" },
	{ OPT_INGEST_RATE, 0, "ingest-rate", "N",
	    "take so many events a second of one run, and from one address (10000)" },
	{ OPT_BLOB_QUOTA, 0, "blob-quota", "SIZE", "keep so much in blobs of runs that have not come (1G)" },
	{ 0, 0, NULL, NULL, NULL },
};
static const char usage[] =
    "awf-serve [options]\n"
    "awf-serve --new-token ROLE [--name GLOB] [--label TEXT]\n"
    "awf-serve --list-tokens\n"
    "awf-serve --revoke-token PREFIX";

#define TOKEN_COMMANDS (OPTION_SAID(OPT_NEW_TOKEN) | OPTION_SAID(OPT_LIST_TOKENS) | \
    OPTION_SAID(OPT_REVOKE_TOKEN))
#define SERVING (OPTION_SAID(OPT_LISTEN) | OPTION_SAID(OPT_DB) | OPTION_SAID(OPT_HOST) | OPTION_SAID(OPT_PROXY) | \
    OPTION_SAID(OPT_REQUIRE_TOKEN) | OPTION_SAID(OPT_WORKFLOWS) | OPTION_SAID(OPT_CLIENTS) | \
    OPTION_SAID(OPT_CLIENTS_FROM) | OPTION_SAID(OPT_INGEST_RATE) | OPTION_SAID(OPT_BLOB_QUOTA))

static const struct option_rule rules[] = {
	{ OPTION_SAID(OPT_NAME), 0, OPTION_SAID(OPT_NEW_TOKEN), "only with --new-token" },
	{ OPTION_SAID(OPT_LABEL), 0, OPTION_SAID(OPT_NEW_TOKEN), "only with --new-token" },
	{ OPTION_SAID(OPT_NEW_TOKEN), SERVING | OPTION_SAID(OPT_LIST_TOKENS) | OPTION_SAID(OPT_REVOKE_TOKEN), 0,
	    "stands alone, but for --name and --label" },
	{ OPTION_SAID(OPT_LIST_TOKENS), SERVING | OPTION_SAID(OPT_REVOKE_TOKEN), 0, "stands alone" },
	{ OPTION_SAID(OPT_REVOKE_TOKEN), SERVING, 0, "stands alone" },
	{ OPTION_SAID(OPT_WORKFLOWS), OPTION_SAID(OPT_DB), 0, "runs that hooks start are recorded in the storage, and "
	    "not in a database (awf-ship -f takes them there)" },
};

struct serve_command {
	struct server server;
	uint64_t said;
	const char *role, *names, *label, *revoked;
};

static int
take_value(struct serve_command *c, int id, const char *value, struct error *err)
{
	struct settings *s = &c->server.settings;
	struct access *a = &c->server.access;
	long long number;

	switch (id) {
	case OPTION_WORD:
		return error_set(err, ERROR_USAGE, value, "no argument is taken");
	case OPT_LISTEN:
		list_add(&s->listen, value);
		return listen_check(value, err);
	case OPT_DB:
		s->database = value;
		return 0;
	case OPT_HOST:
		list_add(&a->hosts, value);
		return 0;
	case OPT_PROXY:
		if (strcmp(value, "unix") != 0 && inet_pton(AF_INET, value, &(struct in_addr){ 0 }) != 1 &&
		    inet_pton(AF_INET6, value, &(struct in6_addr){ 0 }) != 1)
			return error_set(err, ERROR_USAGE, "--trusted-proxy", "'%s' is neither an IP address (as in "
			    "127.0.0.1) nor unix", value);
		list_add(&a->proxies, value);
		return 0;
	case OPT_REQUIRE_TOKEN:
		a->require_token = true;
		return 0;
	case OPT_WORKFLOWS:
		free(s->workflows);
		s->workflows = realpath(value, NULL);
		if (s->workflows == NULL)
			return error_errno(err, ERROR_USAGE, "--workflows", "unable to find '%s'", value);
		if (!path_is_directory(s->workflows))
			return error_set(err, ERROR_USAGE, "--workflows", "'%s' is no directory", value);
		return 0;
	case OPT_CLIENTS:
		if (options_number("--clients", value, 1, 1000000, &number, err) != 0)
			return -1;
		s->clients = number;
		return 0;
	case OPT_CLIENTS_FROM:
		if (options_number("--clients-per-address", value, 0, 1000000, &number, err) != 0)
			return -1;
		s->clients_per_address = number;
		return 0;
	case OPT_INGEST_RATE:
		if (options_number("--ingest-rate", value, 1, 1000000000, &number, err) != 0)
			return -1;
		s->ingest_rate = number;
		return 0;
	case OPT_BLOB_QUOTA:
		return options_size("--blob-quota", value, &s->blob_quota, err);
	case OPT_NEW_TOKEN:
		c->role = value;
		return options_choice("--new-token", value, token_roles(), err);
	case OPT_NAME:
		c->names = value;
		return tokens_check_names(value, err);
	case OPT_LABEL:
		c->label = value;
		return 0;
	case OPT_REVOKE_TOKEN:
		c->revoked = value;
		return 0;
	default:
		return 0;
	}
}

/* 0, or the id of --help or --version, or -1. */
static int
read_options(struct serve_command *c, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, options_table, argc, argv);
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (id == -1 || OPTION_ASKS(id))
			return id;
		if (id > 0)
			c->said |= OPTION_SAID(id);
		if (take_value(c, id, o.value, err) != 0)
			return -1;
	}
	return options_check(&o, rules, sizeof rules / sizeof *rules, err);
}

/* What is done to the tokens. */
static int
change_tokens(struct serve_command *c, struct error *err)
{
	struct storage storage;
	struct error late;
	char token[TOKEN_SIZE];
	int failed;

	if (server_storage(&storage, err) != 0)
		return -1;
	if (c->said & OPTION_SAID(OPT_NEW_TOKEN)) {
		failed = tokens_make(&storage, c->role, c->names, c->label, token, err);
		/* One that nobody has seen is none. */
		signal(SIGPIPE, SIG_IGN);
		if (failed == 0 && (printf("%s\n", token) < 0 || fflush(stdout) != 0)) {
			failed = error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
			if (tokens_revoke(&storage, token, &late) != 0)
				program_fail(PROGRAM, &late);
		}
	} else if (c->said & OPTION_SAID(OPT_LIST_TOKENS)) {
		failed = tokens_print(&storage, err);
	} else {
		failed = tokens_revoke(&storage, c->revoked, err);
	}
	storage_close(&storage);
	return failed;
}

/* Where it listens, and a link by which a browser logs in, once. What systemd notes is no place
 * for that. */
static void
tell(struct server *s)
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
			message_print(PROGRAM, "this link logs one browser in, once; others log in by a token: "
			    PROGRAM " --new-token decide");
	}
	fflush(stdout);
}

static int
serve(struct serve_command *c, struct error *err)
{
	struct server *s = &c->server;
	int failed;

	failed = server_open(s, err);
	if (failed == 0)
		failed = listen_open(s, err);
	if (failed == 0) {
		tell(s);
		failed = server_run(s, err);
	}
	server_close(s);
	return failed;
}

int
main(int argc, char **argv)
{
	static struct serve_command c = { .server.settings = {
		.clients_per_address = CLIENTS_FROM_DEFAULT, .ingest_rate = INGEST_RATE_DEFAULT,
		.blob_quota = BLOB_QUOTA_DEFAULT }, .names = "", .label = "" };
	struct error err = ERROR_INIT;
	int id;

	program_begin();
	c.server.settings.clients = (int64_t)connection_limits_of(CONNECTION_SERVE).connections;
	id = read_options(&c, argc, argv, &err);
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
	if ((c.said & TOKEN_COMMANDS ? change_tokens(&c, &err) : serve(&c, &err)) != 0)
		return program_fail(PROGRAM, &err);
	return program_end(PROGRAM, c.server.status);
}
