/*
 * awf-models-proxy: a proxy between a program and model APIs for awf-step --models. It speaks HTTP
 * on loopback with the program, HTTP or HTTPS with the APIs, and exchanges lines with awf-step on
 * stdin and stdout (awf-models-proxy(1)). The first line says who may connect, and where the APIs
 * are: so no argument or environment variable contains a key. When stdin ends, running requests are
 * ended, and the program exits.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../program.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "io/file.h"
#include "isolate/loopback.h"
#include "json/writer.h"
#include "proxy.h"
#include "system/descriptor.h"
#include "system/self.h"

#define PROGRAM "awf-models-proxy"
static const char usage[] = PROGRAM " <lines >lines\n";
#define LOOK_MS 60000

/* How many descriptors are needed: two for each connection of the program (that connection, and
 * one to an API), and 32 for everything else. */
static const struct open_files client_files = { .each = 2, .beside = 32 };

static const struct option_spec none[] = { { OPTION_END, 0, NULL, NULL, NULL } };

/* Reads the first line from awf-step: the token with which the program must identify itself, and the
 * address and keys of each API. If the program runs in a sandbox, the line also has the descriptor
 * ("borrow") over which the sandbox will send its listening socket, and the port of that socket. */
static int
read_settings(struct proxy *p, struct error *err)
{
	struct span said, families;
	long long fd = -1, port = 0;
	const char *line;
	size_t len, bad;
	int got = line_input_next(&p->in, &line, &len, err);

	if (got == -1)
		return -1;
	said = got == 1 ? span_of(line, len) : SPAN_NONE;
	if (got == 0 || scan_check(line, len, &bad) != NULL ||
	    span_type(span_member(said, "token")) != 's')
		return error_set(err, ERROR_USAGE, "stdin", "does not begin with a line that has a token");
	p->token = span_text(span_member(said, "token"));
	model_token_within(p->token, p->within);
	p->passes = span_true(span_member(said, "within"));
	p->tells_text = span_true(span_member(said, "text"));
	families = span_member(said, "apis");
	for (int i = 0; i < FAMILIES; i++) {
		struct span api = span_member(families, family_names[i]);

		p->bases[i] = span_text(span_member(api, "base"));
		p->keys[i] = span_text(span_member(api, "key"));
		p->headers[i] = span_member(api, "headers").at == NULL ? NULL :
		    memory_zero(1, sizeof *p->headers[i]);
		for (struct span_walk one = span_walk(span_member(api, "headers")); span_next(&one);)
			list_take(&p->headers[i], span_text(one.value));
		if (p->keys[i] != NULL)
			list_add(&p->secrets[i], p->keys[i]);
		for (struct span_walk one = span_walk(span_member(api, "secrets")); span_next(&one);)
			list_take(&p->secrets[i], span_text(one.value));
		if (p->bases[i] == NULL)
			p->bases[i] = memory_text(family_bases[i]);
	}
	span_integer(span_member(said, "borrow"), &fd);
	span_integer(span_member(said, "port"), &port);
	p->borrow = (int)fd;
	p->port = (int)port;
	if (p->borrow != -1)
		fcntl(p->borrow, F_SETFD, FD_CLOEXEC);
	return 0;
}

/* Listens on loopback, on a port that the system chooses. If the program runs in a sandbox, nothing
 * is done here: models_proxy_replace_listener() gets the listening socket from the sandbox. */
static int
begin_listening(struct proxy *p, struct error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof address;
	int fd;

	if (p->borrow != -1)
		return 0;
	fd = descriptor_socket(AF_INET, SOCK_STREAM);
	if (fd == -1 || descriptor_unblock(fd) != 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(fd, SOMAXCONN) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
		error_errno(err, ERROR_SYSTEM, "127.0.0.1", "unable to listen");
		file_close(&fd);
		return -1;
	}
	p->port = ntohs(address.sin_port);
	return httpd_listener_add(&p->listener, &p->httpd, fd, err);
}

/* Gets the listening socket that a sandbox has sent, if there is one. Each try of the call runs in a
 * new sandbox, whose socket replaces that of the try before. */
static int
models_proxy_replace_listener(struct proxy *p, struct error *err)
{
	int fd = loopback_borrow(p->borrow);

	if (fd > 0) {
		httpd_listener_remove(&p->listener);
		fcntl(fd, F_SETFL, O_NONBLOCK);
		return httpd_listener_add(&p->listener, &p->httpd, fd, err);
	}
	if (fd == 0 || (errno != EAGAIN && errno != EINTR)) {
		file_close(&p->borrow);
	}
	return 0;
}

