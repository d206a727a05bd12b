/* A line of the file of keys is never in a message, and its bytes are wiped after use. Nothing here reads
 * JSON: every program links this part. */
#include "proc/api_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/utils.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "proc/environment.h"

#define KEYS_LIMIT ((size_t)1 << 20)

/* Those of the endpoints that come with AWF (share/endpoints) which are for nothing but models. What
 * is for other things too, such as GITHUB_TOKEN, is kept from programs only where it is used. */
static const char *const shipped[] = { "ANTHROPIC_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_OPENAI_API_KEY", "CEREBRAS_API_KEY", "CLOUDFLARE_AI_GATEWAY_TOKEN", "COHERE_API_KEY",
    "CO_API_KEY", "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY", "FIREWORKS_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY",
    "HELICONE_API_KEY", "KIMI_API_KEY", "LITELLM_API_KEY", "LLAMA_API_KEY", "LM_API_TOKEN",
    "MINIMAX_API_KEY", "MISTRAL_API_KEY", "MOONSHOT_API_KEY", "NVIDIA_API_KEY", "OLLAMA_API_KEY",
    "OPENAI_API_KEY", "OPENROUTER_API_KEY", "PERPLEXITY_API_KEY", "PORTKEY_API_KEY",
    "SAMBANOVA_API_KEY", "TOGETHER_API_KEY", "VLLM_API_KEY", "XAI_API_KEY", "ZAI_API_KEY", NULL };

/* ---- the file ---- */

/* Parses all lines. A message never contains a line: it may be a key. */
static int
keys_parse(struct keys *k, struct buffer *text, const char *path, struct error *err)
{
	static const char blank[] = " \t\r";
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	char *line = text->data, *end, place[256];

	if (strlen(buffer_string(text)) != text->len)
		return error_set(err, ERROR_DEFINITION, path, "contains a NUL byte");
	if (line != NULL)
		line += text_byte_order_mark(line, text->len);
	for (int number = 1; line != NULL; number++, line = end) {
		size_t len, name;

		end = strchr(line, '\n');
		if (end != NULL)
			*end++ = '\0';
		line += strspn(line, blank);
		for (len = strlen(line); len > 0 && strchr(blank, line[len - 1]) != NULL; len--)
			line[len - 1] = '\0';
		if (line[0] == '\0' || line[0] == '#')
			continue;
		name = strspn(line, letters);
		if (name == 0 || line[name] != '=' || (line[0] >= '0' && line[0] <= '9')) {
			snprintf(place, sizeof place, "%s:%d", path, number);
			return error_set(err, ERROR_DEFINITION, place,
			    "is not NAME=VALUE; comments begin with #");
		}
		k->names = memory_array(k->names, k->count + 1, sizeof *k->names);
		k->values = memory_array(k->values, k->count + 1, sizeof *k->values);
		k->names[k->count] = memory_copy(line, name);
		k->values[k->count++] = memory_text(line + name + 1);
	}
	return 0;
}

int
keys_load(struct keys *k, struct error *err)
{
	char *path = path_config("keys");
	struct buffer text = BUFFER_INIT;
	struct stat st;
	int fd, status = 0;

	*k = (struct keys){ NULL, NULL, 0 };
	if (path == NULL)
		return 0;
	/* O_NONBLOCK: a FIFO in its place must not block the program. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1) {
		if (errno != ENOENT && errno != ENOTDIR)
			status = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	} else {
		if (fstat(fd, &st) == -1)
			status = error_errno(err, ERROR_SYSTEM, path, "unable to read");
		else if (!S_ISREG(st.st_mode))
			status = error_set(err, ERROR_SYSTEM, path, "is no regular file");
		else if (file_check_private(fd, path, err) == -1)
			status = -1;
		else if (file_read(fd, &text, KEYS_LIMIT) == -1)
			status = error_errno(err, ERROR_SYSTEM, path, "unable to read");
		else
			status = keys_parse(k, &text, path, err);
		if (text.data != NULL)
			sodium_memzero(text.data, text.len);
		buffer_free(&text);
		close(fd);
	}
	free(path);
	if (status == -1)
		keys_free(k);
	return status;
}

const char *
keys_value(const struct keys *k, const char *name)
{
	const char *value = getenv(name);

	for (size_t i = 0; k != NULL && value == NULL && i < k->count; i++)
		if (strcmp(k->names[i], name) == 0)
			value = k->values[i];
	return value;
}

void
keys_free(struct keys *k)
{
	for (size_t i = 0; i < k->count; i++) {
		sodium_memzero(k->values[i], strlen(k->values[i]));
		free(k->names[i]);
		free(k->values[i]);
	}
	free(k->names);
	free(k->values);
	*k = (struct keys){ NULL, NULL, 0 };
}

/* ---- names, and messages ---- */

/* All that are known. */
static char **known;

void
api_keys_add(char *const *names)
{
	if (known == NULL)
		known = list_copy((char *const *)(uintptr_t)shipped);
	for (; names != NULL && *names != NULL; names++)
		if (!list_has(known, *names))
			list_add(&known, *names);
}

const char *const *
api_keys_known(void)
{
	api_keys_add(NULL);
	return (const char *const *)(uintptr_t)known;
}

void
api_keys_hide(char *text)
{
	const size_t len = strlen(text);
	struct error unread; /* then no provider has a key from it */
	struct keys keys;

	for (const char *const *name = api_keys_known(); *name != NULL; name++)
		text_hide(text, len, keys_value(NULL, *name));
	if (keys_load(&keys, &unread) != 0)
		return;
	for (size_t i = 0; i < keys.count; i++) {
		const char *last = strrchr(keys.values[i], ' ');

		text_hide(text, len, keys.values[i]);
		text_hide(text, len, last != NULL ? last + 1 : NULL); /* the token of "SERVER TOKEN" */
		text_hide(text, len, keys_value(NULL, keys.names[i])); /* which is the one that counts */
	}
	keys_free(&keys);
}
