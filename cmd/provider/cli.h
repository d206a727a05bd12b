/*
 * Agent CLIs as providers: programs that have a model, tools and a loop of their own
 * (claude, codex …). For each request the CLI is started once, without a terminal, told
 * to print its events as JSON Lines, and given the prompt on stdin; what it tells of its
 * tools goes out as `tool_call` and `tool_result` as it comes, and all that it said is
 * one `message` at the end. A CLI is a table of what is its own (how it is started, what
 * its lines mean); its program is that table and
 *
 *     int main(int argc, char **argv) { return cli_main(&cli, argc, argv); }
 *
 * What the code relies on:
 *   - An answer is whole only when the CLI said so in its own way (message.ended).
 *     Anything else that its output ends with is an error, never an answer.
 *   - A tool call is told of once, and has one result: what the CLI left open gets the
 *     error "no result" before the answer ends.
 *   - Nothing of the CLI outlives its request: this process adopts what it leaves, and
 *     ends it; if this process is killed, its guardian does (proc/guardian.h).
 *   - What it prints is from outside: NUL and broken UTF-8 in a line are mended, lines
 *     that are no JSON or of a type that nobody knows are passed over. The former are
 *     told of on stderr, once per request.
 *   - The next request of a conversation goes on with the CLI's session. Its id travels
 *     in the answer's last block (raw.session), so nothing is kept here, and any process
 *     can go on.
 *
 * cli_request.c reads the request and says how the CLI is started, cli_process.c runs it, cli.c
 * takes its lines and is what the tables call, cli_tools.c offers it tools of ours.
 */
#ifndef AWF_PROVIDER_CLI_H
#define AWF_PROVIDER_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "api/message.h"
#include "base/buffer.h"
#include "base/map.h"
#include "io/connection_limits.h"
#include "json/scan.h"
#include "proc/environment.h"
#include "proc/peer.h"
#include "provider.h"

#define CLI_LINE_LIMIT ((size_t)64 << 20)
#define CLI_NOT_FOUND "there is no %s in $PATH: %s" /* its name, what to do */

struct cli_run;
struct cli_tools;

/* A tool by AWF's name and by the CLI's. A tool of ours may be several of theirs. changes:
 * the member of its input that names the file that it changes, or is an array of objects
 * with a path each; NULL: that is not known. */
struct cli_tool {
	const char *ours, *theirs, *changes;
};

struct cli {
	const char *program, *usage;
	const char *name;                /* of its command; says whose raw members are */
	const char *install;             /* what to do if it is not there */
	const char *oldest;              /* version that knows what it is told */
	const char *const *keys;         /* environment names of keys that it uses; all others
	                                    are kept from it; ends with NULL */
	bool asks_anybody;               /* it speaks to any server of models, and gets its key */
	const struct cli_tool *tools;    /* end with { NULL, NULL, NULL } */
	const char *served;              /* what its names of tools of ours begin with, of the MCP
	                                    server "awf"; NULL: it can have none */
	const char *sub_agent;           /* the member, a string, of lines that a sub-agent's are
	                                    known by: what it does is the business of the call
	                                    that started it, whose result it comes back as; NULL */
	bool tells_late;                 /* of a tool when it has ended: what ran when the CLI was
	                                    cut off is not known */
	/* Sets its arguments, environment and files. */
	void (*start)(struct cli_run *r);
	/* Takes one of the request's params; false: it has no such setting. NULL: it has none. */
	bool (*param)(struct cli_run *r, struct span key, struct span value);
	/* Takes a line by its type, a JSON string; one that nobody knows is passed over. */
	void (*take)(struct cli_run *r, struct span type, struct span line);
	/* Takes a line of its stderr. May be NULL. */
	void (*take_error)(struct cli_run *r, const char *line);
	/* Its output has ended: what its exit status tells. May be NULL. */
	void (*finish)(struct cli_run *r, int exit_code);
};

struct cli_call {
	char *id;
	bool answered;
	bool served;                     /* AWF runs it, and tells of it */
	char **changes;                  /* files that it changes if it succeeds */
};

/* One request. */
struct cli_run {
	const struct cli *cli;
	struct provider *provider;
	const struct provider_request *request;

