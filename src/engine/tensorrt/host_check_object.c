/* What a plugin object owes whatever its inputs are: clones, serialisation, and its memory. */
#include <malloc.h>
#include <string.h>

#include "engine/tensorrt/host_check.h"

enum { WARM = 8, ROUNDS = 24, LEAST = 8 * ROUNDS, FILL = 0xa5, OTHER_FILL = 0x5a };

/* Bytes of the process that malloc() gave and free() has not taken back. */
static size_t in_use(void)
{
#if __GLIBC_PREREQ(2, 33)
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
#else
	struct mallinfo m = mallinfo();
	return (size_t)(unsigned)m.uordblks + (size_t)(unsigned)m.hblkhd;
#endif
}

/* Says that it goes on: a call has only so much time. */
static bool once(struct checker *k, bool (*round)(void *arg), void *arg)
{
	bool good = round(arg);
	host_log_clear(k->host);
	check_step(k, k->call);
	return good;
}

/* A cache that fills up grows at first: only growth in three successive series counts. */
void check_leak(struct checker *k, const char *what, bool (*round)(void *arg), void *arg)
{
	size_t least = SIZE_MAX;
	for (int i = 0; i < WARM; i++)
		if (!once(k, round, arg))
			return;
	for (int series = 0; series < 3; series++) {
		size_t before = in_use();
		for (int i = 0; i < ROUNDS; i++)
			if (!once(k, round, arg))
				return;
		size_t after = in_use(), grown = after > before ? after - before : 0;
		least = grown < least ? grown : least;
	}
	if (least >= LEAST)
		check_found(k, RULE_LEAK, "%s leave %zu bytes more each time", what, least / ROUNDS);
}

/* ---- Clones. */

/* A clone must work after the original is gone. Destroys `plugin`; returns the clone of its clone, or null. */
static void *clones(struct checker *k, void *plugin)
{
	check_step(k, "clone");
	void *copy = k->calls->clone(plugin);
	if (!copy || copy == plugin) {
		check_found(k, RULE_CLONE, copy ? "it returns the object itself" : "it returns null");
		check_step(k, k->calls->destroy);
		k->calls->end(plugin);
		return NULL;
	}
	if (k->calls == &check_calls_v3)
		for (int32_t i = 0; i < 3; i++) {
			void *part = TRT_CALL(copy, trt_plugin, capability, i);
			if (!part || part == TRT_CALL(plugin, trt_plugin, capability, i)) {
				check_found(k, RULE_CLONE,
				            part ? "the clone has the original's capability object"
				                 : "the clone lacks a capability");
				return NULL; /* its destructor would destroy the object twice */
			}
		}
	int32_t outputs = k->calls->outputs(plugin);
	check_step(k, k->calls->destroy);
	k->calls->end(plugin);
	check_step(k, "clone, after the original is gone");
	if (k->calls->outputs(copy) != outputs)
		check_found(k, RULE_CLONE, "the clone has another number of outputs");
	void *second = k->calls->clone(copy);
	if (!second)
		check_found(k, RULE_CLONE, "the clone of a clone is null");
	k->calls->end(copy);
	return second;
}

/* ---- Serialisation. */

static bool same(const struct check_saved *a, const struct check_saved *b)
{
	return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

/* Two plugins made alike save the same; memory that malloc() gives differs, as between two processes. */
static void alike(struct checker *k, const struct check_saved *saved)
{
	struct check_saved other;
	mallopt(M_PERTURB, OTHER_FILL);
	check_step(k, k->calls->create);
	void *plugin = check_create(k, &k->given, TRT_PHASE_BUILD);
	mallopt(M_PERTURB, FILL);
	if (!plugin)
		return;
	if (k->calls->saved(k, plugin, &other) && !same(saved, &other))
		check_found(k, RULE_SAVED_SAME, "two plugins made from the same attributes give other bytes");
	k->calls->end(plugin);
}

/* The same bytes at each call. False if nothing can be saved. */
static bool steady(struct checker *k, void *plugin, struct check_saved *saved)
{
	struct check_saved second;
	if (!k->calls->saved(k, plugin, saved) || !k->calls->saved(k, plugin, &second))
		return false;
	if (same(saved, &second))
		return true;
	check_found(k, RULE_SAVED_SAME, "a second call gives other bytes");
	return false;
}

static void same_clone(struct checker *k, void *copy, const struct check_saved *saved)
{
	struct check_saved of_clone;
	if (!k->calls->saved(k, copy, &of_clone) || same(saved, &of_clone))
		return;
	check_step(k, "clone");
	check_found(k, RULE_CLONE, "%s() of the clone gives other bytes than the original's", k->calls->save);
}

/* What an engine file keeps makes the same plugin again. False if it makes none: no engine can be built. */
static bool restored(struct checker *k, const struct check_saved *saved)
{
	struct check_saved second;
	void *made = k->calls->again(k, saved);
	if (!made) {
		check_found(k, RULE_RESTORE, "it returns null%s", check_log(k));
		return false;
	}
	bool whole = k->calls != &check_calls_v3 || (TRT_CALL(made, trt_plugin, capability, TRT_RUNTIME) &&
	                                             TRT_CALL(made, trt_plugin, capability, TRT_CORE));
	if (!whole)
		check_found(k, RULE_RESTORE, "the plugin lacks a capability");
	else if (k->calls->saved(k, made, &second) && !same(saved, &second))
		check_found(k, RULE_RESTORE, "a plugin made from what was saved gives other bytes");
	check_step(k, k->calls->destroy);
	k->calls->end(made);
	return whole;
}

/* ---- Memory. */

struct object {
	struct checker *k;
	void *plugin;
};

static bool round_create(void *arg)
{
	struct checker *k = ((struct object *)arg)->k;
	void *plugin = k->calls->make(k, k->given.count ? &k->given : k->no_fields, TRT_PHASE_BUILD);
	if (plugin)
		k->calls->end(plugin);
	return plugin;
}

static bool round_clone(void *arg)
{
	const struct object *o = arg;
	void *plugin = o->k->calls->clone(o->plugin);
	bool good = plugin && plugin != o->plugin;
	if (good)
		o->k->calls->end(plugin);
	return good;
}

bool check_object(struct checker *k, void *plugin, struct check_saved *saved)
{
	mallopt(M_PERTURB, FILL);
	check_step(k, "getNbOutputs");
	int32_t outputs = k->calls->outputs(plugin);
	if (outputs < 1 || outputs >= HOST_MAX_TENSORS)
		check_found(k, RULE_OUTPUTS, "%d is an impossible number", (int)outputs);
	if (k->calls->outputs(plugin) != outputs)
		check_found(k, RULE_OUTPUTS, "a second call returns another number");
	bool good = steady(k, plugin, saved);
	void *copy = clones(k, plugin);
	if (!copy)
		return false;
	if (good)
		same_clone(k, copy, saved);
	good = good && restored(k, saved);
	if (good) {
		alike(k, saved);
		check_probe_fields(k, saved);
	}
	struct object o = { k, copy };
	check_step(k, k->calls->destroy);
	check_leak(k, "a plugin's creation and its destruction", round_create, &o);
	check_step(k, "clone");
	check_leak(k, "clone() and the destruction of the clone", round_clone, &o);
	check_step(k, k->calls->destroy);
	k->calls->end(copy);
	return good && outputs >= 1 && outputs < HOST_MAX_TENSORS;
}
