/* A process's part of a tuning: --shard, or what Open MPI, PMI (MPICH, Intel MPI) and Slurm say in the environment, so
 * that mpirun, srun or a job array is all that is needed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MOST_SHARDS = 100000 };

/* The first that is set counts: mpirun in a Slurm job starts its processes with Slurm's variables for its helpers. */
static const struct launcher {
	const char *rank, *size, *local, *locals;
	const char *only; /* counts only where this is set, too; or null */
} launchers[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
	  NULL },
	{ "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL },
	/* A batch script has SLURM_PROCID and SLURM_NTASKS, too, but runs once. */
	{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, "SLURM_STEP_ID" },
	{ "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL, "SLURM_STEP_ID" },
};

static const char *set(const char *name)
{
	const char *value = name ? getenv(name) : NULL;
	return value && *value ? value : NULL;
}

static int read_whole(int *out, const char *text, int least)
{
	char *end;
	long n = strtol(text, &end, 10);
	if (end == text || *end || n < least || n > MOST_SHARDS)
		return -1;
	*out = (int)n;
	return 0;
}

/* Returns as cli_parse. */
static int read_variable(int *out, const char *name, int least)
{
	if (read_whole(out, getenv(name), least) == 0)
		return -1;
	return cli_usage("Unset it, or name this process's part with --shard I/N.",
	                 "The environment variable %s needs a number, not \"%s\".", name, getenv(name));
}

static int from_launcher(struct tpat_tune_options *o, const char **source)
{
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		const struct launcher *l = &launchers[i];
		int status;
		if (!set(l->rank) || !set(l->size) || (l->only && !set(l->only)))
			continue;
		if ((status = read_variable(&o->shard, l->rank, 0)) >= 0 ||
		    (status = read_variable(&o->shards, l->size, 1)) >= 0)
			return status;
		if (set(l->local) && (status = read_variable(&o->local, l->local, 0)) >= 0)
			return status;
		if (set(l->locals) && (status = read_variable(&o->locals, l->locals, 1)) >= 0)
			return status;
		*source = l->rank;
		break;
	}
	return -1;
}

/* Each task of an array may have several processes. */
static int from_array(struct tpat_tune_options *o, const char **source)
{
	int task, tasks, first = 0, step = 1, status;
	if (!set("SLURM_ARRAY_TASK_ID") || !set("SLURM_ARRAY_TASK_COUNT"))
		return -1;
	if ((status = read_variable(&task, "SLURM_ARRAY_TASK_ID", 0)) >= 0 ||
	    (status = read_variable(&tasks, "SLURM_ARRAY_TASK_COUNT", 1)) >= 0)
		return status;
	if (set("SLURM_ARRAY_TASK_MIN") && (status = read_variable(&first, "SLURM_ARRAY_TASK_MIN", 0)) >= 0)
		return status;
	if (set("SLURM_ARRAY_TASK_STEP") && (status = read_variable(&step, "SLURM_ARRAY_TASK_STEP", 1)) >= 0)
		return status;
	int place = (task - first) / step;
	if (task < first || (task - first) % step || place >= tasks)
		return cli_usage("Name this task's part with --shard I/N.",
		                 "Task %d of the job array is not one of %d from %d in steps of %d.", task, tasks,
		                 first, step);
	int each = o->shards ? o->shards : 1;
	o->shard += place * each;
	o->shards = tasks * each;
	*source = each > 1 ? "SLURM_ARRAY_TASK_ID and the process's rank" : "SLURM_ARRAY_TASK_ID";
	return -1;
}

static int from_option(struct tpat_tune_options *o, const char *shard)
{
	const char *slash = strchr(shard, '/');
	char first[16] = "";
	if (slash && slash - shard < (long)sizeof first)
		memcpy(first, shard, (size_t)(slash - shard));
	if (!slash || read_whole(&o->shard, first, 0) < 0 || read_whole(&o->shards, slash + 1, 1) < 0)
		return cli_usage(NULL, "--shard needs a part like 0/4, not \"%s\".", shard);
	return -1;
}

int cli_shard(struct tpat_tune_options *o, const char *shard)
{
	const char *source = "--shard";
	int status = shard ? from_option(o, shard) : from_launcher(o, &source);
	if (status < 0 && !shard)
		status = from_array(o, &source);
	if (status >= 0)
		return status;
	if (o->shards > 1 && o->shard >= o->shards)
		return cli_usage(NULL, "There is no part %d of %d (%s): parts are counted from 0.", o->shard, o->shards,
		                 source);
	if (o->shards > 1 && o->devices.n > 1)
		return cli_usage("Start one process per device instead.",
		                 "--devices cannot be used in part %d of %d (%s).", o->shard, o->shards, source);
	if (o->shards > 1)
		fprintf(stderr, "tpat: part %d of %d (%s)%s\n", o->shard, o->shards, source,
		        shard ? "" : "; --shard 0/1 tunes everything");
	return -1;
}

/* ---- Devices. */

static int add_devices(struct cli *c, struct tpat_tune_options *o, const char *kind, const char *range)
{
	const char *dash = strchr(range, '-');
	char first[16] = "";
	int from, to;
	size_t n = dash ? (size_t)(dash - range) : strlen(range);
	memcpy(first, range, n < sizeof first ? n : 0);
	if (read_whole(&from, first, 0) < 0 || read_whole(&to, dash ? dash + 1 : first, from) < 0 || to - from > 999)
		return cli_usage(NULL, "--devices needs numbers like 0-3 or 0,2, not \"%s\".", range);
	const char **at = NEWN(c->arena, const char *, o->devices.n + to - from + 1);
	for (int i = 0; i < o->devices.n; i++)
		at[i] = o->devices.at[i];
	for (int i = from; i <= to; i++)
		at[o->devices.n++] = strcmp(kind, "cpu") == 0 ? kind : arena_printf(c->arena, "%s:%d", kind, i);
	o->devices.at = at;
	return -1;
}

int cli_devices(struct cli *c, struct tpat_tune_options *o, const struct tpat_strings *list)
{
	const char *kind = o->device ? o->device : "cuda";
	if (list->n && strchr(kind, ':'))
		return cli_usage(NULL, "--devices gives the numbers of devices, so --device %s must not have one.",
		                 kind);
	for (int i = 0; i < list->n; i++) {
		int status = add_devices(c, o, kind, list->at[i]);
		if (status >= 0)
			return status;
	}
	return -1;
}