	/* How it is started. */
	struct {
		char **argv;                     /* lib/base/list.h */
		struct environment environment;
		struct buffer prompt;            /* for its stdin */
		char *session;                   /* to go on with; NULL: a new one */
		struct span known;               /* the raw members that told of it; may be absent */
		char *directory;                 /* of files made for it; NULL: none yet */
		char **files;
		bool project_settings;           /* it may take the settings of the project */
		struct cli_tools *server;        /* of tools of ours; NULL: none */
	} start;                      /* how it is started */

	/* What it said. */
	struct message message;
	struct cli_call *calls;
	size_t call_count;
	struct map call_index;           /* id: index in calls */
	bool streamed;                   /* text comes in pieces before it comes whole */
	long steps;                      /* for the table's own counting */
	struct buffer rest;              /* of its output: a line that has not ended */
	struct buffer errors;            /* the end of its stderr */
	struct buffer errors_rest;       /* of it: a line that has not ended, for take_error() */
	struct buffer complaint;         /* the last error that need not be the end; a text */
	struct buffer total;             /* JSON; see cli_total() */
	char *version;                   /* that the CLI says it is; NULL: it does not */
	size_t noise;                    /* lines that are no JSON */
	char noise_sample[128];          /* the first of them */

	struct error strange_end;        /* how the answer ended, if that is no good end; it may
	                                    not have been the last */
	bool failed;
	bool silent;                     /* it failed before it said anything: it may be too old */
	bool hopeless;                   /* it is not waited for any more */
	struct failure failure; /* why, if failed */
};

int cli_main(const struct cli *cli, int argc, char **argv);

/* For start(). Arguments come in the order of the calls; the command is the first. */
void cli_arguments(struct cli_run *r, const char *const *arguments); /* ends with NULL */
void cli_argument(struct cli_run *r, const char *option, const char *value); /* both */
/* The model's name after an option, unless it is "default". */
void cli_model(struct cli_run *r, const char *option);
/* An effort of thinking after an option; false: the value is another. */
bool cli_effort(struct cli_run *r, const char *option, struct span value);
void cli_environment_number(struct cli_run *r, const char *name, long long value);
/* The system prompt, in memory of its own; NULL if there is none. */
char *cli_system(const struct cli_run *r);
/* Puts a text before the prompt, for CLIs that have no other place for it. */
void cli_before_prompt(struct cli_run *r, const char *text);
/* A directory of its own that ends with the request. NULL: it cannot be made, the run has failed. */
const char *cli_directory(struct cli_run *r);
/* A file with this text in a directory of its own that ends with the request; its path,
 * the run's. NULL: it cannot be made, the run has failed. */
const char *cli_file(struct cli_run *r, const char *name, const char *text);
/* Whether the request allows one of the CLI's tools, by our name; NULL: any of them. */
bool cli_allows(const struct cli_run *r, const char *ours);
/* The category of a failure that the CLI did not tell itself: `cut_off`, which is not asked
 * again, where it may have been in the middle of changing something. */
enum error_code cli_cut_off(const struct cli_run *r, enum error_code code);
/* The CLI's names of the tools that the request allows, in memory of its own; "" if
 * there are none. */
char *cli_allowed(const struct cli_run *r, const char *separator);

/* Tools of ours, those of the request that the CLI does not bring (cli_tools.c). Whether there is
 * one of this name; NULL: any. */
bool cli_serves(const struct cli_run *r, const char *name);
/* The CLI's names of them, in memory of its own; "" if there are none. */
char *cli_served(const struct cli_run *r, const char *separator);
/* The MCP server that offers them: its program, and its environment, as an object, or as a part of
 * the CLI's own. NULL, and nothing: it cannot be, the run has failed. */
const char *cli_server_program(struct cli_run *r);
void cli_write_server(struct cli_run *r, struct writer *w, const char *environment_key);
void cli_server_environment(struct cli_run *r);
/* The same as a file, {"mcpServers":{"awf":{"command":…}}}, with further members of the server
 * (",\"key\":…"): its path, or NULL, as cli_file(). */
const char *cli_server_file(struct cli_run *r, const char *name, const char *members);

/* The first of these names that is in the directory of the step or above it, but not in the user's
 * home or above that; in memory of its own, or NULL. */
char *cli_project_file(const char *const *names);

