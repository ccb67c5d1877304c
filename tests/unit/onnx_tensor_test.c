/* Tensors of a model: every storage of elements, sizes that do not fit, reading and writing external data. */
#include "onnx/onnx.h"
#include "onnx_make.h"

#include <stdalign.h>
#include <unistd.h>

#include "base/foreign.h"
#include "test.h"

static const char *folder;
static struct arena *scratch;

static const char *in_folder(const char *name)
{
	return path_join(scratch, folder, name);
}

static Onnx__TensorProto *proto(int type, int64_t n)
{
	Onnx__TensorProto *t = NEW(scratch, Onnx__TensorProto);
	onnx__tensor_proto__init(t);
	t->name = arena_strdup(scratch, "w");
	t->has_data_type = 1;
	t->data_type = type;
	t->dims = NEWN(scratch, int64_t, 1);
	t->dims[0] = n;
	t->n_dims = 1;
	return t;
}

static int load(struct tensor *out, const Onnx__TensorProto *t, struct err *e)
{
	err_clear(e);
	return onnx_tensor_load(out, t, NULL, scratch, e);
}

/* int32_data: the values of small integers, the bits of small floats, packed bytes of types below 8 bits. */
static void test_int32_data(void)
{
	static const struct {
		enum type type;
		int32_t entry[3];
		int entries;
		double want[3];
	} cases[] = {
		{ TYPE_I32, { -7, 0, 2147483647 }, 3, { -7, 0, 2147483647 } },
		{ TYPE_I16, { -7, 0, 32767 }, 3, { -7, 0, 32767 } },
		{ TYPE_U16, { 7, 0, 65535 }, 3, { 7, 0, 65535 } },
		{ TYPE_I8, { -7, 0, 127 }, 3, { -7, 0, 127 } },
		{ TYPE_U8, { 7, 0, 255 }, 3, { 7, 0, 255 } },
		{ TYPE_BOOL, { 1, 0, 256 }, 3, { 1, 0, 1 } },
		{ TYPE_F16, { 0x3c00, 0xc000, 0x3555 }, 3, { 1, -2, 0.333251953125 } },
		{ TYPE_BF16, { 0x3f80, 0xc000, 0x3eab }, 3, { 1, -2, 0.333984375 } },
		{ TYPE_F8E4M3FN, { 0x38, 0xc0, 0x7e }, 3, { 1, -2, 448 } },
		{ TYPE_F8E4M3FNUZ, { 0x40, 0xc8, 0x7f }, 3, { 1, -2, 240 } },
		{ TYPE_F8E5M2, { 0x3c, 0xc0, 0x7b }, 3, { 1, -2, 57344 } },
		{ TYPE_F8E5M2FNUZ, { 0x40, 0xc4, 0x7f }, 3, { 1, -2, 57344 } },
		{ TYPE_F8E8M0, { 127, 128, 126 }, 3, { 1, 2, 0.5 } },
		{ TYPE_U4, { 0xf1, 0x03 }, 2, { 1, 15, 3 } },
		{ TYPE_I4, { 0xf1, 0x08 }, 2, { 1, -1, -8 } },
		{ TYPE_F4E2M1, { 0xa2, 0x07 }, 2, { 1, -1, 6 } },
		{ TYPE_U2, { 0x2d }, 1, { 1, 3, 2 } },
		{ TYPE_I2, { 0x2d }, 1, { 1, -1, -2 } },
	};
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		Onnx__TensorProto *t = proto(cases[c].type, 3);
		struct tensor x;
		struct err e = { 0 };
		t->int32_data = drop_const(cases[c].entry);
		t->n_int32_data = (size_t)cases[c].entries;
		CHECK_INT(load(&x, t, &e), 0);
		CHECK_STR(e.text, "");
		CHECK(x.type == cases[c].type && x.rank == 1 && x.dim[0] == 3);
		for (int i = 0; i < 3; i++)
			if (!test_check(tensor_float(&x, i) == cases[c].want[i], __FILE__, __LINE__, "element"))
				printf("  %s[%d]: got %g, want %g\n", type_name(x.type), i, tensor_float(&x, i),
				       cases[c].want[i]);
		/* the same tensor stored raw and loaded again */
		struct tensor y;
		CHECK_INT(load(&y, onnx_tensor_store(&x, "y", scratch), &e), 0);
		CHECK(tensor_bytes(&y) == tensor_bytes(&x) && memcmp(x.data, y.data, (size_t)tensor_bytes(&x)) == 0);
		t->n_int32_data--; /* too few entries */
		CHECK_INT(load(&x, t, &e), ERR_MODEL);
		CHECK(strstr(e.text, "tensor \"w\"") && strstr(e.text, "int32_data has"));
	}
}

