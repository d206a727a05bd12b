/*
 * awf-tool-read: shows lines of a text file with their numbers. It reads no more of the
 * file than it shows, so that a large one costs no more than its beginning. An image or a PDF
 * file goes to the model as such: the answer is a list of content blocks then (formats/content.h).
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/media_type.h"
#include "base/text.h"
#include "builtin.h"
#include "json/writer.h"

#define LINE_LIMIT ((size_t)2000)        /* bytes shown of a line */
#define PAGE_LIMIT ((size_t)256 << 10)   /* bytes shown of a file */
#define LINES_LIMIT 2000                 /* unless more are asked for */
#define NUMBER_LIMIT 1000000000000LL
#define SAMPLE ((size_t)8 << 10)
#define FILE_LIMIT ((size_t)10 << 20)    /* bytes of an image or a document */

struct page {
	const char *path;
	long long offset, limit; /* lines, counted from 1 */
	FILE *file;
	long long line;          /* the last that was read */
	struct buffer text;      /* of it, without its end */
	long long cut;           /* bytes of it that are not in text */
};

/* Whether there is another line. */
static bool
read_next_line(struct page *p)
{
	int byte = getc_unlocked(p->file);

	buffer_clear(&p->text);
	p->cut = 0;
	if (byte == EOF)
		return false;
	p->line++;
	for (; byte != EOF && byte != '\n'; byte = getc_unlocked(p->file))
		if (p->text.len <= LINE_LIMIT)
			buffer_byte(&p->text, (char)byte);
		else
			p->cut++;
	if (p->cut == 0 && p->text.len > 0 && p->text.data[p->text.len - 1] == '\r')
		p->text.len--;
	return true;
}

/* Shows what is asked for, and says what is not shown. */
static int
read_show_page(struct page *p, struct builtin *b, struct error *err)
{
	struct buffer *answer = &b->answer;
	bool more;

	while ((more = read_next_line(p)) && p->line < p->offset + p->limit &&
	    answer->len + p->text.len <= PAGE_LIMIT) {
		size_t len = p->text.len;
		long long cut = p->cut;

		if (p->line < p->offset)
			continue;
		if (len > LINE_LIMIT) {
			len = utf8_whole(p->text.data, LINE_LIMIT);
			cut += (long long)(p->text.len - len);
		}
		buffer_format(answer, "%6lld\t", p->line);
		buffer_append(answer, p->text.data, len);
		if (cut > 0)
			buffer_format(answer, " [%lld more bytes in this line]", cut);
		buffer_byte(answer, '\n');
	}
	if (ferror(p->file))
		return builtin_errno(p->path, false, err);
	if (more)
		builtin_remark(b, "there are more lines; go on with offset %lld", p->line);
	else if (p->line == 0)
		builtin_remark(b, "the file is empty");
	else if (p->line < p->offset)
		return error_set(err, ERROR_INVALID_INPUT, p->path,
		    "there is no line %lld, the file has %lld", p->offset, p->line);
	return 0;
}

/* A file that models take as it is. */
static int
show_file(const char *path, const char *media_type, struct builtin *b, struct error *err)
{
	bool image = strncmp(media_type, "image/", 6) == 0;
	struct buffer bytes = BUFFER_INIT, *answer = &b->answer;

	if (builtin_load(path, FILE_LIMIT, &bytes, err) != 0)
		return -1;
	b->json = true;
	if (image) {
		buffer_format(answer, "[{\"type\":\"image\",\"mimeType\":\"%s\",\"data\":\"", media_type);
	} else {
		buffer_text(answer, "[{\"type\":\"resource\",\"resource\":{\"uri\":");
		json_quote(answer, path, strlen(path));
		buffer_format(answer, ",\"mimeType\":\"%s\",\"blob\":\"", media_type);
	}
	base64_encode(buffer_string(&bytes), bytes.len, answer);
	buffer_text(answer, image ? "\"}]" : "\"}}]");
	buffer_free(&bytes);
	return 0;
}

static int
read_tool_run(struct builtin *b, struct error *err)
{
	struct page p = { .offset = 1, .limit = LINES_LIMIT };
	const struct argument arguments[] = {
		{ "file_path", &p.path, ARGUMENT_NAME, .required = true },
		{ "offset", &p.offset, ARGUMENT_NUMBER, .min = 1, .max = NUMBER_LIMIT },
		{ "limit", &p.limit, ARGUMENT_NUMBER, .min = 1, .max = NUMBER_LIMIT },
		{ .name = NULL }
	};
	char sample[SAMPLE];
	ssize_t len;
	int fd, failed;

	if (builtin_arguments(b, arguments, err) != 0 || (fd = builtin_open(p.path, err)) == -1)
		return -1;
	len = pread(fd, sample, sizeof sample, 0);
	if (len >= 0 && media_type_of(sample, (size_t)len) != NULL) {
		close(fd);
		return show_file(p.path, media_type_of(sample, (size_t)len), b, err);
	}
	if (len >= 0 && builtin_binary(sample, (size_t)len)) {
		close(fd);
		return error_set(err, ERROR_INVALID_INPUT, p.path,
		    "this is a binary file, which cannot be shown as text");
	}
	if (len < 0 || (p.file = fdopen(fd, "r")) == NULL) {
		builtin_errno(p.path, false, err);
		close(fd);
		return -1;
	}
	failed = read_show_page(&p, b, err);
	fclose(p.file);
	buffer_free(&p.text);
	return failed;
}

int
main(int argc, char **argv)
{
	return builtin_main("read", read_tool_run, argc, argv);
}
