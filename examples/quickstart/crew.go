package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

const workers = 4

// crew is the worker processes: this program, run again.
type crew struct {
	orders  []*json.Encoder
	inputs  []io.Closer
	events  chan event
	reading sync.WaitGroup
	cancel  context.CancelFunc // kills
}

// hire starts the workers. They end when they have no more input, and are killed
// when ctx ends.
func hire(ctx context.Context, s settings) (*crew, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &crew{events: make(chan event, 64), cancel: cancel}
	for s.Worker = 1; s.Worker <= workers; s.Worker++ {
		if err := c.start(ctx, exe, s); err != nil {
			c.dismiss()
			return nil, fmt.Errorf("start worker %d: %w", s.Worker, err)
		}
	}
	return c, nil
}

func (c *crew) start(ctx context.Context, exe string, s settings) error {
	env, err := json.Marshal(s)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), workerEnv+"="+string(env))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.orders, c.inputs = append(c.orders, json.NewEncoder(in)), append(c.inputs, in)
	c.reading.Go(func() {
		err := c.read(out, s.Worker)
		out.Close()
		err = errors.Join(err, cmd.Wait())
		c.events <- event{Worker: s.Worker, Kind: isGone, Error: fmt.Sprint(err)}
	})
	return nil
}

func (c *crew) read(out io.Reader, worker int) error {
	for events := json.NewDecoder(out); ; {
		var e event
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		e.Worker = worker
		c.events <- e
	}
}

// tell gives one worker, counted from 1, an order.
func (c *crew) tell(worker int, o order) error {
	if err := c.orders[worker-1].Encode(o); err != nil {
		return fmt.Errorf("worker %d takes no orders: %w", worker, err)
	}
	return nil
}

// tellAll gives all workers the same order.
func (c *crew) tellAll(o order) error {
	var errs []error
	for i := range workers {
		errs = append(errs, c.tell(i+1, o))
	}
	return errors.Join(errs...)
}

// next waits for the next event of any worker.
func (c *crew) next(ctx context.Context) (event, error) {
	select {
	case <-ctx.Done():
		return event{}, context.Cause(ctx)
	case e := <-c.events:
		if e.Kind == isGone {
			return e, fmt.Errorf("worker %d has ended: %s", e.Worker, e.Error)
		}
		return e, nil
	}
}

// dismiss ends the workers, by force if they take their time, and returns when they
// have ended.
func (c *crew) dismiss() {
	defer c.cancel()
	for _, in := range c.inputs {
		in.Close()
	}
	force := time.AfterFunc(3*time.Second, c.cancel)
	defer force.Stop()
	ended := make(chan struct{})
	go func() {
		c.reading.Wait()
		close(ended)
	}()
	for {
		select {
		case <-c.events: // nobody wants to know any more
		case <-ended:
			return
		}
	}
}
