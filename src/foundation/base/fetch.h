/* How to write a function that only fetches cache lines ahead of their use.
 *
 * gcc finds that a function of nothing but __builtin_prefetch has no effect, and drops every call
 * of it before it would inline it. One that is always inlined has its calls replaced earlier.
 * `objdump -d FILE.o | grep prefetch` shows what is left.
 */
#pragma once

#define ISO_FETCH static inline __attribute__((always_inline)) void
