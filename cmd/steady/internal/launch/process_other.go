//go:build !unix

package launch

import (
	"os"
	"os/exec"
)

// OwnGroup does nothing: there are no groups.
func OwnGroup(*exec.Cmd) {}

// Terminate asks the process to end, with SIGTERM where there is such a thing.
func Terminate(p *os.Process) error { return p.Kill() }

// KillGroup ends the process: there are no groups.
func KillGroup(p *os.Process) { _ = p.Kill() }

// groupRuns returns false: there are no groups to look at.
func groupRuns(*os.Process) bool { return false }
