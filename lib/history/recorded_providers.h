/*
 * Providers that a recording names, as its replay knows them. A replay asks no provider, and needs the
 * program of none.
 */
#ifndef AWF_HISTORY_RECORDED_PROVIDERS_H
#define AWF_HISTORY_RECORDED_PROVIDERS_H

/* In the environment of a replay: colon-separated names of providers in the recording; those that
 * were not found have the mark in front. */
#define PROVIDER_RECORDED "AWF_RECORDED_PROVIDERS"
#define PROVIDER_UNKNOWN "!"

/* In the environment of a replay: an object of the digests of endpoints, by NAME/MODEL, which are part of
 * the definitions of steps. A replay reads the file of none. */
#define PROVIDER_RECORDED_ENDPOINTS "AWF_RECORDED_ENDPOINTS"

/* What ERROR_DEFINITION's message begins with that says there is no provider of a name: that follows,
 * then a quote. */
#define PROVIDER_REFUSED_BEGIN "unknown provider '"

#endif
