//! The standard profile: IANA's elements first, the netfilter project's mark, conntrack id and log prefix after them,
//! variable length last. Totals stand before deltas: nfdump sums a record wrongly otherwise.

use super::More;
use super::field::Field::{self, *};
use super::shape::{Family, Kind, Shape};

const COUNTERS: [Field; 8] = [
    PacketTotal,
    OctetTotal,
    ReversePacketTotal,
    ReverseOctetTotal,
    PacketDelta,
    OctetDelta,
    ReversePacketDelta,
    ReverseOctetDelta,
];

/// Names of both ends, at the end of each template when the profile has names.
const NAMES: [Field; 23] = [
    SourcePodNamespace,
    SourceName,
    SourceNodeName,
    DestinationPodNamespace,
    DestinationName,
    DestinationNodeName,
    ServicePortName,
    IngressPolicyNamespace,
    IngressPolicyName,
    IngressRuleName,
    EgressPolicyNamespace,
    EgressPolicyName,
    EgressRuleName,
    IngressPolicyType,
    IngressRuleAction,
    EgressPolicyType,
    EgressRuleAction,
    FlowType,
    EgressName,
    EgressIp,
    EgressNodeName,
    SourcePodUuid,
    DestinationPodUuid,
];

/// The fields of one shape of connection, in their order on the wire.
pub(super) fn fields(shape: Shape, more: More) -> Vec<Field> {
    let mut fields = vec![StartMilliseconds, EndMilliseconds, EndReason];
    fields.extend(match shape.family {
        Family::V4 => [SourceV4, DestinationV4],
        Family::V6 => [SourceV6, DestinationV6],
    });
    if shape.icmp {
        fields.push(match shape.family {
            Family::V4 => IcmpTypeCodeV4,
            Family::V6 => IcmpTypeCodeV6,
        });
    } else {
        fields.extend([SourcePort, DestinationPort]);
    }
    fields.push(Protocol);
    fields.extend(COUNTERS);
    if shape.kind == Kind::Translated {
        fields.extend(match shape.family {
            Family::V4 => [PostNatSourceV4, PostNatDestinationV4],
            Family::V6 => [PostNatSourceV6, PostNatDestinationV6],
        });
        if !shape.icmp {
            fields.extend([PostNaptSourcePort, PostNaptDestinationPort]);
        }
    }
    fields.extend([IngressVrf, EgressVrf, Mark, ConntrackId]);
    if shape.kind == Kind::Denied {
        fields.extend([FirewallEvent, LogPrefix]);
    }
    if more.names {
        fields.extend(NAMES);
    }
    if more.node {
        fields.push(NodeName);
    }
    if more.cluster {
        fields.push(ClusterName);
    }
    fields
}

/// Whether a selected field says something of connections of that shape; where it does not, the template goes without.
pub(super) fn applies(field: Field, shape: Shape) -> bool {
    let v4 = shape.family == Family::V4;
    match field {
        SourceV4 | DestinationV4 | ClusterV4 | ProxySnatV4 | ServiceV4 => v4,
        SourceV6 | DestinationV6 | ClusterV6 | ProxySnatV6 | ServiceV6 => !v4,
        SourcePort | DestinationPort | ServicePort | ProxySnatPort => !shape.icmp,
        IcmpTypeCodeV4 | IcmpTypeV4 | IcmpCodeV4 => v4 && shape.icmp,
        IcmpTypeCodeV6 | IcmpTypeV6 | IcmpCodeV6 => !v4 && shape.icmp,
        PostNatSourceV4 | PostNatDestinationV4 => v4 && shape.kind == Kind::Translated,
        PostNatSourceV6 | PostNatDestinationV6 => !v4 && shape.kind == Kind::Translated,
        PostNaptSourcePort | PostNaptDestinationPort => {
            !shape.icmp && shape.kind == Kind::Translated
        }
        FirewallEvent | LogPrefix => shape.kind == Kind::Denied,
        _ => true,
    }
}
