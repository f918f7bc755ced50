/* What Cython has no words for: words that threads share, a processor that waits, and threads that move. */
#ifndef BURNPY_POOL_H
#define BURNPY_POOL_H

#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#endif

#if defined(_MSC_VER)
#include <intrin.h>
static inline long burnpy_look(long *word) { return _InterlockedOr(word, 0); }
static inline long burnpy_add(long *word, long value) { return _InterlockedExchangeAdd(word, value); }
static inline long burnpy_exchange(long *word, long value) { return _InterlockedExchange(word, value); }
static inline int burnpy_replace(long *word, long old, long value) {
    return _InterlockedCompareExchange(word, value, old) == old;
}
#else
static inline long burnpy_look(long *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
static inline long burnpy_add(long *word, long value) { return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL); }
static inline long burnpy_exchange(long *word, long value) { return __atomic_exchange_n(word, value, __ATOMIC_ACQ_REL); }
static inline int burnpy_replace(long *word, long old, long value) {
    return __atomic_compare_exchange_n(word, &old, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
#endif

static inline void burnpy_pause(void) {
#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
    _mm_pause();
#elif defined(_MSC_VER)
    __yield();
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb");
#endif
}

/* Move a thread away from the processor of the caller, to any other that it may use; what it may use stays as it was. */
static inline void burnpy_drive_away(long thread) {
#if defined(__linux__)
    cpu_set_t allowed, others;
    int own = sched_getcpu();
    if (own < 0 || own >= CPU_SETSIZE || sched_getaffinity((pid_t)thread, sizeof allowed, &allowed) != 0) return;
    others = allowed;
    CPU_CLR(own, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity((pid_t)thread, sizeof others, &others) == 0) {
        sched_setaffinity((pid_t)thread, sizeof allowed, &allowed);
    }
#else
    (void)thread;
#endif
}

#endif
