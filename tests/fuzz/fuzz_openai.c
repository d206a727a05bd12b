#define main program
#include "../../cmd/provider/awf-provider-openai.c"
#undef main
#include "fuzz_stream.h"
