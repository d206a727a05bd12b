/* curl for tests: requests to servers on this machine, or the curl found next in PATH.
 *
 * curl takes 7 ms to link its libraries at each start, which tests would spend by the thousand.
 * What they ask is mostly plain: a request over HTTP to a Unix socket or an address, with headers and
 * a body, whose answer goes to stdout or into a file as it comes. All else is curl's: whoever gives an
 * option, an address or a form of one that does not stand here.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BODY_MOST (1 << 20) /* with more curl asks the server first (Expect) */
#define HEADERS_MOST 32

/* curl's exit statuses. */
enum { OK = 0, NO_CONNECTION = 7, PARTIAL = 18, WRITE_ERROR = 23, TIMED_OUT = 28, EMPTY = 52,
	RECEIVE_ERROR = 56 };

static struct {
	bool silent, tells, has_body, from_stdin;
	double seconds; /* 0: any number */
	const char *socket, *out, *head_out, *format, *method, *url, *headers[HEADERS_MOST];
	size_t header_count;
	char body[BODY_MOST];
	size_t body_len;
} asked;

static struct { int fd; char bytes[16384]; size_t at, len; } in;
static int64_t until_ms;
static int status;      /* of the answer */
static FILE *out;

/* Becomes the first curl of PATH that is not this program. */
static _Noreturn void become_curl(char **argv)
{
	const char *path = getenv("PATH");
	char own[4096], file[4096], *found;
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);

	own[length < 0 ? 0 : length] = '\0';
	while (path != NULL && *path != '\0') {
		size_t end = strcspn(path, ":");

		snprintf(file, sizeof file, "%.*s/curl", (int)end, path);
		found = realpath(file, NULL);
		if (found != NULL && strcmp(found, own) != 0 && access(found, X_OK) == 0)
			execv(file, argv);
		free(found);
		path += path[end] == ':' ? end + 1 : end;
	}
	fprintf(stderr, "curl: there is no curl in PATH\n");
	exit(127);
}

/* The body is a text, or (-) comes from stdin, or from a file: false if it is too long. */
static bool take_body(const char *word, bool may_be_file)
{
	FILE *file;

	if (asked.has_body)
		return false;
	asked.has_body = true;
	if (word[0] != '@') {
		asked.body_len = strlen(word);
		if (asked.body_len < BODY_MOST)
			memcpy(asked.body, word, asked.body_len);
		return asked.body_len < BODY_MOST;
	}
	if (strcmp(word, "@-") == 0)
		asked.from_stdin = may_be_file;
	else if (may_be_file && (file = fopen(word + 1, "r")) != NULL)
		asked.body_len = fread(asked.body, 1, BODY_MOST, file);
	else
		return false;
	return may_be_file && asked.body_len < BODY_MOST;
}

/* Reads the body from stdin. If it is too long, curl finds there what was read of it, and the rest. */
static bool read_body(void)
{
	FILE *kept;

	asked.body_len = fread(asked.body, 1, BODY_MOST, stdin);
	if (asked.body_len < BODY_MOST)
		return true;
	kept = tmpfile();
	for (size_t n = asked.body_len; n > 0; n = fread(asked.body, 1, BODY_MOST, stdin))
		if (kept == NULL || fwrite(asked.body, 1, n, kept) != n)
			exit(WRITE_ERROR);
	if (fflush(kept) != 0 || lseek(fileno(kept), 0, SEEK_SET) != 0 || dup2(fileno(kept), 0) != 0)
		exit(WRITE_ERROR);
	return false;
}

/* Whether a header is one that this program writes itself, or would have to understand. */
static bool is_own(const char *header)
{
	static const char *const names[] = { "Host:", "User-Agent:", "Accept:", "Content-Length:",
		"Transfer-Encoding:", "Expect:", "Connection:", NULL };

	for (const char *const *name = names; *name != NULL; name++)
		if (strncasecmp(header, *name, strlen(*name)) == 0)
			return true;
	return false;
}

