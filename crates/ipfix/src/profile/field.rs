//! The fields a data record can have: which element carries which part of a [`crate::Flow`], at which length.
//!
//! One variant a value: two variants may share an element where the profiles mean different things by it (the antrea
//! profile's destination is the endpoint, the standard profile's is the original destination). How a variant is
//! written is in `encode::value`.

use crate::element::ElementId;
use crate::template::{FieldSpecifier, VARIABLE};

macro_rules! fields {
    ($($variant:ident = $registry:ident($number:literal) [$length:expr];)*) => {
        /// A value of a flow and the element that carries it.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub(crate) enum Field { $($variant),* }

        impl Field {
            /// Every field, for tests and for selection by name.
            pub(crate) const ALL: &[Field] = &[$(Field::$variant),*];

            /// Its element and length, as a template states them.
            pub(crate) const fn specifier(self) -> FieldSpecifier {
                match self {
                    $(Field::$variant => FieldSpecifier { element: ElementId::$registry($number), length: $length },)*
                }
            }
        }
    };
}

fields! {
    StartMilliseconds = iana(152) [8];
    EndMilliseconds = iana(153) [8];
    StartSeconds = iana(150) [4];
    EndSeconds = iana(151) [4];
    DurationMilliseconds = iana(161) [4];
    EndReason = iana(136) [1];
    SourceV4 = iana(8) [4];
    DestinationV4 = iana(12) [4];
    SourceV6 = iana(27) [16];
    DestinationV6 = iana(28) [16];
    SourcePort = iana(7) [2];
    DestinationPort = iana(11) [2];
    IcmpTypeCodeV4 = iana(32) [2];
    IcmpTypeCodeV6 = iana(139) [2];
    IcmpTypeV4 = iana(176) [1];
    IcmpCodeV4 = iana(177) [1];
    IcmpTypeV6 = iana(178) [1];
    IcmpCodeV6 = iana(179) [1];
    IpVersion = iana(60) [1];
    Protocol = iana(4) [1];
    PacketTotal = iana(86) [8];
    OctetTotal = iana(85) [8];
    ReversePacketTotal = reverse(86) [8];
    ReverseOctetTotal = reverse(85) [8];
    PacketDelta = iana(2) [8];
    OctetDelta = iana(1) [8];
    ReversePacketDelta = reverse(2) [8];
    ReverseOctetDelta = reverse(1) [8];
    PostNatSourceV4 = iana(225) [4];
    PostNatDestinationV4 = iana(226) [4];
    PostNatSourceV6 = iana(281) [16];
    PostNatDestinationV6 = iana(282) [16];
    PostNaptSourcePort = iana(227) [2];
    PostNaptDestinationPort = iana(228) [2];
    IngressVrf = iana(234) [4];
    EgressVrf = iana(235) [4];
    Mark = netfilter(4) [4];
    ConntrackId = netfilter(6) [4];
    FirewallEvent = iana(233) [1];
    LogPrefix = netfilter(3) [VARIABLE];
    // Antrea's meaning: no ports for ICMP; the destination is the endpoint, that is the reply's source.
    EndpointSourcePort = iana(7) [2];
    EndpointPort = iana(11) [2];
    EndpointV4 = iana(12) [4];
    EndpointV6 = iana(28) [16];
    // The standard profile's meaning: the Pod's name, else that of the end's network.
    SourceName = antrea(101) [VARIABLE];
    DestinationName = antrea(103) [VARIABLE];
    SourcePodUuid = antrea(159) [VARIABLE];
    DestinationPodUuid = antrea(160) [VARIABLE];
    NodeName = iana(300) [VARIABLE];
    ClusterName = antrea(158) [VARIABLE];
    SourcePodName = antrea(101) [VARIABLE];
    SourcePodNamespace = antrea(100) [VARIABLE];
    SourceNodeName = antrea(104) [VARIABLE];
    DestinationPodName = antrea(103) [VARIABLE];
    DestinationPodNamespace = antrea(102) [VARIABLE];
    DestinationNodeName = antrea(105) [VARIABLE];
    ServicePort = antrea(108) [2];
    ServicePortName = antrea(109) [VARIABLE];
    IngressPolicyName = antrea(110) [VARIABLE];
    IngressPolicyNamespace = antrea(111) [VARIABLE];
    IngressPolicyType = antrea(115) [1];
    IngressRuleName = antrea(141) [VARIABLE];
    IngressRuleAction = antrea(139) [1];
    EgressPolicyName = antrea(112) [VARIABLE];
    EgressPolicyNamespace = antrea(113) [VARIABLE];
    EgressPolicyType = antrea(118) [1];
    EgressRuleName = antrea(142) [VARIABLE];
    EgressRuleAction = antrea(140) [1];
    TcpState = antrea(136) [VARIABLE];
    FlowType = antrea(137) [1];
    EgressName = antrea(153) [VARIABLE];
    EgressIp = antrea(154) [VARIABLE];
    EgressNodeName = antrea(157) [VARIABLE];
    ProxySnatPort = antrea(172) [2];
    ClusterV4 = antrea(106) [4];
    ProxySnatV4 = antrea(170) [4];
    ServiceV4 = antrea(168) [4];
    ClusterV6 = antrea(107) [16];
    ProxySnatV6 = antrea(171) [16];
    ServiceV6 = antrea(169) [16];
}

impl Field {
    /// Whether it is the antrea profile's reading of an element that the standard profile reads otherwise.
    pub(crate) const fn is_antrea_only(self) -> bool {
        matches!(
            self,
            Field::EndpointSourcePort
                | Field::EndpointPort
                | Field::EndpointV4
                | Field::EndpointV6
                | Field::SourcePodName
                | Field::DestinationPodName
        )
    }

    /// The element's name in its registry.
    pub(crate) fn name(self) -> &'static str {
        crate::registry::element(self.specifier().element).map_or("", |element| element.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_field_is_a_registered_element_at_a_length_its_type_has() {
        for field in Field::ALL {
            let FieldSpecifier { element, length } = field.specifier();
            let known = registry::element(element)
                .unwrap_or_else(|| panic!("{field:?}: {element} is not registered"));
            match length {
                VARIABLE => assert_eq!(known.data_type.size(), None, "{field:?}"),
                _ => assert_eq!(Some(length), known.data_type.size(), "{field:?}"),
            }
        }
    }
}
