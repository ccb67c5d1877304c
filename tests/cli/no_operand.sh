# Each command says what it needs.
for command in fix build list report run verify deploy bench tune rebuild doctor check-plugin inspect completion; do
	tpat $command
done
echo "exit $?"
