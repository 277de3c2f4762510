package holdfast_test

import (
	"flag"
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/internal/redistest/leaktest"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		os.Exit(beChild(role))
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // most of a case is waiting
	leaktest.Main(m)
}
