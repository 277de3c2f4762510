// Package child runs parts of a measurement in processes of their own. Such a
// process is this very program, executed once more in a role; parent and child
// exchange JSON over the child's standard input and output.
package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// roleEnv is the environment variable that names the role of a child.
const roleEnv = "HOLDFAST_BENCH_ROLE"

// patience is how long a parent waits for a message, or for the end, of a child
// before it kills it.
const patience = time.Minute

// Link is one end of the conversation. It is not safe for concurrent use.
type Link struct {
	enc *json.Encoder
	dec *json.Decoder
}

func newLink(r io.Reader, w io.Writer) Link {
	return Link{json.NewEncoder(w), json.NewDecoder(r)}
}

// Send sends v to the other end.
func (l *Link) Send(v any) error { return l.enc.Encode(v) }

// Receive waits for the next message and decodes it into v. It returns io.EOF when
// the other end has gone.
func (l *Link) Receive(v any) error { return l.dec.Decode(v) }

// Role is what a child does. The child ends when it returns.
type Role func(*Link) error

// Main does not return in a child: there it plays the child's role. It must be the
// first thing that the program does, and TestMain in tests.
func Main(roles map[string]Role) {
	name, ok := os.LookupEnv(roleEnv)
	if !ok {
		return
	}
	role := roles[name]
	if role == nil {
		fmt.Fprintf(os.Stderr, "bench: no role %q\n", name)
		os.Exit(2)
	}
	link := newLink(os.Stdin, os.Stdout)
	if err := role(&link); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Process is a child, seen from its parent.
type Process struct {
	Link
	cmd *exec.Cmd
	in  io.Closer
}

// Start starts a child in a role of Main.
func Start(role string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{newLink(out, in), cmd, in}, nil
}

// Receive is that of Link; it kills a child that takes longer than a minute.
func (p *Process) Receive(v any) error {
	defer p.killAfter(patience).Stop()
	err := p.Link.Receive(v)
	if errors.Is(err, io.EOF) {
		err = errors.New("the child ended without an answer")
	}
	return err
}

// Close ends the conversation, by which a child knows that it must end, and waits
// for that.
func (p *Process) Close() error {
	p.in.Close()
	defer p.killAfter(patience).Stop()
	return p.cmd.Wait()
}

func (p *Process) killAfter(d time.Duration) *time.Timer {
	return time.AfterFunc(d, func() { p.cmd.Process.Kill() })
}
