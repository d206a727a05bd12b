/* run/retention: which runs go, for every rule. */
#include "unit.h"

#include <stdio.h>

#include "decide/retention.h"

/* Runs, the newest first, with marks: * selected is not, ! protected; and the numbers of
 * those that they were forked from. What goes: their numbers. */
static const struct {
	const char *name;
	struct retention_rule rule;
	struct { int64_t ended, bytes; const char *marks, *origins; } runs[6];
	const char *goes;
} plans[] = {
	{ "no limit", RETENTION_ALL, { { 9, 1, "", "" }, { 1, 1, "", "" } }, "" },
	{ "age", { 5, INT64_MAX, INT64_MAX },
	    { { 9, 1, "", "" }, { 5, 1, "", "" }, { 4, 1, "", "" }, { 1, 1, "", "" } }, "2 3 " },
	{ "age is that of the end, not of the start", { 5, INT64_MAX, INT64_MAX },
	    { { 4, 1, "", "" }, { 9, 1, "", "" } }, "0 " },
	{ "count", { INT64_MIN, 2, INT64_MAX },
	    { { 9, 1, "", "" }, { 5, 1, "", "" }, { 4, 1, "", "" }, { 1, 1, "", "" } }, "2 3 " },
	{ "count 0", { INT64_MIN, 0, INT64_MAX }, { { 9, 1, "", "" }, { 5, 1, "", "" } }, "0 1 " },
	{ "size: what fits exactly stays", { INT64_MIN, INT64_MAX, 6 },
	    { { 9, 1, "", "" }, { 5, 2, "", "" }, { 4, 3, "", "" }, { 1, 1, "", "" } }, "3 " },
	{ "size: nothing older stays than what does not fit", { INT64_MIN, INT64_MAX, 6 },
	    { { 9, 1, "", "" }, { 5, 9, "", "" }, { 4, 1, "", "" } }, "1 2 " },
	{ "size: the newest goes too if it is too large", { INT64_MIN, INT64_MAX, 6 },
	    { { 9, 7, "", "" } }, "0 " },
	{ "size: sums do not overflow", { INT64_MIN, INT64_MAX, 6 },
	    { { 9, 6, "", "" }, { 9, INT64_MAX, "", "" }, { 9, INT64_MAX, "", "" } }, "1 2 " },
	{ "all of them: whichever says so", { 5, 3, 4 },
	    { { 9, 1, "", "" }, { 3, 1, "", "" }, { 8, 1, "", "" }, { 7, 1, "", "" }, { 6, 1, "", "" } },
	    "1 4 " },
	{ "protected: stays, and takes up room", { 5, 2, INT64_MAX },
	    { { 9, 1, "", "" }, { 8, 1, "", "" }, { 1, 1, "!", "" } }, "1 " },
	{ "protected: its bytes too", { INT64_MIN, INT64_MAX, 3 },
	    { { 9, 1, "", "" }, { 8, 1, "", "" }, { 1, 2, "!", "" } }, "1 " },
	{ "not selected: stays, and takes up none", { INT64_MIN, 1, INT64_MAX },
	    { { 9, 1, "*", "" }, { 8, 1, "", "" }, { 7, 1, "*", "" }, { 6, 1, "", "" } }, "3 " },
	{ "the origin of a fork that stays", { 5, INT64_MAX, INT64_MAX },
	    { { 9, 1, "", "2" }, { 3, 1, "", "" }, { 2, 1, "", "" } }, "1 " },
	{ "its origin too", { 5, INT64_MAX, INT64_MAX },
	    { { 9, 1, "", "1" }, { 3, 1, "", "2" }, { 2, 1, "", "" } }, "" },
	{ "of one that is not selected", { 5, INT64_MAX, INT64_MAX },
	    { { 1, 1, "*", "1" }, { 3, 1, "", "" } }, "" },
	{ "the origin of one that goes", { 5, INT64_MAX, INT64_MAX },
	    { { 1, 1, "", "1" }, { 3, 1, "", "" } }, "0 1 " },
	{ "an origin that seems to be newer", { 5, INT64_MAX, INT64_MAX },
	    { { 1, 1, "", "" }, { 9, 1, "", "0" } }, "" },
	{ "all origins of one that stays", { 5, INT64_MAX, INT64_MAX },
	    { { 9, 1, "", "13" }, { 3, 1, "", "" }, { 2, 1, "", "" }, { 1, 1, "", "" } }, "2 " },
	{ "the origins of an origin that seems to be newer", { 5, INT64_MAX, INT64_MAX },
	    { { 4, 1, "", "1" }, { 3, 1, "", "" }, { 2, 1, "", "0" }, { 9, 1, "", "2" } }, "" },
};

static void
test_plans(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(plans); i++) {
		struct retention_item items[6];
		size_t origins[6][6];
		char goes[64] = "";
		size_t count = 0;

		for (; count < 6 && plans[i].runs[count].marks != NULL; count++) {
			const char *marks = plans[i].runs[count].marks, *from = plans[i].runs[count].origins;

			items[count] = (struct retention_item){ .ended = plans[i].runs[count].ended,
				.bytes = plans[i].runs[count].bytes, .origins = origins[count],
				.selected = strchr(marks, '*') == NULL,
				.protected = strchr(marks, '!') != NULL, .goes = true };
			for (; *from != '\0'; from++)
				origins[count][items[count].origin_count++] = (size_t)(*from - '0');
		}
		retention_plan(items, count, &plans[i].rule);
		for (size_t k = 0; k < count; k++)
			if (items[k].goes)
				snprintf(goes + strlen(goes), sizeof goes - strlen(goes), "%zu ", k);
		if (strcmp(goes, plans[i].goes) != 0)
			print_error("%s\n", plans[i].name);
		assert_string_equal(goes, plans[i].goes);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_plans) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
