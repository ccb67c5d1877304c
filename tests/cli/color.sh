# Colours: on terminals only, unless NO_COLOR, CLICOLOR_FORCE, CLICOLOR or TERM say otherwise.
unset NO_COLOR CLICOLOR_FORCE CLICOLOR
export TERM=xterm
on_terminal() { python3 $TESTS/terminal.py "$@"; }
escapes() { sed 's/\x1b/ESC/g'; }
echo '-- a terminal'
on_terminal tpat list missing.onnx
on_terminal tpat verify --help | head -n 3
on_terminal tpat list $MODELS/small.onnx | grep operator
on_terminal tpat deploy -e trtexec missing.onnx
echo '-- neither a file nor a pipe'
tpat list missing.onnx 2>&1 | escapes
tpat help files | head -n 1 | escapes
echo '-- forced'
CLICOLOR_FORCE=1 tpat list missing.onnx 2>&1 | escapes
CLICOLOR_FORCE=1 tpat help files | head -n 1 | escapes
CLICOLOR_FORCE=0 tpat help files | head -n 1 | escapes
echo '-- forbidden'
NO_COLOR=1 CLICOLOR_FORCE=1 tpat help files | head -n 1 | escapes
NO_COLOR=1 on_terminal tpat list missing.onnx
NO_COLOR= on_terminal tpat list missing.onnx
CLICOLOR=0 on_terminal tpat list missing.onnx
TERM=dumb on_terminal tpat list missing.onnx
echo '-- a warning, and JSON'
tpat build $MODELS/small.onnx -t Softmax -o out.onnx --arch sm_90 --dry-run > /dev/null
CLICOLOR_FORCE=1 tpat build $MODELS/small.onnx -t Relu -o out.onnx --arch sm_90 --dry-run 2>&1 > /dev/null | escapes
CLICOLOR_FORCE=1 tpat list missing.onnx --json 2> /dev/null | escapes
