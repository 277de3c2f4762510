package main

import (
	"os"
	"os/exec"
	"time"
)

// process is a program that was started here.
type process struct {
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	in, err := cmd.StdinPipe() // it ends when this does
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd, make(chan struct{})}
	go func() {
		defer close(p.over)
		_, _ = cmd.Process.Wait() // how it ended is its own business
		_ = in.Close()
	}()
	return p, nil
}

// end asks the process to end, and after grace has it killed.
func (p *process) end(grace time.Duration) {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended
	select {
	case <-p.over:
	case <-time.After(grace):
		_ = p.cmd.Process.Kill()
		<-p.over
	}
}
