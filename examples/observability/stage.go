package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

const workers = 3

// stage is everything that runs.
type stage struct {
	redis      *server
	proxy      *proxy
	sink       *sink // nil where the environment names another place
	crew       []*process
	prometheus *process // nil where there is none
	metricsURL string   // of Prometheus
	dir        string
	pages      []string // addresses of the workers
}

// open starts everything.
func open(ctx context.Context) (s *stage, err error) {
	s = &stage{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "holdfast-observability-"); err != nil {
		return s, err
	}
	if s.redis, err = startRedis(ctx, s.dir); err != nil {
		return s, err
	}
	if s.proxy, err = openProxy(s.redis.addr); err != nil {
		return s, err
	}
	endpoint := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" {
		if s.sink, err = openSink(); err != nil {
			return s, err
		}
		endpoint = s.sink.url
	}
	for i := 1; i <= workers; i++ {
		if err = s.hire(ctx, settings{Worker: i, Redis: s.proxy.addr(), Traces: endpoint}); err != nil {
			return s, fmt.Errorf("worker %d: %w", i, err)
		}
	}
	if path, missing := exec.LookPath("prometheus"); missing == nil {
		s.prometheus, s.metricsURL, err = startPrometheus(ctx, path, s.dir, s.pages)
	}
	return s, err
}

// hire starts a worker, which is this program once more, and waits until it serves.
func (s *stage) hire(ctx context.Context, w settings) error {
	env, err := json.Marshal(w)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), workerEnv+"="+string(env))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p, err := startProcess(cmd)
	if err != nil {
		return err
	}
	s.crew = append(s.crew, p)
	var addr string
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		return errors.Join(errors.New("it does not serve"), err)
	}
	s.pages = append(s.pages, addr)
	return ctx.Err()
}

func (s *stage) close() {
	for _, p := range append(s.crew, s.prometheus) {
		p.end(5 * time.Second)
	}
	if s.sink != nil {
		s.sink.close()
	}
	if s.proxy != nil {
		s.proxy.close()
	}
	if s.redis != nil {
		s.redis.close()
	}
	_ = os.RemoveAll(s.dir) // a folder for temporary files may stay
}

// whereToLook tells what to open.
func (s *stage) whereToLook(out io.Writer) {
	line := func(what, where string) { fmt.Fprintf(out, "  %-22s %s\n", what, where) }
	fmt.Fprintln(out, "Where to look:")
	line("Redis", s.redis.name)
	for i, addr := range s.pages {
		line(fmt.Sprintf("worker %d: page", i+1), "http://"+addr+"/debug/holdfast")
	}
	line("who holds, by stack", "http://"+s.pages[0]+"/debug/pprof/holdfast.held?debug=1")
	line("metrics of a worker", "http://"+s.pages[0]+"/metrics")
	if s.sink != nil {
		line("waits, by culprit", s.sink.url+"/")
	} else {
		line("traces", os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	}
	if s.prometheus != nil {
		line("Prometheus: alerts", s.metricsURL+"/alerts")
		line("Prometheus: p99 wait", s.metricsURL+"/graph?g0.expr=holdfast%3Aacquire_wait_seconds%3Ap99_rate5m&g0.tab=0&g0.range_input=5m")
	} else {
		line("Prometheus", "not on PATH: apt-get install prometheus, and start again")
	}
	line("Grafana: import", "telemetry/dashboards/holdfast.json")
	fmt.Fprintln(out)
}
