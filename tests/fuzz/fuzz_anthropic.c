int program(int argc, char **argv); /* the provider's main() */

#define main program
#include "../../cmd/provider/anthropic_main.c"
#undef main
#define STREAM anthropic_stream
#define WRITE_BODY anthropic_write_body
#include "fuzz_stream.h"
