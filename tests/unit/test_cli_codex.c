int program(int argc, char **argv); /* the provider's main() */

#define main program
#include "../../cmd/provider/codex_main.c"
#undef main
#include "cli_cuts.h"
