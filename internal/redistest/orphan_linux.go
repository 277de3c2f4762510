package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the child when this process ends without its
// Cleanup: a test binary that panics or runs into its time-out.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
