#!/bin/sh
# Installs what the tests need beyond Node and cargo, or names it.
set -eu

# Not the PATH of npm: an nft of node_modules/.bin is another program.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

missing=
for pair in nft:nftables ip:iproute2 conntrack:conntrack unshare:util-linux openssl:openssl; do
	command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "the tests need these packages:$missing" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing
