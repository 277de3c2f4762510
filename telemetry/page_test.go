package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// get returns what p answers.
func get(t testing.TB, p *Page, url string) string {
	t.Helper()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", url, w.Code, w.Body)
	}
	return w.Body.String()
}

func snapshotOf(t testing.TB, p *Page) *snapshot {
	t.Helper()
	var s snapshot
	if err := json.Unmarshal([]byte(get(t, p, "/debug/locks/?format=json")), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestPageShowsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := NewPage(WithRedaction(func(key string) string { return "the " + key }))
		_, rdb := simulated(t)
		l := acquire1(t, on(t, rdb, newRig(t, WithPage(page)).Telemetry), client.WithTTL(9*time.Second))
		time.Sleep(4 * time.Second)
		s := snapshotOf(t, page)
		if s.Leases.Total != 1 || s.Waiters.Total != 0 || s.Degraded.Total != 0 {
			t.Fatalf("the page shows %+v", s)
		}
		row := s.Leases.Rows[0]
		if row.Key != "the key" || row.Mode != "exclusive" || row.Age != 4 || row.Renewals != 1 || row.TTL <= row.Left || row.TTL > 9 ||
			row.Left <= 7 || row.Fence == 0 || row.Trace == "" || row.Degraded || row.Failing {
			t.Errorf("lease %+v", row)
		}
		release(t, l)
	})
}

func waitsFor(c *client.Client, key string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Acquire(context.Background(), key)
	}()
	return done
}

// blocked is a pipeline under a page in which calls for "far" wait behind another
// process and calls for "near" behind the lease of this one, until ctx ends.
func blocked(t testing.TB, ctx context.Context, p *Page) *client.Client {
	tel := newTelemetry(t, append(off(), WithPage(p))...)
	return newClient(t, tel.Middleware(), func(client.Handler) client.Handler {
		first := true
		return func(_ context.Context, req client.Request) (*client.Lease, error) {
			switch {
			case req.Key == "near" && first:
				first = false
				return client.NewLocalLease(req)
			case req.Key == "far":
				req.Call().Blocked(&client.HeldError{Holder: "pay-7d/2", Position: 3, Traceparent: traceparent})
			}
			<-ctx.Done()
			return nil, &client.HeldError{}
		}
	})
}

func TestPageShowsWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		page := NewPage(WithRedaction(strings.ToUpper))
		c := blocked(t, ctx, page)
		lease, err := c.Acquire(context.Background(), "near")
		if err != nil {
			t.Fatal(err)
		}
		var waiting []<-chan struct{}
		for _, key := range []string{"near", "near", "far", "free"} {
			waiting = append(waiting, waitsFor(c, key))
			time.Sleep(time.Second)
		}
		s := snapshotOf(t, page)
		if s.Waiters.Total != 4 {
			t.Fatalf("%d waiters, want 4", s.Waiters.Total)
		}
		want := []waiterRow{
			{Key: "NEAR", Age: 4, Blocker: &blocker{Local: true, HeldFor: 4}},
			{Key: "NEAR", Age: 3, Ahead: 1, Blocker: &blocker{Local: true, HeldFor: 4}},
			{Key: "FAR", Age: 2, Position: 3, Blocker: &blocker{Holder: "pay-7d/2", Trace: traceparent[3:35]}},
			{Key: "FREE", Age: 1},
		}
		for i, w := range want {
			w.Class, w.Mode = "default", "exclusive"
			got, _ := json.Marshal(s.Waiters.Rows[i])
			if want, _ := json.Marshal(w); string(got) != string(want) {
				t.Errorf("waiter %d:\n got %s\nwant %s", i, got, want)
			}
		}
		if l := s.Degraded.Rows; len(l) != 1 || l[0].Waiting != 2 || !l[0].Degraded {
			t.Errorf("the degraded ledger is %+v, want the one lease, with two who wait", l)
		}
		if html := get(t, page, "/"); !strings.Contains(html, "<b>3</b> in Redis") || !strings.Contains(html, "behind 1 of this process") {
			t.Error("the HTML does not show the places")
		}
		cancel()
		for _, w := range waiting {
			<-w
		}
		release(t, lease)
		if s := snapshotOf(t, page); s.Waiters.Total+s.Leases.Total+s.Degraded.Total != 0 {
			t.Errorf("the page still shows %+v", s)
		}
	})
}

func TestPageKeepsSecrets(t *testing.T) {
	const key = `customer-4711<script>"&`
	page, shown := NewPage(), NewPage(WithRedaction(func(key string) string { return key }))
	for _, p := range []*Page{page, shown} {
		tel := newTelemetry(t, append(off(), WithPage(p))...)
		tel.Describe(ClientInfo{Identity: "<b>", Warnings: []string{"<i>"}})
		c := newClient(t, tel.Middleware(), local)
		l, err := c.Acquire(context.Background(), key)
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{"/", "/?format=json"} {
			body := get(t, p, url)
			if strings.Contains(body, l.Token()) {
				t.Errorf("%s shows the token", url)
			}
			if strings.Contains(body, "4711") != (p == shown) {
				t.Errorf("%s shows the key: %v, want %v", url, p != shown, p == shown)
			}
			if strings.Contains(body, key) || strings.Contains(body, "<i>") {
				t.Errorf("%s has text of others in it as it was", url)
			}
		}
		if body := get(t, page, "/"); !strings.Contains(body, HashKey(key)) {
			t.Error("the page does not show the hash of the key")
		}
		release(t, l)
	}
	if got := HashKey("order-17"); got != "72a90ea3da8b" {
		t.Errorf("hash %q is not what sha256sum says", got)
	}
}

