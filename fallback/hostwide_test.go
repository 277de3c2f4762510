package fallback

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// hostPair is two Clients of one endpoint without the gate that they would share: as
// two processes, but for the files of dir.
func hostPair(t *testing.T, dir string) (a, b *client.Client, breaker *Breaker, sim *redistest.Sim) {
	t.Helper()
	sim = redistest.NewSim(t)
	rdb := sim.Client()
	var clients [2]*client.Client
	for i := range clients {
		var err error
		if breaker, err = NewBreaker(BreakerConfig{}); err != nil {
			t.Fatal(err)
		}
		degrade, err := Degrade(breaker, Policies{Default: Local{MaxTTL: maxTTL, HostWide: dir, UnsafeSkipQuarantine: true}})
		if err != nil {
			t.Fatal(err)
		}
		attach := client.WithPipeline(func(a *client.Assembly) ([]client.Layer, error) {
			return []client.Layer{{Name: "degrade", Middleware: degrade}, {Name: "poll", Middleware: poll},
				{Name: "breaker", Middleware: breaker.Middleware()}}, breaker.Attach(a)
		})
		if clients[i], err = client.New(rdb, client.WithTTL(ttl), attach); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			clients[i].Close(ctx)
		})
	}
	return clients[0], clients[1], breaker, sim
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The file is there for as long as the lease, whether Redis granted it or not, and
// excludes whoever is degraded.
func TestHostWide(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "locks")
	a, b, breaker, _ := hostPair(t, dir)
	ctx := context.Background()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("directory %v, %v", info, err)
	}
	lease, err := a.TryAcquire(ctx, "../../etc/passwd\x00 {k}")
	if err != nil {
		t.Fatal(err)
	}
	names := files(t, dir)
	if len(names) != 1 || len(names[0]) != 37 || strings.ContainsAny(names[0], "/. {") && !strings.HasSuffix(names[0], ".lock") {
		t.Errorf("files %q", names)
	}
	for range DefaultMinRequests {
		breaker.vote(client.Faulty) // b's
	}
	_, err = b.TryAcquire(ctx, "../../etc/passwd\x00 {k}")
	wantIs(t, err, client.ErrNotAcquired)
	wantIsNot(t, err, client.ErrUnavailable)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = b.Acquire(short, "../../etc/passwd\x00 {k}")
	wantIs(t, err, client.ErrNotAcquired, context.DeadlineExceeded)
	other, err := b.TryAcquire(ctx, "other")
	if err != nil || !other.Degraded() {
		t.Fatalf("another key: %v", err)
	}
	other.Release(ctx)
	got := make(chan *client.Lease, 1)
	go func() {
		l, err := b.Acquire(ctx, "../../etc/passwd\x00 {k}")
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	time.Sleep(20 * time.Millisecond)
	if len(got) != 0 {
		t.Error("both are inside")
	}
	if err := lease.Release(ctx); err != nil {
		t.Error(err)
	}
	l := <-got
	if !l.Degraded() {
		t.Error("not degraded")
	}
	l.Release(ctx)
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

// Files that come and go exclude all the same.
func TestHostFilesUnderLoad(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := openHostFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	var exclusive, shared atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				f := flock.New(h.path("scope", "key"), flock.SetPermissions(0o600))
				mode := client.Exclusive
				if i%4 == 3 {
					mode = client.SharedMode
				}
				for {
					ok, err := try(f, mode)
					if err != nil {
						t.Error(err)
						return
					}
					if ok {
						break
					}
					time.Sleep(10 * time.Microsecond)
				}
				if mode == client.Exclusive {
					if exclusive.Add(1) > 1 || shared.Load() > 0 {
						t.Error("not alone")
					}
					exclusive.Add(-1)
				} else {
					if shared.Add(1); exclusive.Load() > 0 {
						t.Error("beside one who has it alone")
					}
					shared.Add(-1)
				}
				fileLocks{f}.free()
			}
		})
	}
	wg.Wait()
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

func TestHostWideModes(t *testing.T) {
	a, b, _, _ := hostPair(t, filepath.Join(t.TempDir(), "locks"))
	ctx := context.Background()
	read := func(c *client.Client) *client.Lease {
		l, err := c.TryAcquire(ctx, "k", client.Shared())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	one, two := read(a), read(b)
	one.Release(ctx)
	_, err := a.TryAcquire(ctx, "k")
	wantIs(t, err, client.ErrNotAcquired)
	two.Release(ctx)
	writer, err := a.TryAcquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Downgrade(ctx); err != nil {
		t.Fatal(err)
	}
	shared, err := b.Acquire(ctx, "k", client.Shared())
	if err != nil {
		t.Fatal(err)
	}
	writer.Release(ctx)
	_, err = a.TryAcquire(ctx, "k")
	wantIs(t, err, client.ErrNotAcquired)
	shared.Release(ctx)
	_, err = a.Acquire(ctx, "k", client.WithOwner("me"))
	wantIs(t, err, client.ErrInvalid)
	all, err := a.AcquireAll(ctx, []string{"z", "k"})
	if err != nil {
		t.Fatal(err)
	}
	var held *client.HeldError
	if _, err = b.TryAcquire(ctx, "z"); !errors.As(err, &held) {
		t.Error(err)
	}
	all.Release(ctx)
}

func TestHostWideDirectory(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(open, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := NewBreaker(BreakerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, file, filepath.Join(file, "below")} {
		if _, err := Degrade(b, Policies{Default: Local{MaxTTL: maxTTL, HostWide: dir}}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// A file that cannot be made is neither a holder nor an outage of Redis to grant
// anything in.
func TestHostWideFileFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	a, _, _, _ := hostPair(t, dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	lease, err := a.TryAcquire(context.Background(), "k")
	wantIs(t, err, client.ErrUnavailable, os.ErrNotExist)
	if lease != nil {
		t.Error("got a lease")
	}
}

// A file that was removed before it was locked excludes nobody, so it is not taken.
func TestHostFileThatWasRemoved(t *testing.T) {
	f := flock.New(filepath.Join(t.TempDir(), "file"))
	if ok, err := f.TryLock(); !ok || err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.Path()); err != nil {
		t.Fatal(err)
	}
	if ok, err := try(f, client.Exclusive); !ok || err != nil {
		t.Fatal(err)
	}
	if current, err := isCurrent(f); !current || err != nil {
		t.Errorf("locked a file that is not there: %v", err)
	}
	fileLocks{f}.free()
}
