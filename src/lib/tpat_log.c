/* Logs: texts in UTF-8, or in UTF-16 as PowerShell's ">" writes them. */
#include "lib/tpat_inside.h"

#include <string.h>

#include "base/file.h"

/* The two bytes at `at`; `low`: the index of the lower one. */
static unsigned unit(const char *at, int low)
{
	return (unsigned char)at[low] | (unsigned)(unsigned char)at[!low] << 8;
}

/* `text` begins with a byte order mark, which the result lacks. */
static void from_utf16(char **text, size_t *size, struct arena *a)
{
	struct str out = str_new(a);
	int low = (unsigned char)(*text)[0] == 0xff ? 0 : 1;
	for (size_t i = 2; i + 1 < *size; i += 2) {
		unsigned c = unit(*text + i, low);
		if (c >= 0xd800 && c < 0xdc00 && i + 3 < *size) {
			i += 2;
			c = 0x10000 + ((c & 0x3ff) << 10 | (unit(*text + i, low) & 0x3ff));
		}
		str_add_character(&out, c ? c : ' ');
	}
	*size = out.n;
	*text = arena_strdup(a, str_text(&out));
}

int tpat_log_read(char **text, size_t *size, const char *path, struct arena *a, struct err *e)
{
	TRY(file_read(text, size, path, a, e));
	if (*size >= 2 && (memcmp(*text, "\xff\xfe", 2) == 0 || memcmp(*text, "\xfe\xff", 2) == 0)) {
		from_utf16(text, size, a);
		return 0;
	}
	if (!memchr(*text, 0, *size < 64 ? *size : 64))
		return 0;
	err_set(e, ERR_MODEL, "%s: is not a log: its bytes are no text.", path);
	err_about(e, ERR_FILE, path);
	return err_advise(e, "Give a file with the output of trtexec --verbose or of another program.");
}
