/* The table of routes. */
#ifndef AWF_SERVE_ROUTES_H
#define AWF_SERVE_ROUTES_H

#include "serve/request.h"

/* Ends with an entry without a method. */
extern const struct route routes[];

#endif
