package delay

import (
	"os"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/child"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Role{Role: Play})
	os.Exit(m.Run())
}

func TestDelay(t *testing.T) {
	s := redistest.Start(t)
	const rtt = 20 * time.Millisecond
	addr, proxy, err := Start(s.Addr(), rtt)
	if err != nil {
		t.Fatal(err)
	}
	took, err := Ping(addr)
	if err != nil {
		t.Fatal(err)
	}
	if took < rtt*9/10 || took > 5*rtt {
		t.Errorf("a round trip took %v, want %v", took, rtt)
	}
	if err := proxy.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Ping(addr); err == nil {
		t.Error("the proxy is still there")
	}
}
