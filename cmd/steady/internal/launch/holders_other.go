//go:build !linux

package launch

import "os"

func pipeOf(*os.File) string { return "" }

// A Holder is a process that has the server's pipe.
type Holder struct {
	PID, Parent int
	Name        string
	// Own says that it runs another program than its parent, or with other
	// arguments: it is past the moment between fork and exec, in which every
	// child has everything.
	Own bool
}

// Holders returns nil: it works on Linux only.
func (p *Process) Holders(int, string) []Holder { return nil }
