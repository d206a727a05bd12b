#ifndef AWF_BASE_VERSION_H
#define AWF_BASE_VERSION_H

#define AWF_VERSION "0.1.0"

#endif
