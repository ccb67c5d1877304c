/* Part of rt_test.c: methods called one by one with invalid arguments, and the data saved in an engine. */

static void test_refusals(struct host *h)
{
	struct raw r = raw_new(h, "Double");
	struct trt_dynamic_desc ok = desc(TRT_FLOAT, TRT_LINEAR, 2, 3, 4), d[3] = { ok, ok, ok };
	int32_t half[2] = { TRT_HALF, TRT_FLOAT }, out[2];
	struct trt_expr *builder = host_expr_builder(arena);
	struct trt_dims_exprs in = { 3, { NULL } }, shape;

	CHECK(!TRT_CALL(r.plugin, trt_plugin, capability, 3));
	/* Types and formats. */
	for (int32_t type = -1; type < 14; type++)
		for (int32_t format = 0; format < 13; format++)
			for (int32_t pos = 0; pos < 2; pos++) {
				d[pos] = desc(type, format, 2, 3, 4);
				bool fits = TRT_CALL(r.build, trt_build, supports_format, pos, d, 1, 1);
				if (fits != (type == TRT_FLOAT && format == TRT_LINEAR))
					CHECK(!"supportsFormatCombination");
				d[pos] = ok;
			}
	CHECK(!TRT_CALL(r.build, trt_build, supports_format, 2, d, 1, 1));
	CHECK(!TRT_CALL(r.build, trt_build, supports_format, -1, d, 1, 1));
	CHECK(!TRT_CALL(r.build, trt_build, supports_format, 0, d, 2, 1));
	CHECK_STR(host_log(h), "");
	CHECK(TRT_CALL(r.build, trt_build, output_types, out, 1, half, 1) != 0);
	CHECK(log_has(h,
	              "tpat plugin Double: getOutputDataTypes: input 0 (x) must be FLOAT (0), but it is HALF (1)\n"));
	CHECK(TRT_CALL(r.build, trt_build, output_types, out, 2, half, 1) != 0);
	CHECK(log_has(h, "getOutputDataTypes: it has 1 outputs, but TensorRT asks for 2"));
	CHECK(TRT_CALL(r.build, trt_build, output_types, out, 1, half, 2) != 0);
	CHECK(log_has(h, "it has 1 inputs, 1 without shape inputs, but TensorRT passed 2"));
	/* Ranks. */
	CHECK(TRT_CALL(r.build, trt_build, output_shapes, &in, 1, NULL, 0, &shape, 1, builder) != 0);
	CHECK(log_has(h, "getOutputShapes: input 0 (x) must have rank 2, but it has rank 3"));
	in.rank = 2;
	CHECK(TRT_CALL(r.build, trt_build, output_shapes, &in, 1, &in, 1, &shape, 1, builder) != 0);
	CHECK(log_has(h, "getOutputShapes: it has 0 shape inputs, but TensorRT passed 1"));
	d[0] = desc(TRT_FLOAT, 1, 2, 3, 4);
	CHECK(TRT_CALL(r.build, trt_build, configure, d, 1, d + 1, 1) != 0);
	CHECK(log_has(h, "configurePlugin: input 0 (x) must have format LINEAR (0), but it has format 1"));
	d[0] = ok;
	d[1] = desc(TRT_FLOAT, TRT_LINEAR, 1, 3, 4);
	CHECK(TRT_CALL(r.build, trt_build, configure, d, 1, d + 1, 1) != 0);
	CHECK(log_has(h, "configurePlugin: output 0 (y) must have rank 2, but it has rank 1"));
	/* Run time: unknown and wrong extents, tactics. */
	struct trt_desc x = ok.desc, y = ok.desc;
	x.dims.d[0] = -1;
	CHECK(TRT_CALL(r.runtime, trt_runtime, shape_change, &x, 1, &y, 1) != 0);
	CHECK(log_has(h, "onShapeChange: input 0 (x) has an unknown extent at dimension 0"));
	x.dims.d[0] = 3;
	y.dims.d[1] = 5;
	CHECK(TRT_CALL(r.runtime, trt_runtime, shape_change, &x, 1, &y, 1) != 0);
	CHECK(log_has(h, "onShapeChange: output 0 (y) must have extent 4 at dimension 1, but it has 5"));
	CHECK(TRT_CALL(r.runtime, trt_runtime, enqueue, &x, &y, NULL, NULL, NULL, NULL) != 0);
	CHECK(log_has(h, "enqueue: TensorRT passed a null array"));
	CHECK(TRT_CALL(r.runtime, trt_runtime, set_tactic, 1) != 0);
	CHECK(log_has(h, "setTactic: there is no tactic 1"));
	CHECK_INT(TRT_CALL(r.runtime, trt_runtime, set_tactic, 0), 0);
	/* Extents beyond what fits: 2^40 * 2^40 elements. */
	host_log_clear(h);
	x.dims.d[0] = x.dims.d[1] = y.dims.d[0] = y.dims.d[1] = INT64_C(1) << 40;
	CHECK(TRT_CALL(r.runtime, trt_runtime, shape_change, &x, 1, &y, 1) != 0);
	CHECK(log_has(
	        h,
	        "onShapeChange: the grid of step 0 (double_f32) cannot be computed: its value does not fit 64 bits"));
	x.dims.d[1] = y.dims.d[1] = 1;
	CHECK(TRT_CALL(r.runtime, trt_runtime, shape_change, &x, 1, &y, 1) != 0);
	CHECK(log_has(h, "kernel double_f32 would need 4294967296 blocks"));
	/* One line per failure. */
	int lines = 0;
	for (const char *c = host_log(h); *c; c++)
		lines += *c == '\n';
	CHECK_INT(lines, 2);
	TRT_CALL(r.plugin, trt_plugin, v.d0);

	/* A workspace of unknown size. */
	host_log_clear(h);
	r = raw_new(h, "RowSoftmax");
	d[0] = d[1] = desc(TRT_FLOAT, TRT_LINEAR, 2, -1, 4);
	CHECK_INT(TRT_CALL(r.build, trt_build, workspace, d, 1, d + 1, 1), 0);
	CHECK(log_has(h, "getWorkspaceSize: the size of buffer 0 (largest) cannot be computed: extent 0 of input 0 (x) "
	                 "is not known"));
	TRT_CALL(r.plugin, trt_plugin, v.d0);

	/* VALUE without the attribute that makes TensorRT pass it. */
	host_log_clear(h);
	r = raw_new(h, "Repeat");
	struct trt_dims_exprs both[2] = { { 1, { host_expr_new(builder, 4, false) } },
		                          { 1, { host_expr_new(builder, 1, true) } } };
	CHECK(TRT_CALL(r.build, trt_build, output_shapes, both, 2, NULL, 0, &shape, 1, builder) != 0);
	CHECK(log_has(h, "element 0 of input 1 (size) is needed to know a shape, but TensorRT did not pass it"));
	TRT_CALL(r.plugin, trt_plugin, v.d0);

	/* Blind builds if nothing asks for its workspace; onShapeChange reports why it cannot run. */
	host_log_clear(h);
	r = raw_new(h, "Blind");
	struct trt_desc one = desc(TRT_FLOAT, TRT_LINEAR, 1, 4, 0).desc;
	CHECK(TRT_CALL(r.runtime, trt_runtime, shape_change, &one, 1, &one, 1) != 0);
	CHECK(log_has(h, "tpat plugin Blind: onShapeChange: the size of buffer 0 (stage) cannot be computed: element 0 "
	                 "of shape input 1 (size) is not known at run time: no output extent is equal to it"));
	TRT_CALL(r.plugin, trt_plugin, v.d0);
	host_log_clear(h);
}

