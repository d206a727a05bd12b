int program(int argc, char **argv); /* the provider's main() */

#define main program
#include "../../cmd/provider/google_main.c"
#undef main
#define STREAM google_stream
#define WRITE_BODY google_write_body
#include "fuzz_stream.h"
