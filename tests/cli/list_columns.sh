# COLUMNS, which a shell may export, is as wide as a terminal: no sentence is wider. Long extents are cut.
COLUMNS=60 tpat list $MODELS/long.onnx | tail -n 22
COLUMNS=60 tpat list $MODELS/wide.onnx
tpat list $MODELS/wide.onnx | tail -n 3
