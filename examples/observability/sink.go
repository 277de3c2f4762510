package main

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"sync"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// maxSpans bounds what the sink keeps.
const maxSpans = 100_000

// sink is a store for traces that speaks OTLP over HTTP: enough to look at.
type sink struct {
	url    string
	server *http.Server

	mu    sync.Mutex
	spans map[string]*span // by id
	order []string
}

// span is a part of a trace.
type span struct {
	Trace, ID, Name string
	Process         string // service.instance.id
	Seconds         float64
	Attrs           map[string]string
	Links           []string // ids of spans
}

func openSink() (*sink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{url: "http://" + l.Addr().String(), spans: make(map[string]*span)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", s.take)
	mux.HandleFunc("GET /{$}", s.show)
	s.server = &http.Server{Handler: mux}
	go func() { _ = s.server.Serve(l) }() // until close
	return s, nil
}

func (s *sink) close() { s.server.Close() }

func (s *sink) take(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	data, err := io.ReadAll(body)
	var batch collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(data, &batch)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.keep(&batch)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (s *sink) keep(batch *collector.ExportTraceServiceRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range batch.ResourceSpans {
		process := attrsOf(resource.Resource.Attributes)["service.instance.id"]
		for _, scope := range resource.ScopeSpans {
			for _, in := range scope.Spans {
				out := &span{Trace: hex.EncodeToString(in.TraceId), ID: hex.EncodeToString(in.SpanId), Name: in.Name, Process: process,
					Seconds: float64(in.EndTimeUnixNano-in.StartTimeUnixNano) / 1e9, Attrs: attrsOf(in.Attributes)}
				for _, l := range in.Links {
					out.Links = append(out.Links, hex.EncodeToString(l.SpanId))
				}
				s.spans[out.ID], s.order = out, append(s.order, out.ID)
			}
		}
	}
	for len(s.order) > maxSpans {
		delete(s.spans, s.order[0])
		s.order = s.order[1:]
	}
}

// span returns the span of that id, nil if it has not come.
func (s *sink) span(id string) *span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spans[id]
}

func attrsOf(kvs []*common.KeyValue) map[string]string {
	m := make(map[string]string, len(kvs))
	for _, kv := range kvs {
		m[kv.Key] = kv.Value.GetStringValue()
	}
	return m
}
