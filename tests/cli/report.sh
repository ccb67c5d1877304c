# A build as one HTML file; the page itself is checked by tests/report.
tpat report $MODELS/small.onnx --all -o page.html
ls
tpat report $MODELS/small.onnx --all -o page.html --json | sed 's/"bytes": [0-9]*/"bytes": N/'
tpat report $MODELS/small.onnx -o page.html
echo "exit $?"
tpat report $MODELS/small.onnx --all -o missing/page.html
