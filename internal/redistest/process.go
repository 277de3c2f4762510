package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"
)

// errPortTaken says that somebody else took the port in the meantime.
var errPortTaken = errors.New("port is taken")

// process is a child that is waited for.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// spawn starts cmd. The goroutine that waits for it keeps its thread, since the
// kernel may end a child with the thread that started it (see dieWithParent).
func spawn(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait() // the exit status of a killed server tells nothing
			close(p.done)
		}
	}()
	return p, <-started
}

func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) kill() {
	if p == nil {
		return
	}
	p.cmd.Process.Kill()
	<-p.done
}

// launch starts the server on s.port, with extra arguments, and returns when it
// gives the wanted answer to PING. It fails with errPortTaken when another process
// listens there.
func (s *Server) launch(answer string, extra ...string) error {
	log, err := os.Create(s.logFile())
	if err != nil {
		return err
	}
	defer log.Close()
	args := append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no",
	}, s.args...)
	args = append(args, extra...)
	cmd := exec.Command(s.path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	dieWithParent(cmd)
	proc, err := spawn(cmd)
	if err != nil {
		return err
	}
	if err := s.awaitReady(proc, answer); err != nil {
		proc.kill()
		return err
	}
	s.mu.Lock()
	s.proc = proc
	s.mu.Unlock()
	return nil
}

// awaitReady waits until proc itself, not another server at its port, answers.
func (s *Server) awaitReady(proc *process, answer string) error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for {
		err := s.asked(answer, proc.cmd.Process.Pid)
		if err == nil {
			return nil
		}
		select {
		case <-proc.done:
			log := s.logTail()
			if bytes.Contains(log, []byte("Address already in use")) {
				return errPortTaken
			}
			return fmt.Errorf("it ended at once; its log:\n%s", log)
		case <-deadline.C:
			return fmt.Errorf("it was not ready after %v: %w; its log:\n%s", startTimeout, err, s.logTail())
		case <-pause.C:
		}
	}
}

// asked is nil if the server at s.port gives the answer to PING and has that
// process id.
func (s *Server) asked(answer string, pid int) error {
	c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte("PING\r\nINFO server\r\n")); err != nil {
		return err
	}
	r := newReader(c)
	for _, want := range []string{answer, fmt.Sprintf("\r\nprocess_id:%d\r\n", pid)} {
		if err := r.value(); err != nil {
			return err
		}
		if got := r.taken(); !bytes.Contains(got, []byte(want)) {
			return fmt.Errorf("no %q in the reply %.200q", want, got)
		}
	}
	return nil
}
