/* Tests on the emulator whose kernels are compiled together: starting a compiler takes longer than one small kernel. */
#ifndef TPAT_TESTS_BATCH_H
#define TPAT_TESTS_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Calls test(user, i) once for each i in [0, n). Up to BATCH_WIDTH of them are begun at a time, each on its own stack,
 * but only one runs: the others wait in batch_build(). When all wait, their texts become one module. `enter`, if not
 * null, is called whenever test i begins or goes on. */
enum { BATCH_WIDTH = 48 };
void batch_run(int n, void (*test)(void *user, int i), void (*enter)(void *user, int i), void *user);

/* The emulated code of a text: alone, or in a batch_run() one of a module. */
struct batch_code;
int batch_build(struct batch_code **out, const char *text, bool may_race, struct err *e);
int batch_launch(struct batch_code *code, const char *kernel, const uint32_t grid[3], const uint32_t block[3],
                 uint32_t shared_bytes, void **args, struct err *e);
void batch_unload(struct batch_code *code); /* null is fine */

#endif
