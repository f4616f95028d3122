// A stub of NVIDIA's driver library: the calls that metal/cuda makes, on host
// memory, with streams that are threads, so that work is really in flight.
// Kernels are the C++ reading of kernels.metal, linked beside this file;
// entries and their parameters are those of the PTX that is loaded.
//
// It is stricter than the real one where that shows mistakes: addresses are no
// host addresses, fresh memory is poisoned, every launch's pointers must lie in
// an allocation when it runs, calls without a current context fail.
//
// What it says and plants stands in the file beside it, its own name with
// ".conf", one "key value" a line; see cudatest.go.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

typedef unsigned int uint;
struct gpumem_kernel {
    const char* name;
    int buffers, parameters, plane;
    void (*run)(void**, uint, uint);
};
extern "C" {
extern const gpumem_kernel gpumem_kernels[];
}

typedef int CUresult;
typedef uint64_t CUdeviceptr;

enum {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201, INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700,
    NOT_SUPPORTED = 801
};

namespace {

// ---- what the file beside the library says

std::mutex conf_lock;
std::map<std::string, std::string> conf;

void read_conf() {
    Dl_info here;
    std::lock_guard<std::mutex> hold(conf_lock);
    conf.clear();
    if (!dladdr((void*)read_conf, &here)) return;
    FILE* f = fopen((std::string(here.dli_fname) + ".conf").c_str(), "r");
    if (!f) return;
    char key[64], value[256];
    while (fscanf(f, "%63s %255[^\n]", key, value) == 2) conf[key] = value;
    fclose(f);
}

std::string text_of(const char* key, const char* otherwise) {
    std::lock_guard<std::mutex> hold(conf_lock);
    auto it = conf.find(key);
    return it == conf.end() ? otherwise : it->second;
}

long number_of(const char* key, long otherwise) { return atol(text_of(key, std::to_string(otherwise).c_str()).c_str()); }

// ---- state

std::atomic<bool> started{false};
std::atomic<int> contexts{0}, sticky{0};
std::atomic<long> launches{0}, allocations_made{0};
thread_local int current = 0;

// Device addresses are host addresses with this bit: no host code may follow
// one.
const uint64_t device_bit = 1ull << 60;

struct Pool {
    uint64_t used = 0, reserved = 0, threshold = 0;
};

struct Allocation {
    uint64_t size = 0, room = 0;
    Pool* pool = nullptr;
};

std::mutex memory_lock;
std::map<uint64_t, Allocation> memory; // by device address
uint64_t taken = 0;                    // of the device's memory
std::atomic<long> live_streams{0}, live_events{0}, live_modules{0}, live_pools{0};

uint64_t total() { return (uint64_t)number_of("total", 8l << 30); }

// The real pools grow in blocks, and cuMemAlloc takes blocks for small
// allocations.
const uint64_t unit = 512, block = 32 << 20;
uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

bool inside(uint64_t address, uint64_t bytes) {
    auto it = memory.upper_bound(address);
    if (it == memory.begin()) return false;
    --it;
    return address >= it->first && address + bytes <= it->first + it->second.size;
}

struct Event {
    std::mutex lock;
    std::condition_variable changed;
    bool done = true;
};

struct Stream {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> work;
    bool ends = false;
    int undone = 0;
    std::thread thread;

