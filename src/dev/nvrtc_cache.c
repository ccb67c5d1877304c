/* Code that NVRTC compiled before, from the user's cache. See nvrtc.h. */
#include <string.h>
#include <sys/stat.h>

#include "base/cache.h"
#include "dev/nvrtc.h"

/* Everything that the code depends on. Not the text's name: it is in messages only, and a plugin's changes with any
 * other plugin of its library. */
static struct cache_key key_of(const struct dev_nvrtc_job *job)
{
	struct cache_key k = cache_key_new();
	struct stat st = { 0 };
	const int numbers[] = { dev_nvrtc_version(), job->arch, job->ptx, job->headers };
	stat(dev_nvrtc_path(), &st); /* releases of one version differ */
	const int64_t file[] = { (int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec };
	cache_key_add(&k, numbers, sizeof numbers);
	cache_key_add(&k, file, sizeof file);
	for (const char *const *o = job->option; o && *o; o++)
		cache_key_text(&k, *o);
	for (int i = 0; i < job->headers; i++) {
		cache_key_text(&k, job->header[i].name);
		cache_key_text(&k, job->header[i].text);
	}
	cache_key_text(&k, job->text);
	return k;
}

int dev_nvrtc_compile_once(const void **out, size_t *size, bool *found, const struct dev_nvrtc_job *job, char **log,
                           struct arena *a, struct err *e)
{
	*found = false;
	TRY(dev_nvrtc_open(e));
	const struct cache_key k = key_of(job);
	*found = cache_get(out, size, "code", k, a);
	if (*found)
		return 0;
	TRY(dev_nvrtc_compile(out, size, job, log, a, e));
	cache_put("code", k, *out, *size);
	return 0;
}
