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

// groupRuns reports whether processes of the group that p leads still run.
func groupRuns(p *os.Process) bool { return syscall.Kill(-p.Pid, 0) == nil }
