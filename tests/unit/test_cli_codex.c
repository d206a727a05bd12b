int program(int argc, char **argv); /* the provider's main() */

#define main program
#include "../../cmd/provider/awf-provider-codex.c"
#undef main
#include "cli_cuts.h"
