/**
 * What records are made of. Written from the registries of elements by
 * `cargo run -p ipfix --example typescript -- elements > lib/elements.ts`; a test fails when they differ.
 */

/**
 * Information elements by registry name, as JSON has them: IANA's, netfilter's (21373), Antrea's (56506) and, of the reverse
 * ones (29305, RFC 5103), those that the exporter sends. A record has those of its template. Numbers are numbers, addresses text, date-times ISO 8601 text in
 * UTC, octets hexadecimal text; null is a boolean or a float that JSON cannot say.
 */
export interface Elements {
	/** 1: unsigned64. */
	octetDeltaCount?: number;
	/** 2: unsigned64. */
	packetDeltaCount?: number;
	/** 3: unsigned64. */
	deltaFlowCount?: number;
	/** 4: unsigned8. */
	protocolIdentifier?: number;
	/** 5: unsigned8. */
	ipClassOfService?: number;
	/** 6: unsigned16. */
	tcpControlBits?: number;
	/** 7: unsigned16. */
	sourceTransportPort?: number;
	/** 8: ipv4Address. */
	sourceIPv4Address?: string;
	/** 9: unsigned8. */
	sourceIPv4PrefixLength?: number;
	/** 10: unsigned32. */
	ingressInterface?: number;
	/** 11: unsigned16. */
	destinationTransportPort?: number;
	/** 12: ipv4Address. */
	destinationIPv4Address?: string;
	/** 13: unsigned8. */
	destinationIPv4PrefixLength?: number;
	/** 14: unsigned32. */
	egressInterface?: number;
	/** 15: ipv4Address. */
	ipNextHopIPv4Address?: string;
	/** 16: unsigned32. */
	bgpSourceAsNumber?: number;
	/** 17: unsigned32. */
	bgpDestinationAsNumber?: number;
	/** 18: ipv4Address. */
	bgpNextHopIPv4Address?: string;
	/** 19: unsigned64. */
	postMCastPacketDeltaCount?: number;
	/** 20: unsigned64. */
	postMCastOctetDeltaCount?: number;
	/** 21: unsigned32. */
	flowEndSysUpTime?: number;
	/** 22: unsigned32. */
	flowStartSysUpTime?: number;
	/** 23: unsigned64. */
	postOctetDeltaCount?: number;
	/** 24: unsigned64. */
	postPacketDeltaCount?: number;
	/** 25: unsigned64. */
	minimumIpTotalLength?: number;
	/** 26: unsigned64. */
	maximumIpTotalLength?: number;
	/** 27: ipv6Address. */
	sourceIPv6Address?: string;
	/** 28: ipv6Address. */
	destinationIPv6Address?: string;
	/** 29: unsigned8. */
	sourceIPv6PrefixLength?: number;
	/** 30: unsigned8. */
	destinationIPv6PrefixLength?: number;
	/** 31: unsigned32. */
	flowLabelIPv6?: number;
	/** 32: unsigned16. */
	icmpTypeCodeIPv4?: number;
	/** 33: unsigned8. */
	igmpType?: number;
	/** 34: unsigned32. */
	samplingInterval?: number;
	/** 35: unsigned8. */
	samplingAlgorithm?: number;
	/** 36: unsigned16. */
	flowActiveTimeout?: number;
	/** 37: unsigned16. */
	flowIdleTimeout?: number;
	/** 38: unsigned8. */
	engineType?: number;
	/** 39: unsigned8. */
	engineId?: number;
	/** 40: unsigned64. */
	exportedOctetTotalCount?: number;
	/** 41: unsigned64. */
	exportedMessageTotalCount?: number;
	/** 42: unsigned64. */
	exportedFlowRecordTotalCount?: number;
	/** 43: ipv4Address. */
	ipv4RouterSc?: string;
	/** 44: ipv4Address. */
	sourceIPv4Prefix?: string;
	/** 45: ipv4Address. */
	destinationIPv4Prefix?: string;
	/** 46: unsigned8. */
	mplsTopLabelType?: number;
	/** 47: ipv4Address. */
	mplsTopLabelIPv4Address?: string;
	/** 48: unsigned8. */
	samplerId?: number;
	/** 49: unsigned8. */
	samplerMode?: number;
	/** 50: unsigned32. */
	samplerRandomInterval?: number;
	/** 51: unsigned8. */
	classId?: number;
	/** 52: unsigned8. */
	minimumTTL?: number;
	/** 53: unsigned8. */
	maximumTTL?: number;
	/** 54: unsigned32. */
	fragmentIdentification?: number;
	/** 55: unsigned8. */
	postIpClassOfService?: number;
	/** 56: macAddress. */
	sourceMacAddress?: string;
	/** 57: macAddress. */
	postDestinationMacAddress?: string;
	/** 58: unsigned16. */
	vlanId?: number;
	/** 59: unsigned16. */
	postVlanId?: number;
	/** 60: unsigned8. */
	ipVersion?: number;
	/** 61: unsigned8. */
	flowDirection?: number;
	/** 62: ipv6Address. */
	ipNextHopIPv6Address?: string;
	/** 63: ipv6Address. */
	bgpNextHopIPv6Address?: string;
	/** 64: unsigned32. */
	ipv6ExtensionHeaders?: number;
	/** 70: octetArray. */
	mplsTopLabelStackSection?: string;
	/** 71: octetArray. */
	mplsLabelStackSection2?: string;
	/** 72: octetArray. */
	mplsLabelStackSection3?: string;
	/** 73: octetArray. */
	mplsLabelStackSection4?: string;
	/** 74: octetArray. */
	mplsLabelStackSection5?: string;
	/** 75: octetArray. */
	mplsLabelStackSection6?: string;
	/** 76: octetArray. */
	mplsLabelStackSection7?: string;
	/** 77: octetArray. */
	mplsLabelStackSection8?: string;
	/** 78: octetArray. */
	mplsLabelStackSection9?: string;
	/** 79: octetArray. */
	mplsLabelStackSection10?: string;
	/** 80: macAddress. */
	destinationMacAddress?: string;
	/** 81: macAddress. */
	postSourceMacAddress?: string;
	/** 82: string. */
	interfaceName?: string;
	/** 83: string. */
	interfaceDescription?: string;
	/** 84: string. */
	samplerName?: string;
	/** 85: unsigned64. */
	octetTotalCount?: number;
	/** 86: unsigned64. */
	packetTotalCount?: number;
	/** 87: unsigned32. */
	flagsAndSamplerId?: number;
	/** 88: unsigned16. */
	fragmentOffset?: number;
	/** 89: unsigned8. */
	forwardingStatus?: number;
	/** 90: octetArray. */
	mplsVpnRouteDistinguisher?: string;
	/** 91: unsigned8. */
	mplsTopLabelPrefixLength?: number;
	/** 92: unsigned32. */
	srcTrafficIndex?: number;
	/** 93: unsigned32. */
	dstTrafficIndex?: number;
	/** 94: string. */
	applicationDescription?: string;
	/** 95: octetArray. */
	applicationId?: string;
	/** 96: string. */
	applicationName?: string;
	/** 98: unsigned8. */
	postIpDiffServCodePoint?: number;
	/** 99: unsigned32. */
	multicastReplicationFactor?: number;
	/** 100: string. */
	className?: string;
	/** 101: unsigned8. */
	classificationEngineId?: number;
	/** 102: unsigned16. */
	layer2packetSectionOffset?: number;
	/** 103: unsigned16. */
	layer2packetSectionSize?: number;
	/** 104: octetArray. */
	layer2packetSectionData?: string;
	/** 128: unsigned32. */
	bgpNextAdjacentAsNumber?: number;
	/** 129: unsigned32. */
	bgpPrevAdjacentAsNumber?: number;
	/** 130: ipv4Address. */
	exporterIPv4Address?: string;
	/** 131: ipv6Address. */
	exporterIPv6Address?: string;
	/** 132: unsigned64. */
	droppedOctetDeltaCount?: number;
	/** 133: unsigned64. */
	droppedPacketDeltaCount?: number;
	/** 134: unsigned64. */
	droppedOctetTotalCount?: number;
	/** 135: unsigned64. */
	droppedPacketTotalCount?: number;
	/** 136: unsigned8. */
	flowEndReason?: number;
	/** 137: unsigned64. */
	commonPropertiesId?: number;
	/** 138: unsigned64. */
	observationPointId?: number;
	/** 139: unsigned16. */
	icmpTypeCodeIPv6?: number;
	/** 140: ipv6Address. */
	mplsTopLabelIPv6Address?: string;
	/** 141: unsigned32. */
	lineCardId?: number;
	/** 142: unsigned32. */
	portId?: number;
	/** 143: unsigned32. */
	meteringProcessId?: number;
	/** 144: unsigned32. */
	exportingProcessId?: number;
	/** 145: unsigned16. */
	templateId?: number;
	/** 146: unsigned8. */
	wlanChannelId?: number;
	/** 147: string. */
	wlanSSID?: string;
	/** 148: unsigned64. */
	flowId?: number;
	/** 149: unsigned32. */
	observationDomainId?: number;
	/** 150: dateTimeSeconds. */
	flowStartSeconds?: string;
	/** 151: dateTimeSeconds. */
	flowEndSeconds?: string;
	/** 152: dateTimeMilliseconds. */
	flowStartMilliseconds?: string;
	/** 153: dateTimeMilliseconds. */
	flowEndMilliseconds?: string;
	/** 154: dateTimeMicroseconds. */
	flowStartMicroseconds?: string;
	/** 155: dateTimeMicroseconds. */
	flowEndMicroseconds?: string;
	/** 156: dateTimeNanoseconds. */
	flowStartNanoseconds?: string;
	/** 157: dateTimeNanoseconds. */
	flowEndNanoseconds?: string;
	/** 158: unsigned32. */
	flowStartDeltaMicroseconds?: number;
	/** 159: unsigned32. */
	flowEndDeltaMicroseconds?: number;
	/** 160: dateTimeMilliseconds. */
	systemInitTimeMilliseconds?: string;
	/** 161: unsigned32. */
	flowDurationMilliseconds?: number;
	/** 162: unsigned32. */
	flowDurationMicroseconds?: number;
	/** 163: unsigned64. */
	observedFlowTotalCount?: number;
	/** 164: unsigned64. */
	ignoredPacketTotalCount?: number;
	/** 165: unsigned64. */
	ignoredOctetTotalCount?: number;
	/** 166: unsigned64. */
	notSentFlowTotalCount?: number;
	/** 167: unsigned64. */
	notSentPacketTotalCount?: number;
	/** 168: unsigned64. */
	notSentOctetTotalCount?: number;
	/** 169: ipv6Address. */
	destinationIPv6Prefix?: string;
	/** 170: ipv6Address. */
	sourceIPv6Prefix?: string;
	/** 171: unsigned64. */
	postOctetTotalCount?: number;
	/** 172: unsigned64. */
	postPacketTotalCount?: number;
	/** 173: unsigned64. */
	flowKeyIndicator?: number;
	/** 174: unsigned64. */
	postMCastPacketTotalCount?: number;
	/** 175: unsigned64. */
	postMCastOctetTotalCount?: number;
	/** 176: unsigned8. */
	icmpTypeIPv4?: number;
	/** 177: unsigned8. */
	icmpCodeIPv4?: number;
	/** 178: unsigned8. */
	icmpTypeIPv6?: number;
	/** 179: unsigned8. */
	icmpCodeIPv6?: number;
	/** 180: unsigned16. */
	udpSourcePort?: number;
	/** 181: unsigned16. */
	udpDestinationPort?: number;
	/** 182: unsigned16. */
	tcpSourcePort?: number;
	/** 183: unsigned16. */
	tcpDestinationPort?: number;
	/** 184: unsigned32. */
	tcpSequenceNumber?: number;
	/** 185: unsigned32. */
	tcpAcknowledgementNumber?: number;
	/** 186: unsigned16. */
	tcpWindowSize?: number;
	/** 187: unsigned16. */
	tcpUrgentPointer?: number;
	/** 188: unsigned8. */
	tcpHeaderLength?: number;
	/** 189: unsigned8. */
	ipHeaderLength?: number;
	/** 190: unsigned16. */
	totalLengthIPv4?: number;
	/** 191: unsigned16. */
	payloadLengthIPv6?: number;
	/** 192: unsigned8. */
	ipTTL?: number;
	/** 193: unsigned8. */
	nextHeaderIPv6?: number;
	/** 194: unsigned32. */
	mplsPayloadLength?: number;
	/** 195: unsigned8. */
	ipDiffServCodePoint?: number;
	/** 196: unsigned8. */
	ipPrecedence?: number;
	/** 197: unsigned8. */
	fragmentFlags?: number;
	/** 198: unsigned64. */
	octetDeltaSumOfSquares?: number;
	/** 199: unsigned64. */
	octetTotalSumOfSquares?: number;
	/** 200: unsigned8. */
	mplsTopLabelTTL?: number;
	/** 201: unsigned32. */
	mplsLabelStackLength?: number;
	/** 202: unsigned32. */
	mplsLabelStackDepth?: number;
	/** 203: unsigned8. */
	mplsTopLabelExp?: number;
	/** 204: unsigned32. */
	ipPayloadLength?: number;
	/** 205: unsigned16. */
	udpMessageLength?: number;
	/** 206: unsigned8. */
	isMulticast?: number;
	/** 207: unsigned8. */
	ipv4IHL?: number;
	/** 208: unsigned32. */
	ipv4Options?: number;
	/** 209: unsigned64. */
	tcpOptions?: number;
	/** 211: ipv4Address. */
	collectorIPv4Address?: string;
	/** 212: ipv6Address. */
	collectorIPv6Address?: string;
	/** 213: unsigned32. */
	exportInterface?: number;
	/** 214: unsigned8. */
	exportProtocolVersion?: number;
	/** 215: unsigned8. */
	exportTransportProtocol?: number;
	/** 216: unsigned16. */
	collectorTransportPort?: number;
	/** 217: unsigned16. */
	exporterTransportPort?: number;
	/** 218: unsigned64. */
	tcpSynTotalCount?: number;
	/** 219: unsigned64. */
	tcpFinTotalCount?: number;
	/** 220: unsigned64. */
	tcpRstTotalCount?: number;
	/** 221: unsigned64. */
	tcpPshTotalCount?: number;
	/** 222: unsigned64. */
	tcpAckTotalCount?: number;
	/** 223: unsigned64. */
	tcpUrgTotalCount?: number;
	/** 224: unsigned64. */
	ipTotalLength?: number;
	/** 225: ipv4Address. */
	postNATSourceIPv4Address?: string;
	/** 226: ipv4Address. */
	postNATDestinationIPv4Address?: string;
	/** 227: unsigned16. */
	postNAPTSourceTransportPort?: number;
	/** 228: unsigned16. */
	postNAPTDestinationTransportPort?: number;
	/** 229: unsigned8. */
	natOriginatingAddressRealm?: number;
	/** 230: unsigned8. */
	natEvent?: number;
	/** 231: unsigned64. */
	initiatorOctets?: number;
	/** 232: unsigned64. */
	responderOctets?: number;
	/** 233: unsigned8. */
	firewallEvent?: number;
	/** 234: unsigned32. */
	ingressVRFID?: number;
	/** 235: unsigned32. */
	egressVRFID?: number;
	/** 236: string. */
	VRFname?: string;
	/** 237: unsigned8. */
	postMplsTopLabelExp?: number;
	/** 238: unsigned16. */
	tcpWindowScale?: number;
	/** 239: unsigned8. */
	biflowDirection?: number;
	/** 240: unsigned8. */
	ethernetHeaderLength?: number;
	/** 241: unsigned16. */
	ethernetPayloadLength?: number;
	/** 242: unsigned16. */
	ethernetTotalLength?: number;
	/** 243: unsigned16. */
	dot1qVlanId?: number;
	/** 244: unsigned8. */
	dot1qPriority?: number;
	/** 245: unsigned16. */
	dot1qCustomerVlanId?: number;
	/** 246: unsigned8. */
	dot1qCustomerPriority?: number;
	/** 247: string. */
	metroEvcId?: string;
	/** 248: unsigned8. */
	metroEvcType?: number;
	/** 249: unsigned32. */
	pseudoWireId?: number;
	/** 250: unsigned16. */
	pseudoWireType?: number;
	/** 251: unsigned32. */
	pseudoWireControlWord?: number;
	/** 252: unsigned32. */
	ingressPhysicalInterface?: number;
	/** 253: unsigned32. */
	egressPhysicalInterface?: number;
	/** 254: unsigned16. */
	postDot1qVlanId?: number;
	/** 255: unsigned16. */
	postDot1qCustomerVlanId?: number;
	/** 256: unsigned16. */
	ethernetType?: number;
	/** 257: unsigned8. */
	postIpPrecedence?: number;
	/** 258: dateTimeMilliseconds. */
	collectionTimeMilliseconds?: string;
	/** 259: unsigned16. */
	exportSctpStreamId?: number;
	/** 260: dateTimeSeconds. */
	maxExportSeconds?: string;
	/** 261: dateTimeSeconds. */
	maxFlowEndSeconds?: string;
	/** 262: octetArray. */
	messageMD5Checksum?: string;
	/** 263: unsigned8. */
	messageScope?: number;
	/** 264: dateTimeSeconds. */
	minExportSeconds?: string;
	/** 265: dateTimeSeconds. */
	minFlowStartSeconds?: string;
	/** 266: octetArray. */
	opaqueOctets?: string;
	/** 267: unsigned8. */
	sessionScope?: number;
	/** 268: dateTimeMicroseconds. */
	maxFlowEndMicroseconds?: string;
	/** 269: dateTimeMilliseconds. */
	maxFlowEndMilliseconds?: string;
	/** 270: dateTimeNanoseconds. */
	maxFlowEndNanoseconds?: string;
	/** 271: dateTimeMicroseconds. */
	minFlowStartMicroseconds?: string;
	/** 272: dateTimeMilliseconds. */
	minFlowStartMilliseconds?: string;
	/** 273: dateTimeNanoseconds. */
	minFlowStartNanoseconds?: string;
	/** 274: octetArray. */
	collectorCertificate?: string;
	/** 275: octetArray. */
	exporterCertificate?: string;
	/** 276: boolean. */
	dataRecordsReliability?: boolean | null;
	/** 277: unsigned8. */
	observationPointType?: number;
	/** 278: unsigned32. */
	newConnectionDeltaCount?: number;
	/** 279: unsigned64. */
	connectionSumDurationSeconds?: number;
	/** 280: unsigned64. */
	connectionTransactionId?: number;
	/** 281: ipv6Address. */
	postNATSourceIPv6Address?: string;
	/** 282: ipv6Address. */
	postNATDestinationIPv6Address?: string;
	/** 283: unsigned32. */
	natPoolId?: number;
	/** 284: string. */
	natPoolName?: string;
	/** 285: unsigned16. */
	anonymizationFlags?: number;
	/** 286: unsigned16. */
	anonymizationTechnique?: number;
	/** 287: unsigned16. */
	informationElementIndex?: number;
	/** 288: string. */
	p2pTechnology?: string;
	/** 289: string. */
	tunnelTechnology?: string;
	/** 290: string. */
	encryptedTechnology?: string;
	/** 294: unsigned8. */
	bgpValidityState?: number;
	/** 295: unsigned32. */
	IPSecSPI?: number;
	/** 296: unsigned32. */
	greKey?: number;
	/** 297: unsigned8. */
	natType?: number;
	/** 298: unsigned64. */
	initiatorPackets?: number;
	/** 299: unsigned64. */
	responderPackets?: number;
	/** 300: string. */
	observationDomainName?: string;
	/** 301: unsigned64. */
	selectionSequenceId?: number;
	/** 302: unsigned64. */
	selectorId?: number;
	/** 303: unsigned16. */
	informationElementId?: number;
	/** 304: unsigned16. */
	selectorAlgorithm?: number;
	/** 305: unsigned32. */
	samplingPacketInterval?: number;
	/** 306: unsigned32. */
	samplingPacketSpace?: number;
	/** 307: unsigned32. */
	samplingTimeInterval?: number;
	/** 308: unsigned32. */
	samplingTimeSpace?: number;
	/** 309: unsigned32. */
	samplingSize?: number;
	/** 310: unsigned32. */
	samplingPopulation?: number;
	/** 311: float64. */
	samplingProbability?: number | null;
	/** 312: unsigned16. */
	dataLinkFrameSize?: number;
	/** 313: octetArray. */
	ipHeaderPacketSection?: string;
	/** 314: octetArray. */
	ipPayloadPacketSection?: string;
	/** 315: octetArray. */
	dataLinkFrameSection?: string;
	/** 316: octetArray. */
	mplsLabelStackSection?: string;
	/** 317: octetArray. */
	mplsPayloadPacketSection?: string;
	/** 318: unsigned64. */
	selectorIdTotalPktsObserved?: number;
	/** 319: unsigned64. */
	selectorIdTotalPktsSelected?: number;
	/** 320: float64. */
	absoluteError?: number | null;
	/** 321: float64. */
	relativeError?: number | null;
	/** 322: dateTimeSeconds. */
	observationTimeSeconds?: string;
	/** 323: dateTimeMilliseconds. */
	observationTimeMilliseconds?: string;
	/** 324: dateTimeMicroseconds. */
	observationTimeMicroseconds?: string;
	/** 325: dateTimeNanoseconds. */
	observationTimeNanoseconds?: string;
	/** 326: unsigned64. */
	digestHashValue?: number;
	/** 327: unsigned64. */
	hashIPPayloadOffset?: number;
	/** 328: unsigned64. */
	hashIPPayloadSize?: number;
	/** 329: unsigned64. */
	hashOutputRangeMin?: number;
	/** 330: unsigned64. */
	hashOutputRangeMax?: number;
	/** 331: unsigned64. */
	hashSelectedRangeMin?: number;
	/** 332: unsigned64. */
	hashSelectedRangeMax?: number;
	/** 333: boolean. */
	hashDigestOutput?: boolean | null;
	/** 334: unsigned64. */
	hashInitialiserValue?: number;
	/** 335: string. */
	selectorName?: string;
	/** 336: float64. */
	upperCILimit?: number | null;
	/** 337: float64. */
	lowerCILimit?: number | null;
	/** 338: float64. */
	confidenceLevel?: number | null;
	/** 339: unsigned8. */
	informationElementDataType?: number;
	/** 340: string. */
	informationElementDescription?: string;
	/** 341: string. */
	informationElementName?: string;
	/** 342: unsigned64. */
	informationElementRangeBegin?: number;
	/** 343: unsigned64. */
	informationElementRangeEnd?: number;
	/** 344: unsigned8. */
	informationElementSemantics?: number;
	/** 345: unsigned16. */
	informationElementUnits?: number;
	/** 346: unsigned32. */
	privateEnterpriseNumber?: number;
	/** 347: octetArray. */
	virtualStationInterfaceId?: string;
	/** 348: string. */
	virtualStationInterfaceName?: string;
	/** 349: octetArray. */
	virtualStationUUID?: string;
	/** 350: string. */
	virtualStationName?: string;
	/** 351: unsigned64. */
	layer2SegmentId?: number;
	/** 352: unsigned64. */
	layer2OctetDeltaCount?: number;
	/** 353: unsigned64. */
	layer2OctetTotalCount?: number;
	/** 354: unsigned64. */
	ingressUnicastPacketTotalCount?: number;
	/** 355: unsigned64. */
	ingressMulticastPacketTotalCount?: number;
	/** 356: unsigned64. */
	ingressBroadcastPacketTotalCount?: number;
	/** 357: unsigned64. */
	egressUnicastPacketTotalCount?: number;
	/** 358: unsigned64. */
	egressBroadcastPacketTotalCount?: number;
	/** 359: dateTimeMilliseconds. */
	monitoringIntervalStartMilliSeconds?: string;
	/** 360: dateTimeMilliseconds. */
	monitoringIntervalEndMilliSeconds?: string;
	/** 361: unsigned16. */
	portRangeStart?: number;
	/** 362: unsigned16. */
	portRangeEnd?: number;
	/** 363: unsigned16. */
	portRangeStepSize?: number;
	/** 364: unsigned16. */
	portRangeNumPorts?: number;
	/** 365: macAddress. */
	staMacAddress?: string;
	/** 366: ipv4Address. */
	staIPv4Address?: string;
	/** 367: macAddress. */
	wtpMacAddress?: string;
	/** 368: unsigned32. */
	ingressInterfaceType?: number;
	/** 369: unsigned32. */
	egressInterfaceType?: number;
	/** 370: unsigned16. */
	rtpSequenceNumber?: number;
	/** 371: string. */
	userName?: string;
	/** 372: string. */
	applicationCategoryName?: string;
	/** 373: string. */
	applicationSubCategoryName?: string;
	/** 374: string. */
	applicationGroupName?: string;
	/** 375: unsigned64. */
	originalFlowsPresent?: number;
	/** 376: unsigned64. */
	originalFlowsInitiated?: number;
	/** 377: unsigned64. */
	originalFlowsCompleted?: number;
	/** 378: unsigned64. */
	distinctCountOfSourceIPAddress?: number;
	/** 379: unsigned64. */
	distinctCountOfDestinationIPAddress?: number;
	/** 380: unsigned32. */
	distinctCountOfSourceIPv4Address?: number;
	/** 381: unsigned32. */
	distinctCountOfDestinationIPv4Address?: number;
	/** 382: unsigned64. */
	distinctCountOfSourceIPv6Address?: number;
	/** 383: unsigned64. */
	distinctCountOfDestinationIPv6Address?: number;
	/** 384: unsigned8. */
	valueDistributionMethod?: number;
	/** 385: unsigned32. */
	rfc3550JitterMilliseconds?: number;
	/** 386: unsigned32. */
	rfc3550JitterMicroseconds?: number;
	/** 387: unsigned32. */
	rfc3550JitterNanoseconds?: number;
	/** 388: boolean. */
	dot1qDEI?: boolean | null;
	/** 389: boolean. */
	dot1qCustomerDEI?: boolean | null;
	/** 390: unsigned16. */
	flowSelectorAlgorithm?: number;
	/** 391: unsigned64. */
	flowSelectedOctetDeltaCount?: number;
	/** 392: unsigned64. */
	flowSelectedPacketDeltaCount?: number;
	/** 393: unsigned64. */
	flowSelectedFlowDeltaCount?: number;
	/** 394: unsigned64. */
	selectorIDTotalFlowsObserved?: number;
	/** 395: unsigned64. */
	selectorIDTotalFlowsSelected?: number;
	/** 396: unsigned64. */
	samplingFlowInterval?: number;
	/** 397: unsigned64. */
	samplingFlowSpacing?: number;
	/** 398: unsigned64. */
	flowSamplingTimeInterval?: number;
	/** 399: unsigned64. */
	flowSamplingTimeSpacing?: number;
	/** 400: unsigned16. */
	hashFlowDomain?: number;
	/** 401: unsigned64. */
	transportOctetDeltaCount?: number;
	/** 402: unsigned64. */
	transportPacketDeltaCount?: number;
	/** 403: ipv4Address. */
	originalExporterIPv4Address?: string;
	/** 404: ipv6Address. */
	originalExporterIPv6Address?: string;
	/** 405: unsigned32. */
	originalObservationDomainId?: number;
	/** 406: unsigned32. */
	intermediateProcessId?: number;
	/** 407: unsigned64. */
	ignoredDataRecordTotalCount?: number;
	/** 408: unsigned16. */
	dataLinkFrameType?: number;
	/** 409: unsigned16. */
	sectionOffset?: number;
	/** 410: unsigned16. */
	sectionExportedOctets?: number;
	/** 411: octetArray. */
	dot1qServiceInstanceTag?: string;
	/** 412: unsigned32. */
	dot1qServiceInstanceId?: number;
	/** 413: unsigned8. */
	dot1qServiceInstancePriority?: number;
	/** 414: macAddress. */
	dot1qCustomerSourceMacAddress?: string;
	/** 415: macAddress. */
	dot1qCustomerDestinationMacAddress?: string;
	/** 417: unsigned64. */
	postLayer2OctetDeltaCount?: number;
	/** 418: unsigned64. */
	postMCastLayer2OctetDeltaCount?: number;
	/** 420: unsigned64. */
	postLayer2OctetTotalCount?: number;
	/** 421: unsigned64. */
	postMCastLayer2OctetTotalCount?: number;
	/** 422: unsigned64. */
	minimumLayer2TotalLength?: number;
	/** 423: unsigned64. */
	maximumLayer2TotalLength?: number;
	/** 424: unsigned64. */
	droppedLayer2OctetDeltaCount?: number;
	/** 425: unsigned64. */
	droppedLayer2OctetTotalCount?: number;
	/** 426: unsigned64. */
	ignoredLayer2OctetTotalCount?: number;
	/** 427: unsigned64. */
	notSentLayer2OctetTotalCount?: number;
	/** 428: unsigned64. */
	layer2OctetDeltaSumOfSquares?: number;
	/** 429: unsigned64. */
	layer2OctetTotalSumOfSquares?: number;
	/** 430: unsigned64. */
	layer2FrameDeltaCount?: number;
	/** 431: unsigned64. */
	layer2FrameTotalCount?: number;
	/** 432: ipv4Address. */
	pseudoWireDestinationIPv4Address?: string;
	/** 433: unsigned64. */
	ignoredLayer2FrameTotalCount?: number;
	/** 434: signed32. */
	mibObjectValueInteger?: number;
	/** 435: octetArray. */
	mibObjectValueOctetString?: string;
	/** 436: octetArray. */
	mibObjectValueOID?: string;
	/** 437: octetArray. */
	mibObjectValueBits?: string;
	/** 438: ipv4Address. */
	mibObjectValueIPAddress?: string;
	/** 439: unsigned64. */
	mibObjectValueCounter?: number;
	/** 440: unsigned32. */
	mibObjectValueGauge?: number;
	/** 441: unsigned32. */
	mibObjectValueTimeTicks?: number;
	/** 442: unsigned32. */
	mibObjectValueUnsigned?: number;
	/** 445: octetArray. */
	mibObjectIdentifier?: string;
	/** 446: unsigned32. */
	mibSubIdentifier?: number;
	/** 447: unsigned64. */
	mibIndexIndicator?: number;
	/** 448: unsigned8. */
	mibCaptureTimeSemantics?: number;
	/** 449: octetArray. */
	mibContextEngineID?: string;
	/** 450: string. */
	mibContextName?: string;
	/** 451: string. */
	mibObjectName?: string;
	/** 452: string. */
	mibObjectDescription?: string;
	/** 453: string. */
	mibObjectSyntax?: string;
	/** 454: string. */
	mibModuleName?: string;
	/** 455: string. */
	mobileIMSI?: string;
	/** 456: string. */
	mobileMSISDN?: string;
	/** 457: unsigned16. */
	httpStatusCode?: number;
	/** 458: unsigned16. */
	sourceTransportPortsLimit?: number;
	/** 459: string. */
	httpRequestMethod?: string;
	/** 460: string. */
	httpRequestHost?: string;
	/** 461: string. */
	httpRequestTarget?: string;
	/** 462: string. */
	httpMessageVersion?: string;
	/** 463: unsigned32. */
	natInstanceID?: number;
	/** 464: octetArray. */
	internalAddressRealm?: string;
	/** 465: octetArray. */
	externalAddressRealm?: string;
	/** 466: unsigned32. */
	natQuotaExceededEvent?: number;
	/** 467: unsigned32. */
	natThresholdEvent?: number;
	/** 468: string. */
	httpUserAgent?: string;
	/** 469: string. */
	httpContentType?: string;
	/** 470: string. */
	httpReasonPhrase?: string;
	/** 471: unsigned32. */
	maxSessionEntries?: number;
	/** 472: unsigned32. */
	maxBIBEntries?: number;
	/** 473: unsigned32. */
	maxEntriesPerUser?: number;
	/** 474: unsigned32. */
	maxSubscribers?: number;
	/** 475: unsigned32. */
	maxFragmentsPendingReassembly?: number;
	/** 476: unsigned32. */
	addressPoolHighThreshold?: number;
	/** 477: unsigned32. */
	addressPoolLowThreshold?: number;
	/** 478: unsigned32. */
	addressPortMappingHighThreshold?: number;
	/** 479: unsigned32. */
	addressPortMappingLowThreshold?: number;
	/** 480: unsigned32. */
	addressPortMappingPerUserHighThreshold?: number;
	/** 481: unsigned32. */
	globalAddressMappingHighThreshold?: number;
	/** 482: octetArray. */
	vpnIdentifier?: string;
	/** 483: unsigned32. */
	bgpCommunity?: number;
	/** 486: octetArray. */
	bgpExtendedCommunity?: string;
	/** 489: octetArray. */
	bgpLargeCommunity?: string;
	/** 21373/3: string. */
	logPrefix?: string;
	/** 21373/4: unsigned32. */
	mark?: number;
	/** 21373/6: unsigned32. */
	conntrackId?: number;
	/** 29305/1: unsigned64. */
	reverseOctetDeltaCount?: number;
	/** 29305/2: unsigned64. */
	reversePacketDeltaCount?: number;
	/** 29305/85: unsigned64. */
	reverseOctetTotalCount?: number;
	/** 29305/86: unsigned64. */
	reversePacketTotalCount?: number;
	/** 56506/100: string. */
	sourcePodNamespace?: string;
	/** 56506/101: string. */
	sourcePodName?: string;
	/** 56506/102: string. */
	destinationPodNamespace?: string;
	/** 56506/103: string. */
	destinationPodName?: string;
	/** 56506/104: string. */
	sourceNodeName?: string;
	/** 56506/105: string. */
	destinationNodeName?: string;
	/** 56506/106: ipv4Address. */
	destinationClusterIPv4?: string;
	/** 56506/107: ipv6Address. */
	destinationClusterIPv6?: string;
	/** 56506/108: unsigned16. */
	destinationServicePort?: number;
	/** 56506/109: string. */
	destinationServicePortName?: string;
	/** 56506/110: string. */
	ingressNetworkPolicyName?: string;
	/** 56506/111: string. */
	ingressNetworkPolicyNamespace?: string;
	/** 56506/112: string. */
	egressNetworkPolicyName?: string;
	/** 56506/113: string. */
	egressNetworkPolicyNamespace?: string;
	/** 56506/114: string. */
	ingressNetworkPolicyUID?: string;
	/** 56506/115: unsigned8. */
	ingressNetworkPolicyType?: number;
	/** 56506/116: signed32. */
	ingressNetworkPolicyRulePriority?: number;
	/** 56506/117: string. */
	egressNetworkPolicyUID?: string;
	/** 56506/118: unsigned8. */
	egressNetworkPolicyType?: number;
	/** 56506/119: signed32. */
	egressNetworkPolicyRulePriority?: number;
	/** 56506/120: unsigned64. */
	packetTotalCountFromSourceNode?: number;
	/** 56506/121: unsigned64. */
	octetTotalCountFromSourceNode?: number;
	/** 56506/122: unsigned64. */
	packetDeltaCountFromSourceNode?: number;
	/** 56506/123: unsigned64. */
	octetDeltaCountFromSourceNode?: number;
	/** 56506/124: unsigned64. */
	reversePacketTotalCountFromSourceNode?: number;
	/** 56506/125: unsigned64. */
	reverseOctetTotalCountFromSourceNode?: number;
	/** 56506/126: unsigned64. */
	reversePacketDeltaCountFromSourceNode?: number;
	/** 56506/127: unsigned64. */
	reverseOctetDeltaCountFromSourceNode?: number;
	/** 56506/128: unsigned64. */
	packetTotalCountFromDestinationNode?: number;
	/** 56506/129: unsigned64. */
	octetTotalCountFromDestinationNode?: number;
	/** 56506/130: unsigned64. */
	packetDeltaCountFromDestinationNode?: number;
	/** 56506/131: unsigned64. */
	octetDeltaCountFromDestinationNode?: number;
	/** 56506/132: unsigned64. */
	reversePacketTotalCountFromDestinationNode?: number;
	/** 56506/133: unsigned64. */
	reverseOctetTotalCountFromDestinationNode?: number;
	/** 56506/134: unsigned64. */
	reversePacketDeltaCountFromDestinationNode?: number;
	/** 56506/135: unsigned64. */
	reverseOctetDeltaCountFromDestinationNode?: number;
	/** 56506/136: string. */
	tcpState?: string;
	/** 56506/137: unsigned8. */
	flowType?: number;
	/** 56506/138: string. */
	tcpStatePrevList?: string;
	/** 56506/139: unsigned8. */
	ingressNetworkPolicyRuleAction?: number;
	/** 56506/140: unsigned8. */
	egressNetworkPolicyRuleAction?: number;
	/** 56506/141: string. */
	ingressNetworkPolicyRuleName?: string;
	/** 56506/142: string. */
	egressNetworkPolicyRuleName?: string;
	/** 56506/143: string. */
	sourcePodLabels?: string;
	/** 56506/144: string. */
	destinationPodLabels?: string;
	/** 56506/145: unsigned64. */
	throughput?: number;
	/** 56506/146: unsigned64. */
	reverseThroughput?: number;
	/** 56506/147: unsigned64. */
	throughputFromSourceNode?: number;
	/** 56506/148: unsigned64. */
	throughputFromDestinationNode?: number;
	/** 56506/149: unsigned64. */
	reverseThroughputFromSourceNode?: number;
	/** 56506/150: unsigned64. */
	reverseThroughputFromDestinationNode?: number;
	/** 56506/151: dateTimeSeconds. */
	flowEndSecondsFromSourceNode?: string;
	/** 56506/152: dateTimeSeconds. */
	flowEndSecondsFromDestinationNode?: string;
	/** 56506/153: string. */
	egressName?: string;
	/** 56506/154: string. */
	egressIP?: string;
	/** 56506/155: string. */
	appProtocolName?: string;
	/** 56506/156: string. */
	httpVals?: string;
	/** 56506/157: string. */
	egressNodeName?: string;
	/** 56506/158: string. */
	clusterId?: string;
	/** 56506/159: octetArray. */
	sourcePodUUID?: string;
	/** 56506/160: octetArray. */
	destinationPodUUID?: string;
	/** 56506/161: octetArray. */
	sourceNodeUUID?: string;
	/** 56506/162: octetArray. */
	destinationNodeUUID?: string;
	/** 56506/163: octetArray. */
	destinationServiceUUID?: string;
	/** 56506/164: octetArray. */
	ingressNetworkPolicyUUID?: string;
	/** 56506/165: octetArray. */
	egressNetworkPolicyUUID?: string;
	/** 56506/166: octetArray. */
	egressUUID?: string;
	/** 56506/167: octetArray. */
	egressNodeUUID?: string;
	/** 56506/168: ipv4Address. */
	destinationServiceIPv4?: string;
	/** 56506/169: ipv6Address. */
	destinationServiceIPv6?: string;
	/** 56506/170: ipv4Address. */
	proxySnatIPv4?: string;
	/** 56506/171: ipv6Address. */
	proxySnatIPv6?: string;
	/** 56506/172: unsigned16. */
	proxySnatPort?: number;
}

