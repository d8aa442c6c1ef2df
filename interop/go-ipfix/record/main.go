// Builds the data set of one flow record as Antrea's agent does, with go-ipfix, from facts on stdin, and prints its octets
// as hexadecimal digits: the set's header, then the record. Facts are a JSON object from element names to numbers and
// texts; what is missing is 0 or empty. Addresses decide between the templates of IPv4 (256) and IPv6 (257).
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/vmware/go-ipfix/pkg/entities"
	"github.com/vmware/go-ipfix/pkg/registry"
)

type element struct {
	enterprise uint32
	name       string
}

func of(enterprise uint32, names ...string) []element {
	elements := []element{}
	for _, name := range names {
		elements = append(elements, element{enterprise, name})
	}
	return elements
}

// In the order in which the flow aggregator expects them.
func elements(family string) []element {
	list := of(registry.IANAEnterpriseID,
		"flowStartSeconds", "flowEndSeconds", "flowEndReason", "sourceTransportPort", "destinationTransportPort",
		"protocolIdentifier", "packetTotalCount", "octetTotalCount", "packetDeltaCount", "octetDeltaCount",
		"source"+family+"Address", "destination"+family+"Address")
	list = append(list, of(registry.IANAReversedEnterpriseID,
		"reversePacketTotalCount", "reverseOctetTotalCount", "reversePacketDeltaCount", "reverseOctetDeltaCount")...)
	return append(list, of(registry.AntreaEnterpriseID,
		"sourcePodName", "sourcePodNamespace", "sourceNodeName",
		"destinationPodName", "destinationPodNamespace", "destinationNodeName",
		"destinationServicePort", "destinationServicePortName",
		"ingressNetworkPolicyName", "ingressNetworkPolicyNamespace", "ingressNetworkPolicyType",
		"ingressNetworkPolicyRuleName", "ingressNetworkPolicyRuleAction",
		"egressNetworkPolicyName", "egressNetworkPolicyNamespace", "egressNetworkPolicyType",
		"egressNetworkPolicyRuleName", "egressNetworkPolicyRuleAction",
		"tcpState", "flowType", "egressName", "egressIP", "egressNodeName", "proxySnatPort",
		"destinationCluster"+family, "proxySnat"+family, "destinationService"+family)...)
}

func main() {
	registry.LoadRegistry()
	facts := map[string]any{}
	check(json.NewDecoder(os.Stdin).Decode(&facts))
	family, template := "IPv4", uint16(256)
	if _, six := facts["sourceIPv6Address"]; six {
		family, template = "IPv6", 257
	}
	values := []entities.InfoElementWithValue{}
	for _, wanted := range elements(family) {
		info, err := registry.GetInfoElement(wanted.name, wanted.enterprise)
		check(err)
		value, err := valueOf(info, facts[wanted.name])
		check(err)
		values = append(values, value)
		delete(facts, wanted.name)
	}
	if len(facts) > 0 {
		check(fmt.Errorf("no elements for %v", facts))
	}
	set, err := entities.MakeDataSet(template, values)
	check(err)
	set.UpdateLenInHeader()
	octets := append([]byte{}, set.GetHeaderBuffer()...)
	for _, record := range set.GetRecords() {
		octets, err = record.AppendToBuffer(octets)
		check(err)
	}
	fmt.Println(hex.EncodeToString(octets))
}

func valueOf(info *entities.InfoElement, fact any) (entities.InfoElementWithValue, error) {
	number, _ := fact.(float64)
	text, _ := fact.(string)
	switch info.DataType {
	case entities.Unsigned8:
		return entities.NewUnsigned8InfoElement(info, uint8(number)), nil
	case entities.Unsigned16:
		return entities.NewUnsigned16InfoElement(info, uint16(number)), nil
	case entities.Unsigned64:
		return entities.NewUnsigned64InfoElement(info, uint64(number)), nil
	case entities.DateTimeSeconds:
		return entities.NewDateTimeSecondsInfoElement(info, uint32(number)), nil
	case entities.String:
		return entities.NewStringInfoElement(info, text), nil
	case entities.Ipv4Address:
		return entities.NewIPAddressInfoElement(info, addressOf(text, net.IPv4zero)), nil
	case entities.Ipv6Address:
		return entities.NewIPAddressInfoElement(info, addressOf(text, net.IPv6zero)), nil
	}
	return nil, fmt.Errorf("%s has a type that is not expected here", info.Name)
}

func addressOf(text string, none net.IP) net.IP {
	if text == "" {
		return none
	}
	return net.ParseIP(text)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