/* A node's demands on extents: checked when they change, before any launch. */
static void test_demands(struct host *h)
{
	struct raw r = raw_new(h, "Pair");
	struct trt_desc in[2] = { desc(TRT_INT32, TRT_LINEAR, 2, 3, 4).desc,
		                  desc(TRT_INT32, TRT_LINEAR, 2, 3, 4).desc };
	struct trt_desc y = in[0];
	int32_t a[12] = { 7 }, b[12] = { 0 }, c[12] = { 0 };
	const void *inputs[] = { a, b };
	void *outputs[] = { c };
	const int *launches = dlsym(device.library, "example_pair_launches");

	CHECK_INT(TRT_CALL(r.runtime, trt_runtime, shape_change, in, 2, &y, 1), 0);
	CHECK_INT(TRT_CALL(r.runtime, trt_runtime, enqueue, in, &y, inputs, outputs, NULL, NULL), 0);
	CHECK_INT(*launches, 1);
	in[1].dims.d[0] = 1;
	CHECK_INT(TRT_CALL(r.runtime, trt_runtime, shape_change, in, 2, &y, 1), 0);
	CHECK_INT(TRT_CALL(r.runtime, trt_runtime, enqueue, in, &y, inputs, outputs, NULL, NULL), 0);
	CHECK_INT(*launches, 2);
	in[1].dims.d[0] = 2;
	CHECK(TRT_CALL(r.runtime, trt_runtime, shape_change, in, 2, &y, 1) != 0);
	CHECK(log_has(
	        h,
	        "tpat plugin Pair: onShapeChange: node pair: extent 0 of b is 2 and extent 0 of a is 3; the first must "
	        "be 1 or equal to the second\n"));
	host_log_clear(h);
	CHECK(TRT_CALL(r.runtime, trt_runtime, enqueue, in, &y, inputs, outputs, NULL, NULL) != 0);
	CHECK(log_has(h, "enqueue: node pair: extent 0 of b is 2"));
	in[1].dims.d[0] = 3;
	in[1].dims.d[1] = 5;
	CHECK(TRT_CALL(r.runtime, trt_runtime, shape_change, in, 2, &y, 1) != 0);
	CHECK(log_has(
	        h, "input 0 (a) has extent 4 at dimension 1 and input 1 (b) has 5 at dimension 1; they must be equal"));
	in[0].dims.d[1] = in[1].dims.d[1] = y.dims.d[1] = 1;
	CHECK(TRT_CALL(r.runtime, trt_runtime, shape_change, in, 2, &y, 1) != 0);
	CHECK(log_has(h, "node pair: extent 1 of a is 1; it must be at least 2"));
	CHECK_INT(*launches, 2);
	TRT_CALL(r.plugin, trt_plugin, v.d0);
	host_log_clear(h);
}

