#!/bin/sh
# Installs the collectors and exporters that `npm run test:interop` talks to, or names what is missing.
set -eu

# Not the PATH of npm: programs of node_modules/.bin are others.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

missing=
for pair in tshark:tshark dumpcap:tshark nfcapd:nfdump nfacctd:pmacct pmacctd:pmacct ipfixDump:libfixbuf-tools \
	socat:socat ipfix2csv:python3-ipfix softflowd:softflowd ping:iputils-ping openssl:openssl \
	setpriv:util-linux timeout:coreutils; do
	command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "the interop tests need these packages (names of Debian 12):$missing" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# The packages' services are not to start: the tests run the programs themselves.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing
