/*
 * The messages of programs to people, on stderr. Every one goes this way: names, arguments and
 * what others have said are in them, so that API keys come out as stars, and what a terminal obeys
 * or does not show comes out as base/text.h has it, wherever stderr leads.
 */
#ifndef AWF_PROC_MESSAGE_H
#define AWF_PROC_MESSAGE_H

/* One line: "PROGRAM: TEXT". program NULL: the text alone. errno stays what it was. */
void message_print(const char *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Several lines, as they are but for that. */
void message_print_lines(const char *lines);

#endif
