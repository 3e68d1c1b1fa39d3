/* A stand-in for libnvidia-ml.so.1, played by environment variables:
 *
 *   STUB_GPUS     the cards, separated by ";", each "name,major.minor,MiB total,MiB used"
 *   STUB_DRIVER   the driver's version (default 525.105.17)
 *   STUB_CUDA     the driver's CUDA, times 1000 (default 12000)
 *   STUB_INIT     what nvmlInit returns (default 0)
 *   STUB_FAIL     "function=code" or "function@card=code", separated by ";"
 *   STUB_LACKS    functions, separated by ";", that this driver does not know yet (code 13)
 *   STUB_MIG      the cards in MIG mode, as digits: "0" or "01"
 *   STUB_MIG_DEVICES  how many instances each of them has (default 1)
 *   STUB_MODE     compute mode of every card (0 default, 2 prohibited, 3 exclusive process)
 *   STUB_PROCESSES  "card:pid:MiB:name", separated by ";"
 *
 * Signatures and codes are those of NVIDIA's NVML API Reference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CARDS 8
#define NO_SUCH_FUNCTION 13
#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7
#define MIB (1024ull * 1024ull)

struct card { char name[96]; int major, minor; unsigned long long total, used; };
struct memory { unsigned long long total, free, used; };
struct process {
    unsigned int pid;
    unsigned long long used;
    unsigned int gpu_instance, compute_instance;
};
/* Handles of MIG instances lie behind those of the cards. */
static struct card cards[CARDS * 8];

static const char *setting(const char *name, const char *otherwise) {
    const char *text = getenv(name);
    return text ? text : otherwise;
}

static unsigned int load(void) {
    char text[4096];
    unsigned int count = 0;
    snprintf(text, sizeof text, "%s", setting("STUB_GPUS", ""));
    for (char *rest = text, *part; count < CARDS && (part = strtok_r(rest, ";", &rest));) {
        struct card *card = &cards[count];
        memset(card, 0, sizeof *card);
        if (sscanf(part, "%95[^,],%d.%d,%llu,%llu", card->name, &card->major, &card->minor,
                   &card->total, &card->used) >= 3)
            count++;
    }
    return count;
}

/* Whether `function` is one of the list in the variable; with a card or without. */
static int planned(const char *variable, const char *function, int card) {
    char text[4096], exact[128];
    snprintf(text, sizeof text, "%s", setting(variable, ""));
    snprintf(exact, sizeof exact, "%s@%d", function, card);
    for (char *rest = text, *part; (part = strtok_r(rest, ";", &rest));) {
        char *code = strchr(part, '=');
        if (code) *code++ = '\0';
        if (strcmp(part, function) == 0 || strcmp(part, exact) == 0)
            return code ? atoi(code) : NO_SUCH_FUNCTION;
    }
    return 0;
}

static int fault(const char *function, int card) {
    int code = planned("STUB_LACKS", function, card);
    return code ? code : planned("STUB_FAIL", function, card);
}

static int index_of(const struct card *card) { return (int)(card - cards); }
static struct card *parent_of(struct card *card) {
    return index_of(card) < CARDS ? card : &cards[(index_of(card) - CARDS) / 7];
}
static int in_mig_mode(int card) {
    return strchr(setting("STUB_MIG", ""), '0' + card) != NULL && card < CARDS;
}

#define ASK(card) \
    do { int code = fault(__func__, card); if (code) return code; } while (0)

int nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    load();
    return atoi(setting("STUB_INIT", "0"));
}

int nvmlShutdown(void) { return 0; }

const char *nvmlErrorString(int code) {
    static char text[64];
    switch (code) {
    case 9: return "Driver Not Loaded";
    case 12: return "NVML Shared Library Not Found";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    case 999: return "Unknown Error";
    default: snprintf(text, sizeof text, "Error %d", code); return text;
    }
}

