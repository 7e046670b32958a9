package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pipeOf returns what /proc calls the pipe behind f.
func pipeOf(f *os.File) string {
	// Reading the link does not need f's descriptor number, which File.Fd
	// would give at the price of making f blocking.
	conn, err := f.SyscallConn()
	if err != nil {
		return ""
	}
	var name string
	_ = conn.Control(func(fd uintptr) {
		name, _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd)))
	})
	return name
}

// A Holder is a process that has the server's pipe.
type Holder struct {
	PID, Parent int
	Name        string
	// Own says that it runs another program than its parent, or with other
	// arguments: it is past the moment between fork and exec, in which every
	// child has everything.
	Own bool
}

// maxDescendants bounds how many processes are looked at.
const maxDescendants = 256

// Holders returns the processes of our server, and their descendants, that have
// the given pipe under descriptor fd. It works on Linux only.
func (p *Process) Holders(fd int, pipe string) []Holder {
	if pipe == "" {
		return nil
	}
	var out []Holder
	queue := []Holder{{PID: p.PID()}}
	for i := 0; i < len(queue) && i < maxDescendants; i++ {
		h := queue[i]
		dir := "/proc/" + strconv.Itoa(h.PID)
		for _, child := range children(dir) {
			queue = append(queue, Holder{PID: child, Parent: h.PID})
		}
		if link, err := os.Readlink(dir + "/fd/" + strconv.Itoa(fd)); err != nil || link != pipe {
			continue
		}
		name, _ := os.ReadFile(dir + "/comm")
		h.Name = string(bytes.TrimSpace(name))
		mine, err := os.ReadFile(dir + "/cmdline")
		parents, _ := os.ReadFile("/proc/" + strconv.Itoa(h.Parent) + "/cmdline")
		h.Own = err == nil && !bytes.Equal(mine, parents)
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Holder) int { return a.PID - b.PID })
	return out
}

// children returns the children of a process, whichever of its threads started
// them.
func children(dir string) (out []int) {
	lists, _ := filepath.Glob(dir + "/task/*/children")
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}
