/* Files that are no ONNX models, recognised by their bytes: what to do instead. */
#include "onnx/onnx_internal.h"

#include <string.h>

#include "base/ascii.h"
#include "base/str.h"

/* By the first bytes, or those at `at`. */
static const struct {
	size_t at;
	const char *bytes, *advice;
} known[] = {
	{ 0, "version https://git-lfs", "This is a Git LFS pointer: fetch the model itself with `git lfs pull`." },
	{ 0, "PK\3\4",
	  "This is a zip archive: unpack it if it contains the model; a PyTorch file has to be exported to ONNX "
	  "first, with torch.onnx.export()." },
	{ 0, "ftrt", "This is a TensorRT engine: give the ONNX model that it was built from." },
	{ 0, "ptrt", "This is a TensorRT engine: give the ONNX model that it was built from." },
	{ 0, "\x89HDF", "This is an HDF5 file (Keras): convert the model to ONNX first." },
	{ 0, "\x80\2", "This is a Python pickle (a PyTorch file, perhaps): export the model to ONNX first." },
	{ 4, "TFL3", "This is a TensorFlow Lite model: convert it to ONNX first." },
	{ 4, "ORTM", "This is a model in ONNX Runtime's own format: give the ONNX model that it was made from." },
	{ 8, "{\"", "This is a safetensors file, which has weights only: export the model to ONNX first." },
	{ 0, "GGUF", "This is a GGUF file: export the model to ONNX first." },
	{ 0, "\x93NUMPY", "This is a NumPy array: give the model, a file like NAME.onnx." },
	{ 0, "\177ELF", "This is a library or a program: give the model, a file like NAME.onnx." },
	{ 0, "MZ", "This is a library or a program: give the model, a file like NAME.onnx." },
	{ 0, "\x1f\x8b", "This is a compressed file: unpack it first, with gunzip or tar." },
	{ 0, "BZh", "This is a compressed file: unpack it first, with bunzip2 or tar." },
	{ 0,
	  "\xfd"
	  "7zXZ",
	  "This is a compressed file: unpack it first, with unxz or tar." },
	{ 0, "\x28\xb5\x2f\xfd", "This is a compressed file: unpack it first, with unzstd." },
	{ 0, "7z\xbc\xaf\x27\x1c", "This is a 7z archive: unpack it first." },
	{ 0, "Rar!", "This is a RAR archive: unpack it first." },
	{ 257, "ustar", "This is a tar archive: unpack it first, with tar -xf." },
	{ 0, "Salted__", "This is a file that OpenSSL encrypted: decrypt it first." },
	{ 0, "-----BEGIN PGP", "This is an encrypted file: decrypt it first, with gpg." },
	{ 0, "age-encryption.org", "This is an encrypted file: decrypt it first, with age." },
};

/* By the first words of a text. */
static const struct {
	const char *words, *advice;
} texts[] = {
	{ "<?xml", "This is an XML file (OpenVINO, perhaps): give the ONNX model that it was made from." },
	{ "<!doctype", "This is a web page: the download did not give the model." },
	{ "<html", "This is a web page: the download did not give the model." },
	{ "ir_version",
	  "This is a model as text: onnx.save(onnx.load(FILE, format=\"textproto\"), \"NAME.onnx\") converts it." },
	{ "<", "This may be a model in ONNX's text syntax: onnx.parser.parse_model() reads that, and onnx.save() "
	       "writes a model." },
};

/* By the ending of the file's name, if its bytes say nothing. */
static const struct {
	const char *endings, *advice; /* the endings with blanks around them */
} names[] = {
	{ " plan engine trt ", "By its name, this is a TensorRT engine: give the ONNX model that it was built from." },
	{ " pt pth ckpt bin pkl torchscript ",
	  "By its name, this is a file of PyTorch: export the model to ONNX first, with torch.onnx.export()." },
	{ " pb ",
	  "By its name, this is a TensorFlow graph or a tensor: python3 -m tf2onnx.convert makes ONNX models." },
	{ " mlmodel uff caffemodel pdmodel mnn param ncnn tmfile om rknn ",
	  "By its name, this is a model of another tool: give the ONNX model that it was made from." },
};

static const char *advice_for_name(const char *path)
{
	const char *dot = strrchr(path, '.');
	for (size_t i = 0; dot && i < sizeof names / sizeof *names; i++) {
		const char *at = dot[1] ? strstr(names[i].endings, dot + 1) : NULL;
		if (at && at[-1] == ' ' && at[strlen(dot + 1)] == ' ')
			return names[i].advice;
	}
	return NULL;
}

static bool starts_with_words(const char *text, const char *words)
{
	while (*words && ascii_lower(*text) == *words) {
		text++;
		words++;
	}
	return !*words;
}

/* Copies the beginning of a text file's first line, in whole characters. Returns false for a file that begins with
 * other bytes. */
static bool first_line(char *line, size_t room, const unsigned char *data, size_t size)
{
	char text[512 + 1];
	size_t n = 0, all = size < sizeof text ? size : sizeof text - 1;
	memcpy(text, data, all);
	text[all] = 0;
	for (size_t i = 0; i < all; i++)
		if (data[i] == 0x7f || (data[i] < ' ' && !memchr("\t\n\r\f", data[i], 4)))
			return false;
	const char *at = str_starts(text, "\xef\xbb\xbf") ? text + 3 : text;
	at += strspn(at, " \t\n\r\f");
	for (int more; (unsigned char)at[n] >= ' ' && (more = str_character(at + n)) && n + (size_t)more < room;)
		n += (size_t)more;
	memcpy(line, at, n);
	line[n] = 0;
	return n > 0;
}

static bool only_zeros(const unsigned char *data, size_t size)
{
	while (size && !*data) {
		data++;
		size--;
	}
	return !size;
}

int onnx_advise_kind(const unsigned char *data, size_t size, const char *path, struct err *e)
{
	char line[48];
	if (size == 0)
		return err_advise(e, "The file is empty: export or download the model again.");
	if (only_zeros(data, size))
		return err_advise(e,
		                  "The file contains only zeros, as after an interrupted download: download it again.");
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		size_t n = strlen(known[i].bytes);
		if (size >= known[i].at + n && memcmp(data + known[i].at, known[i].bytes, n) == 0)
			return err_advise(e, "%s", known[i].advice);
	}
	if (advice_for_name(path))
		return err_advise(e, "%s", advice_for_name(path));
	if (first_line(line, sizeof line, data, size)) {
		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
			if (starts_with_words(line, texts[i].words))
				return err_advise(e, "%s", texts[i].advice);
		return err_advise(e, "This is a text that begins with \"%s\": give the model, a file like NAME.onnx.",
		                  line);
	}
	return err_advise(e, "Export or download the model again, and compare its size with the original's.");
}