static void test_wide_fields(void)
{
	float f[4] = { 1.5f, -2, 3, 4 };
	double d[4] = { 1.5, -2, 1e300, 4 };
	int64_t i[2] = { INT64_MIN, 5 };
	uint64_t u[2] = { UINT64_MAX, 4000000000u };
	struct tensor x;
	struct err e = { 0 };
	Onnx__TensorProto *t = proto(TYPE_F32, 4);
	t->float_data = f;
	t->n_float_data = 4;
	CHECK_INT(load(&x, t, &e), 0);
	CHECK(tensor_float(&x, 0) == 1.5 && tensor_float(&x, 3) == 4);
	t->data_type = TYPE_C64;
	t->dims[0] = 2;
	CHECK_INT(load(&x, t, &e), 0);
	CHECK(memcmp(x.data, f, sizeof f) == 0);
	t = proto(TYPE_F64, 4);
	t->double_data = d;
	t->n_double_data = 4;
	CHECK_INT(load(&x, t, &e), 0);
	CHECK(tensor_float(&x, 2) == 1e300);
	t->data_type = TYPE_C128;
	t->dims[0] = 2;
	CHECK_INT(load(&x, t, &e), 0);
	CHECK(memcmp(x.data, d, sizeof d) == 0);
	t = proto(TYPE_I64, 2);
	t->int64_data = i;
	t->n_int64_data = 2;
	CHECK_INT(load(&x, t, &e), 0);
	CHECK(tensor_int(&x, 0) == INT64_MIN && tensor_int(&x, 1) == 5);
	t = proto(TYPE_U64, 2);
	t->uint64_data = u;
	t->n_uint64_data = 2;
	CHECK_INT(load(&x, t, &e), 0);
	CHECK(((uint64_t *)x.data)[0] == UINT64_MAX);
	t->data_type = TYPE_U32;
	CHECK_INT(load(&x, t, &e), 0);
	CHECK(tensor_int(&x, 0) == 4294967295 && tensor_int(&x, 1) == 4000000000);
}

static void test_strings(void)
{
	ProtobufCBinaryData s[2] = { { 3, (uint8_t *)"one" }, { 0, NULL } };
	Onnx__TensorProto *t = proto(TYPE_STRING, 2);
	struct tensor x, y;
	struct err e = { 0 };
	t->string_data = s;
	t->n_string_data = 2;
	CHECK_INT(load(&x, t, &e), 0);
	CHECK_STR(x.strings[0], "one");
	CHECK_STR(x.strings[1], "");
	CHECK_INT(load(&y, onnx_tensor_store(&x, NULL, scratch), &e), 0);
	CHECK_STR(y.strings[0], "one");
	s[1] = (ProtobufCBinaryData){ 3, (uint8_t *)"a\0b" };
	CHECK_INT(load(&x, t, &e), ERR_UNSUPPORTED);
	t->n_string_data = 1;
	CHECK_INT(load(&x, t, &e), ERR_MODEL);
}

