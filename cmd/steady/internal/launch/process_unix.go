//go:build unix

package launch

import (
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup makes cmd the leader of a process group.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Terminate asks the process to end, with SIGTERM where there is such a thing.
func Terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// KillGroup ends what is left of the group that p leads.
func KillGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// Left reports whether processes of the server's group still run after it has
// ended.
func (p *Process) Left() bool { return syscall.Kill(-p.PID(), 0) == nil }
