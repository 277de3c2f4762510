package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

// A worker is the test's own program, run once more.
func TestMain(m *testing.M) {
	logging.Disable()
	if env := os.Getenv(workerEnv); env != "" {
		os.Exit(workerMain(env))
	}
	os.Exit(m.Run())
}

// need skips a test that lacks a program, or fails it where the environment demands
// that the program be there.
func need(t *testing.T, program, demand string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv(demand) != "":
		t.Fatalf("%s=%s, but there is no %s", demand, os.Getenv(demand), program)
	default:
		t.Skipf("there is no %s; install it, or set %s=1 to fail without", program, demand)
	}
	return path
}