static void test_sizes(void)
{
	alignas(8) static uint8_t raw[17] = { 1, 0, 0, 0, 2 };
	struct tensor x;
	struct err e = { 0 };
	Onnx__TensorProto *t = proto(TYPE_I32, 4);
	t->has_raw_data = 1;
	t->raw_data = (ProtobufCBinaryData){ 16, raw };
	CHECK_INT(load(&x, t, &e), 0);
	CHECK(x.data == raw); /* aligned: not copied */
	t->raw_data.data = raw + 1;
	CHECK_INT(load(&x, t, &e), 0);
	CHECK(x.data != raw + 1 && tensor_int(&x, 0) == 0x02000000);
	t->raw_data.len = 15;
	CHECK_INT(load(&x, t, &e), ERR_MODEL);
	CHECK_STR(e.text, "tensor \"w\" needs 16 bytes for its type and extents, but raw_data has 15.");
	t->dims[0] = -4;
	CHECK_INT(load(&x, t, &e), ERR_MODEL);
	CHECK(strstr(e.text, "negative extent -4"));
	int64_t huge[3] = { INT64_MAX, 2, 0 };
	t->dims = huge;
	t->n_dims = 2;
	CHECK_INT(load(&x, t, &e), ERR_MODEL);
	CHECK(strstr(e.text, "beyond 64 bits"));
	huge[1] = 1; /* elements fit, bytes do not */
	CHECK_INT(load(&x, t, &e), ERR_MODEL);
	CHECK(strstr(e.text, "more bytes than"));
	t->n_dims = 3; /* an extent of 0: empty, whatever the others */
	t->raw_data.len = 0;
	CHECK_INT(load(&x, t, &e), 0);
	CHECK_INT(tensor_bytes(&x), 0);
	t->n_dims = 0; /* a scalar without data */
	CHECK_INT(load(&x, t, &e), ERR_MODEL);
	CHECK(strstr(e.text, "int32_data has 0"));
	t->data_type = 27; /* 6-bit floats: TYPE_INDEX has this number in tpat, but no file does */
	CHECK_INT(load(&x, t, &e), ERR_UNSUPPORTED);
	t->data_type = 0;
	CHECK_INT(load(&x, t, &e), ERR_MODEL);
	int64_t many[17] = { 0 };
	t->data_type = TYPE_I32;
	t->dims = many;
	t->n_dims = 17;
	CHECK_INT(load(&x, t, &e), ERR_UNSUPPORTED);
}

static void test_files(void)
{
	int64_t dim[2] = { 2, 3 };
	struct tensor x, y;
	const char *name = NULL;
	struct err e = { 0 };
	CHECK_INT(tensor_new(&x, TYPE_F16, 2, dim, scratch, &e), 0);
	tensor_random(&x, 1, -1, 1);
	CHECK_INT(onnx_tensor_write_file(in_folder("input_0.pb"), &x, "x", &e), 0);
	CHECK_INT(onnx_tensor_read_file(&y, &name, in_folder("input_0.pb"), scratch, &e), 0);
	CHECK_STR(name, "x");
	CHECK(tensor_same_shape(&x, &y) && memcmp(x.data, y.data, 12) == 0);
	CHECK_INT(file_write(in_folder("bad.pb"), "\377\377", 2, &e), 0);
	CHECK_INT(onnx_tensor_read_file(&y, NULL, in_folder("bad.pb"), scratch, &e), ERR_MODEL);
	CHECK(strstr(e.text, "bad.pb"));
	err_clear(&e);
	/* A SequenceProto: its name, type and one tensor. */
	CHECK_INT(file_write(in_folder("list.pb"), "\012\001s\020\001\032\006\010\001\020\001\042\0", 13, &e), 0);
	CHECK_INT(onnx_tensor_read_file(&y, NULL, in_folder("list.pb"), scratch, &e), ERR_UNSUPPORTED);
	CHECK(strstr(e.text, "list.pb: holds a sequence"));
}

/* ------------------------------------------------------------------ external data */

static void set_external(Onnx__TensorProto *t, const char *location, const char *offset, const char *length)
{
	const char *pair[3][2] = { { "location", location }, { "offset", offset }, { "length", length } };
	t->has_data_location = 1;
	t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
	t->external_data = NEWN(scratch, Onnx__StringStringEntryProto *, 3);
	t->n_external_data = 0;
	for (int i = 0; i < 3; i++) {
		if (!pair[i][1])
			continue;
		Onnx__StringStringEntryProto *s = NEW(scratch, Onnx__StringStringEntryProto);
		onnx__string_string_entry_proto__init(s);
		s->key = drop_const(pair[i][0]);
		s->value = drop_const(pair[i][1]);
		t->external_data[t->n_external_data++] = s;
	}
}