/** What every record of the standard profile has, whatever its connection is, unless `fields` says otherwise. */
export type StandardElements = Elements & Required<Pick<Elements, 
	| 'flowStartMilliseconds'
	| 'flowEndMilliseconds'
	| 'flowEndReason'
	| 'protocolIdentifier'
	| 'packetTotalCount'
	| 'octetTotalCount'
	| 'reversePacketTotalCount'
	| 'reverseOctetTotalCount'
	| 'packetDeltaCount'
	| 'octetDeltaCount'
	| 'reversePacketDeltaCount'
	| 'reverseOctetDeltaCount'
	| 'ingressVRFID'
	| 'egressVRFID'
	| 'mark'
	| 'conntrackId'
>>;

/** What every record of the antrea profile has. */
export type AntreaElements = Elements & Required<Pick<Elements, 
	| 'flowStartSeconds'
	| 'flowEndSeconds'
	| 'flowEndReason'
	| 'sourceTransportPort'
	| 'destinationTransportPort'
	| 'protocolIdentifier'
	| 'packetTotalCount'
	| 'octetTotalCount'
	| 'packetDeltaCount'
	| 'octetDeltaCount'
	| 'reversePacketTotalCount'
	| 'reverseOctetTotalCount'
	| 'reversePacketDeltaCount'
	| 'reverseOctetDeltaCount'
	| 'sourcePodName'
	| 'sourcePodNamespace'
	| 'sourceNodeName'
	| 'destinationPodName'
	| 'destinationPodNamespace'
	| 'destinationNodeName'
	| 'destinationServicePort'
	| 'destinationServicePortName'
	| 'ingressNetworkPolicyName'
	| 'ingressNetworkPolicyNamespace'
	| 'ingressNetworkPolicyType'
	| 'ingressNetworkPolicyRuleName'
	| 'ingressNetworkPolicyRuleAction'
	| 'egressNetworkPolicyName'
	| 'egressNetworkPolicyNamespace'
	| 'egressNetworkPolicyType'
	| 'egressNetworkPolicyRuleName'
	| 'egressNetworkPolicyRuleAction'
	| 'tcpState'
	| 'flowType'
	| 'egressName'
	| 'egressIP'
	| 'egressNodeName'
	| 'proxySnatPort'
>>;
