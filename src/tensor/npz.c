/* NumPy's .npz: a zip archive of .npy files, read (stored and deflated members, zip64) and written (stored) here on
 * zlib alone. Source: APPNOTE.TXT 6.3.10 of PKWARE. */
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/file.h"
#include "tensor/npy.h"

enum { LOCAL_SIZE = 30, CENTRAL_SIZE = 46, END_SIZE = 22, LOCATOR_SIZE = 20, END64_SIZE = 56 };

/* One member of the central directory. */
struct member {
	const char *name;
	int flags, method;
	uint32_t crc;
	uint64_t packed, size, at; /* bytes in the archive, bytes of the file, offset of its local header */
};

static uint64_t get(const unsigned char *p, int bytes)
{
	uint64_t x = 0;
	while (bytes-- > 0)
		x = x << 8 | p[bytes];
	return x;
}

static bool signed_as(const unsigned char *p, char kind, char kind2)
{
	return p[0] == 'P' && p[1] == 'K' && p[2] == kind && p[3] == kind2;
}

static int damaged(const char *path, const char *what, struct err *e)
{
	err_set(e, ERR_MODEL, "%s: the .npz archive is damaged: %s.", path, what);
	return err_advise(e, "Write or copy the file again.");
}

/* Finds the central directory's start and end, and its number of members. */
static int find_directory(uint64_t *at, uint64_t *end, uint64_t *n, const struct file_map *m, const char *path,
                          struct err *e)
{
	uint64_t last = m->size < END_SIZE ? 0 : m->size - END_SIZE, lowest = last > 0xffff ? last - 0xffff : 0, size;
	if (m->size < END_SIZE)
		return damaged(path, "it is shorter than an empty archive", e);
	/* A comment of up to 64 KiB may follow the end record. */
	while (!signed_as(m->data + last, 5, 6))
		if (last-- == lowest)
			return damaged(path, "it has no end record, as when it was cut off", e);
	const unsigned char *p = m->data + last;
	*n = get(p + 10, 2);
	size = get(p + 12, 4);
	*at = get(p + 16, 4);
	if (last >= LOCATOR_SIZE && signed_as(p - LOCATOR_SIZE, 6, 7)) {
		uint64_t end64 = get(p - LOCATOR_SIZE + 8, 8);
		if (end64 > m->size || m->size - end64 < END64_SIZE || !signed_as(m->data + end64, 6, 6))
			return damaged(path, "its zip64 end record is not where it should be", e);
		*n = get(m->data + end64 + 32, 8);
		size = get(m->data + end64 + 40, 8);
		*at = get(m->data + end64 + 48, 8);
	}
	if (*at > last || size > last - *at || *n > size / CENTRAL_SIZE)
		return damaged(path, "its directory lies outside the file", e);
	*end = *at + size;
	return 0;
}

/* The zip64 field replaces those of size, packed size and offset, in this order, that are all ones. */
static bool apply_zip64(struct member *f, const unsigned char *extra, uint64_t length)
{
	uint64_t *wide[] = { &f->size, &f->packed, &f->at };
	while (length >= 4) {
		uint64_t id = get(extra, 2), size = get(extra + 2, 2);
		extra += 4;
		length -= 4;
		if (size > length)
			return false;
		for (int i = 0; id == 1 && i < 3; i++) {
			if (*wide[i] != UINT32_MAX)
				continue;
			if (size < 8)
				return false;
			*wide[i] = get(extra, 8);
			extra += 8;
			size -= 8;
			length -= 8;
		}
		extra += size;
		length -= size;
	}
	return true;
}

/* Reads the member listed at *at and advances. */
static int next_member(struct member *f, uint64_t *at, uint64_t end, const struct file_map *m, const char *path,
                       struct arena *a, struct err *e)
{
	const unsigned char *p = m->data + *at;
	if (end - *at < CENTRAL_SIZE || !signed_as(p, 1, 2))
		return damaged(path, "its directory does not hold what it should", e);
	uint64_t name = get(p + 28, 2), extra = get(p + 30, 2), comment = get(p + 32, 2);
	if (end - *at - CENTRAL_SIZE < name + extra + comment)
		return damaged(path, "its directory ends early", e);
	*f = (struct member){
		.name = arena_strndup(a, (const char *)p + CENTRAL_SIZE, name),
		.flags = (int)get(p + 8, 2),
		.method = (int)get(p + 10, 2),
		.crc = (uint32_t)get(p + 16, 4),
		.packed = get(p + 20, 4),
		.size = get(p + 24, 4),
		.at = get(p + 42, 4),
	};
	if (!apply_zip64(f, p + CENTRAL_SIZE + name, extra))
		return damaged(path, "a zip64 field of its directory is too short", e);
	*at += CENTRAL_SIZE + name + extra + comment;
	return 0;
}