static void expect_external(struct onnx_model *m, const char *location, const char *offset, const char *length,
                            int want, const char *words)
{
	Onnx__TensorProto *t = proto(TYPE_I32, 2);
	struct tensor x;
	struct err e = { 0 };
	set_external(t, location, offset, length);
	CHECK_INT(onnx_tensor_load(&x, t, m, scratch, &e), want);
	if (!strstr(e.text, words))
		CHECK_STR(e.text, words);
	if (want == 0)
		CHECK(tensor_int(&x, 0) == 3 && tensor_int(&x, 1) == 4);
	else
		CHECK(strstr(e.where, "net.onnx") != NULL);
}

static void test_external_in(void)
{
	static const int32_t data[4] = { 1, 2, 3, 4 };
	struct onnx_model *m = onnx_model_empty(8, 17, "g");
	struct err e = { 0 };
	CHECK_INT(file_mkdir(in_folder("model/sub"), &e), 0);
	CHECK_INT(onnx_model_write(m, in_folder("model/net.onnx"), NULL, &e), 0);
	onnx_model_free(m);
	CHECK_INT(file_write(in_folder("model/net.data"), data, sizeof data, &e), 0);
	CHECK_INT(file_write(in_folder("model/sub/net.data"), data, sizeof data, &e), 0);
	CHECK_INT(file_write(in_folder("secret"), data, sizeof data, &e), 0);
	CHECK_INT(symlink("../secret", in_folder("model/link")), 0);
	CHECK_INT(symlink("net.data", in_folder("model/inside")), 0);
	CHECK_INT(onnx_model_read(&m, in_folder("model/net.onnx"), &e), 0);
	expect_external(m, "net.data", "8", "8", 0, "");
	expect_external(m, "net.data", "8", NULL, 0, "");
	expect_external(m, "sub/net.data", "8", "8", 0, "");
	expect_external(m, "./inside", "8", "8", 0, "");
	expect_external(m, "absent.data", "8", "8", ERR_MODEL,
	                "tensor \"w\" has its data in \"absent.data\", which is not there.");
	expect_external(m, "../secret", "8", "8", ERR_MODEL, "not in the model's folder");
	expect_external(m, "sub/../../secret", "8", "8", ERR_MODEL, "not in the model's folder");
	expect_external(m, in_folder("secret"), "8", "8", ERR_MODEL, "not in the model's folder");
	expect_external(m, "link", "8", "8", ERR_MODEL, "symbolic link");
	expect_external(m, "sub", "8", "8", ERR_MODEL, "is a folder, not a file");
	expect_external(m, "", "8", "8", ERR_MODEL, "not a file name");
	expect_external(m, NULL, "8", "8", ERR_MODEL, "not a file name");
	expect_external(m, "net.data", "12", "8", ERR_MODEL, "which ends at 16");
	expect_external(m, "net.data", "8", "4", ERR_MODEL, "needs 8 bytes");
	expect_external(m, "net.data", "-8", "8", ERR_MODEL, "not a number of bytes");
	expect_external(m, "net.data", "18446744073709551608", "8", ERR_MODEL, "not a number of bytes");
	expect_external(m, "net.data", "999999999999999999", NULL, ERR_MODEL, "which ends at 16");
	onnx_model_free(m);
}

