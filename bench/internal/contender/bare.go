package contender

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/client"
)

// bare sends the scripts of holdfast by AutoPipeline, with nothing of holdfast
// around them. It learns them from one acquire and one release.
var bare = Contender{
	Name: "holdfast's scripts, bare", Kind: report.Floor,
	Open: func(o Options) (Locks, error) {
		b, err := learn(o)
		if err != nil {
			return nil, err
		}
		b.rdb = connect(o.Addr)
		if b.pipe, err = b.rdb.AutoPipeline(); err != nil {
			return nil, errors.Join(err, b.rdb.Close())
		}
		return b, nil
	},
}

// probe is the key by which the scripts are learnt; in their arguments it stands
// for that of an acquire.
const probe = "bare-scripts-probe"

type bareScripts struct {
	rdb            *redis.Client
	pipe           *redis.AutoPipeliner
	enter, release []any  // the commands
	token          string // the one that is in them
}

func learn(o Options) (*bareScripts, error) {
	ctx := context.Background()
	rdb := connect(o.Addr)
	defer rdb.Close()
	var seen recorder
	rdb.AddHook(&seen)
	locks, err := client.New(rdb, client.WithTTL(o.TTL))
	if err != nil {
		return nil, err
	}
	defer locks.Close(ctx)
	if err := pairOf(ctx, locks, &seen); err != nil { // loads the scripts where they are new
		return nil, err
	}
	if err := pairOf(ctx, locks, &seen); err != nil {
		return nil, err
	}
	commands := seen.stop()
	if len(commands) != 2 {
		return nil, fmt.Errorf("an acquire and a release of holdfast are %d commands, not 2", len(commands))
	}
	return &bareScripts{enter: commands[0], release: commands[1], token: seen.token}, nil
}

func pairOf(ctx context.Context, locks *client.Client, seen *recorder) error {
	seen.start()
	lease, err := locks.Acquire(ctx, probe)
	if err != nil {
		return err
	}
	seen.token = lease.Token()
	return lease.Release(ctx)
}

func (b *bareScripts) Acquire(ctx context.Context, key string) (Lease, error) {
	fill := strings.NewReplacer(probe, key, b.token, rand.Text())
	if err := b.send(ctx, b.enter, fill); err != nil {
		return nil, failed(key, err)
	}
	return bareLease{b, fill}, nil
}

// send sends a command with the key and the token of an acquire in it.
func (b *bareScripts) send(ctx context.Context, command []any, fill *strings.Replacer) error {
	args := make([]any, len(command))
	for i, a := range command {
		if s, ok := a.(string); ok {
			a = fill.Replace(s)
		}
		args[i] = a
	}
	return b.pipe.Process(ctx, redis.NewCmd(ctx, args...))
}

func (b *bareScripts) Close() error { return b.rdb.Close() }

type bareLease struct {
	scripts *bareScripts
	fill    *strings.Replacer
}

func (l bareLease) Release(ctx context.Context) error {
	return l.scripts.send(ctx, l.scripts.release, l.fill)
}
