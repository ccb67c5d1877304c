# The words that completion offers are those that the options take.
words() { # COMMAND OPTION
	tpat completion bash | sed -n "/^\t$1)/,/^\t\t;;/p" | sed -n "s/^\t\t--$2\()\| |.*)\) words='\([^']*\)'.*/\2/p" | tr ' ' '\n' | sort
}
taken() { # MESSAGE: the words of a list in it
	sed -n "s/.*$1//p" | sed "s/, or an ONNX file//; s/[.,]/ /g; s/ and / /g" | tr -s ' ' '\n' | grep . | sort
}
tpat build $MODELS/small.onnx -t Relu -o out.onnx --arch sm_90 > /dev/null 2>&1
words deploy engine > words
tpat deploy out.onnx -e nothing 2>&1 | taken 'one of: ' > list
cat list
diff words list && echo same
words build pattern > words
tpat build $MODELS/small.onnx --pattern nothing 2>&1 | taken 'one of ' > list
cat list
diff words list && echo same
words build dump > words
tpat build $MODELS/small.onnx -t Relu --dump nothing 2>&1 | taken 'passes are ' > list
cat list
diff words list && echo same
for version in $(words build tensorrt); do
	tpat list $MODELS/small.onnx --tensorrt $version > /dev/null || echo "$version is refused"
done
words run device
