# Topics: every one has a text and a manual page, and what the texts name exists.
root=$(dirname "$0")/../..
tpat help exit-codes
tpat help nothing
tpat help selectoin
for topic in $(tpat help | sed -n '/^Topics/,/^Exit/{/^Exit/d;s/^Topics[^:]*://;p}' | tr -d ','); do
	echo "-- $topic"
	tpat help $topic | sed 1d | grep -c .
	tpat man $topic | head -n 3
	tpat help $topic | awk 'length > 79 { print "too long: " $0 }'
done
echo '-- variables that the sources read, and help does not name'
grep -rhoE 'getenv\("[A-Z_]+"\)' "$root"/src "$root"/rt | sed 's/.*"\(.*\)".*/\1/' | sort -u | while read -r name; do
	tpat help environment | grep -q "^  $name " || echo "$name"
done
echo '-- options that texts name, and no command has'
for command in build list fix verify run tune db deploy; do tpat $command --help; done > options
for topic in selection tensorrt types profiles tuning devices files; do
	tpat help $topic | grep -oE -- ' --[a-z-]+' | while read -r option; do
		grep -q -- "$option" options || echo "$topic: $option"
	done
done
echo '-- the statuses in the manual page and in the help'
tpat man build | sed -n '/EXIT STATUS/,/^.SH SEE/p' | grep -c '^\.TP'
tpat man | grep '^\.SH'
