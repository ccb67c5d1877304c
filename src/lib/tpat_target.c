/* The GPU for which kernels are scheduled. */
#include "lib/tpat_calibration.h"
#include "lib/tpat_inside.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Takes the driver's value for a device, if it gives one. */
static void take(int *fact, int said)
{
	if (said > 0)
		*fact = said;
}

void tpat_target_of_device(struct sched_target *out, const struct dev_props *props)
{
	int table_processors;

	*out = props->arch == 0 ? sched_default_target
	                        : sched_target_like(tpat_gpu_in(props->name, props->arch), props->name, props->arch);
	if (props->arch == 0)
		return;
	table_processors = out->processors;
	take(&out->processors, props->sms);
	take(&out->threads, props->threads_per_sm);
	take(&out->blocks, props->blocks_per_sm);
	take(&out->registers, props->registers_per_sm);
	take(&out->shared, props->shared_per_sm);
	take(&out->block_threads, props->threads_per_block);
	take(&out->block_shared_most, props->shared_per_block);
	if (props->l2_bytes > 0)
		out->l2_bytes = props->l2_bytes;
	out->l2_bytes_per_ns *= (double)out->processors / table_processors;
	if (props->clock_khz > 0) {
		out->l2_bytes_per_ns *= props->clock_khz * 1e-6 / out->clock_ghz;
		out->clock_ghz = props->clock_khz * 1e-6;
	}
	/* Memory moves two words per clock; kernels reach nine tenths of that. For a Jetson the driver reports the
	 * GPU's clock, and 64 bits; smaller modules have less of the same memory. */
	if (props->integrated)
		out->bytes_per_ns *= (double)out->processors / table_processors;
	else if (props->memory_clock_khz > 0 && props->memory_bus_bits > 0)
		out->bytes_per_ns = 0.9 * 2 * props->memory_clock_khz * 1e3 * (props->memory_bus_bits / 8) / 1e9;
}

int tpat_target_calibrate(struct sched_target *t, struct arena *a, struct err *e)
{
	const char *path = getenv("TPAT_CALIBRATION");
	struct cost_table *x = NEW(a, struct cost_table);
	char *text;

	if (!path || !*path)
		return 0;
	TRY(file_read(&text, NULL, path, a, e));
	if (tpat_calibration_read(x, text, e) < 0) {
		err_advise(e, "Write the file with bench/calibrate, or unset TPAT_CALIBRATION.");
		return err_where(e, "%s: ", path);
	}
	if (x->arch == t->arch)
		t->measured = x;
	return 0;
}

static int native(struct sched_target *out, struct arena *a, struct err *e)
{
	struct dev *d;
	TRY(dev_open(&d, "cuda", e));
	tpat_target_of_device(out, &d->props);
	out->name = arena_strdup(a, out->name); /* a copy: the device owns the name */
	d->close(d);
	return 0;
}

/* "sm_75: T4, RTX 2080 Ti; sm_80: A30" */
static const char *known_gpus(struct arena *a)
{
	struct str s = str_new(a);
	for (int arch = 0, next;; arch = next) {
		next = INT_MAX;
		for (const struct sched_target *t = sched_targets; t->name; t++)
			if (t->arch > arch && t->arch < next)
				next = t->arch;
		if (next == INT_MAX)
			break;
		str_printf(&s, "%ssm_%d", arch ? "; " : "", next);
		const char *before = ": ";
		for (const struct sched_target *t = sched_targets; t->name; t++)
			if (t->arch == next) {
				str_printf(&s, "%s%s", before, t->name);
				before = ", ";
			}
	}
	return str_text(&s);
}

static int unknown(const char *gpu, struct arena *a, struct err *e)
{
	err_set(e, ERR_USAGE, "tpat does not know the GPU \"%s\".", gpu);
	return err_advise(e, "Name one of similar size and speed. %s.", known_gpus(a));
}

int tpat_target(struct sched_target *out, const char *gpu, const struct tpat_strings *arch, struct arena *a,
                struct err *e)
{
	const struct sched_target *t = gpu ? tpat_gpu_named(gpu) : NULL;
	const char *only = arch->n == 1 ? arch->at[0] : "";
	if (gpu && strcmp(gpu, "native") == 0)
		return native(out, a, e) < 0 ? e->code : tpat_target_calibrate(out, a, e);
	if (gpu && !t)
		return unknown(gpu, a, e);
	if (!gpu && strcmp(only, "native") == 0) {
		struct err why = { 0 };
		if (native(out, a, &why) == 0) /* on failure, compiling reports it */
			return tpat_target_calibrate(out, a, e);
	}
	if (!t && (str_starts(only, "sm_") || str_starts(only, "compute_")))
		t = sched_target_of_arch(atoi(strchr(only, '_') + 1));
	*out = t ? *t : sched_default_target;
	return tpat_target_calibrate(out, a, e);
}

int tpat_open_device(struct dev **out, struct sched_target *target, const char *name, struct err *e)
{
	*out = NULL;
	if (!name)
		name = "cpu";
	if (strcmp(name, "interpreter") == 0)
		return 0;
	bool runs = !str_starts(name, "null"); /* such a device only compiles */
	int rc = runs ? dev_open(out, name, e) : ERR_USAGE;
	if (rc == ERR_USAGE) {
		err_clear(e); /* its advice does not know the interpreter */
		err_set(e, ERR_USAGE, runs ? "There is no device \"%s\"." : "The device \"%s\" does not run kernels.",
		        name);
		return err_advise(e, "Use cuda (the first GPU), cuda:1 (the second), emulator, cpu or interpreter.");
	}
	TRY(rc);
	tpat_target_of_device(target, &(*out)->props);
	return 0;
}

int tpat_refuse_emulator(const char *device, struct err *e)
{
	if (strcmp(device, "emulator") != 0)
		return 0;
	err_set(e, ERR_USAGE, "Times on the device emulator say nothing about a GPU.");
	return err_advise(e, "Use the device cuda, or cpu to try the command.");
}
