# Neither a text nor somebody else's library is taken for a plugin library.
echo text > text.so
tpat inspect text.so
echo "exit $?"
echo 'int x;' | ${CC:-cc} -shared -o other.so -x c - || exit
tpat inspect other.so
