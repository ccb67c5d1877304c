# A compiler that refuses the first calls: the region is built again without fusion; where that is refused, too, it fails.
cat > fake.c <<'C'
#include <stdlib.h>
#include <string.h>
static int calls;
int nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 0; return 0; }
int nvrtcGetNumSupportedArchs(int *n) { *n = 1; return 0; }
int nvrtcGetSupportedArchs(int *arch) { *arch = 90; return 0; }
const char *nvrtcGetErrorString(int rc) { return rc ? "refused" : "fine"; }
int nvrtcCreateProgram(void **p, const char *t, const char *n, int h, const char *const *x, const char *const *y)
{
	*p = calloc(1, 1);
	return 0;
}
int nvrtcDestroyProgram(void **p) { free(*p); return 0; }
int nvrtcCompileProgram(char *p, int n, const char *const *o)
{
	*p = calls++ < atoi(getenv("REFUSALS"));
	return *p ? 6 : 0;
}
static const char *said(const char *p) { return *p ? "a.cu(7): error: \"j\" has already been declared\n" : ""; }
int nvrtcGetProgramLogSize(char *p, size_t *n) { *n = strlen(said(p)) + 1; return 0; }
int nvrtcGetProgramLog(char *p, char *out) { strcpy(out, said(p)); return 0; }
int nvrtcGetCUBINSize(char *p, size_t *n) { *n = 4; return 0; }
int nvrtcGetCUBIN(char *p, char *out) { memcpy(out, "ELF", 4); return 0; }
int nvrtcGetPTXSize(char *p, size_t *n) { *n = 4; return 0; }
int nvrtcGetPTX(char *p, char *out) { memcpy(out, "PTX", 4); return 0; }
C
cc -shared -fPIC -w -o fake.so fake.c
export TPAT_CACHE_SIZE=0 # each build compiles
for n in 0 1 2; do
	echo "== $n refused"
	REFUSALS=$n TPAT_NVRTC=$PWD/fake.so tpat build $MODELS/small.onnx --region activation,probabilities -o out.onnx --arch sm_90 -j 1 | sed -n 1,2p
	ls
	test $n = 1 && tpat verify out.onnx --device cpu | tail -n 1
	test -d out.tpat && grep -h __global__ -A1 out.tpat/kernels/*.cu | grep -c ^void
	rm -rf out.onnx out.tpat libtpat_out.so
done
