/*
 * Listening sockets: TCP, Unix sockets, and sockets that systemd passes (LISTEN_FDS,
 * sd_listen_fds(3)), of either kind.
 */
#ifndef AWF_SERVE_LISTEN_H
#define AWF_SERVE_LISTEN_H

#include "base/error.h"

struct server;

/* Opens the listeners of the settings, or takes those of systemd; if there are neither,
 * 127.0.0.1:8741. From then on clients can connect. */
int listen_open(struct server *s, struct error *err);
/* Checks "ADDR:PORT" or "unix:PATH". ERROR_USAGE. */
int listen_check(const char *text, struct error *err);
void listen_close(struct server *s);

#endif