/* Unpacks a raw deflate stream of exactly these sizes. */
static bool inflate_all(unsigned char *out, uint64_t size, const unsigned char *in, uint64_t packed)
{
	z_stream z = { 0 };
	int rc = Z_OK;
	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return false;
	z.next_in = in;
	z.next_out = out;
	while (rc == Z_OK) {
		/* zlib counts in 32 bits. */
		uint64_t in_left = packed - (uint64_t)(z.next_in - in), out_left = size - (uint64_t)(z.next_out - out);
		z.avail_in = in_left > 1 << 30 ? 1 << 30 : (unsigned)in_left;
		z.avail_out = out_left > 1 << 30 ? 1 << 30 : (unsigned)out_left;
		rc = inflate(&z, Z_NO_FLUSH);
	}
	bool complete = rc == Z_STREAM_END && z.next_out == out + size;
	inflateEnd(&z);
	return complete;
}

/* The member's bytes: in the map if stored, else in the arena. */
static int member_bytes(const unsigned char **out, const struct member *f, const struct file_map *m, const char *path,
                        struct arena *a, struct err *e)
{
	if (f->flags & 1)
		return err_set(e, ERR_UNSUPPORTED, "%s: member %s is encrypted.", path, f->name);
	if (f->method != 0 && f->method != 8)
		return err_set(e, ERR_UNSUPPORTED,
		               "%s: member %s is compressed by method %d; NumPy's own, deflate, is read.", path,
		               f->name, f->method);
	if (f->at > m->size || m->size - f->at < LOCAL_SIZE || !signed_as(m->data + f->at, 3, 4))
		return damaged(path, "a member is not where the directory says", e);
	const unsigned char *p = m->data + f->at;
	uint64_t at = f->at + LOCAL_SIZE + get(p + 26, 2) + get(p + 28, 2);
	if (at > m->size || f->packed > m->size - at || (f->method == 0 && f->packed != f->size))
		return damaged(path, "a member's data lies outside the file", e);
	*out = m->data + at;
	if (f->method == 8) {
		/* Deflate shrinks by at most 1032: a larger claim would only waste memory. */
		if (f->size / 1032 > f->packed + 1)
			return damaged(path, "a member is larger than its data can be", e);
		unsigned char *bytes = arena_alloc(a, f->size + 1);
		if (!inflate_all(bytes, f->size, *out, f->packed))
			return damaged(path, "the compressed data of a member is wrong", e);
		*out = bytes;
	}
	if (crc32_z(crc32_z(0, NULL, 0), *out, f->size) != f->crc)
		return damaged(path, "a member's checksum is wrong", e);
	return 0;
}

static int read_member(struct npz_entry *entry, const struct member *f, const struct file_map *m, const char *path,
                       struct arena *a, struct err *e)
{
	struct arena *scratch = arena_new();
	const unsigned char *bytes = NULL;
	int rc = member_bytes(&bytes, f, m, path, scratch, e);
	if (!rc)
		rc = npy_decode(&entry->tensor, &entry->raw, arena_printf(scratch, "%s: member %s", path, f->name),
		                bytes, f->size, TYPE_NONE, a, e);
	entry->name = arena_strndup(a, f->name, strlen(f->name) - 4);
	arena_free(scratch);
	return rc;
}

int npz_read(struct npz_entry **out, int *n, const char *path, struct arena *a, struct err *e)
{
	struct file_map m;
	uint64_t at = 0, end = 0, members = 0;
	*out = NULL;
	*n = 0;
	TRY(file_map_open(&m, path, e));
	int rc = find_directory(&at, &end, &members, &m, path, e);
	if (!rc)
		*out = NEWN(a, struct npz_entry, members + 1);
	for (uint64_t i = 0; !rc && i < members; i++) {
		struct member f;
		rc = next_member(&f, &at, end, &m, path, a, e);
		if (!rc && str_ends(f.name, ".npy"))
			rc = read_member(&(*out)[(*n)++], &f, &m, path, a, e);
	}
	file_map_close(&m);
	return rc;
}

/* A record of the archive under construction. */
struct record {
	unsigned char bytes[128];
	size_t n;
};

static void put(struct record *r, int bytes, uint64_t x)
{
	for (; bytes > 0; bytes--, x >>= 8)
		r->bytes[r->n++] = (unsigned char)x;
}

static uint64_t narrow(uint64_t x)
{
	return x < UINT32_MAX ? x : UINT32_MAX;
}

/* The fields that local and central headers share. Always with a zip64 field: one form for all sizes. The fixed time
 * makes equal tensors give equal files; bit 11 marks names as UTF-8. */
