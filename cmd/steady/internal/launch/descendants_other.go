//go:build !linux

package launch

type descendant struct{}

// descendants returns nil: it works on Linux only.
func (p *Process) descendants() []descendant { return nil }

func (descendant) runs() bool { return false }

func (descendant) kill() {}
