/* Divides the work of a tuning among processes that do not talk to each other. All of them find the same programs and
 * deal them out by their hashes, in turn; what is left when each has got equally many is divided candidate by
 * candidate. See tuning_inside.h. */
#include <string.h>

#include "base/file.h"
#include "lib/tuning_inside.h"

/* The hash of a program; "" if there is none. */
static const char *hash_of(struct tuning *t, const struct tuning_work *w)
{
	struct arena *a = arena_new();
	struct ir_program *p;
	struct err e = { 0 };
	char hash[33] = "";
	if (!w->region->folded && tuning_program(&p, t, w, a, &e) == 0)
		ir_hash(p, hash);
	arena_free(a);
	return arena_strdup(t->arena, hash);
}

void tuning_deal(struct tuning *t)
{
	t->deal.of = NEWN(t->arena, const char *, t->works.n + 1);
	t->deal.hash = NEWN(t->arena, const char *, t->works.n + 1);
	for (int i = 0; i < t->works.n; i++)
		t->deal.hash[i] = t->deal.of[i] = hash_of(t, &t->works.at[i]);
	vec_sort_texts(t->deal.hash, t->works.n);
	for (int i = 0; i < t->works.n; i++)
		if (*t->deal.hash[i] && (!t->deal.n || strcmp(t->deal.hash[i], t->deal.hash[t->deal.n - 1]) != 0))
			t->deal.hash[t->deal.n++] = t->deal.hash[i];
}

/* A program's place among the sorted ones; -1: a region without a program. */
static int place_of(const struct tuning *t, const char *hash)
{
	for (int i = 0; i < t->deal.n; i++)
		if (strcmp(t->deal.hash[i], hash) == 0)
			return i;
	return -1;
}

struct tuning_part tuning_part(const struct tuning *t, int work)
{
	int shard = t->o->shard, shards = t->o->shards;
	if (t->works.at[work].region->folded)
		return (struct tuning_part){ 0, 0 };
	if (!t->deal.of)
		return (struct tuning_part){ 0, 1 };
	int place = place_of(t, t->deal.of[work]), whole = t->deal.n / shards * shards;
	if (place >= whole)
		return (struct tuning_part){ shard, shards };
	bool own = place < 0 ? shard == 0 : place % shards == shard; /* the first reports regions without a program */
	return (struct tuning_part){ 0, own && !t->finishes };
}

int tuning_works(const struct tuning *t)
{
	int n = 0;
	for (int i = 0; i < t->works.n; i++)
		n += tuning_part(t, i).count > 0;
	return n;
}

const char *tuning_share_path(const char *db, int shard, int shards, struct arena *a)
{
	size_t n = strlen(db);
	bool ends = n > 3 && strcmp(db + n - 3, ".db") == 0 && db[n - 4] != '/';
	return arena_printf(a, "%.*s.%d-of-%d.db", (int)(ends ? n - 3 : n), db, shard, shards);
}
