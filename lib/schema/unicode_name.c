/*
 * Categories are numbered so that those of a group (L, M, N …) are adjacent: each name, of a
 * category or a group, is a set of bits.
 */
#include <string.h>

#include "schema/unicode_category.h"

/* In the order of the numbers in unicode_categories. */
enum { LU, LL, LT, LM, LO, MN, MC, ME, ND, NL, NO, PC, PD, PS, PE, PI, PF, PO, SM, SC, SK, SO, ZS,
	ZL, ZP, CC, CF, CS, CO, CN };

#define BIT(n) ((uint32_t)1 << (n))
#define BITS(first, last) ((BIT(last) - 1 - (BIT(first) - 1)) | BIT(last))

/* PropertyValueAliases.txt */
static const struct {
	const char *names[3];
	uint32_t categories;
} names[] = {
	{ { "L", "Letter" }, BITS(LU, LO) },
	{ { "LC", "Cased_Letter" }, BITS(LU, LT) },
	{ { "Lu", "Uppercase_Letter" }, BIT(LU) },
	{ { "Ll", "Lowercase_Letter" }, BIT(LL) },
	{ { "Lt", "Titlecase_Letter" }, BIT(LT) },
	{ { "Lm", "Modifier_Letter" }, BIT(LM) },
	{ { "Lo", "Other_Letter" }, BIT(LO) },
	{ { "M", "Mark", "Combining_Mark" }, BITS(MN, ME) },
	{ { "Mn", "Nonspacing_Mark" }, BIT(MN) },
	{ { "Mc", "Spacing_Mark" }, BIT(MC) },
	{ { "Me", "Enclosing_Mark" }, BIT(ME) },
	{ { "N", "Number" }, BITS(ND, NO) },
	{ { "Nd", "Decimal_Number", "digit" }, BIT(ND) },
	{ { "Nl", "Letter_Number" }, BIT(NL) },
	{ { "No", "Other_Number" }, BIT(NO) },
	{ { "P", "Punctuation", "punct" }, BITS(PC, PO) },
	{ { "Pc", "Connector_Punctuation" }, BIT(PC) },
	{ { "Pd", "Dash_Punctuation" }, BIT(PD) },
	{ { "Ps", "Open_Punctuation" }, BIT(PS) },
	{ { "Pe", "Close_Punctuation" }, BIT(PE) },
	{ { "Pi", "Initial_Punctuation" }, BIT(PI) },
	{ { "Pf", "Final_Punctuation" }, BIT(PF) },
	{ { "Po", "Other_Punctuation" }, BIT(PO) },
	{ { "S", "Symbol" }, BITS(SM, SO) },
	{ { "Sm", "Math_Symbol" }, BIT(SM) },
	{ { "Sc", "Currency_Symbol" }, BIT(SC) },
	{ { "Sk", "Modifier_Symbol" }, BIT(SK) },
	{ { "So", "Other_Symbol" }, BIT(SO) },
	{ { "Z", "Separator" }, BITS(ZS, ZP) },
	{ { "Zs", "Space_Separator" }, BIT(ZS) },
	{ { "Zl", "Line_Separator" }, BIT(ZL) },
	{ { "Zp", "Paragraph_Separator" }, BIT(ZP) },
	{ { "C", "Other" }, BITS(CC, CN) },
	{ { "Cc", "Control", "cntrl" }, BIT(CC) },
	{ { "Cf", "Format" }, BIT(CF) },
	{ { "Cs", "Surrogate" }, BIT(CS) },
	{ { "Co", "Private_Use" }, BIT(CO) },
	{ { "Cn", "Unassigned" }, BIT(CN) },
	{ { "Any" }, BITS(LU, CN) },
};

uint32_t
unicode_category_named(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (int j = 0; j < 3 && names[i].names[j] != NULL; j++)
			if (strlen(names[i].names[j]) == len && memcmp(names[i].names[j], name, len) == 0)
				return names[i].categories;
	return 0;
}