static void
models_proxy_end_transfers(struct proxy *p)
{
	CURLMsg *message;
	int more;

	while ((message = curl_multi_info_read(p->multi, &more)) != NULL) {
		struct exchange *e = NULL;
		CURLcode result = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&e);
		exchange_transferred(e, result);
	}
}

/* Waits for any descriptor. */
static int
wait_for_any(struct proxy *p, struct error *err)
{
	struct curl_waitfd fds[] = {
		{ .fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN },
		{ .fd = p->loop.epoll, .events = CURL_WAIT_POLLIN },
		{ .fd = p->borrow, .events = CURL_WAIT_POLLIN }
	};
	const unsigned count = p->borrow != -1 ? 3 : 2;

	return curl_multi_poll(p->multi, fds, count, (int)loop_wait(&p->loop, LOOK_MS), NULL) ==
	    CURLM_OK ? 0 : error_set(err, ERROR_SYSTEM, NULL, "libcurl failed");
}

/* Serves until awf-step closes its end. */
static int
models_proxy_serve_until_closed(struct proxy *p, struct error *err)
{
	const char *line;
	size_t len, bad;
	ssize_t got = 1;
	int running;

	while (got != 0) {
		if (wait_for_any(p, err) == -1 || loop_round(&p->loop, 0, err) == -1)
			return -1;
		got = line_input_read(&p->in);
		if (got == -1 && (errno == EAGAIN || errno == EINTR))
			got = 1;
		else if (got == -1)
			return error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
		while (line_input_take(&p->in, &line, &len) == 1)
			if (scan_check(line, len, &bad) == NULL)
				exchange_told(p, span_of(line, len));
		if (p->borrow != -1 && models_proxy_replace_listener(p, err) == -1)
			return -1;
		if (curl_multi_perform(p->multi, &running) != CURLM_OK)
			return error_set(err, ERROR_SYSTEM, NULL, "libcurl failed");
		models_proxy_end_transfers(p);
	}
	exchanges_end(p);
	return 0;
}

static int
models_proxy_open_and_serve(struct proxy *p, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;
	int result = -1;

	p->httpd = (struct httpd){ .loop = &p->loop, .handler = &client_handler,
		.limits = connection_limits_of(CONNECTION_MODELS) };
	connection_limits_fit(&p->httpd.limits, &client_files);
	line_input_begin(&p->in, STDIN_FILENO, "stdin");
	if (loop_open(&p->loop, err) == 0 && read_settings(p, err) == 0 &&
	    begin_listening(p, err) == 0) {
		writer_begin(&w, &line);
		writer_object(&w);
		writer_member_integer(&w, "port", p->port);
		writer_object_end(&w);
		proxy_say(&line);
		fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
		result = models_proxy_serve_until_closed(p, err);
	}
	p->ended = true;
	httpd_listener_remove(&p->listener);
	httpd_close(&p->httpd);
	loop_close(&p->loop);
	file_close(&p->borrow);
	line_input_free(&p->in);
	free(p->token);
	for (int i = 0; i < FAMILIES; i++) {
		free(p->bases[i]);
		free(p->keys[i]);
		list_free(p->secrets[i]);
		list_free(p->headers[i]);
	}
	return result;
}

int
main(int argc, char **argv)
{
	struct proxy p = { .loop.epoll = -1, .borrow = -1 };
	struct error err = ERROR_INIT;
	struct options o;
	int id, status = STATUS_OK;

	program_begin();
	/* Its memory contains the keys and must not be readable. */
	self_seal_memory();
	options_begin(&o, none, argc, argv);
	id = options_next(&o, &err);
	if (OPTION_ASKS(id)) {
		if (id == OPTION_VERSION)
			return program_end(PROGRAM, program_version(PROGRAM));
		options_help(stdout, usage, none, id);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id == OPTION_WORD)
		error_set(&err, ERROR_USAGE, o.value, "unexpected argument");
	if (id != OPTION_END)
		return program_fail(PROGRAM, &err);
	signal(SIGPIPE, SIG_IGN);
	/* A signal from the terminal ends the program; this process has to live on until it has told
	 * awf-step the results. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		p.multi = curl_multi_init();
	if (p.multi == NULL) {
		error_set(&err, ERROR_SYSTEM, NULL, "unable to start libcurl");
		return program_fail(PROGRAM, &err);
	}
	p.authorities = handle_authorities();
	if (models_proxy_open_and_serve(&p, &err) == -1)
		status = program_fail(PROGRAM, &err);
	curl_multi_cleanup(p.multi);
	curl_global_cleanup();
	return program_end(PROGRAM, status);
}