    Stream() {
        thread = std::thread([this] { run(); });
    }
    void run() {
        std::unique_lock<std::mutex> hold(lock);
        for (;;) {
            while (work.empty() && !ends) changed.wait(hold);
            if (work.empty()) return;
            auto next = std::move(work.front());
            work.pop_front();
            hold.unlock();
            next();
            hold.lock();
            undone--;
            changed.notify_all();
        }
    }
    void add(std::function<void()> f) {
        std::lock_guard<std::mutex> hold(lock);
        work.push_back(std::move(f));
        undone++;
        changed.notify_all();
    }
    void sync() {
        std::unique_lock<std::mutex> hold(lock);
        while (undone > 0) changed.wait(hold);
    }
    ~Stream() {
        {
            std::lock_guard<std::mutex> hold(lock);
            ends = true;
            changed.notify_all();
        }
        thread.join();
    }
};

struct Function {
    const gpumem_kernel* kernel;
};

struct Module {
    std::map<std::string, Function> functions;
};

// ready is what every call that needs a context begins with.
CUresult ready() {
    if (!started) return NOT_INITIALIZED;
    if (sticky) return sticky;
    if (!current) return INVALID_CONTEXT;
    return SUCCESS;
}

#define READY                               \
    do {                                    \
        CUresult r_ = ready();              \
        if (r_ != SUCCESS) return r_;       \
    } while (0)

// planted is the code of a fault "key_at N [CODE]" at the nth call.
CUresult planted(const char* key, long nth, CUresult otherwise) {
    long at = 0, code = otherwise;
    if (sscanf(text_of(key, "0").c_str(), "%ld %ld", &at, &code) < 1 || at == 0 || at != nth) return SUCCESS;
    return (CUresult)code;
}

// Small allocations are the library's: the system limits the mappings of a
// process.
const uint64_t mapped_from = 1 << 20;

void* acquire(uint64_t room) {
    if (room < mapped_from) return aligned_alloc(unit, room);
    void* p = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

void relinquish(void* p, uint64_t room) {
    if (room < mapped_from)
        free(p);
    else
        munmap(p, room);
}

// obtain makes an allocation. The lock is held.
CUresult obtain(CUdeviceptr* out, uint64_t size, Pool* pool) {
    long nth = ++allocations_made;
    if (CUresult r = planted("alloc_fail_at", nth, OUT_OF_MEMORY)) return r;
    if (size == 0) return INVALID_VALUE;
    uint64_t room = up(size, unit), grow = room;
    if (pool) grow = pool->used + room > pool->reserved ? up(pool->used + room - pool->reserved, block) : 0;
    if (taken + grow > total()) return OUT_OF_MEMORY;
    void* p = acquire(room);
    if (!p) return OUT_OF_MEMORY;
    memset(p, 0xcd, room < 65536 ? room : 65536);
    taken += grow;
    if (pool) {
        pool->used += room;
        pool->reserved += grow;
    }
    *out = (uint64_t)p | device_bit;
    memory[*out] = Allocation{room, room, pool};
    return SUCCESS;
}

// give takes an allocation back. The lock is held.
CUresult give(CUdeviceptr p, bool pooled) {
    auto it = memory.find(p);
    if (it == memory.end() || (it->second.pool != nullptr) != pooled) return INVALID_VALUE;
    if (pooled)
        it->second.pool->used -= it->second.room;
    else
        taken -= it->second.room;
    relinquish((void*)(p & ~device_bit), it->second.room);
    memory.erase(it);
    return SUCCESS;
}

void fail(CUresult code) {
    int none = 0;
    sticky.compare_exchange_strong(none, code);
}

// execute runs one launch on its stream's thread.
void execute(const gpumem_kernel* k, std::vector<uint64_t> values, uint width, uint height, uint rows) {
    if (sticky) return;
    long nth = ++launches;
    if (CUresult r = planted("lost_at", nth, 719)) return fail(r);
    {
        std::lock_guard<std::mutex> hold(memory_lock);
        for (int i = 0; i < k->buffers; i++)
            if (!inside(values[i], 1)) return fail(ILLEGAL_ADDRESS);
    }
    std::vector<void*> args(values.size());
    for (size_t i = 0; i < values.size(); i++)
        args[i] = (int)i < k->buffers ? (void*)(values[i] & ~device_bit) : (void*)&values[i];
    // Threads of other rows do the work of a kernel without rows again.
    for (uint y = 0; y < (k->plane ? 1 : rows); y++) k->run(args.data(), width, height);
}

} // namespace

extern "C" {

CUresult cuInit(uint) {
    read_conf();
    if (long code = number_of("init", 0)) return (CUresult)code;
    started = true;
    return SUCCESS;
}

CUresult cuGetErrorName(CUresult c, const char** out) {
    switch (c) {
    case OUT_OF_MEMORY: *out = "CUDA_ERROR_OUT_OF_MEMORY"; return SUCCESS;
    case NO_DEVICE: *out = "CUDA_ERROR_NO_DEVICE"; return SUCCESS;
    case ILLEGAL_ADDRESS: *out = "CUDA_ERROR_ILLEGAL_ADDRESS"; return SUCCESS;
    case 719: *out = "CUDA_ERROR_LAUNCH_FAILED"; return SUCCESS;
    case INVALID_PTX: *out = "CUDA_ERROR_INVALID_PTX"; return SUCCESS;
    }
    *out = nullptr;
    return INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult c, const char** out) {
    const char* name = nullptr;
    if (cuGetErrorName(c, &name) != SUCCESS) {
        *out = nullptr;
        return INVALID_VALUE;
    }
    *out = "the stub's words";
    return SUCCESS;
}

CUresult cuDriverGetVersion(int* v) {
    *v = 13000;
    return SUCCESS;
}

CUresult cuDeviceGetCount(int* n) {
    if (!started) return NOT_INITIALIZED;
    *n = (int)number_of("devices", 1);
    return SUCCESS;
}

CUresult cuDeviceGet(int* h, int index) {
    if (index < 0 || index >= number_of("devices", 1)) return INVALID_DEVICE;
    *h = index;
    return SUCCESS;
}

CUresult cuDeviceGetName(char* out, int room, int) {
    snprintf(out, (size_t)room, "%s", text_of("name", "stub").c_str());
    return SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* out, int) {
    *out = total();
    return SUCCESS;
}

CUresult cuDeviceGetAttribute(int* out, int which, int) {
    *out = which == 115 ? (int)number_of("pools", 1) : which == 18 ? (int)number_of("integrated", 0) : 1;
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(void** out, int h) {
    if (!started) return NOT_INITIALIZED;
    if (long code = number_of("context", 0)) return (CUresult)code;
    contexts++;
    *out = (void*)(uintptr_t)(h + 1);
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(int) {
    if (contexts == 0) return INVALID_CONTEXT;
    contexts--;
    return SUCCESS;
}

CUresult cuCtxSetCurrent(void* c) {
    current = c != nullptr;
    return SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* available, size_t* all) {
    READY;
    std::lock_guard<std::mutex> hold(memory_lock);
    *all = total();
    *available = *all - taken;
    return SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t n) {
    READY;
    std::lock_guard<std::mutex> hold(memory_lock);
    return obtain(out, n, nullptr);
}

CUresult cuMemFree_v2(CUdeviceptr p) {
    READY;
    std::lock_guard<std::mutex> hold(memory_lock);
    return give(p, false);
}

// The copies take host memory as it is when they are called, as those of
// pageable memory do; the device's side comes in the stream's order.
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t n, Stream* s) {
    READY;
    std::vector<char> staged((const char*)from, (const char*)from + n);
    s->add([=, staged = std::move(staged)] {
        std::lock_guard<std::mutex> hold(memory_lock);
        if (!inside(to, n)) return fail(INVALID_VALUE);
        memcpy((void*)(to & ~device_bit), staged.data(), n);
    });
    return SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t n, Stream* s) {
    READY;
    s->add([=] {
        std::lock_guard<std::mutex> hold(memory_lock);
        if (!inside(from, n)) return fail(INVALID_VALUE);
        memcpy(to, (void*)(from & ~device_bit), n);
    });
    return SUCCESS;
}

// A module has the entries that its PTX declares and this stub can run.
CUresult cuModuleLoadData(Module** out, const char* ptx) {
    READY;
    if (long code = number_of("module", 0)) return (CUresult)code;
    if (!strstr(ptx, ".version")) return INVALID_PTX;
    Module* m = new Module;
    for (const gpumem_kernel* k = gpumem_kernels; k->name; k++) {
        std::string entry = std::string("gpumem_") + k->name;
        const char* at = strstr(ptx, (".visible .entry " + entry + "(").c_str());
        if (!at) continue;
        int parameters = 0;
        for (const char* p = at; *p && *p != ')'; p++) parameters += strncmp(p, ".param", 6) == 0;
        if (parameters != k->buffers + k->parameters + 2) {
            delete m;
            return INVALID_PTX;
        }
        m->functions[entry] = Function{k};
    }
    live_modules++;
    *out = m;
    return SUCCESS;
}

CUresult cuModuleUnload(Module* m) {
    delete m;
    live_modules--;
    return SUCCESS;
}

CUresult cuModuleGetFunction(Function** out, Module* m, const char* name) {
    READY;
    auto it = m->functions.find(name);
    if (it == m->functions.end()) return NOT_FOUND;
    *out = &it->second;
    return SUCCESS;
}

CUresult cuLaunchKernel(Function* f, uint gx, uint gy, uint gz, uint bx, uint by, uint bz, uint, Stream* s, void** params, void**) {
    READY;
    static std::atomic<long> calls{0};
    if (CUresult r = planted("launch_fail_at", ++calls, 701)) return r;
    if (gx == 0 || gy == 0 || gz != 1 || bx == 0 || by == 0 || bz != 1 || bx * by > 256 || gx > 0x7fffffff || gy > 65535) return INVALID_VALUE;
    const gpumem_kernel* k = f->kernel;
    std::vector<uint64_t> values;
    for (int i = 0; i < k->buffers; i++) values.push_back(*(uint64_t*)params[i]);
    for (int i = k->buffers; i < k->buffers + k->parameters; i++) values.push_back(*(uint32_t*)params[i]);
    uint width = *(uint*)params[values.size()], height = *(uint*)params[values.size() + 1];
    uint rows = gy * by;
    s->add([=] { execute(k, values, width, height, rows); });
    return SUCCESS;
}

CUresult cuStreamCreate(Stream** out, uint) {
    READY;
    *out = new Stream;
    live_streams++;
    return SUCCESS;
}

CUresult cuStreamDestroy_v2(Stream* s) {
    delete s;
    live_streams--;
    return SUCCESS;
}

CUresult cuStreamSynchronize(Stream* s) {
    READY;
    s->sync();
    return sticky;
}

CUresult cuEventCreate(Event** out, uint) {
    READY;
    *out = new Event;
    live_events++;
    return SUCCESS;
}

CUresult cuEventDestroy_v2(Event* e) {
    delete e;
    live_events--;
    return SUCCESS;
}

CUresult cuEventRecord(Event* e, Stream* s) {
    READY;
    {
        std::lock_guard<std::mutex> hold(e->lock);
        e->done = false;
    }
    long lag = number_of("lag_us", 0);
    s->add([=] {
        if (lag > 0) usleep((useconds_t)lag);
        std::lock_guard<std::mutex> hold(e->lock);
        e->done = true;
    });
    return SUCCESS;
}

CUresult cuEventQuery(Event* e) {
    READY;
    std::lock_guard<std::mutex> hold(e->lock);
    return e->done ? sticky.load() : NOT_READY;
}

#ifndef WITHOUT_POOLS

CUresult cuMemPoolCreate(Pool** out, const int* props) {
    READY;
    if (props[0] != 1 || props[2] != 1 || props[3] < 0 || props[3] >= number_of("devices", 1)) return INVALID_VALUE;
    *out = new Pool;
    live_pools++;
    return SUCCESS;
}

CUresult cuMemPoolDestroy(Pool* p) {
    std::lock_guard<std::mutex> hold(memory_lock);
    taken -= p->reserved;
    delete p;
    live_pools--;
    return SUCCESS;
}

CUresult cuMemPoolTrimTo(Pool* p, size_t keep) {
    READY;
    std::lock_guard<std::mutex> hold(memory_lock);
    uint64_t least = up(p->used > keep ? p->used : keep, block);
    if (least < p->reserved) {
        taken -= p->reserved - least;
        p->reserved = least;
    }
    return SUCCESS;
}

CUresult cuMemPoolGetAttribute(Pool* p, int which, uint64_t* out) {
    READY;
    std::lock_guard<std::mutex> hold(memory_lock);
    switch (which) {
    case 4: *out = p->threshold; return SUCCESS;
    case 5: *out = p->reserved; return SUCCESS;
    case 7: *out = p->used; return SUCCESS;
    }
    return INVALID_VALUE;
}

CUresult cuMemPoolSetAttribute(Pool* p, int which, const uint64_t* v) {
    READY;
    if (which != 4) return INVALID_VALUE;
    p->threshold = *v;
    return SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t n, Pool* p, Stream*) {
    READY;
    std::lock_guard<std::mutex> hold(memory_lock);
    return obtain(out, n, p);
}

CUresult cuMemFreeAsync(CUdeviceptr p, Stream* s) {
    READY;
    {
        std::lock_guard<std::mutex> hold(memory_lock);
        auto it = memory.find(p);
        if (it == memory.end() || it->second.pool == nullptr) return INVALID_VALUE;
    }
    s->add([=] {
        std::lock_guard<std::mutex> hold(memory_lock);
        give(p, true);
    });
    return SUCCESS;
}

#endif

// gpumem_stub_count is what exists: for tests that nothing is left.
long gpumem_stub_count(const char* what) {
    std::lock_guard<std::mutex> hold(memory_lock);
    std::string w = what;
    if (w == "allocations") return (long)memory.size();
    if (w == "taken") return (long)taken;
    if (w == "streams") return live_streams;
    if (w == "events") return live_events;
    if (w == "modules") return live_modules;
    if (w == "pools") return live_pools;
    if (w == "contexts") return contexts;
    if (w == "launches") return launches;
    return -1;
}

} // extern "C"
