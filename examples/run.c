/* Runs a model many times on the processor, with batches of other sizes: run MODEL. The model has one input of f32, of
 * which only the first extent is open. cc run.c $(pkg-config --cflags --libs tpat) */
#include <stdio.h>
#include <stdlib.h>

#include "tpat/tpat.h"

enum { MOST_ROWS = 4 };

static int fail(const struct tpat *t, int code)
{
	fprintf(stderr, "%s%s %s\n", tpat_error_where(t), tpat_error(t), tpat_error_advice(t));
	return -code;
}

/* Elements of a row: the product of all extents but the first. 0: the input is another one than described above. */
static int64_t row_of(const struct tpat_session_about *about)
{
	const struct tpat_tensor *x = about->input;
	int64_t row = 1;
	if (about->inputs != 1 || x->type != TPAT_F32 || x->rank < 1 || x->dim[0] >= 0)
		return 0;
	for (int k = 1; k < x->rank; k++)
		row = x->dim[k] < 0 ? 0 : row * x->dim[k];
	return row;
}

static int run_rows(struct tpat *t, struct tpat_session *s, float *data, int64_t rows, int64_t row)
{
	const struct tpat_tensor *x = tpat_session_about(s)->input;
	const struct tpat_session_ran *ran;
	int64_t dim[16];
	for (int k = 0; k < x->rank; k++)
		dim[k] = k ? x->dim[k] : rows;
	for (int64_t i = 0; i < rows * row; i++)
		data[i] = (float)(i % 7) / 7;
	struct tpat_tensor in = { .name = x->name, .type = TPAT_F32, .rank = x->rank, .dim = dim, .data = data };
	int code = tpat_session_run(t, &ran, s, &in, 1);
	for (int i = 0; code == 0 && i < ran->outputs; i++)
		printf("%s: %d axes, the first of %lld\n", ran->output[i].name, ran->output[i].rank,
		       (long long)(ran->output[i].rank ? ran->output[i].dim[0] : 1));
	return code;
}

int main(int argc, char **argv)
{
	struct tpat_session_options o = TPAT_SESSION_OPTIONS;
	struct tpat_session *s = NULL;
	float *data = NULL;
	if (argc != 2) {
		fprintf(stderr, "usage: run MODEL\n");
		return 2;
	}
	struct tpat *t = tpat_new();
	if (!t)
		return 5;
	o.model = argv[1];
	int code = tpat_session_open(t, &s, &o);
	if (code == 0) {
		int64_t row = row_of(tpat_session_about(s));
		data = malloc(sizeof *data * (size_t)(MOST_ROWS * row + 1));
		for (int64_t rows = 1; data && row && code == 0 && rows <= MOST_ROWS; rows++)
			code = run_rows(t, s, data, rows, row);
		if (!data || !row) {
			fprintf(stderr, "%s has other inputs than one of f32 with an open first extent.\n", argv[1]);
			code = 2;
		}
	}
	code = code < 0 ? fail(t, code) : code;
	tpat_session_close(s);
	tpat_free(t);
	free(data);
	return code;
}
