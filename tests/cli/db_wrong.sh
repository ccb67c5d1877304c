# Invalid tuning databases; nothing is changed or created.
tpat db
tpat db frobnicate
tpat db import
tpat db list more
tpat db list
ls -A
tpat db stats --db missing.db
tpat db import --db new.db missing.jsonl
echo '{"tpat_db":1}' > empty.jsonl
{ cat empty.jsonl; echo '{"program":7}'; } > wrong.jsonl
echo text > text.db
tpat db list --db text.db
tpat db import --db text.db empty.jsonl
cat text.db
tpat db import --db one.db empty.jsonl
tpat db import --db one.db wrong.jsonl
tpat db merge --db one.db one.db
tpat db merge --db one.db text.db
tpat db prune --db one.db --keep -1
tpat db list --db .
tpat db list --db one.db
HOME= tpat db list