/* A model with two big initializers (one in float_data), a small one, and a constant in an attribute. */
static struct onnx_model *weights(struct tensor *big)
{
	struct onnx_model *m = onnx_model_empty(8, 17, "g");
	int64_t dim[1] = { 1000 }, few[1] = { 4 };
	struct tensor small;
	struct err e = { 0 };
	CHECK_INT(tensor_new(big, TYPE_F32, 1, dim, scratch, &e), 0);
	CHECK_INT(tensor_new(&small, TYPE_F32, 1, few, scratch, &e), 0);
	tensor_random(big, 7, -1, 1);
	Onnx__TensorProto *typed = onnx_tensor_store(big, "typed", m->arena);
	typed->float_data = (float *)typed->raw_data.data;
	typed->n_float_data = 1000;
	typed->has_raw_data = 0;
	onnx_graph_add_initializer(m, m->proto->graph, onnx_tensor_store(big, "raw", m->arena));
	onnx_graph_add_initializer(m, m->proto->graph, typed);
	onnx_graph_add_initializer(m, m->proto->graph, onnx_tensor_store(&small, "small", m->arena));
	Onnx__NodeProto *node = onnx_node_new(m, "", "Constant", "k");
	onnx_node_output(m, node, "y");
	onnx_node_set_tensor(m, node, "value", onnx_tensor_store(big, NULL, m->arena));
	onnx_graph_add_node(m, m->proto->graph, node);
	onnx_graph_add_output(m, m->proto->graph, onnx_value_info_new(m, "y", TYPE_F32, 1, dim, NULL));
	return m;
}

static void expect_weights(const char *path, const struct tensor *big, const char *raw_in, const char *constant_in)
{
	struct onnx_model *m = NULL;
	struct err e = { 0 };
	CHECK_INT(onnx_model_read(&m, in_folder(path), &e), 0);
	CHECK_STR(e.text, "");
	if (!m)
		return;
	CHECK_INT(onnx_model_check(m, &e), 0);
	const Onnx__GraphProto *g = m->proto->graph;
	const Onnx__TensorProto *t[3] = { g->initializer[0], g->initializer[1], g->node[0]->attribute[0]->t };
	for (int i = 0; i < 3; i++) {
		struct tensor x;
		const char *want = i < 2 ? raw_in : constant_in;
		CHECK_INT(onnx_tensor_load(&x, t[i], m, scratch, &e), 0);
		CHECK_STR(e.text, "");
		CHECK(tensor_same_shape(&x, big) && memcmp(x.data, big->data, 4000) == 0);
		CHECK_INT(t[i]->n_external_data, want ? 3 : 0);
		if (want && t[i]->n_external_data) {
			CHECK_STR(t[i]->external_data[0]->value, want);
			CHECK(strlen(t[i]->external_data[1]->value) < 2 || /* "0", or a multiple of 4096 */
			      strcmp(t[i]->external_data[1]->value, "4096") == 0 ||
			      strcmp(t[i]->external_data[1]->value, "8192") == 0);
			CHECK(!t[i]->has_raw_data && !t[i]->n_float_data);
		}
	}
	CHECK_INT(g->initializer[2]->raw_data.len, 16);
	onnx_model_free(m);
}

