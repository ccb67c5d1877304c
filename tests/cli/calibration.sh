# TPAT_CALIBRATION names constants of the cost model. They count for GPUs of their architecture; a wrong file is an error.
estimate() {
	tpat list $MODELS/small.onnx --why probabilities --gpu "$1" | sed -n 's/^ *\* //p'
}
row() {
	echo "/* any GPU */ CALIBRATION($1, .mixed_clock = $2, .steady_clock = 0.85, .counted_clock = 0.9,"
	echo ".mma_clock = 0.8, .wgmma_clock = 0.8, .way = 700, .stream_way = 1800, .alone_bytes = 33, .tiles_cache = 0.9,"
	echo ".bulk_cache = 1.7, .tiles_wait = 2500, .wave = 650, .norm = 2.7, .access = 3, .apart = 0.008,"
	echo ".wave_way = 1000, .apart_way = 1500, .tile_way = 1200, .cached_tile_way = 900, .shared_bytes = 128)"
}
estimate A10
row 86 0.00001 | sed 's/)/, .functions = 16)/' >slow.def
TPAT_CALIBRATION=slow.def estimate A10
TPAT_CALIBRATION=slow.def estimate T4
estimate T4
row 86 0.75 >short.def
TPAT_CALIBRATION=short.def estimate A10
TPAT_CALIBRATION=missing.def tpat build $MODELS/small.onnx -n bias --gpu A10 -o out.onnx
