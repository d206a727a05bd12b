int program(int argc, char **argv); /* the provider's main() */

#define main program
#include "../../cmd/provider/awf-provider-anthropic.c"
#undef main
#define STREAM anthropic_stream
#include "fuzz_stream.h"