/* For lines. Blocks come in the order of the calls; the session's id goes into the message. */
void cli_text(struct cli_run *r, struct span text);      /* a whole text */
void cli_thinking(struct cli_run *r, struct span text, struct span signature);
void cli_piece(struct cli_run *r, struct span text);     /* goes on with the text before */
/* What will come whole later, for whoever looks on. */
void cli_preview(struct cli_run *r, const char *kind, struct span text);
/* A call that the CLI runs; again: nothing. theirs is its own name of the tool; type,
 * of what tells of it. */
void cli_call(struct cli_run *r, const char *type, struct span id, const char *theirs,
    struct span input);
/* The result of a call; of one that is not open: nothing. code ERROR_NONE: it succeeded. */
void cli_result(struct cli_run *r, const char *type, struct span id, struct span output,
    enum error_code code);
/* The usage of a CLI that counts from the session's beginning: what came since the answer
 * before, whose total goes along with the session's id. Where that is not known, neither
 * is the usage. */
void cli_total(struct cli_run *r, const struct usage *total);
/* Whether a version, which may be NULL, is this one, "2.1.299", or a later one. */
bool cli_reaches(const char *version, const char *least);
/* The answer has ended for a reason, a word of the CLI's; with one that its table has not,
 * or calls an error, there is no answer, unless the CLI goes on by itself. */
void cli_ended(struct cli_run *r, const struct end *ends, struct span word);
/* The answer is an error: with a message from the CLI (JSON: an object or a text), and
 * with the HTTP status that it told, 0 if none. What is said first counts. */
void cli_fail(struct cli_run *r, long status, struct span message);
/* The same with a category that is known. */
void cli_fail_as(struct cli_run *r, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Keeps what may, or may not, be why there will be no answer. */
void cli_complain(struct cli_run *r, struct span message);
/* The answer is an error: what was complained of last, with a status as in cli_fail().
 * Without a complaint, nothing. */
void cli_fail_complaint(struct cli_run *r, long status);
/* The CLI tries again by itself after its try of this number (1, 2 …) failed: with the HTTP status
 * that it told, 0 if none, and why. What no try helps against ends the answer with the second. */
void cli_tries_again(struct cli_run *r, long tried, long status, const char *why);
/* The category that telling words of a message mean; ERROR_NONE if there are none. */
enum error_code cli_category(const char *message);

/* The parts of a run, for cli.c and tests. cli_begin() reads the request and fails where
 * it cannot be done; cli_feed() takes output as it comes; cli_end() says how the process
 * ended (as shells count) and makes of the run what it is: failed, or a whole message. */
void cli_begin(struct cli_run *r, const struct cli *cli, struct provider *p,
    const struct provider_request *request);
void cli_feed(struct cli_run *r, const char *bytes, size_t len);
void cli_feed_errors(struct cli_run *r, const char *bytes, size_t len); /* of its stderr */
void cli_end(struct cli_run *r, int exit_code);
void cli_free(struct cli_run *r);
/* Reads what is to be said: prompt, session, tools, params. */
void cli_read_request(struct cli_run *r);
/* Makes argv, environment and files, which last until cli_clear(), called either way; the run may
 * have failed then. */
void cli_prepare(struct cli_run *r);
void cli_clear(struct cli_run *r);
/* The server, for cli_process.c: what is polled (how many), what came of that, the results that
 * awf-step has told, and its end. */
#define CLI_TOOL_FDS (1 + CONNECTION_TOOLS_MOST * PEER_FDS)
size_t cli_tools_poll(const struct cli_run *r, struct pollfd fds[CLI_TOOL_FDS]);
/* When a connection has to have shown the secret, monotonic ms; 0: none is waited for. */
int64_t cli_tools_deadline(const struct cli_run *r);
void cli_tools_serve(struct cli_run *r, const struct pollfd fds[CLI_TOOL_FDS]);
void cli_tools_results(struct cli_run *r);
void cli_tools_close(struct cli_run *r);
/* What the program says that its version is, "2.1.299", in memory of its own; NULL: nothing of the
 * kind. Waits at most CLI_VERSION_MS. */
char *cli_version(const struct cli *cli);
/* Runs the CLI to its end; feeds and ends the run. */
void cli_process(struct cli_run *r);

#endif
