/* An edited kernel text, run in place of the one that it was generated as, compared with the original nodes and timed.
 */
#include "lib/tpat_inside.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "dev/dev.h"
#include "emulator/emulator.h"

enum { TIMES = 50 }; /* measurements on a GPU */

struct kernel_run {
	const struct tpat_kernel_options *o;
	struct tpat_edited edited;
	struct tpat_verification *verification[2]; /* with the edited text, with the library as it is */
	const char *model, *library;               /* of the build */
	const char *device, *work;                 /* a temporary folder */
	struct map launched;                       /* kernels, unless on a GPU */
	struct tpat_talk *talk;
	struct arena *arena;
	struct err *err;
};

static void clean_up(void *arg)
{
	struct kernel_run *k = arg;
	for (int i = 0; i < 2; i++)
		tpat_verification_close(k->verification[i]);
	if (k->work)
		file_remove_tree(k->work);
}

static int find_device(struct kernel_run *k)
{
	k->device = k->o->device;
	if (!k->device)
		k->device = dev_cuda_count(NULL) > 0 ? "cuda" : "emulator";
	if (str_starts(k->device, "cuda") || strcmp(k->device, "emulator") == 0)
		return 0;
	err_set(k->err, ERR_USAGE, "The device \"%s\" does not run CUDA kernels.", k->device);
	return err_advise(k->err, "Use cuda, cuda:1 or emulator.");
}

static bool compiling(void *user, int done, int all, const char *what)
{
	const struct kernel_run *k = user;
	struct tpat_progress p = { "compile", what, done, all };
	bool stops = k->o->progress && k->o->progress(k->o->user, &p);
	return stops || tpat_stops(k->talk);
}

/* Makes a library with the edited text for the GPU. */
static int make_library(const char **out, struct kernel_run *k, const char *folder)
{
	const struct engine *engine;
	struct engine_again r = {
		.folder = folder,
		.work = path_join(k->arena, k->work, "made"),
		.library = path_join(k->arena, k->work, "library.so"),
		.workers = k->o->workers,
		.progress = compiling,
		.user = k,
	};
	TRY(tpat_again_read(&r, &engine, k->edited.record, k->arena, k->err));
	TRY(file_mkdir(r.work, k->err));
	*out = r.library;
	return engine->rebuild(&r, k->arena, k->err);
}

static int verify(struct kernel_run *k, const struct tpat_verified **out, struct tpat *t, int which,
                  const char *library, const char *folder)
{
	bool gpu = str_starts(k->device, "cuda");
	struct tpat_verify_options o = TPAT_VERIFY_OPTIONS;
	struct tpat_verify_edit *edit = NEW(k->arena, struct tpat_verify_edit);
	*edit = (struct tpat_verify_edit){ library, folder, k->o->times ? k->o->times : gpu ? TIMES : 0, &k->launched };
	o.model = k->model;
	o.node = (struct tpat_strings){ &k->edited.plugin, 1 };
	o.device = k->device;
	o.input = k->o->input;
	o.shape = k->o->shape;
	o.value = k->o->value;
	o.seed = k->o->seed;
	o.runs = which ? 1 : k->o->runs;
	o.dump = k->o->dump;
	o.progress = k->o->progress;
	o.user = k->o->user;
	struct tpat_verify_options *kept = NEW(k->arena, struct tpat_verify_options);
	*kept = o;
	int rc = tpat_verification_run(&k->verification[which], out, t, kept, edit);
	tpat_verification_close(k->verification[which]); /* one library of a device at a time */
	k->verification[which] = NULL;
	return rc;
}

/* Times of the library as it is. Its results do not matter, and neither does a library that cannot run. */
static int time_before(struct kernel_run *k, struct tpat_kernel_run *r, struct tpat *t)
{
	const struct tpat_verified *before = NULL;
	int rc = verify(k, &before, t, 1, k->library, k->edited.folder);
	if (rc == ERR_CANCELLED)
		return rc;
	err_clear(k->err);
	if (before && before->checks == 1 && before->check[0].times == r->check->times)
		r->before = before->check[0].time;
	return 0;
}

static int run_edited(struct kernel_run *k, struct tpat_kernel_run *r, struct tpat *t)
{
	const struct tpat_verified *verified = NULL;
	const char *view = path_join(k->arena, k->work, "folder"), *library = k->library;
	bool gpu = str_starts(k->device, "cuda");
	TRY(tpat_edited_view(&k->edited, 1, view, k->arena, k->err));
	if (gpu)
		TRY(make_library(&library, k, view));
	int rc = verify(k, &verified, t, 0, library, view);
	if (!verified)
		return rc;
	r->device = verified->device;
	if (!verified->checks) /* interrupted */
		return rc;
	r->check = &verified->check[0];
	if (!gpu && !r->check->error)
		TRY(tpat_edited_unused(&r->unused, &k->edited, &k->launched, k->arena, k->err));
	return rc == 0 && gpu ? time_before(k, r, t) : rc;
}

struct kernel_call {
	const struct tpat_kernel_options *o;
	const struct tpat_kernel_run **out;
};

static int run(struct tpat *t, void *arg)
{
	struct kernel_call *c = arg;
	struct kernel_run *k = NEW(t->arena, struct kernel_run);
	struct tpat_kernel_run *r = NEW(t->arena, struct tpat_kernel_run);
	char *work;
	*k = (struct kernel_run){ .o = c->o, .talk = &t->talk, .arena = t->arena, .err = &t->err };
	if (c->o->version != TPAT_KERNEL_VERSION || !c->o->file)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_kernel have an unknown version, or no file.");
	t->cleanup = clean_up;
	t->cleanup_arg = k;
	TRY(find_device(k));
	TRY(tpat_edited_find(&k->edited, c->o->file, c->o->folder, c->o->node, t->arena, &t->err));
	TRY(tpat_edited_place(&k->model, &k->edited, "rewritten", t->arena, &t->err));
	TRY(tpat_edited_place(&k->library, &k->edited, "library", t->arena, &t->err));
	TRY(file_temp_dir(&work, t->arena, &t->err));
	k->work = work;
	*r = (struct tpat_kernel_run){
		.file = c->o->file, .folder = k->edited.folder, .plugin = k->edited.plugin, .inside = k->edited.inside
	};
	int rc = run_edited(k, r, t);
	if (r->check)
		*c->out = r;
	if (rc != ERR_DIFFER)
		return rc;
	err_clear(&t->err);
	return err_set(&t->err, ERR_DIFFER,
	               r->check && r->check->error ? "%s does not run as a kernel of %s."
	                                           : "%s computes other results than the original nodes of %s.",
	               c->o->file, r->plugin);
}

int tpat_kernel(struct tpat *t, const struct tpat_kernel_run **out, const struct tpat_kernel_options *o)
{
	struct kernel_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
