// Receives IPFIX with go-ipfix's collecting process, which Antrea's flow aggregator is built on, and prints what it
// took as JSON, one object a line: {"listening": ...}, {"template": ...}, {"record": ...}, {"end": ...}.
// What it refused stands on stderr. Data enters through the collecting process's channel; read printMessage first.
//
//	go-ipfix -protocol tcp|udp [-ca FILE -cert FILE -key FILE] -listen 127.0.0.1:4739
//
// SIGTERM ends it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/vmware/go-ipfix/pkg/collector"
	"github.com/vmware/go-ipfix/pkg/entities"
	"github.com/vmware/go-ipfix/pkg/registry"
	"k8s.io/klog/v2"
)

// The flow aggregator's receive buffer over UDP.
const udpBufferSize = 1024

type field struct {
	Name       string `json:"name"`
	Enterprise uint32 `json:"enterprise"`
	Number     uint16 `json:"number"`
	Length     uint16 `json:"length"`
}

type message struct {
	Octets   uint16 `json:"octets"`
	Sequence uint32 `json:"sequence"`
	Domain   uint32 `json:"domain"`
	Template uint16 `json:"template"`
}

func main() {
	protocol := flag.String("protocol", "tcp", "tcp or udp")
	listen := flag.String("listen", "127.0.0.1:4739", "HOST:PORT")
	ca := flag.String("ca", "", "authorities that exporters must come from (PEM); TLS if given")
	cert := flag.String("cert", "", "certificate (PEM)")
	key := flag.String("key", "", "private key (PEM)")
	flag.Parse()
	defer klog.Flush()

	registry.LoadRegistry()
	// Everything else as the library and the aggregator have it: strict decoding among it.
	input := collector.CollectorInput{
		Address:       *listen,
		Protocol:      *protocol,
		MaxBufferSize: udpBufferSize,
	}
	if *ca != "" {
		input.IsEncrypted = true
		input.CACert = read(*ca)
		input.ServerCert = read(*cert)
		input.ServerKey = read(*key)
	}
	process, err := collector.InitCollectingProcess(input)
	if err != nil {
		fail(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	go process.Start()
	for process.GetAddress() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	printLine("listening", process.GetAddress().String())

	done := make(chan struct{})
	go func() {
		defer close(done)
		for received := range process.GetMsgChan() {
			printMessage(received)
		}
	}()
	<-stop
	process.Stop()
	<-done
	printLine("end", map[string]int64{
		"messages": process.GetNumMessagesReceived(),
		"records":  process.GetNumRecordsReceived(),
	})
}

func printMessage(received *entities.Message) {
	set := received.GetSet()
	for _, record := range set.GetRecords() {
		head := message{
			Octets:   received.GetMessageLen(),
			Sequence: received.GetSequenceNum(),
			Domain:   received.GetObsDomainID(),
			Template: record.GetTemplateID(),
		}
		if set.GetSetType() == entities.Template {
			fields := []field{}
			for _, element := range record.GetOrderedElementList() {
				info := element.GetInfoElement()
				fields = append(fields, field{info.Name, info.EnterpriseId, info.ElementId, info.Len})
			}
			printLine("template", map[string]any{"message": head, "fields": fields})
			continue
		}
		printLine("record", map[string]any{"message": head, "elements": record.GetElementMap()})
	}
}

func printLine(name string, value any) {
	line, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		fail(err)
	}
	fmt.Println(string(line))
}

func read(path string) []byte {
	content, err := os.ReadFile(path)
	if err != nil {
		fail(err)
	}
	return content
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