static void test_external_out(void)
{
	struct tensor big;
	struct onnx_model *m = weights(&big);
	struct onnx_write_options o = ONNX_WRITE_OPTIONS;
	struct err e = { 0 };
	CHECK_INT(file_mkdir(in_folder("out"), &e), 0);
	CHECK_INT(file_mkdir(in_folder("other"), &e), 0);
	CHECK_INT(onnx_model_write(m, in_folder("out/inline.onnx"), NULL, &e), 0);
	CHECK(!file_exists(in_folder("out/inline.onnx.data")));
	expect_weights("out/inline.onnx", &big, NULL, NULL);
	o.external = true;
	CHECK_INT(onnx_model_write(m, in_folder("out/a.onnx"), &o, &e), 0);
	CHECK(m->proto->graph->initializer[0]->has_raw_data && m->proto->graph->initializer[1]->n_float_data == 1000);
	expect_weights("out/a.onnx", &big, "a.onnx.data", NULL);
	o.external = false;
	o.inline_limit = 9000; /* the constant fits, the weights do not */
	CHECK_INT(onnx_model_write(m, in_folder("out/b.onnx"), &o, &e), 0);
	expect_weights("out/b.onnx", &big, "b.onnx.data", NULL);
	o.inline_limit = 3000; /* nor does the constant */
	CHECK_INT(onnx_model_write(m, in_folder("out/c.onnx"), &o, &e), 0);
	expect_weights("out/c.onnx", &big, "c.onnx.data", "c.onnx.data");
	o.inline_limit = 100;
	CHECK_INT(onnx_model_write(m, in_folder("out/d.onnx"), &o, &e), ERR_MODEL);
	CHECK(strstr(e.text, "larger than 100 bytes even without"));
	CHECK(!file_exists(in_folder("out/d.onnx")) && !file_exists(in_folder("out/d.onnx.data")));
	onnx_model_free(m);
	err_clear(&e);

	/* a model with external data: same folder keeps the file, another one gets its own copy */
	CHECK_INT(onnx_model_read(&m, in_folder("out/a.onnx"), &e), 0);
	CHECK_INT(onnx_model_write(m, in_folder("out/e.onnx"), NULL, &e), 0);
	expect_weights("out/e.onnx", &big, "a.onnx.data", NULL);
	CHECK(!file_exists(in_folder("out/e.onnx.data")));
	CHECK_INT(onnx_model_write(m, in_folder("other/e.onnx"), NULL, &e), 0);
	expect_weights("other/e.onnx", &big, "e.onnx.data", NULL);
	/* over itself, with the constant in the file, too: the old file's contents are copied into the new one */
	o = ONNX_WRITE_OPTIONS;
	o.inline_limit = 3000;
	CHECK_INT(onnx_model_write(m, in_folder("out/a.onnx"), &o, &e), 0);
	expect_weights("out/a.onnx", &big, "a.onnx.data", "a.onnx.data");
	onnx_model_free(m);

	/* a file that the model itself reads is not replaced; it may be if it was staged elsewhere first */
	CHECK_INT(onnx_model_read(&m, in_folder("out/e.onnx"), &e), 0);
	CHECK_INT(onnx_model_write(m, in_folder("out/a.onnx"), &o, &e), ERR_USAGE);
	CHECK(strstr(e.text, "e.onnx has its data in a.onnx.data") != NULL);
	err_clear(&e);
	o = ONNX_WRITE_OPTIONS;
	o.place = in_folder("out/g.onnx");
	CHECK_INT(onnx_model_write(m, in_folder("other/first"), &o, &e), 0);
	CHECK(!file_exists(in_folder("other/first.data")));
	CHECK_INT(file_rename(in_folder("other/first"), in_folder("out/g.onnx"), &e), 0);
	expect_weights("out/g.onnx", &big, "a.onnx.data", NULL);
	o.place = in_folder("third/h.onnx");
	CHECK_INT(file_mkdir(in_folder("third"), &e), 0);
	CHECK_INT(onnx_model_write(m, in_folder("out/first"), &o, &e), 0);
	CHECK_INT(file_rename(in_folder("out/first"), in_folder("third/h.onnx"), &e), 0);
	CHECK_INT(file_rename(in_folder("out/first.data"), in_folder("third/h.onnx.data"), &e), 0);
	expect_weights("third/h.onnx", &big, "h.onnx.data", NULL);
	onnx_model_free(m);

	/* without its data file a model can be read, and written in the same folder, but not elsewhere */
	CHECK_INT(unlink(in_folder("out/b.onnx.data")), 0);
	CHECK_INT(onnx_model_read(&m, in_folder("out/b.onnx"), &e), 0);
	CHECK_INT(onnx_model_write(m, in_folder("out/f.onnx"), NULL, &e), 0);
	CHECK_INT(onnx_model_write(m, in_folder("other/f.onnx"), NULL, &e), ERR_MODEL);
	CHECK(strstr(e.text, "\"raw\"") && strstr(e.text, "b.onnx.data") && strstr(e.advice, "b.onnx.data"));
	CHECK(!file_exists(in_folder("other/f.onnx")));
	onnx_model_free(m);
}

int main(void)
{
	struct err e = { 0 };
	char *path;
	scratch = arena_new();
	CHECK_INT(file_temp_dir(&path, scratch, &e), 0);
	folder = path;
	test_int32_data();
	test_wide_fields();
	test_strings();
	test_sizes();
	test_files();
	test_external_in();
	test_external_out();
	file_remove_tree(folder);
	arena_free(scratch);
	return test_done();
}
