/*
 * Providers that a recording names, as its replay knows them. A replay asks no provider, and needs the
 * program of none.
 */
#ifndef AWF_HISTORY_RECORDED_PROVIDERS_H
#define AWF_HISTORY_RECORDED_PROVIDERS_H

/* In the environment of a replay: the names, with colons between them, of those that the recording has,
 * and, behind the mark, of those that were not found. */
#define PROVIDER_RECORDED "AWF_RECORDED_PROVIDERS"
#define PROVIDER_UNKNOWN "!"

/* What ERROR_DEFINITION's message begins with that says there is no provider of a name: that follows,
 * then a quote. */
#define PROVIDER_REFUSED_BEGIN "unknown provider '"

#endif
