#include <stdio.h>
#include <string.h>

static int
value(char numeral)
{
	static const char numerals[] = "IVXLCDM";
	static const int values[] = { 1, 5, 10, 50, 100, 500, 1000 };
	const char *at = strchr(numerals, numeral);

	return at != NULL && numeral != '\0' ? values[at - numerals] : 0;
}

int
main(int argc, char **argv)
{
	int sum = 0;

	for (const char *at = argc > 1 ? argv[1] : ""; *at != '\0'; at++)
		sum += value(*at);
	printf("%d\n", sum);
	return 0;
}
