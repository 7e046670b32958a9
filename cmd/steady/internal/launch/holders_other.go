//go:build !linux

package launch

import "os"

func pipeOf(*os.File) string { return "" }

// A Holder is a process that has the server's pipe.
type Holder struct {
	PID, Parent int
	Name        string
}

// Holders returns nil: it works on Linux only.
func (p *Process) Holders(int, string) []Holder { return nil }
