/*
 * Why a request is refused: a status of HTTP, a word for programs, and a sentence.
 */
#ifndef AWF_HTTPD_REFUSAL_H
#define AWF_HTTPD_REFUSAL_H

struct refusal {
	unsigned status;
	const char *code;
	const char *message;
};

#endif
