package contract_test

import (
	"flag"
	"io"
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/client"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // on a real server a contract waits, most of the time
	goleak.VerifyTestMain(m)
}

// quiet keeps what Clients log out of the test's output.
func quiet() client.Option { return client.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))) }
