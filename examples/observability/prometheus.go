package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// rulesFile is where the rules are, as seen from this folder.
const rulesFile = "../../telemetry/alerts/holdfast.rules.yml"

// startPrometheus has the workers scraped every second, and the rules of holdfast
// evaluated as often, over windows of seconds.
func startPrometheus(ctx context.Context, path, dir string, workers []string) (*process, string, error) {
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		return nil, "", fmt.Errorf("the rules (start this in its own folder): %w", err)
	}
	var config strings.Builder
	fmt.Fprintf(&config, "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\nscrape_configs:\n- job_name: shop\n  static_configs:\n")
	for i, addr := range workers {
		fmt.Fprintf(&config, "  - targets: [%q]\n    labels: {instance: worker-%d}\n", addr, i+1)
	}
	port, err := freePort()
	if err != nil {
		return nil, "", err
	}
	for name, text := range map[string]string{"rules.yml": shortened(string(rules)), "prometheus.yml": config.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, "", err
		}
	}
	log, err := os.Create(filepath.Join(dir, "prometheus.log"))
	if err != nil {
		return nil, "", err
	}
	defer log.Close()
	cmd := exec.Command(path, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:"+port, "--enable-feature=exemplar-storage,native-histograms")
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(cmd)
	if err != nil {
		return nil, "", err
	}
	url := "http://127.0.0.1:" + port
	if err := ready(ctx, url+"/-/ready"); err != nil {
		p.end(time.Second)
		text, _ := os.ReadFile(log.Name())
		return nil, "", fmt.Errorf("prometheus: %w\n%s", err, text)
	}
	return p, url, nil
}

func ready(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		reply, err := http.DefaultClient.Do(req)
		if err == nil {
			reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return nil
			}
		}
		if !pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("no answer from %s", url)
		}
	}
}

var (
	windows  = regexp.MustCompile(`(\[|offset )(\d+[mhd])\b`)
	patience = regexp.MustCompile(`(?m)^(\s+for: )\d+[smhd]$`)
)

// shortened makes rules whose windows are minutes and days fit a show of a minute.
func shortened(rules string) string {
	seconds := map[string]string{"5m": "8s", "30m": "9s", "10m": "10s"}
	rules = windows.ReplaceAllStringFunc(rules, func(w string) string {
		m := windows.FindStringSubmatch(w)
		if s, ok := seconds[m[2]]; ok {
			return m[1] + s
		}
		return m[1] + "15s"
	})
	rules = patience.ReplaceAllString(rules, "${1}1s")
	return strings.ReplaceAll(rules, "[15s])) > 900", "[15s])) > 3") // a quarter of that window
}