static void test_saved_fields(struct host *h)
{
	void *creator = host_creator(h, "Double", "1", "tpat");
	struct raw r = raw_new(h, "Double");
	const struct trt_fields *f = TRT_CALL(r.runtime, trt_runtime, fields);
	struct trt_field wrong = { "hash", "ff", TRT_FIELD_CHAR, 2 }, other = { "other", NULL, 99, -5 };
	struct trt_fields bad = { 1, &wrong }, unknown = { 1, &other };
	const struct trt_fields *names = TRT_CALL(creator, trt_creator, field_names);

	CHECK(names && names->count == 0);
	CHECK(f && f->count == 3);
	CHECK_STR(f->field[0].name, "hash");
	CHECK_STR(f->field[0].data, "d0");
	CHECK_INT(f->field[0].type, TRT_FIELD_CHAR);
	CHECK_INT(f->field[0].length, 3);
	CHECK_STR(f->field[1].name, "kernels");
	CHECK_STR(f->field[1].data, "d0");
	CHECK_STR(f->field[2].name, "version");
	CHECK_STR(TRT_CALL(r.build, trt_build, timing_cache_id), "Double/d0/d0");
	CHECK_STR(TRT_CALL(r.build, trt_build, metadata), "y = 2 x");
	CHECK_INT(TRT_CALL(r.build, trt_build, tactics), 0);
	CHECK_INT(TRT_CALL(r.build, trt_build, format_limit), 100);
	CHECK(!TRT_CALL(creator, trt_creator, create, "n", &bad, TRT_PHASE_RUNTIME));
	CHECK(log_has(
	        h,
	        "tpat plugin Double: createPlugin: the engine was made with another program than this library's (d0)"));
	host_log_clear(h);
	CHECK(!TRT_CALL(creator, trt_creator, create, "n", NULL, TRT_PHASE_RUNTIME));
	CHECK(log_has(h, "the engine holds no hash"));
	host_log_clear(h);
	/* The same program, run in another way. */
	struct trt_field both[2] = { f->field[0], { "kernels", "ff", TRT_FIELD_CHAR, 2 } };
	struct trt_fields others = { 2, both }, without = { 1, both };
	CHECK(!TRT_CALL(creator, trt_creator, create, "n", &others, TRT_PHASE_RUNTIME));
	CHECK(log_has(h, "the engine was made with other kernels of this program than this library's (d0)"));
	host_log_clear(h);
	CHECK(!TRT_CALL(creator, trt_creator, create, "n", &without, TRT_PHASE_RUNTIME));
	CHECK(log_has(h, "the engine was made with other kernels"));
	host_log_clear(h);
	void *p = TRT_CALL(creator, trt_creator, create, "n", &unknown, TRT_PHASE_BUILD);
	CHECK(p);
	TRT_CALL(p, trt_plugin, v.d0);
	p = TRT_CALL(creator, trt_creator, create, "n", f, TRT_PHASE_RUNTIME);
	CHECK(p);
	/* D1 keeps the memory, which the caller then owns. */
	TRT_CALL(p, trt_plugin, v.d1);
	free(p);
	TRT_CALL(r.plugin, trt_plugin, v.d0);
	/* No hash, no text: null ids, and nothing to compare. */
	r = raw_new(h, "HalveDouble");
	CHECK_STR(TRT_CALL(r.build, trt_build, timing_cache_id), NULL);
	CHECK_STR(TRT_CALL(r.build, trt_build, metadata), NULL);
	CHECK_INT(TRT_CALL(r.runtime, trt_runtime, fields)->count, 1);
	TRT_CALL(r.plugin, trt_plugin, v.d0);
	CHECK_STR(host_log(h), "");
}