func TestPageOverHTTP(t *testing.T) {
	page := NewPage()
	for _, tc := range []struct {
		method, url string
		code        int
		content     string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/any/prefix", 200, "text/html; charset=utf-8"},
		{"GET", "/any/prefix/?format=json", 200, "application/json"},
		{"GET", "/?format=xml", 400, "text/plain; charset=utf-8"},
		{"POST", "/", 405, "text/plain; charset=utf-8"},
		{"DELETE", "/", 405, "text/plain; charset=utf-8"},
	} {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(tc.method, tc.url, nil))
		if w.Code != tc.code || w.Header().Get("Content-Type") != tc.content {
			t.Errorf("%s %s: %d %s, want %d %s", tc.method, tc.url, w.Code, w.Header().Get("Content-Type"), tc.code, tc.content)
		}
	}
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	for _, external := range []string{"src=", "http://", "https://", "@import", "url("} {
		if strings.Contains(w.Body.String(), external) {
			t.Errorf("the page has %s in it: something from outside", external)
		}
	}
	csp := w.Header().Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", w.Header())
	}
}

func TestPageBoundsItsRows(t *testing.T) {
	page := NewPage()
	tel := newTelemetry(t, append(off(), WithPage(page))...)
	c := newClient(t, tel.Middleware(), local)
	for i := range maxRows + 20 {
		l, err := c.Acquire(context.Background(), fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		defer release(t, l)
	}
	if s := snapshotOf(t, page); s.Leases.Total != maxRows+20 || len(s.Leases.Rows) != maxRows {
		t.Errorf("%d leases in %d rows, want %d in %d", s.Leases.Total, len(s.Leases.Rows), maxRows+20, maxRows)
	}
	if !strings.Contains(get(t, page, "/"), "and 20 more, all younger") {
		t.Error("the HTML does not say how many more there are")
	}
}

// A page shows its own Clients, and no longer than they live.
func TestPageHasMembers(t *testing.T) {
	page, other := NewPage(), NewPage()
	r := newRig(t, WithPage(page))
	two := newTelemetry(t, WithMeterProvider(r.meters), WithPage(other)) // the same hub
	r.Describe(ClientInfo{Identity: "one", Pipeline: []string{"telemetry", "redis"}})
	if err := r.WatchBreaker(newFakeBreaker("main").Breaker()); err != nil {
		t.Fatal(err)
	}
	l := acquire1(t, newClient(t, r.Middleware(), local))
	defer release(t, l)
	defer release(t, acquire1(t, newClient(t, two.Middleware(), local)))
	s := snapshotOf(t, page)
	if s.Leases.Total != 1 || len(s.Clients) != 1 || s.Clients[0].Identity != "one" || len(s.Clients[0].Breakers) != 1 || s.Clients[0].Breakers[0].State != "closed" {
		t.Errorf("the page shows %+v", s)
	}
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s := snapshotOf(t, page); len(s.Clients) != 0 {
		t.Errorf("a closed Client is on the page: %+v", s.Clients)
	}
}

func TestPageRemembersTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := NewPage()
		m, rdb := simulated(t)
		r := newRig(t, WithPage(page))
		c := on(t, rdb, r.Telemetry)
		for i := range 3 {
			if _, err := c.Acquire(context.Background(), fmt.Sprint(i), client.WithTTL(6*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		m.SetError("LOADING a while")
		time.Sleep(10 * time.Second)
		m.SetError("")
		synctest.Wait()
		var got []string
		for _, tr := range snapshotOf(t, page).Transitions {
			got = append(got, fmt.Sprintf("%s %s %s x%d %s", tr.Weight, tr.What, tr.Detail, tr.Times, tr.Class))
		}
		want := "[bad lease ended: lost unreachable x3 default bad renewals fail unavailable x3 default]"
		if fmt.Sprint(got) != want {
			t.Errorf("transitions %v, want %s", got, want)
		}
	})
}

func TestTransitionsAreBounded(t *testing.T) {
	var r transitions
	for i := range 3 * maxTransitions {
		r.add(transition{what: fmt.Sprint(i / 2)})
	}
	all := r.all()
	if len(all) != maxTransitions || all[0].what != "149" || all[0].times != 2 || all[maxTransitions-1].what != "50" {
		t.Errorf("%d transitions from %+v to %+v", len(all), all[0], all[len(all)-1])
	}
}

// The page is there for those who have neither traces nor metrics, and its layers stay
// free of cost for those who have no page.
func TestPageAlone(t *testing.T) {
	page := NewPage(WithRedaction(nil), nil)
	tel := newTelemetry(t, append(off(), WithPage(page))...)
	c := newClient(t, tel.Middleware(), fails(errors.New("no")))
	c.Acquire(context.Background(), "key")
	if s := snapshotOf(t, page); len(s.Classes) != 0 || len(s.Clients) != 1 {
		t.Errorf("the page shows %+v", s)
	}
	newTelemetry(t, append(off(), WithPage(nil))...)
}
