#include "json/schema_format.h"

#include <arpa/inet.h>
#include <string.h>

#include "json/pattern.h"

/* Leap days by the years that have them; leap seconds at the end of a UTC day. */
#define DATE \
	"(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])" \
	"|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))" \
	"|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
#define TIME \
	"(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)" \
	"|23:59:60(?:\\.\\d+)?(?:[Zz]|[+-]00:00))"
#define HOST "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*"
#define ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"

/* RFC 3986, appendix A. */
#define COMMON "-A-Za-z0-9._~!$&'()*+,;="
#define CODED "%[0-9A-Fa-f]{2}"
#define PCHAR "(?:[" COMMON ":@]|" CODED ")"
#define SCHEME "[A-Za-z][A-Za-z0-9+.-]*:"
#define AUTHORITY "//(?:(?:[" COMMON ":]|" CODED ")*@)?" \
	"(?:\\[[0-9A-Fa-f:.vV]+\\]|(?:[" COMMON "]|" CODED ")*)(?::\\d*)?(?:/" PCHAR "*)*"
#define ABSOLUTE "/(?:" PCHAR "+(?:/" PCHAR "*)*)?"
#define ROOTLESS PCHAR "+(?:/" PCHAR "*)*"
#define NO_SCHEME "(?:[" COMMON "@]|" CODED ")+(?:/" PCHAR "*)*"
#define QUERY "(?:\\?(?:[" COMMON ":@/?]|" CODED ")*)?(?:#(?:[" COMMON ":@/?]|" CODED ")*)?"
#define URI SCHEME "(?:" AUTHORITY "|" ABSOLUTE "|" ROOTLESS ")?" QUERY

static bool
is_address(int family, const char *text, size_t len)
{
	unsigned char address[sizeof(struct in6_addr)];

	return strlen(text) == len && inet_pton(family, text, address) == 1;
}

static bool
is_ipv4(const char *text, size_t len)
{
	return is_address(AF_INET, text, len);
}

static bool
is_ipv6(const char *text, size_t len)
{
	return is_address(AF_INET6, text, len);
}

static bool
is_regex(const char *text, size_t len)
{
	const char *why;
	struct pattern *p = pattern_compile(text, len, &why);

	pattern_free(p);
	return p != NULL;
}

static const struct format formats[] = {
	{ "date", "^" DATE "$", NULL },
	{ "time", "^" TIME "$", NULL },
	{ "date-time", "^" DATE "[Tt]" TIME "$", NULL },
	{ "email", "^(?:" ATOM "(?:\\." ATOM ")*|\"(?:[^\"\\\\]|\\\\.)*\")@(?:" HOST
	  "|\\[[0-9A-Za-z:.]+\\])$", NULL },
	{ "ipv4", NULL, is_ipv4 },
	{ "ipv6", NULL, is_ipv6 },
	{ "uri", "^" URI "$", NULL },
	{ "uri-reference", "^(?:" URI "|(?:" AUTHORITY "|" ABSOLUTE "|" NO_SCHEME ")?" QUERY ")$", NULL },
	{ "uuid", "^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$", NULL },
	{ "regex", NULL, is_regex },
	{ "json-pointer", "^(?:/(?:[^~/]|~[01])*)*$", NULL },
};

const struct format *
format_find(const char *name)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}
