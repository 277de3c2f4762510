package telemetry

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func TestClassesAreCapped(t *testing.T) {
	r := newRig(t)
	c := newClient(t, r.Middleware(), local)
	for i := range 100 {
		release(t, acquire1(t, c, client.WithClass(fmt.Sprintf("class-%d", i))))
	}
	release(t, acquire1(t, c, client.WithClass("class-0")))
	got := r.metric(t, "holdfast.acquire.duration")
	if len(got) != 65 {
		t.Errorf("%d series, want 64 classes and one for the rest", len(got))
	}
	for class, n := range map[string]float64{"_OTHER": 36, "class-0": 2, "class-63": 1} {
		if p := got["class="+class+" mode=degraded outcome=acquired"]; p.n != n {
			t.Errorf("%v acquires of class %s, want %v", p.n, class, n)
		}
	}
	if n := len(r.named("acquire _OTHER")); n != 36 {
		t.Errorf("%d spans of the rest, want 36", n)
	}
}

func TestClassIsMadeValid(t *testing.T) {
	var c classes
	if k := c.of("caf\xe9"); k.name != "caf\uFFFD" || k != c.of("caf\uFFFD") {
		t.Errorf("the class is named %q", k.name)
	}
}

func TestLossesBeginAtZero(t *testing.T) {
	r := newRig(t)
	c := newClient(t, r.Middleware(), fails(client.ErrUnavailable))
	c.Acquire(t.Context(), "key", client.WithClass("stock"))
	want := map[string]point{
		"class=stock reason=expired": {}, "class=stock reason=taken": {},
		"class=stock reason=unreachable": {}, "class=stock reason=conflict": {},
	}
	if got := r.metric(t, "holdfast.lease.losses"); !maps.Equal(got, want) {
		t.Errorf("losses are %v, want %v", got, want)
	}
}

func TestLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lane
		expect := func(n int64, age time.Duration) {
			t.Helper()
			if gotN, gotAge := l.read(); gotN != n || gotAge != age {
				t.Errorf("%d, the oldest %v old; want %d, %v", gotN, gotAge, n, age)
			}
		}
		expect(0, 0)
		var m [4]mark
		for i := range m {
			l.enter(&m[i], nil, time.Now())
			time.Sleep(time.Second)
		}
		expect(4, 4*time.Second)
		m[1].leave() // from the middle
		expect(3, 4*time.Second)
		m[0].leave() // the first
		expect(2, 2*time.Second)
		m[3].leave() // the last
		expect(1, 2*time.Second)
		m[2].leave()
		expect(0, 0)
		var again mark
		l.enter(&again, nil, time.Now())
		expect(1, 0)
	})
}
