#!/bin/sh
# Puts a release of swagger-ui-dist into this directory: what the page needs, compressed,
# and its licences. It needs npm, tar and gzip. "sh fetch.sh 5.35.0"
set -eu
version=${1:?which version?}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "swagger-ui-dist@$version" >/dev/null
tar xzf "swagger-ui-dist-$version.tgz"
cd package
for file in swagger-ui-bundle.js swagger-ui.css; do
	# The maps are not part of this, so nobody is to look for them.
	sed '/^\/[/*]# sourceMappingURL=/d' "$file" | gzip -9 -n >"$here/$file.gz"
done
cat NOTICE LICENSE swagger-ui-bundle.js.LICENSE.txt >"$here/LICENSE.txt"
