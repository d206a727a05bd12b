int program(int argc, char **argv); /* the provider's main() */

#define main program
#include "../../cmd/provider/openai_main.c"
#undef main
#define STREAM openai_stream
#define WRITE_BODY openai_write_body
#include "fuzz_stream.h"