static void put_shared(struct record *r, const struct member *f, int extra)
{
	put(r, 2, 45);
	put(r, 2, 1 << 11);
	put(r, 2, 0);
	put(r, 4, UINT32_C(0x00210000));
	put(r, 4, f->crc);
	put(r, 4, UINT32_MAX);
	put(r, 4, UINT32_MAX);
	put(r, 2, strlen(f->name) + 4);
	put(r, 2, (uint64_t)extra);
}

static int write_member(struct member *f, struct file_out *out, const struct npz_entry *entry, struct arena *scratch,
                        struct err *e)
{
	struct npy_image image;
	struct record r = { .n = 0 };
	if (strlen(entry->name) > 60000)
		return err_set(e, ERR_USAGE, "%s: the array name %.60s... is too long.", out->path, entry->name);
	TRY(npy_encode(&image, entry->name, &entry->tensor, scratch, e));
	*f = (struct member){ .name = entry->name, .size = image.head_size + image.body_size, .at = out->size };
	f->packed = f->size;
	f->crc = (uint32_t)crc32_z(crc32_z(0, NULL, 0), (const unsigned char *)image.head, image.head_size);
	if (image.body_size)
		f->crc = (uint32_t)crc32_z(f->crc, image.body, image.body_size);
	put(&r, 4, 0x04034b50);
	put_shared(&r, f, 20);
	TRY(file_out_put(out, r.bytes, r.n, e));
	TRY(file_out_put(out, f->name, strlen(f->name), e));
	r.n = 0;
	memcpy(r.bytes, ".npy", 4);
	r.n = 4;
	put(&r, 2, 1);
	put(&r, 2, 16);
	put(&r, 8, f->size);
	put(&r, 8, f->packed);
	TRY(file_out_put(out, r.bytes, r.n, e));
	TRY(file_out_put(out, image.head, image.head_size, e));
	return file_out_put(out, image.body, image.body_size, e);
}

static int write_directory(struct file_out *out, const struct member *f, int n, struct err *e)
{
	uint64_t at = out->size, size;
	struct record r = { .n = 0 };
	for (int i = 0; i < n; i++, f++) {
		r.n = 0;
		put(&r, 4, 0x02014b50);
		put(&r, 2, 3 << 8 | 45);
		put_shared(&r, f, 28);
		put(&r, 2, 0);
		put(&r, 2, 0);
		put(&r, 2, 0);
		put(&r, 4, UINT32_C(0100644) << 16);
		put(&r, 4, UINT32_MAX);
		TRY(file_out_put(out, r.bytes, r.n, e));
		TRY(file_out_put(out, f->name, strlen(f->name), e));
		memcpy(r.bytes, ".npy", 4);
		r.n = 4;
		put(&r, 2, 1);
		put(&r, 2, 24);
		put(&r, 8, f->size);
		put(&r, 8, f->packed);
		put(&r, 8, f->at);
		TRY(file_out_put(out, r.bytes, r.n, e));
	}
	size = out->size - at;
	r.n = 0;
	if (narrow(at) == UINT32_MAX || n >= UINT16_MAX) {
		uint64_t end64 = out->size;
		put(&r, 4, 0x06064b50);
		put(&r, 8, END64_SIZE - 12);
		put(&r, 2, 3 << 8 | 45);
		put(&r, 2, 45);
		put(&r, 8, 0);
		put(&r, 8, (uint64_t)n);
		put(&r, 8, (uint64_t)n);
		put(&r, 8, size);
		put(&r, 8, at);
		put(&r, 4, 0x07064b50);
		put(&r, 4, 0);
		put(&r, 8, end64);
		put(&r, 4, 1);
	}
	put(&r, 4, 0x06054b50);
	put(&r, 4, 0);
	put(&r, 2, n < UINT16_MAX ? (uint64_t)n : UINT16_MAX);
	put(&r, 2, n < UINT16_MAX ? (uint64_t)n : UINT16_MAX);
	put(&r, 4, narrow(size));
	put(&r, 4, narrow(at));
	put(&r, 2, 0);
	return file_out_put(out, r.bytes, r.n, e);
}

int npz_write(const char *path, const struct npz_entry *entry, int n, struct err *e)
{
	struct arena *a = arena_new();
	struct member *f = NEWN(a, struct member, n + 1);
	struct file_out out;
	int rc = file_out_begin(&out, path, e);
	for (int i = 0; !rc && i < n; i++) {
		struct arena_mark mark = arena_mark(a);
		rc = write_member(&f[i], &out, &entry[i], a, e);
		arena_release(a, mark);
	}
	if (!rc)
		rc = write_directory(&out, f, n, e);
	if (!rc)
		rc = file_out_commit(&out, e);
	file_out_abandon(&out);
	arena_free(a);
	return rc;
}
