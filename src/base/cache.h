/* Results that can be made again, such as compiled code, kept between runs by a hash of all that they depend on: a file
 * each, in file_cache_dir(). Any number of processes and threads may use it at once. An entry is
 * whole or not there, and one that was damaged since counts as missing. Nothing here fails: at worst nothing is kept.
 */
#ifndef TPAT_BASE_CACHE_H
#define TPAT_BASE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct cache_key {
	uint64_t half[2];
};
/* Starts a key. It depends on all data added, and on their order. */
struct cache_key cache_key_new(void);
void cache_key_add(struct cache_key *k, const void *data, size_t size); /* the size counts, too */
void cache_key_text(struct cache_key *k, const char *text);

/* `kind`: its folder ("code"). get: true if found; *out is in `a`, aligned to 8 bytes. put: also removes the entries
 * not used for the longest time if all of a kind are larger than $TPAT_CACHE_SIZE: bytes, or "500M", "2G"; by default 1
 * GiB. 0: nothing is read or kept. */
bool cache_get(const void **out, size_t *size, const char *kind, struct cache_key k, struct arena *a);
void cache_put(const char *kind, struct cache_key k, const void *data, size_t size);

#endif
