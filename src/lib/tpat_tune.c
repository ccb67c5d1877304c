/* tpat_tune: chooses the devices, and tunes on one of them or on several. */
#include "lib/tuning_inside.h"

static void clean_up(void *arg)
{
	tuning_close(arg);
}

/* The GPU of this process's number, where all processes of a machine see all of its GPUs. */
static int choose_device(struct tuning *t)
{
	const struct tpat_tune_options *o = t->o;
	int gpus = 0;
	t->device_name = o->devices.n ? o->devices.at[0] : o->device ? o->device : "cuda";
	if (o->device || o->devices.n || o->local < 1)
		return 0;
	TRY(tune_gpus(&gpus, t->err));
	if (gpus > 1)
		t->device_name = arena_printf(t->arena, "cuda:%d", o->local % gpus);
	return 0;
}

static int tune_model(struct tuning *t)
{
	const struct tpat_tune_options *o = t->o;
	if (o->shards > 1 && (o->shard < 0 || o->shard >= o->shards))
		return err_set(t->err, ERR_USAGE, "There is no share %d of %d: they are counted from 0.", o->shard,
		               o->shards);
	if (o->devices.n > 1 && o->shards > 1)
		return err_set(t->err, ERR_USAGE, "A share of a tuning runs on one device, not on %d.", o->devices.n);
	t->result->shard = o->shard;
	t->result->shards = o->shards > 1 ? o->shards : 0;
	TRY(choose_device(t));
	TRY(o->devices.n > 1 ? tuning_devices(t) : tuning_run(t));
	return t->result->failed
	               ? err_set(t->err, ERR_DIFFER, "%d of %d have no candidate that runs and gives correct results.",
	                         t->result->failed, t->result->n)
	               : 0;
}

struct tune_call {
	const struct tpat_tune_options *o;
	const struct tpat_tuning **out;
};

static int run(struct tpat *t, void *arg)
{
	struct tune_call *c = arg;
	struct tuning *x = NEW(t->arena, struct tuning);
	*x = (struct tuning){ .o = c->o,
		              .result = NEW(t->arena, struct tpat_tuning),
		              .talk = &t->talk,
		              .arena = t->arena,
		              .err = &t->err };
	if (c->o->version != TPAT_TUNE_VERSION || !c->o->model)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_tune have an unknown version, or no model.");
	t->cleanup = clean_up;
	t->cleanup_arg = x;
	int rc = tune_model(x);
	if (rc == 0 || x->result->n)
		*c->out = x->result;
	return rc;
}

int tpat_tune(struct tpat *t, const struct tpat_tuning **out, const struct tpat_tune_options *o)
{
	struct tune_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
