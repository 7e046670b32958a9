//go:build unix

package launch

import (
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// killGroup ends what is left of the group that p leads.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// Left reports whether processes of the server's group still run after it has
// ended.
func (p *Process) Left() bool { return syscall.Kill(-p.PID(), 0) == nil }
