/*
 * Most formats are patterns for the engine of "pattern", which limits its work; a function checks
 * what a pattern cannot. A function's work is counted as a fixed number of steps.
 */
#include "schema/schema_format.h"

#include <arpa/inet.h>
#include <string.h>

#include "schema/pattern.h"

#define ADDRESS_WORK 20
#define REGEX_WORK 10000

/* February 29 only in leap years; second 60 in any minute, which leaps_right() checks further. */
#define DATE \
	"(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])" \
	"|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))" \
	"|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
#define TIME \
	"(?:[01]\\d|2[0-3]):[0-5]\\d:(?:[0-5]\\d|60)(?:\\.\\d+)?(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
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

/* Converts "hh:mm" to minutes. */
static int
format_parse_minutes(const char *text)
{
	return ((text[0] - '0') * 10 + text[1] - '0') * 60 + (text[3] - '0') * 10 + text[4] - '0';
}

/* For a time or date-time that matches the pattern: a leap second is the last second of a UTC day
 * (RFC 3339, section 5.7). */
static bool
leaps_right(const char *text, size_t len)
{
	const char *offset = text + len - (sizeof "+hh:mm" - 1);
	int minute, day = 24 * 60;

	if (text[4] == '-')
		text += sizeof "yyyy-mm-ddT" - 1;
	minute = format_parse_minutes(text);
	if (memcmp(text + sizeof "hh:mm" - 1, ":60", 3) != 0)
		return true;
	if (*offset == '+')
		minute -= format_parse_minutes(offset + 1);
	else if (*offset == '-')
		minute += format_parse_minutes(offset + 1);
	return (minute + day) % day == day - 1;
}

static bool
is_regex(const char *text, size_t len)
{
	const char *why;
	struct pattern *p = pattern_compile_as(text, len, PATTERN_REFERENCES, &why);

	pattern_free(p);
	return p != NULL;
}

static const struct format formats[] = {
	{ "date", "^" DATE "$", NULL, 0 },
	{ "time", "^" TIME "$", leaps_right, 0 },
	{ "date-time", "^" DATE "[Tt]" TIME "$", leaps_right, 0 },
	{ "email", "^(?:" ATOM "(?:\\." ATOM ")*|\"(?:[^\"\\\\]|\\\\.)*\")@(?:" HOST
	  "|\\[[0-9A-Za-z:.]+\\])$", NULL, 0 },
	{ "ipv4", NULL, is_ipv4, ADDRESS_WORK },
	{ "ipv6", NULL, is_ipv6, ADDRESS_WORK },
	{ "uri", "^" URI "$", NULL, 0 },
	{ "uri-reference", "^(?:" URI "|(?:" AUTHORITY "|" ABSOLUTE "|" NO_SCHEME ")?" QUERY ")$", NULL, 0 },
	{ "uuid", "^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$", NULL, 0 },
	{ "regex", NULL, is_regex, REGEX_WORK },
	{ "json-pointer", "^(?:/(?:[^~/]|~[01])*)*$", NULL, 0 },
};

const struct format *
format_find(const char *name)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}