/* Takes the words of the command line; false: there is one that only curl knows. */
static bool take_words(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (word[0] != '-') {
			if (asked.url != NULL)
				return false;
			asked.url = word;
			continue;
		}
		if (word[1] != '-' && word[1 + strspn(word + 1, "sSN")] == '\0') {
			asked.silent = asked.silent || strchr(word, 's') != NULL;
			asked.tells = asked.tells || strchr(word, 'S') != NULL;
			continue;
		}
		if (value == NULL)
			return false;
		i++;
		if (strcmp(word, "--max-time") == 0 || strcmp(word, "-m") == 0) {
			asked.seconds = atof(value);
		} else if (strcmp(word, "--unix-socket") == 0) {
			asked.socket = value;
		} else if (strcmp(word, "-o") == 0) {
			asked.out = value;
		} else if (strcmp(word, "-D") == 0 && value[0] != '-' && value[0] != '/') {
			asked.head_out = value;
		} else if (strcmp(word, "-X") == 0) {
			asked.method = value;
		} else if (strcmp(word, "-w") == 0) {
			asked.format = value;
		} else if (strcmp(word, "-H") == 0) {
			const char *colon = strchr(value, ':');

			if (colon == NULL || colon[1] == '\0' || value[0] == '@' || is_own(value) ||
			    asked.header_count == HEADERS_MOST)
				return false;
			asked.headers[asked.header_count++] = value;
		} else if (strcmp(word, "-d") == 0 || strcmp(word, "--data-binary") == 0) {
			if (!take_body(value, word[1] == '-'))
				return false;
		} else {
			return false;
		}
	}
	/* Only its own form of a failure is told to nobody, and no part of a format but this one. */
	return asked.silent && asked.url != NULL && (asked.format == NULL ||
	    strcmp(asked.format, "%{http_code}") == 0 || strcmp(asked.format, "\\n%{http_code}") == 0 ||
	    strcmp(asked.format, "\\n%{http_code}\\n") == 0 || strcmp(asked.format, "%{http_code}\\n") == 0);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Ends as curl does. */
static _Noreturn void end(int code, const char *why)
{
	if (out != NULL && fflush(out) != 0 && code == OK)
		code = WRITE_ERROR;
	if (asked.format != NULL) {
		size_t len = strlen(asked.format);

		printf("%s%03d%s", asked.format[0] == '\\' ? "\n" : "", status,
		    asked.format[len - 1] == 'n' ? "\n" : "");
		fflush(stdout);
	}
	if (code != OK && asked.tells)
		fprintf(stderr, "curl: (%d) %s\n", code, why);
	exit(code);
}

static void wait_for(short events)
{
	struct pollfd p = { .fd = in.fd, .events = events };
	int64_t left = until_ms == 0 ? -1 : until_ms - now_ms();

	if (until_ms != 0 && left <= 0)
		end(TIMED_OUT, "Operation timed out");
	if (poll(&p, 1, (int)left) == 0)
		end(TIMED_OUT, "Operation timed out");
}

/* Host and port of the URL, and its path; false: it has another form. */
static bool take_url(char host[80], unsigned *port, const char **path)
{
	const char *at = asked.url;
	char extra;
	size_t len;

	if (strncmp(at, "http://", 7) != 0)
		return false;
	at += 7;
	len = strcspn(at, "/?#");
	if (len == 0 || len >= 64 || at[len] == '?' || strpbrk(at, "#[]{}\\ \"") != NULL ||
	    memchr(at, '@', len) != NULL)
		return false;
	memcpy(host, at, len);
	host[len] = '\0';
	*path = at[len] == '/' ? at + len : "/";
	*port = 80;
	if (strchr(host, ':') != NULL && sscanf(strchr(host, ':'), ":%u%c", port, &extra) != 1)
		return false;
	/* What curl makes of dots is its. */
	return strstr(*path, "/.") == NULL && (asked.socket != NULL || strncmp(host, "127.0.0.1:", 10) == 0);
}

static void connect_to(unsigned port)
{
	int connected;

	if (asked.socket != NULL) {
		struct sockaddr_un a = { .sun_family = AF_UNIX };

		snprintf(a.sun_path, sizeof a.sun_path, "%s", asked.socket);
		in.fd = socket(AF_UNIX, SOCK_STREAM, 0);
		connected = connect(in.fd, (struct sockaddr *)&a, sizeof a);
	} else {
		struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

		in.fd = socket(AF_INET, SOCK_STREAM, 0);
		connected = connect(in.fd, (struct sockaddr *)&a, sizeof a);
	}
	if (connected != 0)
		end(NO_CONNECTION, "Failed to connect");
	fcntl(in.fd, F_SETFL, O_NONBLOCK);
}

