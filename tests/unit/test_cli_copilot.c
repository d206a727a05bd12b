int program(int argc, char **argv); /* the provider's main() */

#define main program
#include "../../cmd/provider/copilot_main.c"
#undef main
#include "cli_cuts.h"
