"""write_file.py FILE: an IPFIX file by python3-ipfix: fixed, reduced-size, reverse and variable-length elements."""

import ipaddress
import sys
from datetime import datetime, timezone

import ipfix.ie
import ipfix.template
import ipfix.writer

ipfix.ie.use_iana_default()
ipfix.ie.use_5103_default()

V4 = (
    "flowStartMilliseconds",
    "sourceIPv4Address",
    "destinationIPv4Address",
    "sourceTransportPort",
    "destinationTransportPort",
    "protocolIdentifier",
    "octetDeltaCount[4]",
    "reverseOctetDeltaCount",
    "packetDeltaCount[2]",
    "sourceMacAddress",
    "interfaceName",
)
V6 = ("sourceIPv6Address", "destinationIPv6Address", "icmpTypeCodeIPv6", "octetDeltaCount", "userName")


def template(number, names):
    return ipfix.template.from_ielist(number, ipfix.ie.spec_list(names))


with open(sys.argv[1], "wb") as stream:
    writer = ipfix.writer.to_stream(stream, mtu=512)
    writer.set_domain(77)
    for number, names in ((300, V4), (301, V6)):
        writer.add_template(template(number, names))
    writer.set_export_template(300)
    for index in range(20):
        writer.export_tuple(
            (
                datetime(2026, 2, 3, 4, 5, index, 678000, timezone.utc).replace(tzinfo=None),
                ipaddress.ip_address("192.0.2.1"),
                ipaddress.ip_address("198.51.100.%d" % index),
                1024 + index,
                443,
                6,
                4294967295 - index,
                2**53 - 1 - index,
                65535 - index,
                bytes([2, 0, 0, 0, 0, index]),
                "eth%d %s" % (index, "x" * (index * 20)),
            )
        )
    writer.set_export_template(301)
    for index, user in enumerate(("", "änne", "u" * 254, "v" * 255, "w" * 300)):
        writer.export_tuple(
            (
                ipaddress.ip_address("2001:db8::%x" % index),
                ipaddress.ip_address("2001:db8:1::1"),
                128 * 256 + index,
                1 << index,
                user,
            )
        )
    writer.flush()
