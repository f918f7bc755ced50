/* What Cython has no words for: words that threads share, and a processor that waits. */
#ifndef BURNPY_POOL_H
#define BURNPY_POOL_H

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

#endif
