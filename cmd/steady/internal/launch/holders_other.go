//go:build !linux

package launch

import "os"

func pipeOf(*os.File) string { return "" }

// Holders returns nil: it works on Linux only.
func (p *Process) Holders() []Holder { return nil }
