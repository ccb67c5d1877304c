/* The profile of a run as Chrome's trace events, which Perfetto shows: a track of launches, and one of their pieces. */
#include "base/file.h"
#include "lib/tpat_inside.h"

static void add_text(struct str *s, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c == '"' || *c == '\\')
			str_printf(s, "\\%c", *c);
		else if (*c < ' ' || *c > '~') /* names may be in any encoding */
			str_printf(s, "\\u%04x", *c);
		else
			str_printf(s, "%c", *c);
}

/* A complete event; times are in microseconds. */
static void add_event(struct str *s, const char *name, int track, double from_ns, double ns)
{
	str_printf(s, "%s\n{\"ph\":\"X\",\"pid\":0,\"tid\":%d,\"ts\":", s->n > 1 ? "," : "", track);
	str_printf(s, "%lld.%03d,\"dur\":%lld.%03d", (long long)(from_ns / 1000), (int)((int64_t)from_ns % 1000),
	           (long long)(ns / 1000), (int)((int64_t)ns % 1000));
	str_printf(s, ",\"name\":\"");
	add_text(s, name);
	str_printf(s, "\"");
}

static void add_name(struct str *s, const char *kind, int track, const char *name)
{
	str_printf(s, "%s\n{\"ph\":\"M\",\"pid\":0,\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":\"",
	           s->n > 1 ? "," : "", track, kind);
	add_text(s, name);
	str_printf(s, "\"}}");
}

int tpat_run_trace(const char *path, const char *model, const struct tpat_ran *r, struct arena *a, struct err *e)
{
	struct str s = str_new(a);
	double at = 0, begun = 0;
	str_printf(&s, "[");
	add_name(&s, "process_name", 0, model);
	add_name(&s, "thread_name", 1, "pieces");
	add_name(&s, "thread_name", 2, "kernels");
	for (int i = 0; i < r->launches; i++) {
		const struct tpat_ran_launch *x = &r->launch[i];
		add_event(&s, x->kernel, 2, at, x->ns);
		str_printf(&s, ",\"args\":{\"node\":\"");
		add_text(&s, x->node);
		str_printf(&s, "\",\"bytes\":%lld}}", (long long)x->bytes);
		at += x->ns;
		if (i + 1 < r->launches && x->piece == r->launch[i + 1].piece)
			continue;
		add_event(&s, x->piece, 1, begun, at - begun);
		str_printf(&s, "}");
		begun = at;
	}
	str_printf(&s, "\n]\n");
	return file_write(path, str_text(&s), s.n, e);
}
