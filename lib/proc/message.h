/*
 * Messages of programs to users, on stderr. All messages are printed with these functions, because
 * they contain names, arguments and texts from outside: API keys are replaced by stars, and
 * control and invisible characters are escaped as in base/text.h, wherever stderr leads.
 */
#ifndef AWF_PROC_MESSAGE_H
#define AWF_PROC_MESSAGE_H

/* One line: "PROGRAM: TEXT". program NULL: the text alone. errno stays what it was. */
void message_print(const char *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Several lines, as they are but for that. */
void message_print_lines(const char *lines);

#endif
