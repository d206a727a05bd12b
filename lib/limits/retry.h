/*
 * Retries: how often, after which errors, after how long.
 */
#ifndef AWF_LIMITS_RETRY_H
#define AWF_LIMITS_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum backoff { BACKOFF_CONSTANT, BACKOFF_LINEAR, BACKOFF_EXPONENTIAL };

struct retry {
	int retries;              /* tries after the first */
	enum backoff backoff;
	int64_t delay_ms;         /* the first delay */
	int64_t max_delay_ms;
	bool jitter;              /* a random part of half the delay, or on top of a server's */
	bool codes[ERROR_CODES];  /* retried; empty set: transient errors */
	bool codes_given;
};

/* 2 tries more on transient errors, exponential from 1 s to 60 s, with jitter. */
void retry_default(struct retry *r);
/* "rate_limit,timeout"; ERROR_USAGE on an unknown code, with a suggestion. */
int retry_parse_codes(struct retry *r, const char *text, struct error *err);
int retry_parse_backoff(struct retry *r, const char *text, struct error *err);
/* Whether try number `tried` (1 is the first), which ended with code, is repeated. */
bool retry_wanted(const struct retry *r, enum error_code code, int tried);
/* Delay before the next try: the backoff; or, if that is shorter than what the server asked for
 * (retry_after_ms, 0: nothing), that time and, with jitter, up to a half of it more, or up to
 * RETRY_SPREAD_MS if that is longer. max_delay_ms caps the backoff alone. */
int64_t retry_delay(const struct retry *r, int tried, int64_t retry_after_ms);
/* The same where only left_ms are left: if what the server asked for is less, the random time on top
 * of it is too. */
int64_t retry_delay_within(const struct retry *r, int tried, int64_t retry_after_ms, int64_t left_ms);

#endif
