# Tuning on the processor: what was tried is in the database and known the next time; two may tune at once.
model=$MODELS/small.onnx
tpat tune $model -d cpu -n product -s x:64x4 --trials 2 -j 1 --db t.db
tpat tune $model -d cpu -n product -s x:64x4 -j 1 --db t.db --json 2> /dev/null > first.json && python3 -c "import json; t=json.load(open('first.json'))['tuned'][0]; print(t['known'], t['trials'] > 0, t['ns'] <= t['before_ns'], t['end'])"
tpat db list --db t.db | wc -l
tpat tune $model -d cpu -n product --profile x:1x4,8x4,32x4 --trials 1 -j 1 --db points.db --json 2> /dev/null | python3 -c "import json, sys; print([t['shape'] for t in json.load(sys.stdin)['tuned']])"
tpat tune $model -d cpu -n product --trials 2 -j 1 --db both.db > /dev/null 2>&1 &
tpat tune $model -d cpu -n probabilities --trials 2 -j 1 --db both.db > /dev/null 2>&1
wait
tpat db stats --db both.db --json | python3 -c "import json, sys; r = json.load(sys.stdin); print(r['trials'], 'trials of both,', r['foreign'], 'foreign')"
# Ctrl-C after the first trial; then the rest. Until then the compiler waits as soon as there is a trial: otherwise a busy machine
# may try everything before the Ctrl-C.
cat > waiting_cc <<'END'
#!/bin/sh
while [ ! -e interrupted ] && tpat db stats --db some.db --json 2> /dev/null | grep -q '"trials": *[1-9]'; do sleep 0.05; done
exec cc "$@"
END
chmod +x waiting_cc
HERE=$PWD MODEL=$model python3 -c "
import json, os, signal, subprocess, time
os.environ.update(CC=os.environ['HERE'] + '/waiting_cc', TPAT_CACHE=os.environ['HERE'] + '/cache')
argv = ['tpat', 'tune', os.environ['MODEL'], '-d', 'cpu', '-n', 'probabilities', '--db', 'some.db', '-j', '1', '--json']
tune = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def trials():
    done = subprocess.run(['tpat', 'db', 'stats', '--db', 'some.db', '--json'], capture_output=True)
    return json.loads(done.stdout)['trials'] if done.returncode == 0 else 0
while tune.poll() is None and trials() == 0:
    time.sleep(0.02)
tune.send_signal(signal.SIGINT)
status, kept = tune.wait(), trials()
open('interrupted', 'w').close()
rest = json.loads(subprocess.run(argv + ['--trials', '20'], capture_output=True).stdout)['tuned'][0]
print('exit', status, kept > 0, rest['known'] == kept, rest['trials'], trials() == kept + rest['trials'], rest['end'])"
tpat tune $model -d cpu -n nothing --db t.db
tpat tune $model -d cpu -n product --db /proc/none.db
tpat tune $model --budget soon
