package holdfast_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// The environment of a child: what it is to do, on which server, and how.
const (
	childRole = "HOLDFAST_TEST_CHILD"
	childAddr = "HOLDFAST_TEST_CHILD_ADDR"
	childArg  = "HOLDFAST_TEST_CHILD_ARG"
)

// children are what a child may be there for.
var children = map[string]func(ctx context.Context, rdb *redis.Client) error{
	"churn": churn, "hold": hold, "freeze": freeze, "take": take,
}

// beChild is the main function of a child. It ends by SIGTERM, or with its parent,
// which is when its standard input ends.
func beChild(role string) int {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv(childAddr)})
	if err := children[role](ctx, rdb); err != nil {
		fmt.Fprintln(os.Stderr, role, err)
		return 1
	}
	return 0
}

// tell tells the parent.
func tell(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// child is a process that a case started: this test binary, in another role.
type child struct {
	s     *site
	cmd   *exec.Cmd
	lines chan string
	ended chan struct{}
	err   error
}

func (s *site) spawn(role string, arg ...string) *child {
	s.Helper()
	self, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childRole+"="+role, childAddr+"="+s.srv.Addr(), childArg+"="+strings.Join(arg, " "))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		s.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	c := &child{s: s, cmd: cmd, lines: make(chan string, 100), ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			c.lines <- scanner.Text()
		}
		c.err = cmd.Wait()
	}()
	s.Cleanup(c.kill)
	return c
}

// expect returns the next line that the child tells, which must begin so.
func (c *child) expect(prefix string) string {
	c.s.Helper()
	select {
	case line := <-c.lines:
		if !strings.HasPrefix(line, prefix) {
			c.s.Fatalf("the child tells %q instead of %q", line, prefix)
		}
		return line
	case <-c.ended:
		c.s.Fatalf("the child ended (%v) before it told %q", c.err, prefix)
	case <-time.After(patience):
		c.s.Fatalf("the child does not tell %q", prefix)
	}
	return ""
}

func (c *child) signal(sig os.Signal) {
	c.s.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.s.Fatal(err)
	}
}

// kill ends the child as kill -9 does, and returns when it has ended.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}

// wait returns how the child ended.
func (c *child) wait() error {
	<-c.ended
	return c.err
}
