# Each plugin is told as soon as it is done; one that cannot run fails, and the others are checked; Ctrl-C keeps what is done.
tpat build $MODELS/small.onnx -n product,activation,probabilities -o out.onnx --arch sm_90 \
	--name product=First --name activation=Second --name probabilities=Third > log || exit
MODEL=$MODELS/small.onnx python3 -c "
import os, signal, subprocess
argv = ['tpat', 'verify', 'out.onnx', '-d', 'cpu', '--runs', '1000']
run = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
first = [run.stdout.readline() for _ in range(2)]
print(first[1].split(), run.poll())
run.send_signal(signal.SIGINT)
out, err = run.communicate()
print(run.returncode, err.startswith('tpat: Interrupted after ') and ' of 3 plugins' in err)"
echo nonsense >> out.tpat/kernels/Second.cpu.c
tpat verify out.onnx -d cpu --runs 1 | grep -E '^&&&&|node'
tpat verify out.onnx -d cpu --runs 1 --quiet | grep -c node
