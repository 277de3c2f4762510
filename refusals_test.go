package holdfast_test

import (
	"bytes"
	"cmp"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/client"
)

// user returns a Client that authenticates as name.
func (s *site) user(name, password string, opts ...holdfast.Option) *holdfast.Client {
	s.Helper()
	return s.client(s.srv.Client(s, func(o *redis.Options) { o.Username, o.Password = name, password }), opts...)
}

// A refusal for want of a password or a permission says what to do about it. The
// command of an acquire is long: a server that wants a password first cuts it off.
func TestRefusalsSayWhatToDo(t *testing.T) {
	s := newSite(t)
	everything := []any{"on", ">secret", "~*", "&*", "+@all"}
	for name, less := range map[string]string{
		"full": "+ping", "disabled": "off", "scriptless": "-@scripting", "scripted": "-set -zcard", "keyless": "resetkeys ~other:*",
	} {
		rules := append([]any{"ACL", "SETUSER", name}, everything...)
		for rule := range strings.FieldsSeq(less) {
			rules = append(rules, rule)
		}
		s.srv.Do(t, rules...)
	}
	s.srv.Do(t, "CONFIG", "SET", "requirepass", "secret")
	const password, check, permissions = "the server wants a password", "check Username and Password", "the user needs"
	for name, tc := range map[string]struct {
		user, password string
		reason         string // of an acquire
		short          string // of a short command, where that is another
		remedy         string
	}{
		"no password":             {"", "", "unauthenticated multibulk length", "NOAUTH", password},
		"wrong password":          {"", "wrong", "WRONGPASS", "", check},
		"no such user":            {"nobody", "secret", "WRONGPASS", "", check},
		"disabled":                {"disabled", "secret", "WRONGPASS", "", check},
		"no scripts":              {"scriptless", "secret", "NOPERM", "", permissions},
		"no keys":                 {"keyless", "secret", "NOPERM", "", permissions},
		"no commands in a script": {"scripted", "secret", "script", "", permissions},
	} {
		c := s.user(tc.user, tc.password)
		says := func(err error, reason string) {
			t.Helper()
			s.only(err, holdfast.ErrRefused)
			if !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), tc.remedy) {
				t.Errorf("%s: %v, want %q and %q in it", name, err, reason, tc.remedy)
			}
		}
		_, err := c.TryAcquire(s.ctx, "k")
		says(err, tc.reason)
		_, err = c.Inspect(s.ctx, "k")
		says(err, cmp.Or(tc.short, tc.reason))
	}
	s.release(s.acquire(s.user("full", "secret"), "k"))
}

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// What a refusal names as the permissions needed is enough for all that a Client does.
func TestThePermissionsThatARefusalNamesAreEnough(t *testing.T) {
	s := newSite(t)
	s.srv.Do(t, "ACL", "SETUSER", "poor", "on", ">secret")
	_, err := s.user("poor", "secret").TryAcquire(s.ctx, "k")
	if err == nil {
		t.Fatal("a user without any permission got the lock")
	}
	_, rules, _ := strings.Cut(err.Error(), "prefix: ")
	rich := []any{"ACL", "SETUSER", "rich", "on", ">secret"}
	for rule := range strings.FieldsSeq(rules) {
		rich = append(rich, rule)
	}
	s.srv.Do(t, rich...)

	logs := new(journal)
	logger := holdfast.WithLogger(slog.New(slog.NewTextHandler(logs, nil)))
	a, b := s.user("rich", "secret", logger, holdfast.WithTTL(3*time.Second)), s.user("rich", "secret", logger)
	first := s.acquire(a, "k")
	second := make(chan *holdfast.Lease, 1)
	go func() {
		l, err := b.Acquire(s.ctx, "k", holdfast.WithWaitTimeout(patience))
		if err != nil {
			t.Error(err)
		}
		second <- l
	}()
	renewed := make(chan struct{})
	once := sync.OnceFunc(func() { close(renewed) })
	first.Observe(func(ev holdfast.Event) {
		if ev.Kind == client.EventEnded && ev.Reason != client.EndReleased {
			t.Errorf("the lease ended: %v", ev.Err)
		}
		if ev.Kind == client.EventRenewed || ev.Kind == client.EventEnded {
			once()
		}
	})
	<-renewed
	if err := first.Extend(s.ctx, time.Minute); err != nil {
		t.Error(err)
	}
	s.release(first)
	l := <-second
	if l == nil {
		return
	}
	if info, err := a.Inspect(s.ctx, "k"); err != nil || !info.Held {
		t.Errorf("Inspect: %+v, %v", info, err)
	}
	s.release(l)
	if err := a.Break(s.ctx, "k"); err != nil {
		t.Error(err)
	}
	if text := logs.String(); text != "" {
		t.Errorf("something was logged: %s", text)
	}
	denied, err := s.rdb.ACLLog(s.ctx, 100).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range denied {
		if d.Username == "rich" && d.Object != "client|setinfo" { // go-redis does without that
			t.Errorf("%q was denied, in %s", d.Object, d.Context)
		}
	}
}
