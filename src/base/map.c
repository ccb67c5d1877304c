/* Hash table with insertion order, and hashes. See map.h. */
#include "base/map.h"

#include <string.h>

#include "base/foreign.h"
#include "base/vec.h"

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t hash_u64(uint64_t seed, uint64_t x)
{
	x += seed * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

uint64_t hash_bytes(uint64_t seed, const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t h = hash_u64(seed, n), word;
	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = hash_u64(h, word);
	}
	word = 0;
	if (n)
		memcpy(&word, p, n);
	return hash_u64(h, word);
}

uint64_t hash_str(uint64_t seed, const char *s)
{
	return hash_bytes(seed, s, strlen(s));
}

struct map map_new(struct arena *a)
{
	return (struct map){ .arena = a };
}

static int find_slot(const struct map *m, const char *name, uint64_t key)
{
	int i = (int)(hash_u64(0, key) & (uint64_t)(m->slots - 1));
	for (; m->slot[i]; i = (i + 1) & (m->slots - 1)) {
		const struct map_entry *e = &m->entry[m->slot[i] - 1];
		if (e->key == key && (!name ? !e->name : e->name && strcmp(e->name, name) == 0))
			return i;
	}
	return i;
}

static void *get(const struct map *m, const char *name, uint64_t key)
{
	if (!m->slots)
		return NULL;
	int i = find_slot(m, name, key);
	return m->slot[i] ? m->entry[m->slot[i] - 1].value : NULL;
}

/* The map changes no value, so it takes constants; who gets one back knows what was put there. */
static void put(struct map *m, const char *name, uint64_t key, const void *value)
{
	if (2 * (m->n + 1) > m->slots) {
		m->slots = m->slots ? m->slots * 2 : 32;
		m->slot = NEWN(m->arena, int, m->slots);
		for (int e = 0; e < m->n; e++)
			m->slot[find_slot(m, m->entry[e].name, m->entry[e].key)] = e + 1;
	}
	int i = find_slot(m, name, key);
	if (m->slot[i]) {
		m->entry[m->slot[i] - 1].value = drop_const(value);
		return;
	}
	vec_room(m->arena, (void **)&m->entry, m->n, &m->cap, sizeof *m->entry);
	m->entry[m->n++] = (struct map_entry){ name ? arena_strdup(m->arena, name) : NULL, key, drop_const(value) };
	m->slot[i] = m->n;
}

void *map_get(const struct map *m, const char *name)
{
	return get(m, name, hash_str(0, name));
}

void map_put(struct map *m, const char *name, const void *value)
{
	put(m, name, hash_str(0, name), value);
}

void *map_get_u64(const struct map *m, uint64_t key)
{
	return get(m, NULL, key);
}

void map_put_u64(struct map *m, uint64_t key, const void *value)
{
	put(m, NULL, key, value);
}
