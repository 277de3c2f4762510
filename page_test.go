package holdfast_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fallback"
	"github.com/holdfast-go/holdfast/telemetry"
)

// described is what the page warns of, for a Client that is made with opts.
func described(t *testing.T, rdb redis.UniversalClient, opts ...holdfast.Option) (warnings []string) {
	t.Helper()
	page := telemetry.NewPage()
	c, err := holdfast.New(rdb, append(opts, holdfast.WithPage(page), holdfast.WithIdentity("pay/1"))...)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest("GET", "/?format=json", nil))
	var shown struct {
		Clients []struct {
			Identity           string
			Pipeline, Warnings []string
			Breakers           []struct{ Name, State string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &shown); err != nil || len(shown.Clients) != 1 || shown.Clients[0].Identity != "pay/1" {
		t.Fatalf("the page shows %+v, %v", shown, err)
	}
	if got := c.Pipeline(); !slices.Equal(got, shown.Clients[0].Pipeline) {
		t.Errorf("the page shows the pipeline %v, it is %v", shown.Clients[0].Pipeline, got)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	return shown.Clients[0].Warnings
}

func TestPageWarnsOfOptions(t *testing.T) {
	const addr = "127.0.0.1:1"
	sound := &redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true}
	for name, tc := range map[string]struct {
		rdb  redis.UniversalClient
		opts []holdfast.Option
		want []string // in each warning
	}{
		"all is well":            {redis.NewClient(sound), nil, nil},
		"defaults of go-redis":   {redis.NewClient(&redis.Options{Addr: addr}), nil, []string{"MaxRetries", "DialerRetries", "ContextTimeoutEnabled"}},
		"a short read timeout":   {redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: 500 * time.Millisecond}), nil, nil},
		"cluster":                {redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}}), nil, []string{"DialerRetries", "ContextTimeoutEnabled"}},
		"quarantine skipped":     {redis.NewClient(sound), []holdfast.Option{holdfast.WithFallback(fallback.Policies{Classes: map[string]fallback.Policy{"report": fallback.Local{MaxTTL: time.Minute, UnsafeSkipQuarantine: true}, "ok": fallback.FailClosed{}}})}, []string{`Class "report"`}},
		"layers left out":        {redis.NewClient(sound), []holdfast.Option{holdfast.Replace(holdfast.LayerBreaker, nil), holdfast.Replace(holdfast.LayerRetry, nil)}, []string{"Left out of the pipeline: retry, breaker."}},
		"another in their place": {redis.NewClient(sound), []holdfast.Option{holdfast.Replace(holdfast.LayerRetry, func(next holdfast.Handler) holdfast.Handler { return next })}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			defer tc.rdb.Close()
			got := described(t, tc.rdb, tc.opts...)
			if len(got) != len(tc.want) {
				t.Fatalf("warnings %q, want %q", got, tc.want)
			}
			for i, want := range tc.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("warning %q, want %q in it", got[i], want)
				}
			}
		})
	}
}
