/*
 * Why a request is refused: an HTTP status, a word for programs, and a sentence.
 */
#ifndef AWF_HTTPD_REFUSAL_H
#define AWF_HTTPD_REFUSAL_H

struct refusal {
	unsigned status;
	const char *code;
	const char *message;
};

#endif
