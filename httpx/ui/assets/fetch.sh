#!/bin/sh
# Puts releases of htmx, uPlot and cytoscape into this directory, compressed, with their licences.
# It needs npm, tar and gzip. "sh fetch.sh" makes the files again, byte for byte.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# fetch NAME VERSION LICENCE FILE... puts the files of a package here.
fetch() {
	name=$1 version=$2 licence=$3
	shift 3
	npm pack --silent "$name@$version" >/dev/null
	rm -rf package
	tar xzf "$name-$version.tgz"
	for file; do
		sed '/^\/[/*]# sourceMappingURL=/d' "package/dist/$file" | gzip -9 -n >"$here/$file.gz"
	done
	{
		printf '%s %s (%s)\n\n' "$name" "$version" "$licence"
		cat package/LICENSE
		printf '\n\n'
	} >>licences
}

fetch htmx.org 2.0.11 0BSD htmx.min.js
fetch uplot 1.6.32 MIT uPlot.iife.min.js uPlot.min.css
fetch cytoscape 3.34.4 MIT cytoscape.min.js
cp licences "$here/LICENSES.txt"
