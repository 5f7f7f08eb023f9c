#!/bin/sh
# Fills the folder that becomes the root of the image: the program, its licences and packages, Node, what bounds the programs that render, and
# the libraries that these are linked with. The Dockerfile runs it, and test/programs/image.test.ts.
#   image-root.sh FOLDER SOURCE [NODE]    SOURCE holds LICENSE and dist
set -eu
root=$1
source=$2
node=${3:-/usr/local/bin/node}

mkdir -p "$root/app" "$root/etc" "$root/tmp" "$root/usr/local/bin"
cp -L "$node" "$root/usr/local/bin/node"
# ldd names the libraries, whatever the architecture.
cp --parents -L /usr/bin/prlimit /usr/bin/unshare $(ldd "$node" /usr/bin/prlimit /usr/bin/unshare | grep -o '\s/[^ :]*' | sort -u) "$root"
printf 'hosts: files dns\n' > "$root/etc/nsswitch.conf"
printf 'holdfast:x:65532:65532::/:/sbin/nologin\n' > "$root/etc/passwd"
# Without demo.js: who tries Holdfast out has the npm package or an executable.
cp "$source/dist/main.js" "$source/dist/image/THIRD_PARTY_NOTICES.txt" "$source/dist/image/sbom.cdx.json" "$source/LICENSE" "$root/app/"
mkdir "$root/app/parts"
cp "$source"/dist/parts/*.js "$root/app/parts/"
