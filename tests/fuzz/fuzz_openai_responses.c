int program(int argc, char **argv); /* the provider's main() */

#define main program
#include "../../cmd/provider/openai-responses_main.c"
#undef main
#define STREAM openai_responses_stream
#define WRITE_BODY responses_write_body
#include "fuzz_stream.h"
