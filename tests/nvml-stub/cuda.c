/* A stand-in for libcuda.so.1: what cuInit and cuDriverGetVersion say is set by
 * STUB_CUINIT (a CUresult, default 0; "hang" never returns, "crash" ends the process) and
 * STUB_CUDA (the version times 1000, default 11020). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

int cuInit(unsigned int flags) {
    (void)flags;
    const char *text = getenv("STUB_CUINIT");
    if (text && strcmp(text, "crash") == 0) raise(SIGSEGV);
    while (text && strcmp(text, "hang") == 0) pause();
    return number("STUB_CUINIT", 0);
}

int cuDriverGetVersion(int *version) {
    *version = number("STUB_CUDA", 11020);
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = number("STUB_CUDA_DEVICES", 1);
    return 0;
}