/* Sends what it can: a server may answer before it has read all. */
static void send_request(const char *host, const char *path)
{
	static char text[BODY_MOST + 32768];
	size_t len, sent = 0;
	bool typed = false;
	ssize_t n;

	len = (size_t)snprintf(text, 8192, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: curl\r\nAccept: */*\r\n",
	    asked.method != NULL ? asked.method : asked.has_body ? "POST" : "GET", path, host);
	for (size_t i = 0; i < asked.header_count; i++) {
		len += (size_t)snprintf(text + len, 700, "%s\r\n", asked.headers[i]);
		typed = typed || strncasecmp(asked.headers[i], "Content-Type:", 13) == 0;
	}
	if (asked.has_body)
		len += (size_t)snprintf(text + len, 128, "Content-Length: %zu\r\n%s", asked.body_len,
		    typed ? "" : "Content-Type: application/x-www-form-urlencoded\r\n");
	len += (size_t)snprintf(text + len, 8, "\r\n");
	memcpy(text + len, asked.body, asked.body_len);
	len += asked.body_len;
	while (sent < len) {
		n = send(in.fd, text + sent, len - sent, MSG_NOSIGNAL);
		if (n > 0)
			sent += (size_t)n;
		else if (errno != EAGAIN)
			return;
		else
			wait_for(POLLOUT);
	}
}

/* Reads some more: false at the end. */
static bool fill(void)
{
	ssize_t n;

	while ((n = recv(in.fd, in.bytes, sizeof in.bytes, 0)) == -1 &&
	    (errno == EAGAIN || errno == EINTR)) {
		if (out != NULL && fflush(out) != 0)
			end(WRITE_ERROR, "Failed writing body");
		wait_for(POLLIN);
	}
	if (n < 0)
		end(RECEIVE_ERROR, "Recv failure");
	in.at = 0;
	in.len = (size_t)n;
	return n > 0;
}

/* A line, with its LF; false: the connection ended before. */
static bool read_line(char *line, size_t size)
{
	size_t len = 0;

	for (;;) {
		if (in.at == in.len && !fill())
			return false;
		if (len + 2 > size)
			end(RECEIVE_ERROR, "a line of the answer is too long");
		line[len++] = in.bytes[in.at++];
		if (line[len - 1] == '\n') {
			line[len] = '\0';
			return true;
		}
	}
}

/* Writes so many bytes of the answer, or all that come (-1): false if it ended before. */
static bool pass(int64_t count)
{
	while (count != 0) {
		size_t some;

		if (in.at == in.len && !fill())
			return count < 0;
		some = in.len - in.at;
		if (count > 0 && (uint64_t)count < some)
			some = (size_t)count;
		if (fwrite(in.bytes + in.at, 1, some, out) != some)
			end(WRITE_ERROR, "Failed writing body");
		in.at += some;
		count -= count > 0 ? (int64_t)some : 0;
	}
	return true;
}

int main(int argc, char **argv)
{
	char host[80], line[16384];
	const char *path = "/";
	unsigned port = 0;
	int64_t length = -1;
	bool chunked = false, whole = true;
	FILE *head = NULL;

	if (!take_words(argc, argv) || !take_url(host, &port, &path))
		become_curl(argv);
	for (size_t i = 0; i < asked.header_count; i++)
		if (strlen(asked.headers[i]) > 600)
			become_curl(argv);
	if (strlen(path) > 4000 || getenv("http_proxy") != NULL ||
	    (asked.socket != NULL && strlen(asked.socket) >= sizeof ((struct sockaddr_un){ 0 }).sun_path))
		become_curl(argv);
	if (asked.from_stdin && !read_body())
		become_curl(argv);
	signal(SIGPIPE, SIG_IGN);
	if (asked.seconds > 0)
		until_ms = now_ms() + (int64_t)(asked.seconds * 1000);
	connect_to(port);
	send_request(host, path);
	out = asked.out == NULL ? stdout : NULL;
	do {
		length = -1;
		chunked = false;
		if (!read_line(line, sizeof line))
			end(EMPTY, "Empty reply from server");
		if (sscanf(line, "HTTP/1.%*d %d", &status) != 1)
			end(1, "Received HTTP/0.9 when not allowed");
		if (asked.head_out != NULL && head == NULL && (head = fopen(asked.head_out, "w")) == NULL)
			end(WRITE_ERROR, "Failed writing header");
		do {
			if (head != NULL)
				fputs(line, head);
			if (strncasecmp(line, "Content-Length:", 15) == 0)
				length = strtoll(line + 15, NULL, 10);
			else if (strncasecmp(line, "Transfer-Encoding: chunked", 26) == 0)
				chunked = true;
		} while (line[0] != '\r' && read_line(line, sizeof line));
		if (line[0] != '\r')
			end(PARTIAL, "the head of the answer was cut off");
	} while (status / 100 == 1);
	if (head != NULL)
		fclose(head);
	if (out == NULL && (out = fopen(asked.out, "w")) == NULL)
		end(WRITE_ERROR, "Failed to open the file");
	if (status == 204 || status == 304 || (asked.method != NULL && strcmp(asked.method, "HEAD") == 0))
		end(OK, "");
	while (chunked && whole) {
		length = read_line(line, sizeof line) ? strtoll(line, NULL, 16) : -1;
		whole = length >= 0 && pass(length) && read_line(line, sizeof line);
		if (length == 0)
			end(whole ? OK : PARTIAL, "the answer was cut off");
	}
	if (!chunked)
		whole = pass(length);
	end(whole ? OK : PARTIAL, "transfer closed with outstanding read data remaining");
}
