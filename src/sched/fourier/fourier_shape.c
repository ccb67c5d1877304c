/* Threads, shared memory and indices of a Fourier transform's kernel. See fourier_chain.h. */
#include "sched/fourier/fourier_chain.h"

int fourier_parts(const struct fourier_chain *f, int pass)
{
	int before = fourier_j(f, pass);
	return (fourier_half(f) ? before / 2 + 1 : before) * fourier_m(f, pass);
}

int fourier_threads(const struct fourier_chain *f)
{
	int most = 1;
	for (int i = 0; i < f->passes; i++)
		most = fourier_parts(f, i) > most ? fourier_parts(f, i) : most;
	return most;
}

bool fourier_across(const struct fourier_chain *f)
{
	const struct ir_buffer *out = fourier_end(f)->s->out;
	for (int i = f->axis + 1; i < out->rank; i++)
		if (i != f->part && !ir_is_int(out->dim[i], 1))
			return true;
	return f->before > 1;
}

enum { SPREAD = 16 };

expr fourier_place(struct ir_program *p, expr at)
{
	return ir_binary(IR_ADD, at, ir_binary(IR_FLOORDIV, at, ir_index(p->pool, SPREAD)));
}

int fourier_pitch(const struct fourier_chain *f)
{
	int most = 0;
	for (int i = 0; i + 1 < f->passes; i++) {
		int k = fourier_k(f, i), n = (fourier_half(f) ? k / 2 + 1 : k) * fourier_m(f, i);
		most = n > most ? n : most;
	}
	return (most + most / SPREAD) | 1;
}

int fourier_shared_bytes(const struct fourier_chain *f, int rows)
{
	return f->passes == 1 ? 0 : rows * fourier_pitch(f) * 2 * type_info(f->turn->type)->bits / 8;
}

bool fourier_fits(const struct fourier_chain *f, int rows)
{
	enum { MAX_THREADS = 1024 };
	return fourier_threads(f) <= MAX_THREADS / rows &&
	       fourier_shared_bytes(f, 1) <= TARGET_SHARED_EVERYWHERE / rows;
}

int fourier_row_axes(const struct fourier_chain *f, expr *extent)
{
	const struct ir_buffer *out = fourier_end(f)->s->out;
	int n = 0;
	for (int i = 0; i < out->rank; i++)
		if (i == f->axis && f->before > 1)
			extent[n++] = ir_index(f->p->pool, f->real ? f->before / 2 + 1 : f->before);
		else if (i != f->axis && i != f->part)
			extent[n++] = out->dim[i];
	return n;
}

void fourier_index(const struct fourier_chain *f, int pass, const expr *row, expr k, expr m, expr part, expr *index)
{
	const struct fourier_pass *x = &f->pass[pass];
	const struct ir_buffer *out = x->s->out;
	int part_axis = pass + 1 == f->passes ? f->part : out->rank - 1, n = 0;
	for (int i = 0; i < out->rank; i++) {
		if (i == f->axis) {
			index[i] = k;
			n += f->before > 1;
		} else if (i == f->axis + 1 && x->m > 1) {
			index[i] = ir_binary(IR_MUL, m, ir_index(f->p->pool, f->rest));
			if (f->rest > 1)
				index[i] = ir_binary(IR_ADD, index[i], row[n++]);
		} else {
			index[i] = i == part_axis ? part : row[n++];
		}
	}
}