static int copy(char *to, unsigned int size, const char *from) {
    if (strlen(from) >= size) return INSUFFICIENT_SIZE;
    strcpy(to, from);
    return 0;
}

int nvmlSystemGetDriverVersion(char *version, unsigned int size) {
    ASK(-1);
    return copy(version, size, setting("STUB_DRIVER", "525.105.17"));
}

int nvmlSystemGetCudaDriverVersion(int *version) {
    ASK(-1);
    *version = atoi(setting("STUB_CUDA", "12000"));
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned int *count) {
    ASK(-1);
    *count = load();
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, struct card **card) {
    ASK((int)index);
    if (index >= load()) return INVALID_ARGUMENT;
    *card = &cards[index];
    return 0;
}

int nvmlDeviceGetName(struct card *card, char *name, unsigned int size) {
    ASK(index_of(card));
    return copy(name, size, card->name);
}

int nvmlDeviceGetCudaComputeCapability(struct card *card, int *major, int *minor) {
    ASK(index_of(card));
    card = parent_of(card);
    *major = card->major;
    *minor = card->minor;
    return 0;
}

int nvmlDeviceGetMemoryInfo(struct card *card, struct memory *memory) {
    ASK(index_of(card));
    memory->total = card->total * MIB;
    memory->used = card->used * MIB;
    memory->free = memory->total - memory->used;
    return 0;
}

int nvmlDeviceGetComputeMode(struct card *card, int *mode) {
    ASK(index_of(card));
    *mode = atoi(setting("STUB_MODE", "0"));
    return 0;
}

int nvmlDeviceGetMigMode(struct card *card, unsigned int *now, unsigned int *pending) {
    ASK(index_of(card));
    if (card->major < 8) return NOT_SUPPORTED;
    *now = *pending = (unsigned int)in_mig_mode(index_of(card));
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(struct card *card, unsigned int *count) {
    ASK(index_of(card));
    *count = in_mig_mode(index_of(card)) ? 7 : 0;
    return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(struct card *card, unsigned int index, struct card **mig) {
    ASK(index_of(card));
    if (!in_mig_mode(index_of(card)) || index >= (unsigned int)atoi(setting("STUB_MIG_DEVICES", "1")))
        return NOT_FOUND;
    *mig = &cards[CARDS + index_of(card) * 7 + (int)index];
    snprintf((*mig)->name, sizeof (*mig)->name, "%.80s MIG 1g.5gb", card->name);
    (*mig)->total = card->total / 8;
    (*mig)->used = 0;
    return 0;
}

static int processes(int card, unsigned int *count, struct process *found) {
    char text[4096];
    unsigned int number = 0, room = *count;
    snprintf(text, sizeof text, "%s", setting("STUB_PROCESSES", ""));
    for (char *rest = text, *part; (part = strtok_r(rest, ";", &rest));) {
        struct process each = {0};
        int of;
        if (sscanf(part, "%d:%u:%llu", &of, &each.pid, &each.used) != 3 || of != card) continue;
        each.used *= MIB;
        if (number < room && found) found[number] = each;
        number++;
    }
    *count = number;
    return number > room ? INSUFFICIENT_SIZE : 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct card *card, unsigned int *count,
                                            struct process *found) {
    ASK(index_of(card));
    return processes(index_of(card), count, found);
}

int nvmlDeviceGetComputeRunningProcesses_v2(struct card *card, unsigned int *count,
                                            struct process *found) {
    ASK(index_of(card));
    return processes(index_of(card), count, found);
}

int nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int size) {
    char text[4096];
    ASK(-1);
    snprintf(text, sizeof text, "%s", setting("STUB_PROCESSES", ""));
    for (char *rest = text, *part; (part = strtok_r(rest, ";", &rest));) {
        unsigned int of;
        char word[128];
        if (sscanf(part, "%*d:%u:%*u:%127[^;]", &of, word) == 2 && of == pid)
            return copy(name, size, word);
    }
    return NOT_FOUND;
}
