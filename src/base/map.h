/* A hash table from strings (or 64-bit keys) to pointers, in an arena; and the hashes that tpat uses. Iterates in
 * insertion order, so that everything made from a table is reproducible. */
#ifndef TPAT_BASE_MAP_H
#define TPAT_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct map_entry {
	const char *name; /* null for number keys */
	uint64_t key;     /* the number, or the string's hash */
	void *value;
};

struct map {
	struct arena *arena;
	struct map_entry *entry; /* n entries in insertion order */
	int n, cap;
	int *slot; /* entry + 1, or 0 */
	int slots;
};

/* An empty map, with its memory in arena `a`. */
struct map map_new(struct arena *a);
void *map_get(const struct map *m, const char *name);             /* null when absent */
void map_put(struct map *m, const char *name, const void *value); /* replaces; the name is copied */
void *map_get_u64(const struct map *m, uint64_t key);
void map_put_u64(struct map *m, uint64_t key, const void *value);

/* Non-cryptographic hashes, the same on every machine. To hash several items, pass each result as the next seed. */
uint64_t hash_bytes(uint64_t seed, const void *data, size_t n);
uint64_t hash_u64(uint64_t seed, uint64_t x);
uint64_t hash_str(uint64_t seed, const char *s);

#endif
