//go:build !unix

package launch

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }

// Left returns false: there are no groups to look at.
func (p *Process) Left() bool { return false }
