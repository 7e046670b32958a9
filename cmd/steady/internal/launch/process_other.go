//go:build !unix

package launch

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }
