/* run/terminal_output: when somebody may draw below what programs have printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/terminal_output.h"
#include "unit.h"

static const struct { const char *printed; bool rests; } cases[] = {
	{ "", true },
	{ "text", false },
	{ "text\r\n", true },
	{ "text\r", false },              /* a line that is to be written over */
	{ "text\n", false },              /* it stands below its end */
	{ "text\r\033[K", true },
	{ "text\033[2K", false },
	{ "text\r\033[1K", false },
	{ "\ttext\b\b\r\n", true },
	{ "\a", true },
	{ "\303\244\r\n", true },
	{ "a\r\n\302", false },           /* half of a character */

	/* Style. */
	{ "\033[31mred\r\n", false },
	{ "\033[31mred\033[m\r\n", true },
	{ "\033[1;38;5;0mred\033[22;39m\r\n", true },
	{ "\033[48;2;1;2;0mred\r\n", false },
	{ "\033[48;2;1;2;0mred\033[49m\r\n", true },
	{ "\033[0;4m\033[24;7m\033[27m\r\n", true },
	{ "\033[97;107m\r\n", false },
	{ "\033[38:2:1:2:3m\r\n", false },

	/* In the midst of something. */
	{ "\033", false },
	{ "\033[", false },
	{ "\033[3", false },
	{ "\033]0;title", false },
	{ "\033]0;title\a", true },
	{ "\033]0;title\033", false },
	{ "\033]0;title\033\\", true },
	{ "\033P1$r0m\033\\", true },
	{ "\033(0", false },
	{ "\033(0\033(B", true },
	{ "\033[3\030", true },
	{ "\016", false },
	{ "\016\017", true },
	{ "\033[1\rm", false },           /* a control within a sequence; and the style stays */
	{ "\033[0\r\nm", true },
	{ "\033[\033[0m", true },
	{ "\033]x\033[0m", true },

	/* Up and down again. */
	{ "a\r\nb\r\n\033[1A", false },
	{ "a\r\nb\r\n\033[Ac\r\n", false },      /* it stands where b was */
	{ "a\r\nb\r\n\033[2Ac\r\nd\r\n", false },
	{ "a\r\nb\r\n\033[2Ac\r\nd\r\n\r\n", true },
	{ "a\r\nb\r\n\033[2A\033[J", true },
	{ "a\r\nb\r\n\033[2F\033[Kc\033[2E", false },
	{ "a\r\nb\r\n\033[2F\033[Kc\033[2E\r\n", true },
	{ "a\r\n\033M\033D", false },
	{ "a\033E", true },
	{ "\033[5C", false },
	{ "a\033[G\033[K", true },
	{ "a\033[2G\033[K", false },

	/* Places by their numbers: lost, until the screen was cleared or has gone up. */
	{ "\033[5;5Hx\r\n", false },
	{ "\033[5;5Hx\r\n1\r\n2\r\n3\r\n", true },
	{ "\033[5;5Hx\r\n1\r\n2\r\n", false },
	{ "\033[H\033[2J", true },
	{ "\033[H\033[J", true },
	{ "\033[1;1H\033[0m\033[J", true },
	{ "\033[5;5H\033[J", false },
	{ "\033[Hx\033[J", false },
	{ "\033[2J", true },
	{ "x\033[2J", false },
	{ "\0337\0338", false },
	{ "\033[s\033[u", false },
	{ "\033[3d", false },
	{ "\033[2L", false },
	{ "\033[31m\033[?25l\033[?1000hx\033c", true },

	/* Modes. */
	{ "\033[?25l", false },
	{ "\033[?25l\033[?25h", true },
	{ "\033[?1049h", false },
	{ "\033[?1049h\033[H\033[2J", false },
	{ "\033[?1049h\033[5;5Hx\033[?1049l", true },
	{ "x\033[?1049h\033[H\033[2J\033[?1049l", false },
	{ "\033[?1047h\033[?1047l", false },
	{ "\033[?1000;1006h", false },
	{ "\033[?1000;1006h\033[?1006;1000l", true },
	{ "\033[2;3r\033[H\033[2J", false },
	{ "\033[2;3r\033[r\033[H\033[2J", true },
	{ "\033[1;4r\033[H\033[2J", true },
	{ "\033[1;3r\033[H\033[2J", false },
	{ "\033[2;4r\033[H\033[2J", false },
	{ "\033[4h", false },
	{ "\033[4h\033[4l", true },
	{ "\033[?2004h", true },
	{ "\033[?2026h", false },
	{ "\033[>4;2m", true },           /* keys of xterm */
	{ "\033[?2026h\033[?2026l", true },
	{ "\033[0000000000000000000000000000000000000000000000000000000000000000000000000000000m", true },
};

static void
test_when_it_rests(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct terminal_output whole, pieces;

		terminal_output_begin(&whole, 4);
		terminal_output_begin(&pieces, 4);
		terminal_output_take(&whole, cases[i].printed, strlen(cases[i].printed));
		for (const char *at = cases[i].printed; *at != '\0'; at++)
			terminal_output_take(&pieces, at, 1);
		if (terminal_output_rests(&whole) != cases[i].rests)
			fail_msg("case %zu", i);
		assert_memory_equal(&whole, &pieces, sizeof whole);
	}
}

static void
test_a_shell_has_had_it(void **state)
{
	struct terminal_output t;

	(void)state;
	terminal_output_begin(&t, 24);
	terminal_output_take(&t, "\033[31m^Z", 7);
	terminal_output_resume(&t);
	assert_true(terminal_output_rests(&t));
	terminal_output_take(&t, "\033[?25l\r\n", 8);
	terminal_output_resume(&t);
	assert_false(terminal_output_rests(&t));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_when_it_rests),
		cmocka_unit_test(test_a_shell_has_had_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
