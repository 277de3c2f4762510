//go:build unix

package redistest

import (
	"errors"
	"os"
	"syscall"
)

// freeze stops p and returns when it has stopped: the signal alone is delivered at
// some later time.
func freeze(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		_, err := syscall.Wait4(p.Pid, nil, syscall.WUNTRACED, nil)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
