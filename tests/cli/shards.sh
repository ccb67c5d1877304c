# A part of a tuning: what --shard and the environment may say. What is tried with processes is in tests/ranks.
unset SLURM_PROCID SLURM_STEP_ID SLURM_ARRAY_TASK_ID OMPI_COMM_WORLD_RANK PMI_RANK
tune() { tpat tune $MODELS/small.onnx -d cpu -n bias -j 1 "$@"; }
tune --shard 4/4
tune --shard 1
tune --shard 1/2 --devices 0-1
OMPI_COMM_WORLD_RANK=one OMPI_COMM_WORLD_SIZE=2 tune
SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_STEP=4 tune
tune --devices 3-1
tune --devices 0,1x
tpat tune $MODELS/small.onnx -d cuda:1 --devices 0
tpat db list --watch .
tpat db stats --watch nowhere
# A database that only the other parts know is read, and not written.
tune --db a.db > /dev/null 2>&1
PMI_RANK=1 PMI_SIZE=2 tune --db a.db --json 2> /dev/null | python3 -c "import json, sys; r = json.load(sys.stdin); print(r['db'], r['shard'], r['shards'], [(t['known'] > 0, t['trials']) for t in r['tuned']])"
echo text > b.db
timeout --preserve-status -s INT 1 tpat db stats --watch . | sed -E 's/ *[0-9]+ s ago//; s/  +[1-9][0-9]*/ N/g'
