package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// However the program ends, its workers end too.
func TestNoProcessIsLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(*os.Process) error
		want int // exit status
	}{
		"interrupted": {func(p *os.Process) error { return p.Signal(os.Interrupt) }, 1},
		"killed":      {(*os.Process).Kill, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("there is no interrupt to send on Windows")
			}
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			// The workers inherit standard error: it has an end when they all have.
			stderr, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stderr.Close()
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), mainEnv+"=1", "REDIS_URL=")
			cmd.Stderr = w
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			err = cmd.Start()
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			lines := bufio.NewScanner(stdout)
			for lines.Scan() && !strings.HasPrefix(lines.Text(), "2.") {
			}
			if err := tt.end(cmd.Process); err != nil {
				t.Fatal(err)
			}
			if rest, _ := io.ReadAll(stdout); strings.Contains(string(rest), "5.") {
				t.Errorf("it went on to the end")
			}
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != tt.want {
				t.Errorf("exit status %d, want %d", got, tt.want)
			}
			stderr.SetReadDeadline(time.Now().Add(15 * time.Second))
			said, err := io.ReadAll(stderr)
			if err != nil {
				t.Fatalf("a worker still runs: %v", err)
			}
			t.Logf("standard error: %s", said)
		})
	}
}
