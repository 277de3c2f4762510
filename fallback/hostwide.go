package fallback

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"github.com/holdfast-go/holdfast/client"
)

const (
	firstLook = time.Millisecond
	lastLook  = 4 * time.Millisecond
)

// hostFiles are the lock files in one directory.
type hostFiles struct{ dir string }

func openHostFiles(dir string) (*hostFiles, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the directory for host-wide locks: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("the directory for host-wide locks: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the directory %s for host-wide locks has mode %#o, and must be 0700: others could hold or remove its files", dir, info.Mode().Perm())
	}
	return &hostFiles{dir}, nil
}

// path is that of a lock's file. The name tells nothing, and is safe whatever the key is.
func (h *hostFiles) path(scope, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", len(scope), scope, key))
	return filepath.Join(h.dir, base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20])+".lock")
}

// fileLocks are the files of one lease.
type fileLocks []*flock.Flock

// take locks the files of req's keys, in their order. Exclusive ones it locks alone, all
// others together with others.
func (h *hostFiles) take(ctx context.Context, req client.Request) (files fileLocks, err error) {
	defer func() {
		if err != nil {
			files.free()
			files = nil
		}
	}()
	keys := req.Keys
	if len(keys) == 0 {
		keys = []string{req.Key}
	}
	for _, key := range keys {
		f, err := h.takeOne(ctx, req, key)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

func (h *hostFiles) takeOne(ctx context.Context, req client.Request, key string) (*flock.Flock, error) {
	f := flock.New(h.path(req.Scope(), key), flock.SetPermissions(0o600))
	held := &client.HeldError{Holder: "another process of this host"}
	if len(req.Keys) > 0 {
		held.Key = key
	}
	for look := firstLook; ; look = min(2*look, lastLook) {
		ok, err := try(f, req.Mode)
		switch {
		case err != nil:
			return nil, failed(req, fmt.Errorf("%w: the host-wide lock file could not be locked: %w", client.ErrUnavailable, err))
		case ok:
			return f, nil
		}
		if look > firstLook { // it is not one of this process that is just leaving
			req.Call().Disinherit()
			req.Call().Blocked(held)
			if !req.Wait {
				return nil, failed(req, held)
			}
		}
		timer := time.NewTimer(look/2 + rand.N(look))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, client.WaitEnded(ctx, req, held)
		}
	}
}

// try locks f, unless another has it. A file that was removed before it was locked
// excludes nobody: then there is another one to try.
func try(f *flock.Flock, mode client.Mode) (bool, error) {
	lock := f.TryRLock
	if mode == client.Exclusive {
		lock = f.TryLock
	}
	for {
		if ok, err := lock(); !ok || err != nil {
			return false, err
		}
		current, err := isCurrent(f)
		if current {
			return true, nil
		}
		if unlock := f.Unlock(); err != nil || unlock != nil {
			return false, errors.Join(err, unlock)
		}
	}
}

// isCurrent tells whether the file that is locked is the one that others would find.
func isCurrent(f *flock.Flock) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	found, err := os.Stat(f.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, found), err
}

// follow keeps the files until the lease ends, and lets others in beside it where that
// is downgraded.
func (fl fileLocks) follow(lease *client.Lease) {
	over := false
	lease.Observe(func(ev client.Event) {
		switch {
		case over:
		case ev.Kind == client.EventDowngraded:
			for _, f := range fl {
				_, _ = f.TryRLock()
			}
		case ev.Kind == client.EventEnded:
			over = true
			fl.free()
		}
	})
}

// free unlocks the files, and removes those that nobody else has. One that was
// downgraded stays, for others may share it: flock.Flock cannot tell.
func (fl fileLocks) free() {
	for i := len(fl) - 1; i >= 0; i-- {
		f := fl[i]
		if !f.Locked() || !f.RLocked() {
			if alone, err := f.TryLock(); alone && err == nil {
				if current, _ := isCurrent(f); current {
					_ = os.Remove(f.Path())
				}
			}
		}
		_ = f.Close()
	}
}
